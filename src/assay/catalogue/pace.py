"""What a plan guesses of a target without a look at it."""

from __future__ import annotations

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast a target is, as far as a plan can guess: a slow local disk where nothing is said."""

    read_bytes_per_s: float = 100e6
    write_bytes_per_s: float = 100e6
    read_ops_per_s: float = 5e3
    """Requests of one worker past the cache; the same of writes, and of flushes."""
    write_ops_per_s: float = 5e3
    cpus: int = 1
    exchange_times: float = 1.0
    """How many requests its client makes where a simple client makes one."""
    wait_s: float = 0.0
    """What each operation takes beyond its work on this machine: a server answers it."""
