"""Finds readings that cannot all be true: bytes that a lower layer never saw, operations that were never timed.

Counters below the application include every process, so only a count that is too low is a contradiction. The rule checks:
- the engine's own bytes against its system calls (not for io_uring and mmap, which make none),
- an external command's bytes against its system calls and its storage I/O,
- an external command's rate against its own bytes and time, beyond `disagreement_share` and `least_s`,
- the process's storage reads against the bytes that the device delivered, and direct reads against storage reads,
- distinct bytes that were written and drained against the bytes that the device took, and those that the lab's own path carried,
- counted operations against timed operations,
- records that hold other data than written (`verify`): one is enough,
- the time and the entries that an importer prints (ns-slapd) against the clock, beyond `importer_s`, and against its file.

**A rate for a part of the time.** A rate reported alone must fit all bytes of the calls.
A tool that also reports its bytes must account for `unseen_share` of the command's time; else the claim is unverified and
bounded.

**A rate of almost nothing.** Under a device or stable-media claim, a rate at which all I/O lasts less than `least_s` was not
measured.

**A rate of operations by a pattern** (`--reported`) needs as many calls of the command as the rate makes in its time.
Without them nobody else counted or timed it: unverified.

**Nothing to compare.** One figure of one report, with no layer below it that was counted, contradicts nothing and agrees with
nothing: the rule does not apply.

Compressed files, random overwrites and phases below `least_bytes` are left out. Busy devices make the kernel charge io_uring
retries, so no more than the requested bytes count.
A ratio near 8, 1.0486, 1.25 or 2 is named as a mistaken unit. Failed operations are G04's subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, reports, served
from assay.measures import external, figures, in_bytes, latency
from assay.measures.windows import given_up
from assay.records import Bound, Direction, Finding, Meaning, Rung, Scope, Severity, Span, State, StopRule
from assay.rulekit.findings import at_least, found, knob
from assay.units import Unit

DATA = (Direction.READ, Direction.WRITE)
IMPORT, IMPORTER = "import", "importer"
PROGRAMS = "transfer"
"""The workload whose bytes are moved by client programs."""


def check(case: TrialCase) -> Finding:
    """Every pair of neighbouring rungs that was counted, and the load's own books."""
    boast = external.boasted(case.run, case.phase, case.observations, case.measure, case.thresholds["least_s"])
    if boast:
        most = Bound(low=None, high=boast[1], unit=Unit.BYTES_PER_S)
        return found(RULE, case, State.FAIL, boast[0], relabel="a rate of next to nothing", bound=most)
    failed = [*contradictions(case)]
    if failed:
        wrong = reports.mismatched(case.phase, case.measure.operation)
        label = "other data than written" if wrong else f"readings contradict each other{mistake(failed)}"
        return found(RULE, case, State.FAIL, " ".join(failed), relabel=label)
    for statement, share in unproved(case):
        return found(RULE, case, State.UNVERIFIED, statement, bound=at_least(case, share))
    if is_word_alone(case):
        text = "A rate of operations that the command itself counted and timed, and no counter of this host saw so many calls."
        return found(RULE, case, State.UNVERIFIED, text, advice="Let the command print count and time too, or use a known tool.")
    own = f" {importer_words(case)}." if importer_times(case) else ""
    if not is_compared(case):
        text = "Nothing to hold against each other: one report, no layer below it and no other figure of it."
        return found(RULE, case, State.NOT_APPLICABLE, text)
    return found(RULE, case, State.PASS, f"Neighbouring layers agree.{own}")


def is_word_alone(case: TrialCase) -> bool:
    """Whether a rate of operations was found by a pattern in the output of an unknown program, and no calls stand for it."""
    if case.measure.figure != "ops_per_s" or knob(case, "parse") != "regex" or case.value is None:
        return False
    calls = [ladder.passed(case.phase, case.observations, Rung.SYSCALL, way) for way in DATA]
    seconds = case.phase.lasted_ns / 1e9
    seen = sum(step.raw_operations for step in calls if step is not None)
    return seen < (1 - case.thresholds["disagreement_share"]) * case.value * seconds


def is_compared(case: TrialCase) -> bool:
    """Whether there were two readings of the same at all: timed operations, a layer below, or figures of one report."""
    tool = external.report(case.phase, case.measure.operation)
    books = tool is not None and None not in (tool.bytes, tool.seconds)
    timed = latency.merged(case.observations, case.phase.name, case.measure.operation)
    if timed or books or importer_times(case) is not None:
        return True
    if case.direction not in DATA:
        return False
    below = (Rung.SYSCALL, Rung.CLIENT_CACHE, Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)
    return any(ladder.passed(case.phase, case.observations, rung, case.direction) is not None for rung in below)


