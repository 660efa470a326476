"""Types of rows for Python code: a TypedDict for each method, from the columns of the catalogue."""

from chainq.catalog.methods import METHODS, Column, Kind, Method

_TYPES = {Kind.HEIGHT: "Integer", Kind.NUMBER: "Integer", Kind.TIME: "Time"}
_OBJECT = "dict[str, Any]"
_SENT = {
    "number": "int",
    "string": "str",
    "object": _OBJECT,
    "array of object": f"list[{_OBJECT}]",
    "array of Transition": f"list[{_OBJECT}]",
    "array of string": "list[str]",
}


def row_types() -> str:
    """Return the classes."""
    parts, same = list[str](), ""
    known: dict[tuple[Column, ...], str] = {}  # by the published columns: methods with the same ones share a type
    for method in METHODS:
        if method.columns in known:
            same += f"{name_of(method)} = {known[method.columns]}\n"
        else:
            known[method.columns] = name_of(method)
            alike = [other for other in METHODS if other.columns == method.columns]
            rare = {one for other in alike for one in other.unlisted}
            columns = dict.fromkeys((one, one in rare) for other in alike for one in other.sent)
            parts += _classes(name_of(method), tuple(columns), f"A row of `{method.command}`.")
    return "\n\n".join(("", *parts, same))


def name_of(method: Method) -> str:
    """Return the name of the type of a method's rows."""
    return "".join(word.capitalize() for word in method.command.split("-")) + "Row"


def _classes(name: str, columns: tuple[tuple[Column, bool], ...], text: str) -> list[str]:
    """Return a class with these fields, after those of the objects in it. The flag: only some rows have the field."""
    parts, fields = [], []
    for field in dict.fromkeys(column.path.split(".")[0] for column, _ in columns):
        inner = tuple(
            (column._replace(path=column.path[len(field) + 1 :]), rare)
            for column, rare in columns
            if column.path.startswith(f"{field}.")
        )
        if inner:
            type_name = name.removesuffix("Row") + "".join(word.capitalize() for word in field.split("_"))
            parts += _classes(type_name, inner, f"`{field}` of `{name}`.")
        else:
            column, rare = next((column, rare) for column, rare in columns if column.path == field)
            type_name = _TYPES.get(column.kind) or _SENT[column.type.removeprefix("null or ")]
            type_name += " | None" if column.type.startswith("null") else ""
            type_name = f"NotRequired[{type_name}]" if rare else type_name
        fields.append(f"    {field}: {type_name}\n")
    parts.append(f'class {name}(TypedDict):\n    """{text}"""\n\n{"".join(fields)}')
    return parts
