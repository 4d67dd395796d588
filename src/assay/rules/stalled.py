"""Finds time in which the load was at work and no operation came to its end: a dead path, a server that does not answer.

If time ends a phase, the engine waits a little for operations that are under way, and then gives them up (`unfinished`).
They count with the time that they had waited: in the rate as done over the whole time, in latencies as at least so long.
A call of the kernel cannot be given up. If it ended long after the end of the time, the rate is without it over the time asked.
- Operations without an end for at least `share` of the time: BOUNDED. A rate lies between what was done, and that plus what was
  under way; a latency or a pause is at least what was measured.
- An operation that ended as long after the end of the time: a note. If it took `times` the usual latency, the rate lies between
  that over the whole time and that over the time asked.
- A pause of at least `share` of the time and `pause_s`, and `times` the usual one: a note with its begin and its length.
  If the load noted nothing for `still_share` of it, the load itself stood still: it was stopped, or its host slept.

The kernel's account of a connection (TCP_INFO) tells a path that is dead from an end that is silent.
The waits of an external tool are not seen, but for the intervals without a byte that it prints (iperf3). If threads of either end
were stopped (SIGSTOP) or frozen (by their control group) at `share` of the looks, it is a note. A wait of the lab's own engines
has that cause in its finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures import far_end, latency, outages
from assay.measures.windows import Window, given_up, scheduled, stuck
from assay.records import Bound, Client, Finding, Meaning, Scope, Series, Severity, State, Unfinished
from assay.rulekit.findings import found
from assay.units import Unit

HELD = {"stopped": "stopped by a signal", "frozen": "frozen by their control group"}
"""Metric of the layer end_cpu -> what happened to the threads."""
USUAL = "without a completed operation"


@dataclass(frozen=True, kw_only=True)
class Silence:
    """What was given up, all clients together; times relative to T0."""

    count: int
    clients: tuple[Client, ...]
    from_ns: int
    end: str
    """What became of them, in words."""
    longest_ns: int
    given_up: bool


def applies(case: TrialCase) -> str | None:
    """Loads of the lab's own engines, and of tools that print what they did over time."""
    unseen = case.phase.values and printed(case) is None and not any(ends_seen(case, "run_ns", *HELD))
    return "an external tool's own figures" if unseen else None


def ends_seen(case: TrialCase, *metrics: str) -> Iterator[Series]:
    """Series of the threads of both ends, on their hosts."""
    for seen in case.sides():
        for metric in metrics:
            yield from seen.over_time(case.phase.name, "end_cpu", metric)


def stopped(case: TrialCase) -> Iterator[tuple[str, str, float, int]]:
    """Each end of which threads were stopped: how, the share of looks under the clock at which some were, and the first."""
    for metric, how in HELD.items():
        for one in ends_seen(case, metric):
            looks = ladder.inside(one, case.phase)
            held = [at for at, value in looks if value]
            if held and len(held) >= case.thresholds["share"] * len(looks):
                yield one.subject, how, len(held) / len(looks), held[0]


def printed(case: TrialCase) -> tuple[float, float] | None:
    """The longest pause of an external tool and its begin, by its own intervals; None where it has none."""
    found = [case.phase.values.get(f"{case.measure.operation}.{name}") for name in ("longest_pause_ns", "pause_begin_ns")]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def check(case: TrialCase) -> Finding:
    """What was given up, else the longest pause."""
    if (own := printed(case)) is not None:
        return paused_by_its_lines(case, *own)
    if case.phase.values:
        return stood_still(case)
    window = measures.whole_window(case.phase, case.measure.operation)
    if window is None or window.to_ns <= window.from_ns:
        return found(RULE, case, State.UNVERIFIED, "No operation was begun, so none could end.")
    left = given_up(case.phase, case.measure.operation)
    timed = [client for client in case.phase.clients if client.stopped_by == "time"]
    if not left and scheduled(case.phase) is None and any(client.ends_ns is None for client in timed):
        return found(RULE, case, State.UNVERIFIED, "The end of the time that was asked for is unknown.")
    silence = gave_up(left) if left else ended_late(case)
    return paused(case, window) if silence is None else silent(case, window, silence)


