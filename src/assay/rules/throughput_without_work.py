"""Finds figures of work that was not done: too few answers, or bytes that no counter of this host saw.

The rule covers external tools, in this order:
1. The reported count or bytes against `expected_count` or `expected_bytes`, within `short_share`.
2. A rate or an amount of 0, also of Assay's own load, and 0 answers or bytes beside a time. If operations were under way and
  got no answer, 0 is the figure (W12).
3. An engine of the tool that does nothing: fio's `null`.
4. Reported bytes of at least `least_bytes` against every counter of this host: calls (L1), storage (L2), network (L3), devices
  (L8, L9). If every layer shows less than `trace_share` of the bytes, the work was not done.

Mapped files and rings leave no trace, but copying costs CPU time: more than `bytes_per_cpu_ns` bytes per nanosecond are
impossible.
It also covers searches of a directory by Assay's own load. A search that finds nothing has result code 0 and is the fastest of
all. The engine refuses an empty answer only if it knows how many entries to expect (a population of Assay, or the knob `found`).
- More than `short_share` of the counted searches found nothing, though nobody set `found = 0`: fail.
- Refused, wrong and repeated answers are no operations; they are failures (G04).

Missing work invalidates. Bytes without a trace invalidate under a claimed tier or path; otherwise they qualify, since another
host may do the work (`ssh host dd`).
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import directory, ladder
from assay.measures import cost, in_bytes
from assay.measures.windows import given_up
from assay.records import Direction, Finding, Rung, Scope, Severity, State, Tier
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import Figures, found, knob
from assay.units import Unit

EXPECTED = {"expected_count": ("count", Unit.COUNT), "expected_bytes": ("bytes", Unit.BYTES)}
"""Knob of the workload -> the figure that it is held against."""
SEARCH, FIRST_ENTRY, FOUND = "search", "first_entry", "found"
DRILL = "drill"
"""The workload that counts what did not arrive."""
DONE = frozenset({"bytes_per_s", "ops_per_s", "busy_ops_per_s", "count", "bytes"})
"""Figures of work: 0 of them is none."""
IDLE = "idle"
"""A figure that parsers add where the tool's engine did nothing."""
ASKED_FOR = "Check what the command is asked for (keys, filter, base, path) and by whom (rights), and read one answer yourself."
AMOUNTS = frozenset({"count", "bytes", "errors"})
"""Figures that say themselves when they are nothing."""
RUNGS = (
    Rung.SYSCALL,
    Rung.CLIENT_CACHE,
    Rung.CLIENT_NIC,
    Rung.SERVER_NIC,
    Rung.SERVER_PROCESS,
    Rung.UPPER_DEVICE,
    Rung.LOWEST_DEVICE,
)


def applies(case: TrialCase) -> str | None:
    """External tools that report their amount of work, or were given one; searches of a directory."""
    if is_nothing(case) or reported(case, IDLE):
        return None
    if directory.answers(case.phase, SEARCH):
        return None if case.measure.operation in (SEARCH, FIRST_ENTRY) else "only searches can find nothing"
    if not case.phase.values:
        return "the lab's own engines count their work (E01, G04)"
    if expected(case) or any(reported(case, figure) is not None for figure in ("count", "bytes")):
        return None
    return "the tool reports no amount, and no expected amount is declared"


def check(case: TrialCase) -> Finding:
    """Against what was declared; against nothing; against what moved on this host."""
    if is_nothing(case):
        return nothing(case)
    if reported(case, IDLE):
        return idle(case)
    if directory.answers(case.phase, SEARCH):
        return searched(case)
    for name, wanted in expected(case).items():
        finding = held(case, name, wanted)
        if finding is not None:
            return finding
    amounts = [amount for figure in ("count", "bytes") if (amount := reported(case, figure)) is not None]
    if not expected(case) and amounts and not any(amounts) and case.measure.figure not in AMOUNTS:
        return nothing(case)
    return traced(case)


