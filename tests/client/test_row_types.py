"""The types of rows say what the sample chain sends."""

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from chainq import Client
from chainq.catalog.methods import METHODS, Method
from chainq.client import client, row_types

EXAMPLES: dict[str, Any] = {
    "program-transactions": ("hello_hello.aleo", "hello"),
    "address-transactions": ("aleo1lfv4jy6y9ahjtc257lugevza7xn0460c94zxdyr3n2fqqmdpm7aq7mntrd", 0, 50_000),
    "latest": (),
    "transactions": (672,),
    "block": (672,),
}


def name_of(method: Method) -> str:
    """The name of the type of a method's rows."""
    return "".join(word.capitalize() for word in method.command.split("-")) + "Row"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_a_method_returns_rows_of_its_type(method: Method) -> None:
    """The annotation of each method of Client names the type of its rows, whose fields a row has."""
    name = method.command.replace("-", "_")
    kind = getattr(row_types, name_of(method))
    returned = get_type_hints(getattr(Client, name), {**vars(row_types), **vars(client)})["return"]
    assert kind in (returned, *(one for part in get_args(returned) for one in (part, *get_args(part))))
    with Client("demo:") as service:
        arguments = EXAMPLES.get(method.command, (670, 680))
        if method.command == "transaction":
            arguments = (service.transactions(672)[0]["transaction_id"],)
        found = getattr(service, name)(*arguments)
        row = found if isinstance(found, dict) else next(iter(found))
    assert set(row) <= set(get_type_hints(kind))
    conforms(row, kind)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_a_type_has_every_column_that_is_sent(method: Method) -> None:
    """Also those that the published interface lacks, such as the supply in older blocks."""
    for column in method.sent:
        assert column.path.split(".")[0] in get_type_hints(getattr(row_types, name_of(method)))


def conforms(row: dict[str, Any], kind: Any) -> None:
    """Compare the fields of a row, and of the objects in it, with those of a type. Objects may have others, too."""
    hints = get_type_hints(kind)
    known = set(row) & set(hints)
    assert known
    for field in known:
        if is_typeddict(hints[field]) and row[field] is not None:
            conforms(row[field], hints[field])
        elif Any not in (kinds := get_args(hints[field]) if type(hints[field]) is UnionType else (hints[field],)):
            assert isinstance(row[field], tuple(get_origin(one) or one for one in kinds))
