"""Checks rate against latency by Little's law: operations in flight = rate x (latency + think time).

One operation in 64 is stamped a second time with its own clock reads, so this latency does not follow from the rate.
The two further stamps are subtracted from it, by the engine's measurement of one.
Its mean times the count, plus the generator's own time, is compared with places x time. A worker has one place, io_uring as
many as its queue is deep.
The generator's own time is `think` plus its user time. The tolerance is `gap_share`, or three standard errors of the sampled
mean if that is larger.
With fewer than `least_samples` samples, or if the stamps or a preemption explain the difference, all latencies are added
instead. Stamps explain what `stamps_cost` times their measured cost would.
Two stamps are 60 % of an empty operation, and one takes longer between other code than in the loop that measures it.
- Too little: workers were idle, the queue was not full, or the generator was busy. The rate with all places busy is the bound:
  a note up to the experiment's `matters`, qualified above it.
- Too much, also from the start of each client on: rate and latency contradict each other. Invalid.

Open loops (idle on purpose), external tools, and a writer with a reader (which act in turn) are n/a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import coherence, drill, latency
from assay.measures.windows import stuck
from assay.records import Bound, Client, Direction, Finding, Load, OperationTotal, Scope, Severity, State
from assay.rulekit.findings import found, in_words, knob, rate_of
from assay.units import Unit

EXTRA_STAMPS = 2
"""Of the second pair, outside the first (crates/engine/src/recorder.rs)."""


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Time that there was for operations in flight, and what became of it, all in ns."""

    places: int
    """How many operations could be in flight: one a worker, with io_uring as many as the queue is deep."""
    queued: bool
    available_ns: float
    waiting_ns: float
    """Rate x latency x time: inside operations, by the independent latency."""
    thinking_ns: float
    """Requested think time and user time of the load generator between operations, at most what the operations leave: it may
    explain idle workers, never too long latencies, since system calls begin and end in user mode too."""
    error_ns: float
    """One standard error of the waiting time, from the number of independent samples."""
    independent: bool

    @property
    def gap(self) -> float:
        """1 - (waiting + thinking) / available: above 0 workers were idle, below 0 the latencies are too long."""
        return 1 - (self.waiting_ns + self.thinking_ns) / self.available_ns

    @property
    def accounted(self) -> str:
        """What rate times latency accounts for, in words."""
        if self.places == 1:
            return f"{measures.percent(1 - self.gap)} of the worker's time"
        return f"{self.places * (1 - self.gap):.3g} of {self.places} {'requests in flight' if self.queued else 'workers'}"


def applies(case: TrialCase) -> str | None:
    """Closed loads of the own engines."""
    if case.claim.load is Load.OPEN or any(client.load is not None for client in case.phase.clients):
        return "an open load: idle workers by design"
    if case.measure.figure in drill.COUNTS:
        return "a count of records has no speed"
    if coherence.in_turn(case.phase):
        return "a writer and a reader, which act in turn"
    if case.phase.values:
        return "external tool: exit status 0 counts"
    return None if any(t.busy_ns for c in case.phase.clients for t in c.operations) else "no latencies were recorded"


def check(case: TrialCase) -> Finding:
    """The gap, against its threshold or three standard errors of the sampled latency, whichever is larger."""
    balance = balance_of(case)
    if balance is None:
        return found(RULE, case, State.UNVERIFIED, "The clients' time has no length.")
    tolerance = max(case.thresholds["gap_share"], 3 * balance.error_ns / balance.available_ns)
    gap = balance.gap
    observed = {"gap_share": gap, "workers": float(balance.places), "busy_workers": balance.places * (1 - gap)}
    how = "by independently stamped operations" if balance.independent else "by the sum of all latencies"
    account = f"Rate times latency accounts for {balance.accounted}, {how}"
    if abs(gap) <= tolerance:
        return found(RULE, case, State.PASS, f"{account}.", observed=observed)
    return out_of_balance(case, balance, account, {**observed, "tolerance": tolerance})


