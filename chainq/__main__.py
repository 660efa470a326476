"""`python -m chainq` is the same program as `chainq`."""

from chainq.app import main

if __name__ == "__main__":
    main()
