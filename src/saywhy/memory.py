"""Memory of the process: how much it holds, and that what is freed is used again."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

__all__ = ["resident_bytes", "reuse_memory"]

# Of mallopt, in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST = 2**31 - 1


def reuse_memory() -> bool:
    """Have the C library keep freed memory for this process, where it is glibc; whether that could be asked for.

    By itself glibc gives every large block back to the system as soon as it is freed, and the system clears every page
    of the next one: on the CPU a training step then spends up to a tenth of its time on pages. The process keeps what
    it once needed, so it never needs more than at its peak.

    It is a setting of the whole process, so programs call it and the library does not: `saywhy` on the command line
    and the workers of its studies do.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library
        return False
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    return all(mallopt(what, _LARGEST) == 1 for what in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))


def resident_bytes() -> int:
    """Memory the process holds now; where the system does not say, the most it ever held, and 0 on Windows."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
