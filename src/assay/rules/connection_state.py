"""Refuses comparisons of commands if one arm opened its connections inside the clock and the other did not.

A connection, bind or handshake costs more than many requests.
The rule counts accepted connections in the server's network namespace (PassiveOpens) if the target names its server, else
opened connections of the lab's namespace (ActiveOpens).
The rate of the idle baseline is subtracted. The result is divided by operations, or by runs of a command that reports none.
Arms that differ by more than `apart_share`, and by `least_connections` or more in a run, are not comparable: invalid.
Binds of a directory server in the clock are compared in the same way, by the server's own counter, else by the engine.
If the factor is a knob of the workload itself, the difference is a note.
So is that of a transfer whose targets bring different client programs: how each of them connects is a part of it.
The rule does not see handshakes on an open connection, binds to other servers, local sockets, UDP, or clients in other
namespaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import median

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.evidence import directory, ladder
from assay.frozen import dataclass
from assay.measures.directory import done
from assay.records import Finding, Observations, Phase, Run, Scope, Series, Severity, State
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import found

Count = Callable[[Run, Observations, ComparisonCase], "Opened | None"]
NEARLY_ONE = 0.95
"""Between this and its inverse a number of connections is called one."""
TENTH = 0.1
SERVER, CLIENT = ("server", "accepted_connections"), ("network", "tcp_active_opens")
"""(layer, metric) of the connections that a server accepted, and that this host opened."""
KIND = "command"
"""The workload that may open connections itself; what our engines do to files opens some only where a server is behind it."""


Opened = tuple[float, float]
"""Connections (or binds) and operations of one run."""


def applies(case: ComparisonCase) -> str | None:
    """Comparisons of commands, and of what a server did, whose connections or binds were counted in every run."""
    runs = counting(case, (*case.baseline, *case.candidate))
    if runs and all(bound(run, seen, case) for run, seen in runs):
        return None
    if is_command(case) or any(any(seen.over_time(phase.name, *SERVER)) for run, seen in runs for phase in run.phases):
        counted = runs and all(opened(run, seen, case) for run, seen in runs)
        return None if counted else "connections not counted"
    return "the lab's own engines open no connection without a server"


def is_command(case: ComparisonCase) -> bool:
    """Whether the workload is an external command."""
    return workload_kind(case) == KIND


def check(case: ComparisonCase) -> Finding:
    """Connections and binds for an operation in both arms."""
    each = {"connections": opened, "binds": bound}
    uses = [use for what, count in each.items() if (use := compared(case, what, count)) is not None]
    if not uses:
        return found(RULE, case, State.UNVERIFIED, "Use of connections unknown: one arm has no valid run.")
    observed = {name: value for use in uses for name, value in use.observed.items()}
    different = [use for use in uses if use.is_different]
    halves = [what for what, count in each.items() if half_counted(case, count)]
    if not different and halves:
        statement = f"Use of connections unknown: {' and '.join(halves)} of one arm alone were counted."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if not different:
        alike = "; ".join(f"{use.what} {use.words}" for use in uses)
        return found(RULE, case, State.PASS, f"Equal use of connections: {alike}.", observed=observed)
    own_knob = case.comparison.factor.partition(".")[0] == case.measure.workload or programs_differ(case)
    binds = all(use.what == "binds" for use in different)
    unlike = "; ".join(f"{use.what} {use.words}" for use in different)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Different use of connections: {unlike}. Only one arm's clock includes them.",
        severity=Severity.NOTES if own_knob else Severity.INVALIDATES,
        observed=observed,
        relabel="comparison with binds in the clock of one arm" if binds else "comparison with different use of connections",
        evidence=(
            "server.accepted_connections: /proc/PID/net/snmp",
            "network.tcp_active_opens: /proc/net/snmp",
            "directory.bind: the server's own counter",
        ),
    )


def programs_differ(case: ComparisonCase) -> bool:
    """Whether the two targets bring different client programs for this operation."""
    key = f"target.program.{case.measure.workload}.{case.measure.operation}"
    first, second = ({seen.fact(key) for _, seen in runs} for runs in case.arms)
    return None not in first | second and first.isdisjoint(second)


@dataclass(frozen=True, kw_only=True)
class UseOfConnections:
    """How often both arms did one costly thing for an operation: opened a connection, or bound."""

    what: str
    words: str
    is_different: bool
    observed: Mapping[str, float]


def compared(case: ComparisonCase, what: str, count: Count) -> UseOfConnections | None:
    """One of them in both arms; None where an arm has no run in which it was counted."""
    arms = [[one for run, seen in counting(case, runs) if (one := count(run, seen, case)) is not None] for runs in case.arms]
    if not all(arms):
        return None
    first, second = (median(times / operations for times, operations in arm) for arm in arms)
    limits, least = case.thresholds, min(operations for arm in arms for _, operations in arm)
    apart = max(first, second) / min(first, second) - 1 if min(first, second) > 0 else math.inf
    suffix = "" if what == "connections" else f"_{what}"
    return UseOfConnections(
        what=what,
        words=f"{in_words(first)} in {case.comparison.baseline}, {in_words(second)} in {case.comparison.candidate}",
        is_different=abs(first - second) * least >= limits["least_connections"] and apart > limits["apart_share"],
        observed={
            f"baseline{suffix}_per_operation": first,
            f"candidate{suffix}_per_operation": second,
            f"baseline_{what}": median(times for times, _ in arms[0]),
            f"candidate_{what}": median(times for times, _ in arms[1]),
        },
    )


def half_counted(case: ComparisonCase, count: Count) -> bool:
    """Whether one of them was counted in one arm and not in the other."""
    arms = [any(count(run, seen, case) is not None for run, seen in counting(case, runs)) for runs in case.arms]
    return any(arms) and not all(arms)


def counting(case: ComparisonCase, runs: Runs) -> Runs:
    """The runs that the comparison did not exclude."""
    return tuple((run, seen) for run, seen in runs if run.id not in case.comparison.excluded)


def opened(run: Run, observations: Observations, case: ComparisonCase) -> Opened | None:
    """Connections and operations of one run; None without the phase or without a count."""
    phase = measures.phase_of(run, case.measure)
    if phase is None:
        return None
    accepted = next(observations.over_time(phase.name, *SERVER), None)
    counted = accepted or (next(observations.over_time(phase.name, *CLIENT), None) if is_command(case) else None)
    if counted is None or len(counted.value) < 2:
        return None
    length = phase.lasted_ns
    risen = ladder.rise(counted, phase.start_ns, phase.end_ns)
    return None if risen is None else (max(0.0, risen - before(phase, counted) * length), operations(phase))


def bound(run: Run, observations: Observations, case: ComparisonCase) -> Opened | None:
    """Binds in the clock and operations of one run on a directory server; None without a count, or where binds are measured."""
    phase = measures.phase_of(run, case.measure)
    if phase is None or directory.software(run) is None or case.measure.operation == directory.BIND:
        return None
    counted = directory.monitored(phase, observations).get(directory.BIND)
    own = float(directory.sent(phase)[directory.BIND]) if any(client.directory for client in phase.clients) else None
    times = own if counted is None else counted
    return None if times is None else (times, operations(phase))


def before(phase: Phase, counted: Series) -> float:
    """Connections of other programs per ns of the idle baseline."""
    at_ns = [at for at in counted.at_ns if at <= phase.start_ns]
    return ladder.rate(counted, at_ns[0], at_ns[-1]) or 0.0 if at_ns else 0.0


def operations(phase: Phase) -> float:
    """All operations of the command, or of our own engine; the runs of a command that reports none."""
    reported = sum(value for name, value in phase.values.items() if name.endswith(".count"))
    mixed = sum(done(phase).values())  # of a directory neither first entries nor binds before each operation
    own = 0 if phase.values else mixed or sum(total.count for client in phase.clients for total in client.operations)
    return reported or float(max(own, 1, len(phase.clients)))


def in_words(each: float) -> str:
    """`one for each operation`, `one for 250 operations`, `3.2 for each operation`, `none`."""
    if each <= 0:
        return "none"
    if each < NEARLY_ONE:
        return f"one for {1 / each:,.{0 if each < TENTH else 1}f} operations"
    return "one for each operation" if each < 1 / NEARLY_ONE else f"{each:.3g} for each operation"


RULE = Rule(
    id="G09",
    name="connection-state",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    short="different use of connections",
    applies=applies,
    check=check,
    reads=("server.accepted_connections", "network.tcp_active_opens", "directory.bind"),
    wrong="One search per connection, with a bind for each, differs from a hundred searches over one connection. The result "
    'changes tenfold, with encryption more. The setting hides in a client library, a proxy or a server limit ("at most 100 '
    'requests a connection").',
    alternatives=(
        "Other programs of this host opened connections during the phase. The idle baseline shows only the usual ones.",
        "A server closed connections that the client wanted to keep (a limit on requests or idle time).",
        "The use of connections is the subject. Make it the factor, as a variable of the workload.",
    ),
    advice="Open, bind and shake hands before the clock in both arms, or for each request in both. Keep keep-alive and "
    "encryption settings alike, and report them.",
    sources=("RFC 4022: tcpActiveOpens", "RFC 9112, 9.3: what persistent connections spare"),
)
