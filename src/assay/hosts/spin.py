"""A fixed piece of integer work, timed again and again: how fast a processor is just now.

It touches no memory beyond the nearest cache and makes no system call between its two readings of the clock. The clock is the
thread's own processor time, so that what others had meanwhile, or the hypervisor took, is not in it where the kernel knows of it;
where it does not, the fastest piece tells, for nobody takes a part of every one.
"""

from __future__ import annotations

import contextlib
import os
import time

BASE, EXPONENT, MODULUS = 0x1234567890ABCDEF**15, (1 << 60) - 3, (1 << 1279) - 1
"""One power to a Mersenne prime: some 60 squarings of 43 digits of 30 bits, about 0.4 ms on a server of 2024."""
PIECES = 25


def spin() -> tuple[int, ...]:
    """The processor time (ns) that each of PIECES pieces took, on the first processor that this thread may run on."""
    allowed = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {min(allowed)})
    try:
        return tuple(_piece() for _ in range(PIECES))
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, allowed)


def _piece() -> int:
    began_ns = time.thread_time_ns()
    pow(BASE, EXPONENT, MODULUS)
    return time.thread_time_ns() - began_ns
