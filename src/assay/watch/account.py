"""The account of a process tree as evidence: rungs L1 and L2, and what storage was made to move over time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.evidence.snapshots import Origin, Points, counter
from assay.hosts.exits import CUT_BYTES
from assay.records import Direction, Reading, Rung, Series, TreeAccount
from assay.watch.process_tree import SOURCE, Recorded

PAGE_BYTES = 4096
"""The kernel counts whole pages: a byte at each end of a transfer may count for a page."""
RECORDS_SOURCE = "tree:taskstats"
OVER_TIME = ("read_bytes", "write_bytes", "cancelled_write_bytes")
MOST_POINTS = 4096


def readings(origin: Origin, pid: int, account: TreeAccount, elapsed_ns: int, records: Recorded | None) -> Iterator[Reading]:
    """What the tree asked for and what its own cache did not answer, from exec to the end of its last process.

    `records` are the exit records where they had to stand in for accounts that nobody has; they do not count calls exactly.
    """
    cut = CUT_BYTES * records.tasks if records is not None else 0
    wanted = (
        (Rung.SYSCALL, Direction.READ, account.rchar, account.syscr, 0),
        (Rung.SYSCALL, Direction.WRITE, account.wchar, account.syscw, 0),
        (Rung.CLIENT_CACHE, Direction.READ, account.read_bytes, None, PAGE_BYTES),
        (Rung.CLIENT_CACHE, Direction.WRITE, account.write_bytes, None, PAGE_BYTES),
    )
    for rung, direction, moved, calls, uncertainty in wanted:
        yield Reading(
            phase=origin.phase,
            rung=rung,
            source=SOURCE if records is None else RECORDS_SOURCE,
            host=origin.host,
            subject=f"pid:{pid}",
            direction=direction,
            bytes=moved,
            operations=calls if records is None else None,
            from_ns=0,
            to_ns=elapsed_ns,
            uncertainty_bytes=uncertainty + cut,
        )


def series(
    origin: Origin, pid: int, account: TreeAccount, seen: tuple[int, Sequence[tuple[int, Mapping[str, int]]]]
) -> Iterator[Series]:
    """The tree's bytes over time: nothing at exec, the account at the end (ns), what was seen between (ns, counters)."""
    elapsed_ns, points = seen
    every = max(1, -(-len(points) // MOST_POINTS))
    for metric in OVER_TIME:
        between = [(at, found[metric]) for at, found in points[::every]]
        whole = [(0, 0), *between, (elapsed_ns, getattr(account, metric))]
        yield counter(origin, f"pid:{pid}", metric, "bytes", rising(whole))


def rising(points: Points) -> Points:
    """What a child moved is missing for a moment while its account goes to its parent: a counter that does not fall."""
    last = points[-1][1]  # the whole account
    highest = 0.0
    found = []
    for at, value in points:
        highest = min(last, max(highest, value))
        found.append((at, highest))
    return found