def stood_still(case: TrialCase) -> Finding:
    """The note on an external tool whose load or server was stopped: that time is in its figure."""
    most = max(stopped(case), key=lambda one: one[2], default=None)
    if most is None:
        text = "No thread of load or server was stopped at the looks."
        return found(RULE, case, State.PASS, text, observed={"stopped_share": 0})
    end, how, share, first_ns = most
    since = measures.with_unit(first_ns - case.phase.start_ns, Unit.NANOSECONDS)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Threads of the {end} were {how} at {measures.percent(share)} of the looks, first at {since}.",
        severity=Severity.NOTES,
        observed={"stopped_share": share},
        relabel=f"the {end} was {how.partition(' by ')[0]} for a part of the time",
        detail=f"{how.partition(' by ')[0]} from {since} on",
    )


def held(case: TrialCase) -> tuple[str, str]:
    """The sentence on the end that was stopped most, and its words as a cause; both empty where neither was."""
    most = max(stopped(case), key=lambda one: one[2], default=None)
    if most is None:
        return "", ""
    end, how, share, _ = most
    return (
        f" Threads of the {end} were {how} at {measures.percent(share)} of the looks.",
        f"the {end} was {how.partition(' by ')[0]}",
    )


def gave_up(left: Sequence[tuple[Client, Unfinished]]) -> Silence:
    """The operations that the engine gave up."""
    longest_ns = max(one.longest_ns for _, one in left)
    return Silence(
        count=sum(one.count for _, one in left),
        clients=tuple(client for client, _ in left),
        from_ns=min(one.from_ns for _, one in left),
        end=f"given up after {measures.with_unit(longest_ns, Unit.NANOSECONDS)}",
        longest_ns=longest_ns,
        given_up=True,
    )


def ended_late(case: TrialCase) -> Silence | None:
    """The operations that came to their end long after the end of the time; None where none did."""
    every = stuck(case.phase, case.measure.operation)
    if not every:
        return None
    over_ns = max(total.last_ns - (client.ends_ns or 0) for client, total, _ in every)
    return Silence(
        count=sum(one.count for _, _, one in every),
        clients=tuple(client for client, _, _ in every),
        from_ns=min(one.from_ns for _, _, one in every),
        end=f"ended {measures.with_unit(over_ns, Unit.NANOSECONDS)} after the end of the time",
        longest_ns=max(total.last_ns - one.from_ns for _, total, one in every),
        given_up=False,
    )


def silent(case: TrialCase, window: Window, silence: Silence) -> Finding:
    """The operations that were given up: since when, for how long, and what the kernel says of their connections."""
    share = max(0, window.to_ns - silence.from_ns) / (window.to_ns - window.from_ns)
    since = measures.with_unit(max(0, silence.from_ns - case.phase.start_ns), Unit.NANOSECONDS)
    each = f"{silence.count:,} {case.measure.operation}{' operations' * (silence.count > 1)}"
    of = (
        ""
        if len(silence.clients) == len(case.phase.clients)
        else f" of {len(silence.clients)} of {len(case.phase.clients)} clients"
    )
    why, cause = causes((*silence.clients, *case.phase.servers))
    still, holder = held(case)
    why, cause = (f"{why}{still}", holder or cause)
    statement = f"{each}{of} without an end from {since} on ({measures.percent(share)} of the time), {silence.end}.{why}"
    is_measured = is_wait(case) and not silence.given_up
    counts = share >= case.thresholds["share"] and not is_measured
    return found(
        RULE,
        case,
        State.FAIL,
        statement,
        severity=Severity.QUALIFIES if counts else Severity.NOTES,
        observed={"unfinished": float(silence.count), "silent_share": share, "waited_ns": float(silence.longest_ns)},
        bound=bound(case, window, silence) if counts else None,
        relabel=cause,
        detail=f"since {since}",
    )


