"""Memory that one thread freed is used again by others: two arenas of the C library for all threads of the program.

By default glibc gives each thread an arena of its own, which keeps what was freed in it, up to twice the size of the
largest response: 40 MB in a run of eight calls of 7 MB at a time. Rejected: mapping each response for itself
(M_MMAP_THRESHOLD), which takes half as long again, because the kernel clears each page; and MALLOC_ARENA_MAX, which is
read before Python begins. A process of somebody else, as that of a `Client`, is left as it is.
"""

import os
from contextlib import suppress
from functools import cache

_M_ARENA_MAX = -8  # malloc.h of glibc


@cache
def share_arenas() -> None:
    """Have threads that allocate from now on share two arenas, unless MALLOC_ARENA_MAX says how many there are."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(ImportError, OSError, AttributeError):  # another C library has no arenas
            import ctypes

            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
