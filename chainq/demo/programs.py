"""The programs of the sample chain: the signatures of their functions and their source texts.

`pattern.py` decides when they are called. The names of credits.aleo are as in real blocks; the texts are made from the
signatures and are not the real programs.
"""

from functools import lru_cache


class Function:
    """One function: program ID, name, and the kinds of its inputs and outputs in order.

    `records`: the indices of outputs that are records. `addresses`: how many public inputs are addresses. `spends`:
    whether an input is a record, so that `transitionsWithoutRecordInputs` omits the transition.

    A kind is `record`, `external_record`, `private`, `future`, or a public type (`address`, `field`, `u32`, `u64`,
    `u128`).
    """

    __slots__ = ("addresses", "inputs", "name", "outputs", "program", "records", "spends")

    def __init__(self, program: str, name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self.program, self.name, self.inputs, self.outputs = program, name, inputs, outputs
        self.records = tuple(i for i, kind in enumerate(outputs) if kind == "record")
        self.addresses = inputs.count("address")
        self.spends = "record" in inputs or "external_record" in inputs


def _functions(program: str, *lines: str) -> dict[str, Function]:
    made = {}
    for line in lines:
        name, inputs, outputs = (part.split() for part in line.split("|"))
        made[name[0]] = Function(program, name[0], tuple(inputs), tuple(outputs))
    return made


PROGRAMS: dict[str, dict[str, Function]] = {
    "credits.aleo": _functions(
        "credits.aleo",
        "mint | address u64 | record",
        "transfer_public | address u64 | future",
        "transfer_private | record private private | record record",
        "transfer_public_to_private | private u64 | record future",
        "transfer_private_to_public | record address u64 | record future",
        "split | record private | record record",
        "join | record record | record",
        "fee_public | u64 u64 field | future",
        "fee_private | record u64 u64 field | record",
    ),
    "token_registry.aleo": _functions(
        "token_registry.aleo",
        "mint_public | field address u128 u32 | future",
        "transfer_public | field address u128 | future",
        "transfer_from_public | field address address u128 | future",
        "transfer_private | record private u128 | record record",
        "transfer_public_to_private | field private u128 | record future",
    ),
    "wrapped_credits.aleo": _functions(
        "wrapped_credits.aleo",
        "deposit_credits_private | external_record u64 | external_record record future",
        "withdraw_credits_private | record u64 | external_record record future",
    ),
    "hello_hello.aleo": _functions("hello_hello.aleo", "hello | u32 private | private"),
    "tile_gallery.aleo": _functions(
        "tile_gallery.aleo", "claim | field private | record", "show | address field | future"
    ),
    "wide_library.aleo": _functions("wide_library.aleo", "run | u64 field | private"),
}
"""Program ID -> function name -> Function."""

_LONG = {"wide_library.aleo": 100_000}


def _line(what: str, register: int, kind: str) -> str:
    if kind == "private":
        return f"    {what} r{register} as u64.private;\n"
    if kind == "future":
        return f"    {what} r{register} as future;\n"
    if kind in ("record", "external_record"):
        return f"    {what} r{register} as note.{kind};\n"
    return f"    {what} r{register} as {kind}.public;\n"


@lru_cache
def source(program: str) -> str:
    """Return the source text of a program, with line breaks: a few hundred bytes to 1.5 KB (`wide_library.aleo`: over
    100 KB)."""
    parts = [f"program {program};\n\nmapping account:\n    key as address.public;\n    value as u64.public;\n"]
    if program in PROGRAMS and any(f.records for f in PROGRAMS[program].values()):
        parts.append("\nrecord note:\n    owner as address.private;\n    amount as u64.private;\n")
    for function in PROGRAMS.get(program, {}).values():
        lines = [_line("input", i, kind) for i, kind in enumerate(function.inputs)]
        after = len(function.inputs)
        lines += [_line("output", after + i, kind) for i, kind in enumerate(function.outputs)]
        parts.append(f"\nfunction {function.name}:\n" + "".join(lines))
    size = sum(map(len, parts))
    number = 0
    while size < _LONG.get(program, 0):
        parts.append(
            f"\nclosure step_{number}:\n    input r0 as u64;\n    input r1 as u64;\n    add.w r0 {number}u64 into r2;\n"
            "    xor r1 r2 into r3;\n    output r3 as u64;\n"
        )
        size += len(parts[-1])
        number += 1
    return "".join(parts)