def is_wait(case: TrialCase) -> bool:
    """Whether the figure is how long something took: what was given up would have taken longer, what ended late is in it."""
    return case.measure.figure.startswith("latency_") or case.measure.figure == "longest_pause_ns"


def causes(ends: Iterable[Client]) -> tuple[str, str]:
    """What the senders' kernels say of the connections that were broken off, and what that means; each once, by one end."""
    every = (one for end in ends if end.net is not None for one in end.net.connections)
    each = {frozenset((one.local, one.peer)): one for one in every if one.ended != "finished" and one.tcp.get("timeouts")}
    waiting = list(each.values())
    if not waiting:
        return "", "no answer"
    which = f"Connection {waiting[0].local} to {waiting[0].peer}" if len(waiting) == 1 else f"{len(waiting)} connections"
    timeouts, segments = (sum(one.tcp.get(name) or 0 for one in waiting) for name in ("timeouts", "unacked_segments"))
    counted = f"{timeouts:,} retransmission timeouts, {segments:,} segments without an acknowledgement"
    return f" {which}: {counted} (TCP_INFO).", "path dead"


def bound(case: TrialCase, window: Window, silence: Silence) -> Bound | None:
    """Between what was done and that plus what was under way; a wait is at least as measured. None for other figures."""
    kind = measures.figure_kind(case.measure.figure)
    if case.value is None or kind is None:
        return None
    if is_wait(case):
        return Bound(low=case.value, high=None, unit=kind.unit)
    if case.measure.figure not in (*measures.AMOUNTS, far_end.ARRIVED[0]):
        return None
    if window.count:
        return Bound(low=case.value, high=case.value * (1 + silence.count / window.count), unit=kind.unit)
    return Bound(low=0.0, high=silence.count / window.seconds if kind.unit == Unit.PER_S else None, unit=kind.unit)


def paused(case: TrialCase, window: Window) -> Finding:
    """All came to their end: the longest time in between without one."""
    counters = outages.counters(case.phase, case.observations, case.measure.operation, "count")
    if not counters or not window.count:
        return found(RULE, case, State.UNVERIFIED, "The course of the load is unknown.", lacking=("L0.read", "L0.write"))
    if (late := overrun(case, window)) is not None:
        return late
    from_ns, to_ns = outages.longest_gap(counters, (window.from_ns, window.to_ns))
    length, limits = window.to_ns - window.from_ns, case.thresholds
    usual = max(
        length / window.count,
        latency.percentile(latency.merged(case.observations, case.phase.name, case.measure.operation), 0.5) or 0.0,
    )
    observed = {"pause_ns": to_ns - from_ns, "usual_ns": usual}
    pause, at = (measures.with_unit(ns, Unit.NANOSECONDS) for ns in (to_ns - from_ns, from_ns - case.phase.start_ns))
    least_ns = max(limits["share"] * length, limits["pause_s"] * 1e9, limits["times"] * usual)
    if to_ns - from_ns < least_ns:
        return found(RULE, case, State.PASS, f"All operations came to their end; longest pause {pause}.", observed=observed)
    arrives = case.measure.operation in far_end.ARRIVES_AS and bool(case.phase.servers)
    none = "Nothing arrived" if arrives else f"No {case.measure.operation} came to its end"
    is_last = to_ns >= window.to_ns
    still = outages.unnoted_ns(counters, (round(from_ns), round(to_ns))) >= limits["still_share"] * (to_ns - from_ns)
    itself = " The load noted nothing either: it stood still itself." if still else ""
    why, holder = held(case)
    usual_words = f"a pause {'of the load itself' if still else USUAL}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{none} for {pause} from {at} on{', to the end' if is_last else ''}; that time is in the figure.{itself}{why}",
        severity=Severity.NOTES,
        observed=observed,
        relabel=holder or (f"{none[:1].lower()}{none[1:]} to the end" if is_last else usual_words),
        detail=f"{pause} from {at} on",
    )