def contradictions(case: TrialCase) -> Iterator[str]:
    """Each contradiction in words."""
    yield from untimed(case)
    yield from misreported(case)
    wrong = reports.mismatched(case.phase, case.measure.operation)
    if wrong:
        yield f"Records with wrong data: {wrong:,}."
    if case.direction not in DATA:
        return
    requested = ladder.requested_bytes(case.phase, case.observations, case.direction)
    if requested is None or requested < case.thresholds["least_bytes"]:
        return
    yield from unasked_calls(case, case.direction, requested)
    yield from overstated(case, case.direction, requested)
    yield from unsent(case, case.direction, requested)
    yield from external.denied(case.phase, case.observations, case.measure.operation, case.thresholds["disagreement_share"])
    if not case.phase.values and case.phase.drain_ns is not None:
        yield from (statement for statement, _ in vanished(case))
    yield from unread(case, requested) if case.direction is Direction.READ else unwritten(case, requested)


def importer_times(case: TrialCase) -> tuple[float, float] | None:
    """The ns of an import by its tool and by the clock; None where the tool prints none, and of other operations."""
    own, clock = (case.phase.values.get(f"{name}.elapsed_ns") for name in (IMPORTER, IMPORT))
    return None if own is None or clock is None or case.measure.operation != IMPORT else (own, clock)


def importer_words(case: TrialCase) -> str:
    """`Import: 7 s by its own tool, 7.3 s by the clock`."""
    times = importer_times(case) or (0.0, 0.0)
    own, clock = (measures.with_unit(time_ns, Unit.NANOSECONDS) for time_ns in times)
    return f"Import: {own} by its own tool, {clock} by the clock"


def misreported(case: TrialCase) -> Iterator[str]:
    """An importer that took longer than the clock ran, or did other entries than those of its file."""
    times = importer_times(case)
    if times is not None and times[0] > times[1] + case.thresholds["importer_s"] * 1e9:
        yield f"{importer_words(case)}."
    own, count = (case.phase.values.get(f"{name}.count") for name in (IMPORTER, IMPORT))
    if times is not None and own is not None and count is not None and own != count:
        yield f"The importer reports {own:,.0f} entries, its file has {count:,.0f}."


def mistake(statements: Sequence[str]) -> str:
    """`: bits taken for bytes` where a statement ends with such a ratio; else nothing."""
    named = [text.rpartition(external.RATIO)[2].rstrip(".") for text in statements if external.RATIO in text]
    return f": {named[0]}" if named else ""


def untimed(case: TrialCase) -> Iterator[str]:
    """Operations that are counted but not in the histogram, or the other way round."""
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    timed = sum(count for _, count in buckets)
    done = sum(total.count for _, total in measures.client_operations(case.phase, case.measure.operation))
    done += sum(one.count for _, one in given_up(case.phase, case.measure.operation))
    if timed and abs(timed - done) > case.thresholds["disagreement_share"] * max(timed, done):
        yield f"{done:,} operations counted, {timed:,} timed."


def unasked_calls(case: TrialCase, direction: Direction, requested: float) -> Iterator[str]:
    """The engine's system calls moved less than it reports; calls of tools, io_uring and mmap are not counted.

    Nor are those of the client programs of a transfer: the kernel counts read and write, not send and recv on a socket.
    """
    calls = ladder.passed(case.phase, case.observations, Rung.SYSCALL, direction)
    kind = next((one.kind for one in case.experiment.workloads if one.name == case.measure.workload), "")
    counted = not case.phase.values and kind != PROGRAMS and knob(case, "ioengine") not in ("io_uring", "mmap")
    if counted and calls is not None and short(case, calls.bytes, requested):
        yield f"The load reports {in_bytes(requested)}, its system calls moved {in_bytes(calls.bytes)}."


def overstated(case: TrialCase, direction: Direction, requested: float) -> Iterator[str]:
    """An external tool that moved its data by counted calls says more than these calls, and than storage was made to move.

    Calls that nobody counts (io_uring, libaio, mmap) leave next to nothing at L1, or only the few that laid the files out.
    """
    calls = ladder.passed(case.phase, case.observations, Rung.SYSCALL, direction)
    own = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, direction)
    reported = external.reported_operations(case.phase, direction)
    if not case.phase.values or calls is None or calls.bytes < case.thresholds["least_bytes"] or 0 < calls.operations < reported:
        return
    most = max(calls.bytes, own.bytes if own else 0.0)
    if short(case, most, requested):
        unit = external.mistaken(requested / most, case.thresholds["unit_share"])
        yield f"The command reports {in_bytes(requested)}, its system calls and storage moved {in_bytes(most)} at most.{unit}"


def unread(case: TrialCase, requested: float) -> Iterator[str]:
    """Reads: storage was made to read bytes that the device below never delivered; direct reads that storage never saw.

    Requests that may not wait (io_uring) and find the device's queue full are tried again, and the kernel charges each try: so no
    more counts than was asked.
    """
    own = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    if own is None:
        return
    device = ladder.highest_device(case.phase, case.observations, Direction.READ)
    least = case.thresholds["least_bytes"]
    libraries = least if case.phase.values else 0.0  # an external program's lie on another device perhaps
    sure = min(own.bytes, requested) - own.uncertainty_bytes - libraries
    if device is not None and sure >= least and short(case, device.raw_bytes, sure):
        yield f"The process read {in_bytes(own.bytes)} from storage, but {device.device} delivered {in_bytes(device.raw_bytes)}."
    whole = not ladder.has_holes(case.phase, case.observations)
    counted = not any(place.is_in_user_space for place in case.run.places)
    if knob(case, "direct") is True and whole and counted and short(case, own.bytes, requested):
        yield f"Direct reads requested {in_bytes(requested)}, but storage read only {in_bytes(own.bytes)}."