def out_of_balance(case: TrialCase, balance: Balance, account: str, observed: dict[str, float]) -> Finding:
    """Idle workers bound what the target could have done; too long latencies mean that one of the two is wrong."""
    gap, rate, evidence = balance.gap, rate_of(case), ("L0 engine: counts, sampled latencies, CPU time",)
    if gap < 0:
        label = "rate and latency contradict each other"
        statement = f"{account}: more time than available. Rate and latency contradict each other."
        return found(RULE, case, State.FAIL, statement, observed=observed, relabel=label, evidence=evidence)
    is_cut = any(stuck(case.phase, name) for name in case.phase.operations)
    bound = Bound(low=rate[0], high=rate[0] / (1 - gap), unit=rate[1]) if rate and gap < 1 and not is_cut else None
    idle, busy = ("the queue was not full", "a full queue") if balance.queued else ("workers were idle", "all workers busy")
    known = f" With {busy} the rate is {in_words(bound)}." if bound else ""
    detail = f"{measures.percent(gap)} of the time"
    label = "queue not full" if balance.queued else "workers idle or load generator busy"
    cause = f"For {measures.percent(gap)} of the time {idle} or the load generator was busy."
    if (late_ns := waited_for_ns(case)) >= case.thresholds["late_share"] * gap * balance.available_ns:
        longest = measures.with_unit(longest_tail_ns(case), Unit.NANOSECONDS)
        label, detail = "workers waited for the last operation", f"it ended {longest} late"
        waited = measures.percent(late_ns / balance.available_ns)
        cause = f"The last operation ended {longest} after the end of its time: the rest waited for {waited} of theirs."
    return found(
        RULE,
        case,
        State.FAIL,
        f"{account}. {cause}{known}",
        severity=Severity.NOTES if is_cut or gap <= (1 - gap) * case.experiment.matters_share else Severity.QUALIFIES,
        observed=observed,
        bound=bound,
        relabel=label,
        detail=detail,
        evidence=evidence,
    )


def balance_of(case: TrialCase) -> Balance | None:
    """The time of the phase over all its operations; None where the clients' time has no length."""
    clients = [client for client in case.phase.clients if any(total.count for total in client.operations)]
    available = float(sum(places(client) * (client.until_ns - client.first_ns) for client in clients))
    if available <= 0:
        return None
    pairs = [(client, total) for client in clients for total in measures.outermost(case.phase, client)]
    totals = [total for _, total in pairs]
    enough = all(total.sampled_count >= case.thresholds["least_samples"] for total in totals)
    error = math.sqrt(sum(error_of(case, total) ** 2 for total in totals)) if enough else math.inf
    independent = 3 * error < available and not (preempted(case, clients, pairs) or stamped(case, pairs))
    spent = (pair[1].count * sampled_ns(*pair) / pair[1].sampled_count if independent else pair[1].busy_ns for pair in pairs)
    waiting = float(sum(held(case, *pair) * ns for pair, ns in zip(pairs, spent, strict=True)))
    waiting += sum(
        total.unfinished.waited_until(client.until_ns)
        for client in clients
        for total in client.operations
        if total.unfinished is not None
    )
    if waiting > available:
        available = max(available, float(sum(places(client) * since_start_ns(client) for client in clients)))
    thinking = sum(thinking_ns(case, client) for client in clients)
    return Balance(
        places=sum(places(client) for client in clients),
        queued=any(client.queue is not None or client.directory is not None for client in clients),
        available_ns=available,
        waiting_ns=waiting,
        thinking_ns=min(thinking, max(0.0, available - waiting)),
        error_ns=error if independent else 0.0,
        independent=independent,
    )


def waited_for_ns(case: TrialCase) -> float:
    """The time of the workers, at most, in which they waited for a last operation of another one after the end of their time."""
    return float(sum((places(client) - 1) * tail_ns(client) for client in case.phase.clients))


def longest_tail_ns(case: TrialCase) -> float:
    """How long after the end of its time the last operation of any client ended."""
    return float(max((tail_ns(client) for client in case.phase.clients), default=0))


def tail_ns(client: Client) -> int:
    """How long after the end of its time a client's last operation ended; 0 where an amount of work ended it."""
    return 0 if client.ends_ns is None or client.stopped_by != "time" else max(0, client.last_ns - client.ends_ns)


def since_start_ns(client: Client) -> int:
    """The time from its start: of a directory that is listed piece by piece, files in between, only the last piece has an end."""
    return client.until_ns - min(client.first_ns, client.started_ns)


