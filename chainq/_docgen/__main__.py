"""`python -m chainq._docgen`: rewrite what is stale; with `--check`, only list it and end with 1."""

import sys

from chainq._docgen import COMMAND, DocsError, root, stale, write


def main(arguments: list[str]) -> int:
    """Run, and return the exit code."""
    if arguments not in ([], ["--check"]):
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)  # noqa: T201  # a program of its own
        return 2
    try:
        names = stale(root()) if arguments else write(root())
    except (DocsError, OSError) as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)  # noqa: T201  # as above
        return 2
    for name in names:
        print(f"{name} is stale; {COMMAND} rewrites it" if arguments else f"wrote {name}")  # noqa: T201  # as above
    return 1 if arguments and names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
