"""Finds figures that include failed operations, and writes whose flush failed.

The engines count completed and failed operations apart; rates and latencies cover completed ones only.
Short transfers are continued, and a file that ends inside a record is a failure.
An external tool's parser gives its failures; without that number the rule is n/a and exit status 0 counts.
- Failed operations above `noted_error_share` qualify; above `error_share` the figure is invalid.
- Answers that may be none, above `noted_error_share`: unverified. ab calls answers of another length failed, caches miss keys.
- A command that moved bytes and ended with another status than 0, and whose tool counts no failures: unverified.
- Answers of HTTP that a load generator calls successes are known by a sample (`assay stat` as root, no TLS).
  Redirections qualify, pages of errors invalidate, and empty ones are unverified.
  Without a sample, answers below `small_answer_bytes` are unverified for tools that count redirections as successes (wrk, k6).
- Two clients of a server: a step that the reader never saw within the limit is noted, as it took at least so long.
- curl says nothing of the page of an error: its status is read from its output (-w, -v, -i), else unverified without -f.
- Under a device or stable-media claim one failed flush invalidates: the kernel reports a failed buffered write only there, and
  only once.

A record with wrong data is a contradiction (E05), not a failure.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import reports
from assay.measures import coherence, figures
from assay.records import Direction, EngineError, Finding, Meaning, Scope, Severity, State
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import found, knob
from assay.units import Unit

DRILL = "drill"
"""The workload that tries again until a record is acknowledged."""
SHOWN = 3
"""Kinds of failure that the finding names."""


def applies(case: TrialCase) -> str | None:
    """Figures of operations; an external tool must report its failures."""
    if case.measure.figure == "errors":
        return "failures are the figure itself"
    if workload_kind(case) == DRILL:
        return "failures are what a drill is for: its latencies and times away contain them"
    counted = not case.phase.values or reports.reported_share(case.phase, case.measure.operation) is not None
    if not counted and not ended_badly(case):
        return "an external tool without a count of failures: exit status 0 counts"
    return None


def ended_badly(case: TrialCase) -> bool:
    """Whether the command whose bytes were seen ended with another status than 0: a part of its work may have failed."""
    return knob(case, "parse") == "observed" and case.run.error is not None


def check(case: TrialCase) -> Finding:
    """The share of failed operations, and whether a flush failed that the claim rests on."""
    if ended_badly(case) and reports.reported_share(case.phase, case.measure.operation) is None:
        why = f"{(case.run.error or '')[:1].upper()}{(case.run.error or '')[1:]}: a part of its work may have failed."
        return found(RULE, case, State.UNVERIFIED, why, advice="Read what it printed, and repeat without failures.")
    reported = reports.reported_share(case.phase, case.measure.operation)
    share = reports.failed_share(case.phase, case.measure.operation) if reported is None else reported
    lost, limits = unflushed(case), case.thresholds
    observed = {"error_share": share, "failed_flushes": float(lost)}
    few = share <= limits["noted_error_share"] and not lost
    other = (never_seen(case) or by_answers(case)) if few else None
    if other is not None and other.state is State.FAIL:
        return other
    if few and (odd := doubtful(case)) > limits["noted_error_share"]:
        unseen = knob(case, "parse") == "observed"
        text = NO_STATUS if unseen else f"{measures.percent(odd)} of the answers may be none: {MAY_BE_NONE}."
        advice = TELL_STATUS if unseen else READ_ONE
        return found(RULE, case, State.UNVERIFIED, text, observed=observed | {"doubtful_share": odd}, advice=advice)
    if other is not None:
        return other
    if few:
        text = f"{measures.percent(share)} of the operations failed" if share else "No operation failed"
        return found(RULE, case, State.PASS, f"{text}{kinds(case)}.", observed=observed)
    many = share > limits["error_share"]
    limit = measures.percent(limits["error_share" if many else "noted_error_share"])
    statements = [f"{measures.percent(share)} of the operations failed (limit {limit}){kinds(case)}."] if share else []
    if lost:
        statements.append(f"{'1 flush' if lost == 1 else f'{lost:,} flushes'} failed: earlier writes may never arrive.")
    label = "writes with a failed flush" if lost else "failed operations included"
    source = "L0 engine: failed operations by error number" if reported is None else "the tool's report of failed operations"
    return found(
        RULE,
        case,
        State.FAIL,
        " ".join(statements),
        severity=Severity.INVALIDATES if many or lost else Severity.QUALIFIES,
        observed=observed,
        relabel="a figure of failed operations" if many else label,
        detail=f"{measures.percent(share)} failed" if share else None,
        evidence=(source,),
    )


def never_seen(case: TrialCase) -> Finding | None:
    """What a reader looked for until the limit: such a try counts as long as the limit. Figures of other loads have none."""
    end = coherence.end_of(case.phase)
    step = end.steps.get(case.measure.operation) if end is not None else None
    if end is None or step is None or not step.never or "latency" not in case.measure.figure:
        return None
    limit = measures.with_unit(end.limit_ns, Unit.NANOSECONDS)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{step.never:,} of {step.tries:,} were not seen within {limit}: these took at least so long.",
        severity=Severity.NOTES,
        observed={"never": float(step.never), "tries": float(step.tries)},
        relabel="with tries that were never seen",
        detail=f"{step.never:,} of {step.tries:,} not seen within {limit}",
        evidence=("L0 engine: what the reader saw",),
        short="never seen",
        advice="Raise `within`, or give the measure `never`: how often it was not seen.",
    )


def doubtful(case: TrialCase) -> float:
    """The share of the answers that may be failures, by the tool's report."""
    of = case.phase.values
    odd, count, attempts = (of.get(f"{case.measure.operation}.{name}", 0.0) for name in ("doubtful", "count", "attempts"))
    every = attempts or count
    return odd / every if every else 0.0


