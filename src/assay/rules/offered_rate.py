"""Finds open loads that the target did not complete: beyond its capacity a latency has no value of its own.

The engine counts operations that were due and never began, late operations, and the longest wait.
Done over due must be at least `attained_share`, and the backlog at the end at most `backlog_s` of arrivals.
One operation per worker may be in progress.
If the work ends the phase (`ops` with `rate`), the time is compared with the rate instead.
- A growing backlog (`late_share` of the operations late, or too large at the end): a latency is invalid. A longer run has
  a longer latency. A rate is a lower bound.
- Few late operations: a stall before the end. The longest latencies are missing, so latencies are lower bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Bound, Direction, Finding, Scope, Severity, State
from assay.rulekit.findings import found, knob, rate_of
from assay.units import Unit

EVIDENCE = ("L0 engine: operations that were due and never began, began late, longest wait to begin",)


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What was due and what became of it, over all clients."""

    done: int
    unstarted: int
    """Due and never begun, but for one of each worker that was at work on another one when the time was over."""
    seconds: float
    late: int
    longest_wait_ns: int
    asked_per_s: float | None
    """The knob `rate`; None where the rate followed a schedule."""
    lag_s: float
    """Where the work ended it: how much later than at its rate, as far as operations waited to begin. 0 where the time did."""

    @property
    def attained_share(self) -> float:
        """Of what was due, or of the rate where the work ended it."""
        of_count = self.done / (self.done + self.unstarted)
        return min(of_count, (self.seconds - self.lag_s) / self.seconds)

    @property
    def backlog_s(self) -> float:
        """Seconds of arrivals that had not begun at the end."""
        return max(self.lag_s, self.seconds * self.unstarted / (self.done + self.unstarted))

    @property
    def late_share(self) -> float:
        """Of the operations that were done, those that began late."""
        return self.late / self.done

    @property
    def per_s(self) -> float:
        """The rate that was offered."""
        return self.asked_per_s or (self.done + self.unstarted) / self.seconds


def applies(case: TrialCase) -> str | None:
    """Open loads."""
    is_open = any(client.load is not None for client in case.phase.clients)
    return None if is_open else "a closed load: no offered rate"


def check(case: TrialCase) -> Finding:
    """The share of what was due that was done, and the backlog at the end."""
    offer = offered(case)
    if offer is None:
        return found(RULE, case, State.UNVERIFIED, "No operation was due and done, so the rate is unknown.")
    limits, share = case.thresholds, offer.attained_share
    observed = {
        "attained_share": share,
        "backlog_s": offer.backlog_s,
        "late_share": offer.late_share,
        "longest_wait_ns": float(offer.longest_wait_ns),
    }
    waited = measures.with_unit(offer.longest_wait_ns, Unit.NANOSECONDS)
    if share >= limits["attained_share"] and offer.backlog_s <= limits["backlog_s"]:
        limit = measures.percent(limits["attained_share"])
        statement = f"{measures.percent(share)} of the due operations done (limit {limit}); longest wait {waited}."
        return found(RULE, case, State.PASS, statement, observed=observed)
    grows = offer.late_share >= limits["late_share"] or offer.backlog_s > limits["backlog_s"]
    return saturated(case, offer, observed) if grows else stalled(case, offer, observed)


def saturated(case: TrialCase, offer: Offer, observed: dict[str, float]) -> Finding:
    """A backlog that grew: a latency at that rate there is none, the rate is at least what was done."""
    attained, due = (measures.with_unit(offer.per_s * share, Unit.PER_S) for share in (offer.attained_share, 1.0))
    done, share = f"{attained} done of {due} offered", measures.percent(offer.attained_share)
    latency = case.measure.figure.startswith("latency_")
    return found(
        RULE,
        case,
        State.FAIL,
        f"{done} ({share}); backlog of {offer.backlog_s:.3g} s at the end. The wait grows with the run.",
        severity=Severity.INVALIDATES if latency else severity(case),
        observed=observed,
        bound=None if latency else from_below(case),
        relabel="saturated: the offered rate was not attained",
        detail=done,
        evidence=EVIDENCE,
    )


def stalled(case: TrialCase, offer: Offer, observed: dict[str, float]) -> Finding:
    """Few were late, but some left over: they would have had the longest latencies."""
    left = measures.percent(1 - offer.attained_share)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{left} of the due operations never began, and only {measures.percent(offer.late_share)} of the rest were late:"
        " a stall before the end. The longest latencies are missing.",
        severity=severity(case),
        observed=observed,
        bound=from_below(case),
        relabel="with a stall at the end",
        detail=f"{left} of the due operations not begun",
        evidence=EVIDENCE,
    )


def severity(case: TrialCase) -> Severity:
    """Rates and latencies are qualified; of other figures it is worth knowing."""
    timed = case.measure.figure.startswith("latency_") or rate_of(case) is not None
    return Severity.QUALIFIES if timed else Severity.NOTES


def from_below(case: TrialCase) -> Bound | None:
    """Both the rate and the latencies are at least what was measured; None for other figures."""
    kind = measures.figure_kind(case.measure.figure)
    if case.value is None or kind is None or severity(case) is Severity.NOTES:
        return None
    return Bound(low=case.value, high=None, unit=kind.unit)


def offered(case: TrialCase) -> Offer | None:
    """What was offered to all clients together; None where nothing was done."""
    clients = [client for client in case.phase.clients if client.load is not None]
    loads = [client.load for client in clients if client.load is not None]
    operations = (one for client in clients for one in client.operations)  # a flush follows the one before it at once
    done = sum(one.count for one in operations if case.phase.directions.get(one.operation) is not Direction.FLUSH)
    seconds = (max(client.until_ns for client in clients) - case.phase.start_ns) / 1e9
    if not done or seconds <= 0:
        return None
    rate = knob(case, "rate")
    per_s = float(rate) if isinstance(rate, int | float) and rate else None
    longest_wait_ns = max(load.backlog_max_ns for load in loads)
    late_s = seconds - done / per_s if per_s and knob(case, "duration") is None else 0.0
    return Offer(
        done=done,
        unstarted=max(0, sum(load.unstarted for load in loads) - sum(max(1, client.workers) for client in clients)),
        seconds=seconds,
        late=sum(load.late for load in loads),
        longest_wait_ns=longest_wait_ns,
        asked_per_s=per_s,
        lag_s=max(0.0, min(late_s, longest_wait_ns / 1e9)),
    )


RULE = Rule(
    id="G02",
    name="offered-rate",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="load",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A target is offered a thousand operations per second and can do six hundred. The backlog grows, and each operation "
    "waits for all before it: the latency grows with the run. The figure then is the length of the test.",
    alternatives=(
        "The load generator was too slow. Check its CPU time and steal (L07, N02), or give it more workers.",
        "The target pushed back on purpose (credits, admission control). Check its own counters.",
    ),
    advice="Find the highest attained rate by bisection, and measure latencies at 80 % of it or less.",
    sources=(
        "MLPerf inference, server scenario: latency bound at a Poisson rate that must be attained",
        "SPC, SPEC: achieved within a few per cent of requested",
    ),
)
