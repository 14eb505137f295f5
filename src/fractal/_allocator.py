"""Keeping freed memory, for programs that compute the same thing again and again.

XLA takes one block for each run of a program. glibc gives blocks above 32 MB back to the kernel
at once, so that every step of training would fault all of its pages in anew: a good part of its
time on a CPU. It is told to keep them.
"""

import ctypes
import platform

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_ALL = 2**31 - 1


def keep_freed_memory() -> bool:
    """Ask the C library to reuse large blocks; False where it is not glibc, which needs asking.

    For the whole process, so it is for programs to call, not for libraries.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # One arena: others cannot hold a block above 64 MB, and XLA's threads would use those.
    options = (
        (_M_ARENA_MAX, 1),
        (_M_MMAP_THRESHOLD, _ALL),
        (_M_TRIM_THRESHOLD, _ALL),
        (_M_TOP_PAD, 2**28),
    )
    accepted = [mallopt(option, value) == 1 for option, value in options]
    return all(accepted)
