"""Where the program begins: `chainq`, and `python -m chainq`."""

import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run the program and end the process."""
    # Start-up makes many objects and no garbage: collecting while modules load takes a tenth of a short run. What
    # begins a long one (`run`, `follow`) turns it on again.
    gc.disable()
    from chainq.app import main as run

    run()


if __name__ == "__main__":
    main()