def is_nothing(case: TrialCase) -> bool:
    """Whether the figure itself is a rate or an amount of nothing, though nobody said how much to expect."""
    figure = case.measure.figure
    value = reported(case, figure) if case.phase.values else case.value
    waited = not case.phase.values and given_up(case.phase, case.measure.operation)
    return value == 0 and figure in DONE and workload_kind(case) != DRILL and not expected(case) and not waited


def searched(case: TrialCase) -> Finding:
    """The share of a load's searches that found nothing: at least those that the entries do not suffice for."""
    answers = directory.answers(case.phase, SEARCH)
    searches = sum(total.count for _, total in measures.client_operations(case.phase, SEARCH))
    entries, misses = (sum(getattr(one, name) for one in answers) for name in ("entries", "misses"))
    empty = max(0, searches - misses - entries)
    share = empty / searches if searches else 0.0
    observed = {"searches": searches, "entries": entries, "misses": misses, "empty_share": share}
    asked = f", {misses:,} of them for entries that are not there" if misses else ""
    text = f"{searches:,} searches{asked}, {entries:,} entries"
    if share <= case.thresholds["short_share"] or knob(case, FOUND) == 0:
        return found(RULE, case, State.PASS, f"The searches found what they asked for: {text}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"At least {measures.percent(share)} of the searches found nothing: {text}.",
        observed=observed,
        relabel="searches that find nothing",
        detail=f"{empty:,} empty answers",
        evidence=("L0: entries in the answers",),
        advice="Correct the filter, the base or the rights of the bind DN. Set `found`, so that empty answers are refused.",
    )


def reported(case: TrialCase, figure: str) -> float | None:
    """The tool's figure of the measure's operation; None without one."""
    return case.phase.values.get(f"{case.measure.operation}.{figure}")


def expected(case: TrialCase) -> dict[str, int]:
    """Set knob -> the given amount of work of all clients together."""
    clients = max(1, len(case.phase.clients))
    values = {name: knob(case, name) for name in EXPECTED}
    return {name: value * clients for name, value in values.items() if isinstance(value, int)}


def held(case: TrialCase, name: str, wanted: int) -> Finding | None:
    """Compare work done with the declared work; None if they agree."""
    figure, unit = EXPECTED[name]
    done = reported(case, figure)
    goal = f"{measures.with_unit(wanted, unit)} expected ({name})"
    if done is None:
        statement = f"{goal}, but the tool reports no amount. Let it print that too."
        return found(RULE, case, State.UNVERIFIED, statement)
    if abs(done - wanted) <= case.thresholds["short_share"] * wanted:
        return None
    amount, way = measures.with_unit(done, unit), "too few" if done < wanted else "too many"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{amount} received, {goal}, {way}: the figure describes other work.",
        observed={"received": done, "received_share": done / wanted if wanted else None},
        relabel="a figure of other work than expected",
        detail=f"{amount} instead of {measures.with_unit(wanted, unit)}",
        evidence=(f"L0: the tool's report of {case.measure.operation}.{figure}",),
    )


def nothing(case: TrialCase) -> Finding:
    """A time or a rate of a tool that says it did nothing at all."""
    statement = "The tool reports 0: it did nothing." if case.phase.values else "The load did nothing: 0 operations or bytes."
    label = "a figure of no work" if case.measure.figure in DONE else "the time of finding nothing"
    return found(RULE, case, State.FAIL, statement, observed={"received": 0.0}, relabel=label, advice=ASKED_FOR)


def idle(case: TrialCase) -> Finding:
    """The tool counts requests that its engine completes without doing anything."""
    return found(
        RULE,
        case,
        State.FAIL,
        "The tool ran with an engine that does nothing (ioengine=null): its requests were counted, and no byte was moved.",
        relabel="the tool's own speed: its engine moves nothing",
        advice="Use an engine that reads and writes: ioengine=libaio, io_uring or psync.",
    )


