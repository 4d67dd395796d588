"""Finds clients that did not run together: only the common window of all clients counts.

The overlap is (earliest end - latest start) / (latest end - earliest start) of the clients' operations of this kind.
The figure already counts the common window. The rate over the whole time is the other bound, both with a charged drain.
A percentile p of the common window lies between two percentiles of all operations: p w and p w + (1 - w).
The window has the share w of all operations.
- Overlap below `overlap_share`: qualified and bounded; below `invalid_overlap_share`: invalid.
- A client without any operation: invalid.
- Jain's index of the clients' rates below `fairness`: a note that names the slowest client, and since when it is slow.
- A client below half of the mean in each twentieth of the last `slow_share` of the time: the same note.
- Clients on several hosts, and clocks that are known too little to tell: unverified.

External tools have no bound, unless `assay stat` saw several calls. Open loads are n/a: every client works from T to the end of
its schedule. A writer and a reader act in turn, so they are n/a, too. So are the counts of a drill, which no overlap changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import coherence, connections, latency, windows
from assay.measures.drill import DRILL_UNITS
from assay.measures.figures import PERCENTILES, flushing_ns
from assay.measures.windows import Window, scheduled
from assay.records import Bound, Client, Finding, Scope, Severity, State
from assay.rulekit.findings import found, in_words, rate_of
from assay.units import Unit


def applies(case: TrialCase) -> str | None:
    """Operations of more than one client."""
    if scheduled(case.phase) is not None:
        return "an open load: every client works from T to the end of its schedule"
    if coherence.in_turn(case.phase):
        return "a writer and a reader, which act in turn"
    if case.measure.figure in DRILL_UNITS and any(client.drill for client in case.phase.clients):
        return "the records of each client: none is lost by when another client works"
    return None if len(case.phase.clients) > 1 else "a single client"


def check(case: TrialCase) -> Finding:
    """The overlap of the clients' intervals of this operation."""
    clients = measures.client_operations(case.phase, case.measure.operation)
    expected = sum(concerns(case, client) for client in case.phase.clients)
    idle = expected - len(clients)
    if not clients or idle:
        statement = f"{idle} of {expected} clients did no {case.measure.operation}."
        return found(RULE, case, State.FAIL, statement, severity=Severity.INVALIDATES, observed={"idle_clients": float(idle)})
    spans = [(total.first_ns, client.until(total.last_ns)) for client, total in clients]
    overlap = measures.overlap_share(spans)
    late = max(first for first, _ in spans) - min(first for first, _ in spans)
    early = max(last for _, last in spans) - min(last for _, last in spans)
    errors = clock_errors(case, [client.host for client, _ in clients])
    observed = {"overlap_share": overlap, "start_skew_ns": float(late), "end_skew_ns": float(early)}
    observed |= {"clock_error_ns": float(max(errors))} if any(errors) else {}
    low, high = certain_overlap(spans, errors)
    if low < case.thresholds["overlap_share"] <= high:
        statement = (
            f"The clients overlapped for {measures.percent(low)} to {measures.percent(high)} of the time: the clocks of their"
            f" hosts are known to {measures.with_unit(max(errors), Unit.NANOSECONDS)} only (W08)."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if overlap < case.thresholds["overlap_share"]:
        return apart(case, overlap, observed)
    each = [total.count / max(1, client.until(total.last_ns) - total.first_ns) for client, total in clients]
    return together(case, overlap, each, observed)


def clock_errors(case: TrialCase, hosts: Sequence[str]) -> list[int]:
    """By how much (ns) the times of each client can be wrong against those of clients on other hosts."""
    if len(set(hosts)) < 2:
        return [0] * len(hosts)
    clocks = {one.host: one.error_ns for one in case.run.hosts}
    clocks |= {one.host: one.clock.error_ns for one in case.phase.hosts if one.clock is not None}
    return [clocks.get(host, 0) for host in hosts]


def certain_overlap(spans: Sequence[tuple[int, int]], errors: Sequence[int]) -> tuple[float, float]:
    """The least and the largest overlap of spans whose clocks can be wrong by so much."""

    def overlap(sign: int) -> float:
        each = [(first, last, sign * error) for (first, last), error in zip(spans, errors, strict=True)]
        common = min(last - off for _, last, off in each) - max(first + off for first, _, off in each)
        whole = max(last + off for _, last, off in each) - min(first - off for first, _, off in each)
        return min(1.0, max(0.0, common / whole)) if whole > 0 else 1.0

    return overlap(1), overlap(-1)


def together(case: TrialCase, overlap: float, rates: Sequence[float], observed: dict[str, float]) -> Finding:
    """The clients overlap: a pass, or a note if some clients did far less."""
    fair = connections.jains_index(rates)
    overlapped = f"All {len(rates)} clients overlapped for {measures.percent(overlap)} of the time"
    observed = {**observed, "fairness": fair}
    since = windows.slow_since(case.phase, case.observations, case.measure.operation)
    late = slow_to_the_end(case, since)
    if fair >= case.thresholds["fairness"] and late is None:
        return found(RULE, case, State.PASS, f"{overlapped}.", observed=observed)
    clients = measures.client_operations(case.phase, case.measure.operation)
    client = late or clients[rates.index(min(rates))][0]
    own = rates[[one for one, _ in clients].index(client)]
    slowest = measures.percent(own / max(rates))
    which = f"{named(client)} did {slowest} of the fastest{since_when(case, client, since)}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{overlapped}, but unequally: {which} (Jain's index {fair:.2f}, limit {case.thresholds['fairness']:g}).",
        severity=Severity.NOTES,
        observed=observed,
        relabel="unequal clients",
        detail=which,
    )


