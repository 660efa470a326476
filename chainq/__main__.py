"""Where the program begins: `chainq`, and `python -m chainq`."""

import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run the program and end the process."""
    # Start-up makes many objects and no garbage: collecting while modules load takes a tenth of a short run. What
    # begins a long one (`run`, `follow`) turns it on again; an answer's rows are many objects and no garbage either.
    gc.disable()
    gc.set_threshold(50_000, 20, 100)
    from chainq.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
