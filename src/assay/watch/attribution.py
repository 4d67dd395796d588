"""Who did the work of a foreign command: the command as a whole, or each of several calls of a tool in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.records import Client, EngineCost, OperationTotal, Role, TreeAccount, Watched
from assay.watch.calls import Part

HOST = "local"
NOTHING_USED = EngineCost(
    cpu_user_ns=0, cpu_system_ns=0, voluntary_switches=0, involuntary_switches=0, minor_faults=0, major_faults=0
)
"""The processor's time is known of the command as a whole: it stands with its first client."""


def clients(watched: Watched, parts: Sequence[Part]) -> Iterator[Client]:
    """Each of several calls that ran at the same time with what it says it moved; else the command as the one client."""
    account = watched.account
    whole = OperationTotal(
        operation="command", count=1, bytes=0, errors=0, busy_ns=watched.elapsed_ns, first_ns=0, last_ns=watched.elapsed_ns
    )
    done = [tuple(totals(part)) for part in parts] or [(whole,)]
    for index, operations in enumerate(done):
        yield Client(
            index=index,
            host=HOST,
            pid=0,
            role=Role.LOAD,
            workers=1,
            armed_ns=0,
            started_ns=0,
            first_ns=min(total.first_ns for total in operations),
            last_ns=max(total.last_ns for total in operations),
            stopped_by="exit",
            operations=operations,
            cost=None if account is None else cost(account) if index == 0 else NOTHING_USED,
        )


def totals(part: Part) -> Iterator[OperationTotal]:
    """What one call says of each operation, over its time."""
    for operation in part.operations:
        yield OperationTotal(
            operation=operation,
            count=round(part.values.get(f"{operation}.count", 1)),
            bytes=round(part.values.get(f"{operation}.bytes", 0)),
            errors=round(part.values.get(f"{operation}.errors", 0)),
            busy_ns=part.length_ns,
            first_ns=part.from_ns,
            last_ns=part.to_ns,
        )


def cost(account: TreeAccount) -> EngineCost:
    """What the command used of the processor."""
    return EngineCost(
        cpu_user_ns=account.cpu_user_ns,
        cpu_system_ns=account.cpu_system_ns,
        voluntary_switches=account.voluntary_switches,
        involuntary_switches=account.involuntary_switches,
        minor_faults=account.minor_faults,
        major_faults=account.major_faults,
    )