def places(client: Client) -> int:
    """How many operations of a client can be in flight at once."""
    return max(1, client.places)


def held(case: TrialCase, client: Client, total: OperationTotal) -> float:
    """How many places an operation takes: with io_uring the flush at the end is waited for with nothing else in flight."""
    is_last = client.queue is not None and knob(case, "flush") == "end"
    moves = case.phase.directions.get(total.operation) in (Direction.READ, Direction.WRITE)
    return places(client) / max(1, client.workers) if is_last and not moves else 1.0


def thinking_ns(case: TrialCase, client: Client) -> float:
    """Time between operations that the load generator itself took or was asked to take, over all that it held up.

    What it does between two calls holds up all requests that come out of one and go into the next.
    """
    think = knob(case, "think")
    begun = sum(t.count for t in client.operations if case.phase.directions.get(t.operation) is not Direction.FLUSH)
    batch = max(1.0, begun / client.queue.submissions) if client.queue is not None and client.queue.submissions else 1.0
    user = client.cost.cpu_user_ns if client.cost is not None else 0
    return user * batch + (think * begun if isinstance(think, int) else 0)


def error_of(case: TrialCase, total: OperationTotal) -> float:
    """Standard error of count x mean latency, in ns, from the spread and mean of all latencies and the number of samples.

    Not from the mean of the samples: where one operation in a hundred waits for long (a throttle that gives out slices),
    every 64th may miss all that wait, and would then seem sure of itself. And not less than what makes three of it the weight
    of one sample: an operation that lost its processor once, and happened to be stamped, stands for 64 that did not.
    """
    buckets = latency.merged(case.observations, case.phase.name, total.operation)
    longest = buckets[-1][0] if buckets else 0
    normal = latency.spread(buckets) * total.busy_ns / math.sqrt(total.sampled_count)
    return max(normal, total.count / total.sampled_count * longest / 3)


def sampled_ns(client: Client, total: OperationTotal) -> float:
    """Time inside the stamped operations, without the second pair of stamps, which no other operation has."""
    return max(0.0, total.sampled_ns - EXTRA_STAMPS * total.sampled_count * (client.stamp_ns or 0))


def preempted(case: TrialCase, clients: Sequence[Client], pairs: Sequence[tuple[Client, OperationTotal]]) -> bool:
    """Whether turns of other threads, counted by the kernel, explain why the stamped operations took longer than all did.

    The second pair of stamps lies outside the first: a turn of another thread between them is in the sample and in no latency,
    and one sample stands for 64 operations.
    """
    turns = sum(client.cost.involuntary_switches for client in clients if client.cost is not None)
    extra = sum(sampled_ns(client, total) - total.sampled_count * total.busy_ns / total.count for client, total in pairs)
    return 0 < extra <= turns * case.thresholds["turn_ns"]


def stamped(case: TrialCase, pairs: Sequence[tuple[Client, OperationTotal]]) -> bool:
    """Whether the second pair of stamps alone may explain why the stamped operations took longer than all did."""
    own = sum(EXTRA_STAMPS * total.sampled_count * (client.stamp_ns or 0) for client, total in pairs)
    extra = sum(total.sampled_ns - total.sampled_count * total.busy_ns / total.count for _, total in pairs)
    return 0 < extra <= own * case.thresholds["stamps_cost"]


RULE = Rule(
    id="L07",
    name="little",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="load",
    short="workers idle",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A tool with a configured depth of 32 uses a call that keeps one request at a time, and its report shows 32. Or "
    "latencies are averaged with some left out, so that rate and latency belong to different loads. Both are in one table, and "
    "they cannot both be right.",
    alternatives=(
        "Workers waited for a CPU between two operations. Check steal and the run queue (N02).",
        "Some workers finished their share early. Compare the clients' intervals (W04).",
        "The configured depth was never reached: a synchronous call does one operation at a time.",
    ),
    advice="Report number of workers, rate and latency together. Give every worker the same time instead of the same amount.",
    ask="ask how the latency was averaged, and how many requests really were in flight",
    sources=("Little 1961", "Denning and Buzen: The operational analysis of queueing network models, 1978"),
)
