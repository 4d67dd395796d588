"""The ladder of bytes of a phase: how much of what the application moved reached each layer below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.answer import marks
from assay.answer.scales import share, show
from assay.evidence import ladder as evidence
from assay.frozen import dataclass
from assay.records import (
    Direction,
    Experiment,
    Finding,
    Judged,
    Observations,
    Phase,
    Reading,
    Run,
    Rung,
    Severity,
    Span,
    State,
    Verdict,
    VerdictState,
    sides,
)
from assay.records.sides import joined

COUNTED = 0.02
"""A rung below which more bytes were seen than on it by this share did not count them all (asynchronous I/O on L1)."""
LOSS = 0.03
"""A rung that passes on less than all by this share gets a remark."""

_NAMES: dict[Rung, str] = {
    Rung.APPLICATION: "Application",
    Rung.SYSCALL: "System calls",
    Rung.CLIENT_CACHE: "Past the page cache",
    Rung.CLIENT_NIC: "Client's network",
    Rung.SERVER_NIC: "Server's network",
    Rung.SERVER_PROCESS: "Server process",
    Rung.SERVER_CACHE: "Past the server's cache",
    Rung.FILESYSTEM: "File system",
    Rung.UPPER_DEVICE: "Device",
    Rung.LOWEST_DEVICE: "Lowest device",
}
OPERATIONS = "operations"
"""The direction of ladders that count operations, not bytes."""
ACCUSING = ("tier", "durability")
"""Parts of a claim that speak of where the bytes are."""
_DEVICES = (Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)
_REMOTE = (Rung.CLIENT_NIC, Rung.SERVER_NIC, Rung.SERVER_PROCESS, Rung.SERVER_CACHE)
"""Rungs that the bytes pass only where the target is on another host; otherwise their counters hold other traffic."""


@dataclass(frozen=True, kw_only=True)
class DrawnStep:
    """One rung as drawn: shares are of what the application moved."""

    name: str
    detail: str
    amount: str
    part: str
    """The share in words; `not seen` where the rung was not observed."""
    width: float | None
    """Share within the clock, None where not observed or not counted."""
    late: float
    """Share that came after the clock had stopped."""
    late_text: str
    remark: str
    lost: bool
    """Whether the remark is of bytes that did not come here, not of more than were asked for."""
    device: bool
    first_device: bool


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """One phase of one run in one direction, ready to be drawn."""

    phase: str
    operation: str
    direction: str
    run: str
    levels: str
    total: float
    """Bytes, or operations, of the application."""
    steps: tuple[DrawnStep, ...]
    full: float
    """What the full width of the picture stands for, as a share of what the application moved: 1 or more."""
    foot: tuple[str, ...]
    verdict: Verdict | None
    accused: bool
    """Whether a rule says that these bytes are not where they are claimed to be: then what is missing is an alarm."""
    sentence: str
    """The picture in words, for those who do not see it."""


@dataclass(frozen=True, kw_only=True)
class _Rung:
    rung: Rung
    subject: str
    amount: float
    late: float
    host: str = ""
    """Of a device."""


def of_run(experiment: Experiment, judged: Judged, observations: Observations) -> tuple[Ladder, ...]:
    """One ladder for each measured phase and direction in which the application moved bytes, or operations.

    Of several load hosts the sums are on top, and what the target's hosts saw below.
    Beside operations that move bytes those that do not have none: no device tells whose requests it served.
    """
    made, observations = [], sides.whole(judged.run, observations)
    for phase in judged.run.phases:
        seen = joined(observations, phase.load_hosts, judged.run.target_hosts)
        ways = list(dict.fromkeys(phase.directions.values())) if phase.measured else []
        has_bytes = any(evidence.requested_bytes(phase, seen, way) for way in ways if way is not Direction.METADATA)
        for direction in (way for way in ways if not (has_bytes and way is Direction.METADATA)):
            one = _ladder(experiment, judged, phase, direction, seen)
            if one is not None:
                made.append(one)
    return tuple(made)


def _ladder(experiment: Experiment, judged: Judged, phase: Phase, direction: Direction, seen: Observations) -> Ladder | None:
    metadata = direction is Direction.METADATA
    total = evidence.done_operations(phase, direction) if metadata else evidence.requested_bytes(phase, seen, direction)
    if not total:
        return None
    hosts = _hosts(phase.load_hosts, "load host") if judged.run.is_spread else ""
    below = _below(seen, phase, direction, _rungs(judged, phase, direction))
    below = [_on_hosts(judged.run, phase, one) for one in below] if judged.run.is_spread else below
    shown = [_Rung(rung=Rung.APPLICATION, subject=hosts, amount=total, late=0), *below]
    operations = tuple(name for name, way in phase.directions.items() if way is direction)
    steps = _steps(shown, total, "count" if metadata else "bytes", direction)
    return Ladder(
        phase=phase.name,
        operation=", ".join(operations),
        direction=OPERATIONS if metadata else direction.value,
        run=judged.id,
        levels=marks.levels(experiment, judged.run.trial.levels),
        total=total,
        steps=steps,
        full=max(1.0, *((one.amount + one.late) / total for one in shown)),
        foot=tuple(_foot(phase, seen.readings, metadata=metadata, spread=judged.run.is_spread)),
        verdict=(verdict := _verdict(judged, phase, operations)),
        accused=verdict is not None and any(map(_accuses, verdict.findings)),
        sentence="; ".join(f"{step.name} {step.detail}: {step.amount}, {step.part}".replace(" :", ":") for step in steps),
    )


def _hosts(names: Sequence[str], what: str) -> str:
    """`c.1`, `30 load hosts`."""
    return names[0] if len(names) == 1 else marks.count(len(names), what)


def _on_hosts(run: Run, phase: Phase, one: _Rung) -> _Rung:
    """A rung with the hosts that it was counted on."""
    if one.rung in _DEVICES:
        return replace(one, subject=f"{one.subject} on {one.host}")
    return replace(one, subject=_hosts(run.target_hosts if one.rung in sides.TARGET_RUNGS else phase.load_hosts, "host"))


def _accuses(one: Finding) -> bool:
    return one.state is State.FAIL and one.severity is not Severity.NOTES and one.part in ACCUSING


def _rungs(judged: Judged, phase: Phase, direction: Direction) -> tuple[Rung, ...]:
    """The rungs that these bytes pass and whose counters can be believed.

    Operations have rungs only at the devices, where they become requests. A process is charged for a write when it
    dirties a page, by the whole folio, so L2 says nothing of writes.
    """
    if direction is Direction.METADATA:
        return _DEVICES
    remote = any(place.host != client.host for place in judged.run.places for client in phase.clients)
    hidden = {Rung.APPLICATION, *(() if remote else _REMOTE), *((Rung.CLIENT_CACHE,) if direction is Direction.WRITE else ())}
    return tuple(rung for rung in _NAMES if rung not in hidden)


def _below(seen: Observations, phase: Phase, direction: Direction, wanted: Sequence[Rung]) -> list[_Rung]:
    """The rungs under the application, upper first: clients and processes summed, each device for itself."""
    metadata = direction is Direction.METADATA
    directions = (Direction.READ, Direction.WRITE) if metadata else (direction,)
    found = []
    for rung in wanted:
        readings = [one for one in seen.readings if (one.phase, one.rung) == (phase.name, rung) and one.direction in directions]
        subjects = dict.fromkeys((one.subject, one.host) for one in readings) if rung in _DEVICES else {("", ""): None}
        for subject, host in subjects:
            own = replace(
                seen, readings=tuple(one for one in readings if subject in ("", one.subject) and host in ("", one.host))
            )
            clock = [step for way in directions if (step := evidence.passed(phase, own, rung, way))]
            drain = [step for way in directions if (step := evidence.passed(phase, own, rung, way, Span.DRAIN))]
            if clock:
                late = _sum(drain, operations=metadata) if rung in _DEVICES else 0.0
                name = subject.partition(":")[2]
                amount = _sum(clock, operations=metadata)
                found.append(_Rung(rung=rung, subject=name, amount=amount, late=late, host=host))
    return found


def _sum(steps: Sequence[evidence.LadderStep], *, operations: bool) -> float:
    return sum(step.operations if operations else step.bytes for step in steps)


def _steps(shown: Sequence[_Rung], total: float, unit: str, direction: Direction) -> tuple[DrawnStep, ...]:
    steps: list[DrawnStep] = []
    above = 1.0
    seen_device = False
    for index, one in enumerate(shown):
        part = one.amount / total
        deepest = max((lower.amount + lower.late for lower in shown[index + 1 :]), default=0) / total
        blind = one.rung is Rung.SYSCALL and part < min(1.0, deepest) - COUNTED
        device = one.rung in _DEVICES
        steps.append(
            DrawnStep(
                name=_NAMES[one.rung],
                detail=one.subject,
                amount="does not count this kind of I/O" if blind else _amount(one, unit),
                part="" if blind else share(part),
                width=None if blind else part,
                late=one.late / total,
                late_text=f"+ {_late(one.late, unit)} later" if one.late / total > 0.005 else "",
                remark="" if blind or unit == "count" else _remark(one, above, part, direction),
                lost=above - part > LOSS,
                device=device,
                first_device=device and not seen_device,
            )
        )
        seen_device = seen_device or device
        above = above if blind else part
    return tuple(steps)


def _late(amount: float, unit: str) -> str:
    return show(amount, unit) if unit == "bytes" else f"{round(amount):,}"


def _amount(one: _Rung, unit: str) -> str:
    if unit == "bytes":
        return show(one.amount, unit)
    return f"{round(one.amount):,} {'operations' if one.rung is Rung.APPLICATION else 'I/Os'}"


def _remark(one: _Rung, above: float, part: float, direction: Direction) -> str:
    """What became of the bytes that this rung did not pass on, or where more came from."""
    lost = above - part
    if lost > LOSS:
        where = {
            Rung.CLIENT_CACHE: "answered from memory",
            Rung.SERVER_CACHE: "answered from the server's memory",
            Rung.LOWEST_DEVICE: "answered between the devices",
        }.get(one.rung, "went no further")
        if direction is Direction.WRITE:
            where = "still in memory when the clock stopped" if one.rung in _DEVICES else "went no further"
        return f"{share(lost)} {where}"
    if -lost > LOSS and one.rung in _DEVICES:
        return f"{share(-lost)} more: {'journal' if direction is Direction.WRITE else 'read-ahead'} or other processes' traffic"
    return ""


def _foot(phase: Phase, readings: Iterable[Reading], *, metadata: bool, spread: bool) -> Iterable[str]:
    """Flushes, the drain and the state of the caches, a line each."""
    flushes: dict[str, list[int]] = {}
    for one in readings:
        if one.phase == phase.name and one.direction is Direction.FLUSH and one.span is not Span.BEFORE and one.rung in _DEVICES:
            name = one.subject.partition(":")[2]
            pair = flushes.setdefault(f"{name} on {one.host}" if spread else name, [0, 0])
            pair[one.span is Span.DRAIN] += one.operations or 0
    writes = metadata or Direction.WRITE in phase.directions.values()
    if writes and flushes:
        yield f"Flushes: {', '.join(f'{device} {requests(*pair)}' for device, pair in flushes.items())}"
    if phase.cached_share_before is not None:
        yield f"In the page cache before the start: {share(phase.cached_share_before)}"
    if writes and phase.drain_ns is not None:
        longest = max(phase.hosts, key=lambda one: one.drain_ns or 0)
        where = f", longest on {longest.host}" if spread else ""
        ends = ""
        if longest.clients_drain_ns is not None and longest.server_drain_ns is not None:
            ends = f" (clients {show(longest.clients_drain_ns, 'ns')}, server {show(longest.server_drain_ns, 'ns')})"
        yield f"Drain after the clock: {show(phase.drain_ns, 'ns')}{where}{ends}"


def _verdict(judged: Judged, phase: Phase, operations: Sequence[str]) -> Verdict | None:
    """The worst verdict on the measures of these operations."""
    names = tuple(f"{phase.workload}.{operation}." for operation in operations)
    here = [verdict for measure, verdict in judged.verdicts.items() if measure.startswith(names)]
    return min(here, key=lambda verdict: list(VerdictState).index(verdict.state), default=None)


TEXT = 25
REMARK = 19
SHORE = 25
"""Pixels of the line between memory and storage."""
BAR = 13
WIDE = 1000.0
"""Units across; the picture is stretched to its place, so that only heights are pixels."""


@dataclass(frozen=True, kw_only=True)
class PlacedRung:
    """One rung: where its text and its bar begin, how far the bar and its late part reach."""

    step: DrawnStep
    shore: int | None
    remark: int
    text: int
    bar: int
    width: float
    late: float
    known: bool


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """A ladder with its geometry; `streams` are the points of the polygons between the bars."""

    ladder: Ladder
    placed: tuple[PlacedRung, ...]
    streams: tuple[str, ...]
    whole: float
    """Where all that the application moved ends."""
    height: int
    first: int


def sketch(ladder: Ladder) -> Sketch:
    """Place every rung below the other."""
    top = 0
    whole = WIDE / ladder.full
    width = whole
    placed: list[PlacedRung] = []
    streams: list[str] = []
    for step in ladder.steps:
        begun = top
        shore = top if step.first_device and placed else None
        top += SHORE if shore is not None else 0
        remark = top
        top += REMARK if step.remark else 0
        bar = top + TEXT
        new = width if step.width is None else step.width * whole
        if placed:
            streams.append(f"0,{begun} {width:.1f},{begun} {new:.1f},{bar} 0,{bar}")
        placed.append(
            PlacedRung(
                step=step,
                shore=shore,
                remark=remark,
                text=top,
                bar=bar,
                width=round(max(new, 1.5 if step.width else 0.0), 1),
                late=round(step.late * whole, 1),
                known=step.width is not None,
            )
        )
        width = new
        top = bar + BAR
    return Sketch(
        ladder=ladder, placed=tuple(placed), streams=tuple(streams), whole=round(whole, 1), height=top + 2, first=placed[0].bar
    )


QUIET = 0.05
"""Operations of which fewer than this share became requests under the clock were answered from memory."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The ladders of one phase in one direction, or of all phases where each has only one."""

    phase: str
    operation: str
    sketches: tuple[Sketch, ...]
    remark: str = ""
    """For folded groups: what there is to see in them."""


