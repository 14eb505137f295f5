"""Settings of glibc's allocator for training loops.

XLA allocates one block per execution of a program. By default glibc returns blocks above 32 MB to
the kernel as soon as they are freed, so that every train step incurs page faults on all of its
memory. On a CPU this is a considerable part of the run time.
"""

import ctypes
import platform

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_MAX_INT = 2**31 - 1


def keep_freed_memory() -> bool:
    """Configure glibc to keep large freed blocks for reuse.

    The setting applies to the whole process. It is meant for programs, not for libraries.

    **Returns:** whether the settings were accepted; False if the C library is not glibc.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # One arena: secondary arenas, which XLA's threads would use, are limited to 64 MB.
    options = (
        (_M_ARENA_MAX, 1),
        (_M_MMAP_THRESHOLD, _MAX_INT),
        (_M_TRIM_THRESHOLD, _MAX_INT),
        (_M_TOP_PAD, 2**28),
    )
    accepted = [mallopt(option, value) == 1 for option, value in options]
    return all(accepted)