def slow_to_the_end(case: TrialCase, since: Sequence[tuple[Client, int]]) -> Client | None:
    """A client that did less than half of the mean of all in each part of the time from early on; None without one."""
    window = measures.common_window(case.phase, case.observations, case.measure.operation)
    if window is None:
        return None
    latest_ns = window.to_ns - case.thresholds["slow_share"] * (window.to_ns - window.from_ns)
    return next((client for client, at_ns in since if at_ns <= latest_ns), None)


def named(client: Client) -> str:
    """`client 3 on c (server 10.0.0.2:4000)`: of a load whose clients have servers of their own, which one."""
    server = f" (server {client.net.address})" if client.net is not None and client.net.address else ""
    return f"client {client.index} on {client.host}{server}"


def since_when(case: TrialCase, client: Client, since: Sequence[tuple[Client, int]]) -> str:
    """`, since 3.0 s` for a client that was slow from some time to the end; empty where nobody noted it."""
    found_ns = next((at_ns for one, at_ns in since if one == client), None)
    if found_ns is None:
        return ""
    seconds = (found_ns - case.phase.start_ns) / 1e9
    return f", since {seconds:.1f} s" if seconds >= connections.BEGINNING_S else ", from the beginning"


def concerns(case: TrialCase, client: Client) -> bool:
    """Whether a client runs this operation: external calls may differ in direction."""
    known = {total.operation for total in client.operations if total.operation in case.phase.operations}
    return not known or case.measure.operation in known


def apart(case: TrialCase, overlap: float, observed: dict[str, float]) -> Finding:
    """They overlapped too little: a bound from both ways of counting, invalid where most of it was not together."""
    clients = len(case.phase.clients)
    skew, tail = (measures.with_unit(observed[name], Unit.NANOSECONDS) for name in ("start_skew_ns", "end_skew_ns"))
    bound = bracket(case)
    what = "percentile" if case.measure.figure in PERCENTILES else "rate"
    known = f" With all clients the {what} is {in_words(bound)}." if bound else ""
    late = late_client(case)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The {clients} clients overlapped for only {measures.percent(overlap)} of the time (limit"
        f" {measures.percent(case.thresholds['overlap_share'])}): starts {skew} apart, ends {tail}.{known} {late}.",
        severity=Severity.INVALIDATES if overlap < case.thresholds["invalid_overlap_share"] else Severity.QUALIFIES,
        observed=observed,
        bound=bound,
        relabel="not all clients at once",
        detail=f"fewer than {clients} for {measures.percent(1 - overlap)} of the time; {late[0].lower()}{late[1:]}",
        evidence=("L0 engine: first and last operation of each client",),
    )


def late_client(case: TrialCase) -> str:
    """Which client was the last to start, or to end where the ends lie further apart, and by how much."""
    clients = measures.client_operations(case.phase, case.measure.operation)
    starts = sorted(((total.first_ns, client) for client, total in clients), key=lambda one: one[0])
    ends = sorted(((client.until(total.last_ns), client) for client, total in clients), key=lambda one: one[0])
    began_ns, ended_ns = (times[-1][0] - times[0][0] for times in (starts, ends))
    word, times, late_ns = ("start", starts, began_ns) if began_ns >= ended_ns else ("end", ends, ended_ns)
    return f"Last to {word}: {named(times[-1][1])}, {measures.with_unit(late_ns, Unit.NANOSECONDS)} after the first"


def bracket(case: TrialCase) -> Bound | None:
    """Bounds of the figure while all clients work; None if unknown.

    Unknown are clients that never ran together, and the bytes of each call of an external tool that reports a total only.
    """
    common = measures.common_window(case.phase, case.observations, case.measure.operation)
    whole = measures.whole_window(case.phase, case.measure.operation)
    if common is None or whole is None or common.reason or common.seconds <= 0 or not (common.bytes or not case.phase.values):
        return None
    if case.measure.figure in PERCENTILES:
        return percentiles(case, common.count / whole.count)
    return rates(case, common, whole)


def rates(case: TrialCase, common: Window, whole: Window) -> Bound | None:
    """The rates of the common window and of the whole time, with the drain where it is charged."""
    rate = rate_of(case)
    if rate is None or case.measure.figure not in measures.AMOUNTS:
        return None
    after = flushing_ns(case.phase, case.measure) / 1e9
    found = [getattr(window, measures.AMOUNTS[case.measure.figure]) / (window.seconds + after) for window in (common, whole)]
    return Bound(low=min(found), high=max(found), unit=rate[1])


def percentiles(case: TrialCase, inside: float) -> Bound | None:
    """A percentile of the operations inside the common window: from how many they are, whichever they are."""
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    found = latency.bracket(buckets, PERCENTILES[case.measure.figure], inside)
    return Bound(low=found[0], high=found[1], unit=Unit.NANOSECONDS) if found else None


RULE = Rule(
    id="W04",
    name="start-skew",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="window",
    short="clients not together",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="Clients that start within 30 seconds of each other run alone at both ends. The sum of their rates never occurred.",
    alternatives=("The clients' clocks differ. Compare the clock offsets of the rendezvous with the skew.",),
    advice="Start at an agreed time, give every client the same time instead of the same amount (duration), and count only the "
    "common window.",
    sources=(
        "IOR: stonewalling",
        "IO500 rules",
        "SPEC and TPC: the measurement interval lies inside all-users-active",
        "Jain, Chiu, Hawe, DEC-TR-301 (1984): a quantitative measure of fairness",
    ),
)
