"""Signals while the program loads: no moment of a run answers one with a traceback."""

import signal

import pytest

from harness.running.program import Program, Servers

STRIKE = '''
"""Sends this process the signal BY when the module AT is about to be imported, as part of its import."""
import os, sys
class Striker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == os.environ["AT"]:
            try:
                os.kill(os.getpid(), int(os.environ["BY"]))
                sum(range(1000))  # the handler runs between two instructions
            except BaseException as error:  # as __set_name__ and many a library do
                raise RuntimeError("something went wrong") from error
sys.meta_path.insert(0, Striker)
'''


def struck(program: Program, module: str, number: signal.Signals) -> dict[str, str]:
    """The environment in which the import of a module is struck by a signal."""
    folder = program.home / "striker"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(STRIKE)
    return {"PYTHONPATH": str(folder), "AT": module, "BY": str(int(number))}


@pytest.mark.parametrize("module", ["typing", "chainq.cli.options"])
def test_130_ctrl_c_while_the_program_loads(module: str, chainq: Program) -> None:
    """Ctrl-C before a command has begun ends the program by SIGINT without a word: nothing was done."""
    ran = chainq("block", "5", url="demo:", env=struck(chainq, module, signal.SIGINT))
    assert (ran.code, ran.out, ran.err) == (-signal.SIGINT, b"", "")


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("chainq.cli.run", signal.SIGINT),
        ("chainq.formats.csv", signal.SIGTERM),
        ("httpx", signal.SIGTERM),
        ("chainq.rows.sorting", signal.SIGINT),
    ],
)
def test_a_signal_inside_an_import(module: str, number: signal.Signals, chainq: Program, server: Servers) -> None:
    """A signal that comes while a module is imported ends the run when the import has ended, and is not mistaken."""
    words = ("records", "--start", "0", "--end", "5000000", "--csv")
    ran = chainq(*words, url=server(), env=struck(chainq, module, number))
    assert ran.code == -number, ran.err
    assert f"stopped by {number.name}" in ran.err
    assert ran.err.count("\n") == 1