def by_answers(case: TrialCase) -> Finding | None:
    """What the answers of HTTP are that the tool calls successes, by those that were seen, else by their size."""
    of, limits = case.phase.values, case.thresholds
    seen, redirected, refused, empty = (
        of.get(f"{case.measure.operation}.answers_{name}", 0.0) for name in ("seen", "redirected", "refused", "empty")
    )
    if seen < limits["least_answers"]:
        return by_size(case)
    status = f" (HTTP status {of.get(f'{case.measure.operation}.answers_status', 0):.0f})"
    among = f"of {seen:.0f} answers that were seen"
    if max(refused, redirected) / seen > limits["error_share"]:
        many = refused >= redirected
        what = "are pages of errors" if many else "are redirections: no page was sent"
        return found(
            RULE,
            case,
            State.FAIL,
            f"{measures.percent(max(refused, redirected) / seen)} {among} {what}{status}. The tool counts them as successes.",
            severity=Severity.INVALIDATES if many else Severity.QUALIFIES,
            observed={"refused_share": refused / seen, "redirected_share": redirected / seen},
            relabel="a figure of pages of errors" if many else "redirections counted as answers",
            advice=f"Load the address that answers. {LOOK}",
        )
    if empty / seen > limits["error_share"]:
        text = f"{measures.percent(empty / seen)} {among} are empty: whether that is what was asked for is unknown."
        return found(RULE, case, State.UNVERIFIED, text, observed={"empty_share": empty / seen}, advice=LOOK)
    return None


def by_size(case: TrialCase) -> Finding | None:
    """Answers that are as small as redirections and empty pages, where none was seen."""
    amount, count = (case.phase.values.get(name, 0.0) for name in ("response.bytes", "request.count"))
    each = amount / count if count and "request.answered" not in case.phase.values else 0.0  # else the tool knows redirections
    if not 0 < each < case.thresholds["small_answer_bytes"]:
        return None
    text = (
        f"The answers have {measures.in_bytes(each)} each, headers included: redirections and empty pages may count as successes."
    )
    return found(RULE, case, State.UNVERIFIED, text, observed={"answer_bytes": each}, advice=LOOK)


MAY_BE_NONE = "keys without a value, other lengths, answers cut short, empty pages, redirections"
LOOK = "Read one answer first (curl -i URL)."
NO_STATUS = "curl may have received the page of an error: it ends with status 0 for that, too."
TELL_STATUS = "Use `curl -f`, or let it print the status (-w '%{http_code}')."
READ_ONE = "Read some answers. Fill the keys before, or let the tool accept pages that change (ab -l)."


def kinds(case: TrialCase) -> str:
    """` (12 times read: Input/output error at /x)`, the most frequent first; empty without reasons."""
    if status := case.phase.values.get(f"{case.measure.operation}.http_status"):
        return f" (HTTP status {status:.0f})"
    mine = [one for one in reports.call_errors(case.phase) if one.operation == case.measure.operation]
    worst = sorted(mine, key=lambda one: -one.count)[:SHOWN]
    return f" ({'; '.join(map(words, worst))})" if worst else ""


def words(error: EngineError) -> str:
    """One kind of failure."""
    times = "once" if error.count == 1 else f"{error.count:,} times"
    return f"{times} {reports.error_reason(error)} at {error.path}"


def unflushed(case: TrialCase) -> int:
    """How many flushes failed that the claim rests on."""
    if not figures.claims_media(case.claim, case.direction):
        return 0
    return sum(
        total.errors
        for client in case.phase.clients
        for total in client.operations
        if case.phase.directions.get(total.operation) is Direction.FLUSH and total.operation != case.measure.operation
    )


RULE = Rule(
    id="G04",
    name="errors-hidden",
    meaning=Meaning.FAILURES,
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="load",
    short="operations failed",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A lookup that fails at once is faster than one that reads an inode; a read that fails after retries takes seconds. "
    "A figure of both describes neither. Tools that continue after errors seldom print them beside their result.",
    alternatives=(
        "The failures are intended (a missing name). Measure them as an operation of their own, or as `errors`.",
        "Another process removed, moved or filled the load's files.",
    ),
    advice="Find the failing call and its path in the finding, and repeat without failures. Report the latency of failed and "
    "successful operations apart.",
    sources=(
        "Gregg, checklist for benchmarks: did it error?",
        "IO500: a result with errors is invalid",
        "fio, HOWTO: an error of the device may go unnoticed with buffered writes",
    ),
)