def paused_by_its_lines(case: TrialCase, pause_ns: float, begin_ns: float) -> Finding:
    """The longest pause that an external tool printed; what it sent before one that lasts to the end may not have arrived."""
    elapsed_ns = case.phase.values.get(f"{case.measure.operation}.elapsed_ns", 0.0)
    limits, observed = case.thresholds, {"pause_ns": pause_ns, "pause_begin_ns": begin_ns}
    pause, at = (measures.with_unit(ns, Unit.NANOSECONDS) for ns in (pause_ns, begin_ns))
    if pause_ns < max(limits["share"] * elapsed_ns, limits["pause_s"] * 1e9):
        return found(RULE, case, State.PASS, f"Longest pause of the tool's intervals {pause}.", observed=observed)
    is_last = begin_ns + pause_ns >= (1 - limits["share"]) * elapsed_ns
    kind = measures.figure_kind(case.measure.figure)
    may_be_less = is_last and case.value is not None and kind is not None and case.measure.figure in measures.AMOUNTS
    return found(
        RULE,
        case,
        State.FAIL,
        f"Nothing was moved for {pause} from {at} on{', to the end' if is_last else ''}, by the tool's own intervals.",
        severity=Severity.QUALIFIES if may_be_less else Severity.NOTES,
        observed=observed,
        bound=Bound(low=None, high=case.value, unit=kind.unit) if may_be_less and kind is not None else None,
        relabel="nothing moved to the end" if is_last else "a pause in which nothing moved",
        detail=f"{pause} from {at} on",
    )


def overrun(case: TrialCase, window: Window) -> Finding | None:
    """The finding of a last operation that ended long after the end of its time; None where none did."""
    ends = [client.ends_ns for client in case.phase.clients if client.ends_ns is not None and client.stopped_by == "time"]
    if not ends:
        return None
    late_ns, asked_ns = window.to_ns - max(ends), max(ends) - case.phase.start_ns
    if late_ns < max(case.thresholds["share"] * asked_ns, case.thresholds["pause_s"] * 1e9):
        return None
    late, asked = (measures.with_unit(ns, Unit.NANOSECONDS) for ns in (late_ns, asked_ns))
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    middle = latency.percentile(buckets, 0.5)
    unusual = middle is not None and late_ns >= case.thresholds["times"] * middle
    return found(
        RULE,
        case,
        State.FAIL,
        f"The last {case.measure.operation} ended {late} after its time of {asked} was over; that time is in the figure.",
        severity=Severity.QUALIFIES if unusual else Severity.NOTES,
        bound=within_time(case, window, asked_ns) if unusual else None,
        observed={"late_ns": float(late_ns), "asked_ns": float(asked_ns)},
        relabel=f"the last {case.measure.operation} ended after its time",
        detail=f"{late} after {asked}",
    )


def within_time(case: TrialCase, window: Window, asked_ns: int) -> Bound | None:
    """Between all that was done over the whole time, and the same over the time that was asked for; None for other figures."""
    kind = measures.figure_kind(case.measure.figure)
    if case.value is None or kind is None or case.measure.figure not in (*measures.AMOUNTS, far_end.ARRIVED[0]):
        return None
    return Bound(low=case.value, high=case.value * (window.to_ns - window.from_ns) / asked_ns, unit=kind.unit)


RULE = Rule(
    id="W12",
    name="stalled",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="window",
    meaning=Meaning.PAUSE,
    short="operations without an end",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="The cable is pulled after three of eight seconds. The tool divides all bytes by the three seconds before that. "
    "It prints the full rate of the line, steady from the beginning.",
    alternatives=(
        "The other end was stopped, or died without a word: its host sends neither an acknowledgement nor a reset.",
        "A firewall forgot the connection and drops its packets.",
    ),
    advice="Find out what happened at that time: the log of the kernel and of the switches, the events of the experiment. To "
    "measure an outage itself, take longest_pause_ns and a phase that is longer than the outage.",
    ask="ask how long the run lasted, and how long it was to last",
    sources=(
        "RFC 6298: a sender that gets no acknowledgement waits twice as long each time",
        "measured: a path cut at 3 s of 8 s, 11.7 MB/s over the time of the sends that ended, 4.4 MB/s over the time asked",
    ),
)