def unwritten(case: TrialCase, requested: float) -> Iterator[str]:
    """Writes of distinct bytes that, with the drain and what is still dirty, the device below never took."""
    if not distinct(case) or case.phase.drain_ns is None or compressed(case):
        return
    clock = ladder.highest_device(case.phase, case.observations, Direction.WRITE)
    drain = ladder.highest_device(case.phase, case.observations, Direction.WRITE, Span.DRAIN)
    taken = ladder.both(clock, drain)
    if taken is not None and drain is not None and short(case, taken.raw_bytes, requested):
        yield f"{in_bytes(requested)} written and drained, but {taken.device} took only {in_bytes(taken.raw_bytes)}."


def unsent(case: TrialCase, direction: Direction, requested: float) -> Iterator[str]:
    """Writes of distinct bytes over the lab's own path that it had not carried to the server when both ends were flushed."""
    names, drain_ns = served.line(case.phase, case.observations, case.host), case.phase.drain_ns
    if names is None or direction is not Direction.WRITE or drain_ns is None or not distinct(case):
        return
    edges = (case.phase.start_ns, case.phase.end_ns + drain_ns)
    up = [one for one in case.observations.over_time(case.phase.name, "line", "delivered_bytes") if one.subject.endswith(".up")]
    if not up or any(one.at_ns[-1] < edges[1] for one in up):  # the path was not looked at after the flush
        return
    carried = ladder.rises(up, *edges)
    if carried is not None and short(case, carried, requested):
        yield f"{in_bytes(requested)} written and flushed, but path {names} carried only {in_bytes(carried)} to the server."


def unproved(case: TrialCase) -> Iterator[tuple[str, float]]:
    """What can be neither confirmed nor denied, each with the share of the figure that is certain."""
    if case.direction in DATA:
        requested = ladder.requested_bytes(case.phase, case.observations, case.direction) or 0.0
        limits = case.thresholds
        least = (1 / (1 + limits["disagreement_share"]), limits["unseen_share"], limits["unit_share"])
        yield from external.unseen(case.phase, case.measure.operation, requested, least)
    yield from vanished(case)


def vanished(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Bytes that were surely written and that the lowest device never took, under a claim that it did."""
    media = case.direction is Direction.WRITE and figures.claims_media(case.claim, case.direction)
    taken = ladder.written_with_drain(case.phase, case.observations)
    written = ladder.written_bytes(case.phase, case.observations, case.thresholds["least_bytes"])
    if not media or taken is None or written < case.thresholds["least_bytes"] or compressed(case):
        return
    if (case.phase.values or distinct(case)) and short(case, taken.raw_bytes, written):
        took = f"{taken.device} took only {in_bytes(taken.raw_bytes)}, drain included"
        yield f"The processes dirtied {in_bytes(written)}, but {took}.", taken.raw_bytes / written


def short(case: TrialCase, below: float, above: float) -> bool:
    """Whether a lower rung saw too little."""
    return below < (1 - case.thresholds["disagreement_share"]) * above


def distinct(case: TrialCase) -> bool:
    """Whether no byte was written twice before it could reach the device: direct, flushed each time, or once through."""
    again = any(name.startswith(("random", "record_rewrite")) for name in case.phase.operations)
    once = case.phase.stop is StopRule.WORK and not again and not knob(case, "ops")
    return knob(case, "direct") is True or knob(case, "flush") == "each" or (once and not case.phase.values)


def compressed(case: TrialCase) -> bool:
    """Whether the file system stores the data encoded, in fewer bytes."""
    return ladder.encoded_bytes(case.phase, case.observations) > 0


RULE = Rule(
    id="E05",
    name="contradiction",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="contradictory evidence",
    check=check,
    about=About.ALL_HOSTS,
    wrong="A tool reports 4 GB/s, and its own bytes over its own time are 400 MB/s. Or a command reports a rate at which the "
    "disk would have had to move ten times its bytes. One of the two figures is wrong, and the printed one is believed.",
    alternatives=(
        "A counter has another unit, or includes headers. Calibrate with a transfer of known size.",
        "The file was removed or truncated before write-back, or is stored compressed.",
        "The observed device stack is not the one in use (a bind mount, another disk below).",
    ),
    meaning=Meaning.CONTRADICTORY,
    advice="Find the first layer at which bytes vanish (`assay show RUN` draws the ladder) before using any of the figures.",
    at_shell="Find the first layer at which bytes vanish before using any of the figures.",
    ask="ask which of the figures was measured, and which was computed from what",
    sources=("Conservation of bytes between neighbouring rungs; MLPerf's 2 % for `materially different`",),
)
