"""chainq: a command-line explorer for a read-only chain data service."""

__version__ = "0.1.0"
