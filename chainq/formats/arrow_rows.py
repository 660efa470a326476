"""Rows as Arrow record batches of one schema, with a column `extra` for all that the schema has no place for.

`extra` is a JSON object of what a row holds beside its columns, by dotted paths and as it was sent: fields that the
catalogue does not know, and values that the type of their column (`parquet_types`) cannot hold, which is then null
there. So no server can make a file fail or change a digit of it, and no field is lost.

Columns that `--columns` names have no such place: there a value that does not fit is an error.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.formats.parquet_types import NULL, Type, json_object, type_of
from chainq.formats.protocol import unfit
from chainq.rows.fields import Picker
from chainq.text.sanitize import excerpt, printable

EXTRA = "extra"
MORE = f"more unknown fields and values that do not fit go to the column {EXTRA}"
"""A warning that stands for others (`protocol.few`)."""
_BATCH = 2_000  # rows that are Python objects at a time; more are not faster, and take more memory


class ArrowRows:
    """Turns rows into record batches. `warn` is called once for each path whose values go to `extra`, if not `known`.

    The schema depends on the columns alone. `strict`: other fields are left out, and there is no column `extra`;
    OutputError is raised for a value that does not fit.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        pyarrow: Any,
        warn: Callable[[str], None] = lambda _: None,
        known: Collection[str] = (),
        *,
        strict: bool = False,
    ) -> None:
        self._arrow, self._warn, self._warned = pyarrow, warn, set(known)
        self._types = {column.path: type_of(column, pyarrow) for column in columns}
        fields = [(name, kind.arrow) for name, kind in self._types.items()]
        self.schema = pyarrow.schema(fields if strict else [*fields, (EXTRA, pyarrow.string())])
        self._strict, self._pick = strict, Picker(list(self._types), None if strict else self._on_unknown)
        self._extra: dict[str, Raw] = {}  # of the row that is read

    def batches(self, rows: Sequence[Raw]) -> list[Any]:
        """Return the rows as record batches. Raises OutputError."""
        return [self._batch(rows[start : start + _BATCH]) for start in range(0, len(rows), _BATCH)]

    def _batch(self, rows: Sequence[Raw]) -> Any:
        picked, extras = [], []
        for row in rows:
            self._extra = {}
            picked.append(self._pick(row))
            extras.append(self._extra)
        columns = [[NULL if value is None else value for value in column] for column in zip(*picked, strict=True)]
        arrays = [
            self._array(path, kind, values, extras)
            for (path, kind), values in zip(self._types.items(), columns, strict=True)
        ]
        if not self._strict:
            texts = [json_object(extra.items()) if extra else None for extra in extras]
            arrays.append(self._arrow.array(texts, self._arrow.string()))
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _on_unknown(self, path: str, value: Raw) -> None:
        self._note(path, f"unknown field {path!r}: it")
        self._extra[path] = value

    def _array(self, path: str, kind: Type, values: list[Raw], extras: list[dict[str, Raw]]) -> Any:
        """Return the values of a column as an array; those that do not fit are null, and in `extras`."""
        try:
            return kind.array(values, self._arrow)
        except (ValueError, OverflowError):
            fitting = [value if kind.fits(value, self._arrow) else NULL for value in values]
        for value, fit, extra in zip(values, fitting, extras, strict=True):
            if value != fit:
                shown = excerpt(str(kind.arrow), 40)
                if self._strict:
                    raise unfit(path, bytes(value), shown)
                self._note(path, f"a value of {path!r} does not fit {shown}: as sent it")
                extra[path] = value
        return kind.array(fitting, self._arrow)

    def _note(self, path: str, note: str) -> None:
        if path not in self._warned:
            self._warned.add(path)
            self._warn(printable(f"{note} goes to the column {EXTRA}"))
