"""The entry point of the program: `chainq`, and `python -m chainq`."""

import _signal  # type: ignore[import-not-found]  # `signal`, without its enumerations: they take time to load
import gc
import os

TYPE_CHECKING = False  # as in `chainq/__init__.py`
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the program and end the process."""
    # Until the program handles signals itself (`process.signals`), Ctrl-C ends it as it ends a program in C: without a
    # traceback, for nothing was begun. A signal that is ignored stays ignored.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    # Loading modules makes many objects and no garbage: collecting meanwhile takes a tenth of a short run. `cli.run`
    # turns it on again when rows come; the rows of a response are many objects and no garbage either, hence the
    # threshold. Only the program does this: `chainq.Client` leaves its process alone.
    gc.disable()
    gc.set_threshold(50_000, 20, 100)
    from chainq.process import forgo_pandas

    forgo_pandas()
    if "_CHAINQ_COMPLETE" in os.environ:  # a shell asks what may follow (`commands.COMPLETE`)
        from chainq.cli.commands import complete as run
    else:
        from chainq.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
