"""The entry point of the program: `chainq`, and `python -m chainq`."""

import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run the program and end the process."""
    # Loading modules makes many objects and no garbage: collecting meanwhile takes a tenth of a short run. `cli.run`
    # turns it on again for long runs; the rows of a response are many objects and no garbage either, hence the
    # threshold. Only the program does this: `chainq.Client` leaves its process alone.
    gc.disable()
    gc.set_threshold(50_000, 20, 100)
    from chainq.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