@dataclass(frozen=True, kw_only=True)
class Ladders:
    """The section: what is drawn at once, what is folded into a line each."""

    groups: tuple[Group, ...]
    folded: tuple[Group, ...]


def ladders(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> Ladders | None:
    """The ladders of all runs; None where nothing was moved or counted."""
    drawn = [one for judged, seen in observed for one in of_run(experiment, judged, seen)]
    if not drawn:
        return None
    places = dict.fromkeys((one.phase, one.direction) for one in drawn)
    found = [[one for one in drawn if (one.phase, one.direction) == place] for place in places]
    loud = [same for same in found if not all(is_quiet(one) for one in same)]
    if len(loud) > 1 and all(len(same) == 1 for same in loud):
        groups: tuple[Group, ...] = (Group(phase="", operation="", sketches=tuple(sketch(same[0]) for same in loud)),)
    else:
        groups = tuple(_group(same) for same in loud)
    return Ladders(groups=groups, folded=tuple(_group(same) for same in found if same not in loud))


def is_quiet(one: Ladder) -> bool:
    """Whether operations, not bytes, are counted, and hardly any of them reached a device under the clock."""
    return one.direction == OPERATIONS and all((step.width or 0) < QUIET for step in one.steps if step.device)


def _group(same: Sequence[Ladder]) -> Group:
    first = same[0]
    return Group(
        phase=first.phase,
        operation=first.operation,
        sketches=tuple(sketch(one) for one in same),
        remark="; ".join((f"{first.total:,.0f} operations answered from memory", *_storage(same))),
    )


def _storage(same: Sequence[Ladder]) -> Iterable[str]:
    """What the lowest device saw, for each run."""
    seen = [(one, next((step for step in reversed(one.steps) if step.device), None)) for one in same]
    texts = [
        f"{one.levels} {requests(one.total * (step.width or 0), one.total * step.late)}".strip()
        for one, step in seen
        if step is not None
    ]
    if texts:
        yield f"requests to storage: {', '.join(texts)}"


def requests(under: float, late: float) -> str:
    """`113 (+ 405 after the clock)`."""
    return f"{round(under):,}" + (f" (+ {round(late):,} after the clock)" if round(late) else "")
