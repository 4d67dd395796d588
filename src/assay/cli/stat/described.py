"""What one execution moved, in words without a verdict, and its figures. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.cli.stat.execution import JudgedExecution
from assay.evidence import growth, rungs, served
from assay.records import Direction, Meaning, State, Verdict
from assay.units import Unit
from assay.watch.as_run import place_of
from assay.watch.reports import is_of_network, may_receive

LEAST_BYTES = 4 << 20
"""Less is on no ladder: any program reads its libraries."""
NOTHING = "nothing to judge: the command moved less than 4 MB and printed no figure"
UNSEEN = (
    "nothing to judge: no figure printed, and bytes through sockets not counted"
    " (needs root on Linux 6.3 or newer, outside of network namespaces)"
)
MOSTLY = 0.5
"""From this share on the page cache is named first."""
LEAST_SHARE = 0.01
LEAST_PRECISION = 0.001
"""A finer print precision is not shown."""


def described(execution: JudgedExecution) -> str:
    """Return what moved, and where it came from or went: no claim, no verdict."""
    found = [*transfers(execution)] or [figure(execution, one) for one in execution.verdicts]
    return "; ".join((*found, *within(execution))) if found else nothing(execution)


def within(execution: JudgedExecution) -> Iterator[str]:
    """Yield that what looks like a network is none, where the sockets lead to this very machine."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    if all(direction.of_storage for direction in phase.directions.values()):
        return
    stayed = (
        one
        for verdict in execution.verdicts
        for one in verdict.findings
        if one.meaning is Meaning.ONE_MACHINE and one.state is State.FAIL
    )
    way = next((one.observed.get("interface") for one in stayed), None)
    unix = seen.fact(f"{served.PEERS_FACT}{phase.name}") == served.A_UNIX_SOCKET and is_of_network(execution.watched.argv)
    if way is not None or unix:
        yield f"both ends are on this machine ({way or served.A_UNIX_SOCKET}): no network card, cable or switch"


def nothing(execution: JudgedExecution) -> str:
    """Return why there is nothing to judge: too little moved, or nobody counted of what kind it was."""
    account = execution.watched.account
    if may_receive(execution.watched) and (account is None or account.kinds is None):
        return UNSEEN
    if account is None or account.rchar - account.read_bytes < LEAST_BYTES or not may_receive(execution.watched):
        return NOTHING
    if account.kinds is not None and not account.kinds.unsure_bytes:
        return NOTHING
    return (
        f"nothing to judge: its calls read {bytes_text(account.rchar)} from files or through sockets, and nobody counted which"
        " (root on Linux 6.3 or newer does)"
    )


def transfers(execution: JudgedExecution) -> Iterator[str]:
    """Yield what was read, and from where; what was written, and where it was at the end."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    for direction, verb in ((Direction.READ, "read"), (Direction.WRITE, "wrote")):
        found = rungs.rungs(phase, seen, direction, execution.external.run)
        amount = (found.application if direction in phase.directions.values() else None) or found.storage or 0
        if amount < LEAST_BYTES:
            continue
        known, text = rungs.devices(phase, seen), f"{verb} {bytes_text(amount)}"
        if direction is Direction.READ:
            device = max(known, key=lambda one: one.read_bytes).name if known else "storage"
            yield f"{text}{read_from(found.hit_share, device)}"
        else:
            yield f"{text}{written_to(execution, destination(execution, known))}"
    yield from longer(execution)
    yield from other_kinds(execution)


def longer(execution: JudgedExecution) -> Iterator[str]:
    """Yield how much longer files became without data."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    found = growth.of_files(phase, seen)
    if found is not None and found.empty_bytes >= LEAST_BYTES:
        yield f"files {bytes_text(found.empty_bytes)} longer without data ({', '.join(found.kinds)})"


def other_kinds(execution: JudgedExecution) -> Iterator[str]:
    """Yield what moved through sockets, and what was read from devices of characters."""
    kinds = execution.watched.account.kinds if execution.watched.account else None
    if kinds is None:
        return
    told = (
        ("received {} through sockets", kinds.received_bytes),
        ("sent {} through sockets", kinds.sent_bytes),
        ("read {} from a device of characters (/dev/zero, /dev/urandom)", kinds.device_bytes),
    )
    for words, amount in told:
        if (amount or 0) >= LEAST_BYTES:
            yield words.format(bytes_text(amount))


def destination(execution: JudgedExecution, known: tuple[rungs.Device, ...]) -> str:
    """Return the device below the written files that took most, upper ones first; their file system where there is none."""
    watched = execution.watched
    found = (place_of(watched, one.path) for one in watched.files if one.written)
    places = list(dict.fromkeys((one.filesystem or "storage", one.devices) for one in found if one is not None))
    below = [one for one in known if not places or any(one.name in devices for _, devices in places)]
    if not below:
        return " and ".join(dict.fromkeys(filesystem for filesystem, _ in places)) or "storage"
    return max(below, key=lambda one: one.write_bytes).name


def read_from(hits: float | None, device: str) -> str:
    """Return what answered reads: the page cache, a device, or both; nothing where nobody counted."""
    if hits is None:
        return ""
    if hits == 1:
        return " from the page cache"
    cached, below = (
        f"the page cache, {measures.percent(1 - hits)} from {device}",
        f"{device}, {measures.percent(hits)} from the page cache",
    )
    return f" from {cached if hits >= MOSTLY else below if hits >= LEAST_SHARE else device}"


def written_to(execution: JudgedExecution, device: str) -> str:
    """Return where writes were when the command ended."""
    dirty, drain = dirty_bytes(execution), execution.watched.drain_ns
    if dirty is None or dirty < LEAST_BYTES:
        return "" if dirty is None else f" to {device}"
    flushed = "" if drain is None else f", flushed to {device} in {measures.with_unit(drain, Unit.NANOSECONDS)} more"
    return f", {bytes_text(dirty)} still in memory at the end{flushed}"


def operation_of(verdict: Verdict) -> str:
    """The operation that a verdict is on."""
    return verdict.measure.split(".")[1]


def figure(execution: JudgedExecution, verdict: Verdict) -> str:
    """Return `read 5.10 GB/s (±1 % print precision)`."""
    value, share = execution.external.values[figure_of(verdict)], digits_share(execution, verdict)
    digits = f" (±{measures.percent(share)} print precision)" if share >= LEAST_PRECISION else ""
    return f"{operation_of(verdict)} {measures.with_unit(value, verdict.unit)}{digits}"


def figure_of(verdict: Verdict) -> str:
    """Return the name of the verdict's measure among the tool's figures: `read.bytes_per_s`."""
    return verdict.measure.split(".", 1)[1]


def digits_share(execution: JudgedExecution, verdict: Verdict) -> float:
    """Return the print precision of a figure: half of its last printed digit, as a share."""
    name = figure_of(verdict)
    value, half = (
        execution.external.values[name],
        execution.external.reported.resolution.get(name, 0.0) if execution.external.reported else 0.0,
    )
    return half / value if value else 0.0


def bytes_text(count: float | None) -> str:
    """Return bytes with their unit; `?` for an unknown number."""
    return "?" if count is None else measures.with_unit(count, Unit.BYTES)


def dirty_bytes(execution: JudgedExecution) -> int | None:
    """What was dirty at exit; None where no written file is known."""
    known = [one.dirty_bytes for one in execution.watched.files if one.written and one.dirty_bytes is not None]
    return sum(known) if known else None