def traced(case: TrialCase) -> Finding:
    """Compare reported bytes with every byte counter of this host, in either direction."""
    amount = reported(case, "bytes") or 0.0
    if amount < case.thresholds["least_bytes"]:
        return found(RULE, case, State.PASS, "The tool reports the expected work, and more than nothing.")
    seen = most_seen(case)
    if seen is None:
        return found(RULE, case, State.UNVERIFIED, "I/O unknown: system calls of the command not counted.")
    observed = {"reported_bytes": amount, "seen_bytes": seen, "seen_share": seen / amount}
    if seen / amount >= case.thresholds["trace_share"]:
        statement = f"The tool reports {in_bytes(amount)}; counters of this host saw {in_bytes(seen)}."
        return found(RULE, case, State.PASS, statement, observed=observed)
    return untraced(case, amount, observed)


def most_seen(case: TrialCase) -> float | None:
    """Most bytes of a rung in one direction, less other programs' baseline; None without counted calls."""
    steps = {
        (rung, way): ladder.passed(case.phase, case.observations, rung, way)
        for rung in RUNGS
        for way in (Direction.READ, Direction.WRITE)
    }
    if not any(step for (rung, _), step in steps.items() if rung is Rung.SYSCALL):
        return None
    return max(step.bytes for step in steps.values() if step)


def untraced(case: TrialCase, amount: float, observed: Figures) -> Finding:
    """No counter has the bytes: none counts mapped files and rings, but copies take CPU time."""
    known = [cost.processor_ns(client.cost) for client in case.phase.clients if client.cost is not None]
    if len(known) < max(1, len(case.phase.clients)):
        statement = f"No counter of this host saw the {in_bytes(amount)}, and the command's CPU time is unknown."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    spent = float(sum(known))
    took, observed = measures.with_unit(spent, Unit.NANOSECONDS), {**observed, "cpu_ns": spent}
    if amount <= case.thresholds["bytes_per_cpu_ns"] * spent:
        statement = f"No counter saw the {in_bytes(amount)}; {took} of CPU time suffice to copy them within memory."
        return found(RULE, case, State.PASS, statement, observed=observed)
    claimed = case.claim.tier is not Tier.AS_IS or case.claim.path is not None
    return found(
        RULE,
        case,
        State.FAIL,
        f"The tool reports {in_bytes(amount)}. No counter of this host saw them, and {took} of CPU time cannot copy that much:"
        " they were never moved here.",
        severity=Severity.INVALIDATES if claimed else Severity.QUALIFIES,
        observed=observed,
        relabel="reported, but never moved on this host",
        evidence=("CPU time of the command and its children",),
    )


RULE = Rule(
    id="G05",
    name="throughput-without-work",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="load",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=("L1.read", "L1.write", "L2.read", "L2.write", "L3.read", "L3.write", "L9.read", "L9.write"),
    wrong="A search whose filter matches nothing answers at once, and so does a query that ends with an error. `tar cf "
    "/dev/null` prints the rate of an archive without opening a file: GNU tar recognises that device and reads nothing. The "
    "tool prints a time or a rate all the same, and doing nothing is the fastest of all.",
    alternatives=(
        "Another host did the work (ssh, a daemon). Measure there.",
        "The adapter moved the bytes itself (remote direct memory access). Check its own counters.",
        "No result was intended. Set expected_count = 0.",
        "Answers are compressed on the wire. Set the expected size after decompression.",
    ),
    advice="Record the number of answers or bytes with the data set (expected_count, expected_bytes), and read one answer "
    "yourself. Send archives and copies to a place that requires reading (GNU tar reads nothing for /dev/null).",
    sources=(
        "Gregg, checklist for benchmarks: did it even happen?",
        "IOR: bytes moved are held against the size of the file",
        "GNU tar, manual: an archive to /dev/null is not made, the files are not read",
    ),
)
