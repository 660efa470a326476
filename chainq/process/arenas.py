"""Lets threads reuse memory that others freed: two arenas of the C library for all threads of the program.

By default glibc gives each thread its own arena, which keeps freed memory, up to twice the size of the largest
response: 40 MB in a run of eight concurrent calls of 7 MB. Rejected: mapping each response separately
(M_MMAP_THRESHOLD), which takes half as long again, because the kernel clears each page; and MALLOC_ARENA_MAX, which is
read before Python begins. Processes not started by chainq, such as the host of a `Client`, are left unchanged.
"""

import os
from contextlib import suppress
from functools import cache

_M_ARENA_MAX = -8  # malloc.h of glibc


@cache
def share_arenas() -> None:
    """Limit threads that allocate from now on to two shared arenas, unless MALLOC_ARENA_MAX is set."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(ImportError, OSError, AttributeError):  # another C library has no arenas
            import ctypes

            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
