"""`assay load`: one engine, once, without a notebook; its figures, its own cost and the audit of its number."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay import catalogue, measures, plain
from assay.answer.wording import labels, network, time_spent
from assay.audit.verdicts import failures
from assay.catalogue import Knob, KnobKind
from assay.cli import tables
from assay.cli.stat.options import claimed
from assay.experiment import single
from assay.experiment.knobs import default_text, expected
from assay.hosts.local import Local
from assay.laboratory.gate import Gate, status
from assay.laboratory.session import clean_quietly, conduct
from assay.machine import ownership
from assay.machine.files import NOTHING, path_state
from assay.measures import directory
from assay.measures.cost import IN_ALL
from assay.measures.sums import SHARES, Sum, Whole, answers
from assay.records import Experiment, Finding, Judged, Observations, Outcome, Plan, Results, Run, Value, Verdict, VerdictState
from assay.terminal.output import STANDARD_OUTPUT, Row, at_most, deliver, table
from assay.terminal.progress import ProgressMode
from assay.units import Unit, counted

FAILED = 1
HEADER = ("operation", "ops/s", "bytes/s", "p50", "p90", "p99", "p99.9", "max", "errors")
COUNTERS = {"instructions": ("user_instructions", "kernel_instructions"), "cycles": ("user_cycles", "kernel_cycles")}
UNCOUNTED = "instructions and cycles per operation unknown: no accessible hardware counters"
WIDTH = 120
SHORT_LIST = 6
"""Up to so many choices are listed beside their key."""
EXAMPLES = {
    Unit.NONE: "a number",
    Unit.COUNT: "a whole number",
    Unit.BYTES: "such as 4KiB",
    Unit.BYTES_PER_S: "such as 100MB/s",
    Unit.PER_S: "such as 1000/s",
    Unit.NANOSECONDS: "such as 10s or 250us",
    Unit.SHARE: "such as 70%",
}
"""Quantities as one types them."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    kind: str
    words: Sequence[str]
    json_to: str | None = None
    claim: str | None = None
    keep: bool = False
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


@dataclass(frozen=True, kw_only=True)
class LoadResult:
    """A load that is over: the experiment, the run, its sums, what the audit says."""

    experiment: Experiment
    run: Run
    whole: Whole
    verdicts: tuple[Verdict, ...]
    spent: tuple[tuple[str, str], ...] = ()
    """Where the time went, in words, by who spent it."""


def load(request: Request) -> int:
    """Do what the words say, once, and show the result. Raises InputErrors with every mistake, before anything is done."""
    host = Local()
    clean_quietly(host)
    load_request = replace(single.load_request(request.kind, request.words), keep=request.keep)
    if request.claim is not None:
        load_request = replace(load_request, claim=claimed(load_request.document, request.claim))
    check_output(load_request, request.json_to)
    found = path_state(host, load_request.path) if load_request.path is not None else None
    experiment = single.experiment(load_request, found)
    plan = single.plan(experiment)
    run, observations = conduct(experiment, plan, host, request.progress)
    if request.keep and found is not None and found.kind == NOTHING and run.outcome is not Outcome.FINISHED:
        ownership.discard_file(host, found.path)  # half a file is not what was to be kept
    if run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return conclude(request, experiment, plan, (run, observations))


def check_output(load_request: single.LoadRequest, json_to: str | None) -> None:
    """Note where the file for the figures cannot be written."""
    parent = Path(json_to).absolute().parent if json_to not in (None, STANDARD_OUTPUT) else None
    if parent is not None and not parent.is_dir():
        load_request.document.wrong((), f"no directory {parent} for --json", "one that exists")


def conclude(request: Request, experiment: Experiment, plan: Plan, what: tuple[Run, Observations]) -> int:
    """Judge, show and keep what was found; the exit status."""
    from assay.audit import judge
    from assay.measures import sums

    run, observations = what
    finished = run.outcome is Outcome.FINISHED
    verdicts = judge.judge_run(experiment, run, observations) if finished else ()
    whole = sums.whole(run, observations, experiment.measures)
    spent = tuple(line for phase in run.phases if phase.measured for line in time_spent.lines(phase, observations))
    result = LoadResult(experiment=experiment, run=run, whole=whole, verdicts=verdicts, spent=spent)
    deliver(request.json_to, "load", lambda: as_plain(result), (lambda: text(result)) if finished else None)
    if not finished:
        print(f"assay: load {run.outcome}: {run.error}", file=sys.stderr)
        return FAILED
    judged = Judged(run=run, verdicts={verdict.measure: verdict for verdict in verdicts})
    return status(Results(experiment=experiment, plan=plan, runs=(judged,)), request.gate)


# --------------------------------------------------------------------------------------------------- for people


def text(result: LoadResult) -> str:
    """Figures, own cost, and last what the number really is; the worst verdict at the very end."""
    rows = [Row(cells=(name, *cells(found))) for name, found in result.whole.operations.items()]
    figures = table(HEADER, rows, range(1, len(HEADER)), width=at_most(WIDTH))
    order = list(VerdictState)
    worst_first = sorted(result.verdicts, key=lambda verdict: order.index(verdict.state))
    spent = (f"{name:<10} {words}" for name, words in result.spent)
    about = (*about_answers(result.run), *about_load(result.whole), *about_cost(result.whole), *spent, *about_places(result.run))
    return "\n".join([figures, *about, *reversed(audited(worst_first))])


def cells(found: Sum) -> Iterator[str]:
    """One operation's figures in the columns of the table."""
    yield tables.figure_text(found.ops_per_s, Unit.COUNT)
    yield tables.figure_text(found.bytes_per_s, Unit.BYTES_PER_S) if found.bytes else "-"
    yield from (tables.figure_text(found.latency_ns[name], Unit.NANOSECONDS) for name in SHARES)
    yield f"{found.errors:,}"


def about_answers(run: Run) -> Iterator[str]:
    """What a directory server answered: entries, wrong answers, result codes."""
    found = directory.counted(run)
    if found is not None:
        codes = ", ".join(f"{name} {count:,}" for name, count in found.result_codes.items())
        yield f"answers    {counted(found.entries, 'entry')}, {found.wrong:,} wrong; result codes: {codes or 'none'}"


def about_load(whole: Whole) -> Iterator[str]:
    """What an open loop fell behind by, and how requests were queued."""
    if whole.load is not None:
        backlog = measures.with_unit(whole.load.backlog_max_ns, Unit.NANOSECONDS)
        yield f"open loop  {whole.load.late:,} late, {whole.load.unstarted:,} unstarted, longest backlog {backlog}"
    if whole.queue is not None:
        how = "registered" if whole.queue.registered else "not registered"
        threads = whole.queue.punted_threads
        punted = (
            f", offloaded to {threads} kernel worker thread{'' if threads == 1 else 's'} (io-wq)" if whole.queue.punted else ""
        )
        yield f"queue      depth {whole.queue.depth}, {how}, {whole.queue.submissions:,} submissions{punted}"


def about_cost(whole: Whole) -> Iterator[str]:
    """What the load itself used."""
    cost = whole.cost
    counted = [
        f"{cost[f'{user}_per_op']:,.0f} user and {cost[f'{kernel}_per_op']:,.0f} kernel {what} per operation"
        for what, (user, kernel) in COUNTERS.items()
        if cost[f"{user}_per_op"] is not None and cost[f"{kernel}_per_op"] is not None
    ]
    yield f"own cost   {', '.join(counted) or UNCOUNTED}"
    cpu_s, voluntary, involuntary, faults = (
        cost[name] for name in ("cpu_s_per_million_ops", "voluntary_switches", "involuntary_switches", "faults")
    )
    if cpu_s is not None:
        yield (
            f"           {tables.figure_text(cpu_s, Unit.NONE)} s of CPU per million operations, "
            f"{voluntary or 0:,.0f} voluntary and {involuntary or 0:,.0f} involuntary switches, {faults or 0:,.0f} page faults"
        )


def about_places(run: Run) -> Iterator[str]:
    """Where the files were, if not on a file system that is simply on a device; where both ends of a network were."""
    for phase in run.phases:
        yield from network.lines(phase, "ends       ")
    for place in run.places:
        if not place.is_on_disk:
            yield f"files      {labels.storage(place.filesystem or '', place.devices)}"


def audited(verdicts: Sequence[Verdict]) -> list[str]:
    """The audit of each number in one line: its state, what it is, and what to do where it is not what it is called.

    What a rule advises is said once."""
    lines: list[str] = []
    advised: set[str] = set()
    for verdict in verdicts:
        of = f" {verdict.measure.split('.')[1]}" if len(verdicts) > 1 else ""
        first = next((one for one in failures(verdict.findings) if one.advice), None)
        advice = f". {first.rule}: {first.statement} {first.advice}" if first is not None and first.rule not in advised else ""
        advised |= {first.rule} if first is not None else set()
        lines.append(f"{verdict.state}{of}: {labels.label(verdict)}{advice}")
    return lines


# ------------------------------------------------------------------------------------------------- for programs


def as_plain(result: LoadResult) -> dict[str, object]:
    """Everything as one object; numbers in base units, null where nothing is known."""
    whole, run = result.whole, result.run
    each = {name: summed(found) for name, found in whole.operations.items()}
    return {
        "kind": result.experiment.workloads[0].kind,
        "settings": settings(result.experiment),
        "outcome": str(run.outcome),
        "error": run.error,
        "operations": each,
        **summed(whole.sum),
        **{name: int(found) if found is not None and name in IN_ALL else found for name, found in whole.cost.items()},
        "directory": answers(run, whole),
        "load": plain.to_plain(whole.load),
        "queue": plain.to_plain(whole.queue),
        "verdicts": [judged(verdict) for verdict in result.verdicts],
        "versions": dict(run.versions),
    }


def summed(found: Sum) -> dict[str, object]:
    """Counts, rates, latencies."""
    return {
        "ops": found.ops,
        "bytes": found.bytes,
        "elapsed_s": found.elapsed_ns / 1e9,
        "ops_per_s": found.ops_per_s,
        "bytes_per_s": found.bytes_per_s,
        "latency_ns": dict(found.latency_ns),
        "errors": found.errors,
    }


def settings(experiment: Experiment) -> dict[str, object]:
    """The knobs as they were in effect, quantities in base units; which target, and how many clients."""
    target = experiment.targets[0]
    knobs: Mapping[str, Value] = experiment.workloads[0].knobs
    clients = experiment.factors[0].levels[0]
    return plain.to_plain({"target": target.kind, **target.knobs, **knobs, "clients": clients})  # type: ignore[no-any-return]


def judged(verdict: Verdict) -> dict[str, object]:
    """A verdict with the findings that failed."""
    return {
        "measure": verdict.measure,
        "claim": plain.to_plain(verdict.claim),
        "value": verdict.value,
        "unit": verdict.unit,
        "state": str(verdict.state),
        "label": labels.label(verdict),
        "findings": [finding(one) for one in failures(verdict.findings)],
    }


def finding(one: Finding) -> dict[str, object]:
    """What one rule says."""
    return {
        "rule": one.rule,
        "name": one.name,
        "severity": str(one.severity),
        "statement": one.statement,
        "advice": one.advice,
    }


# ---------------------------------------------------------------------------------------------------- its words


def kinds_text() -> str:
    """The kinds of load with a line of help each."""
    names = single.kinds()
    width = max(len(name) for name in names)
    lines = [f"  {name:<{width}}  {catalogue.help_of('workloads', name)}" for name in names]
    return "\n".join(["Workloads:", *lines, "", "`assay load KIND` lists the keys of a workload and their values."])


def keys_text(kind: str) -> str:
    """The keys that a kind takes, with what each takes and its default. Raises UsageError."""
    known = single.keys(single.plug_of(kind))
    width = max(len(name) for name in known)
    lines = [f"  {name:<{width}}  {knob.help}{also(knob)}" for name, knob in known.items()]
    operations = known["operations"].choices if "operations" in known else ()
    listed = ["", *textwrap.wrap("operations: " + ", ".join(operations), at_most(WIDTH))] if operations else []
    return "\n".join([f"assay load {kind} KEY=VALUE ...", catalogue.help_of("workloads", kind), "", *lines, *listed])


def also(knob: Knob) -> str:
    """What a knob takes and what holds where it is not given, in brackets."""
    if len(knob.choices) > SHORT_LIST:
        takes = "a list of the operations below" if knob.kind is KnobKind.TEXTS else "one of the operations below"
    else:
        takes = EXAMPLES[knob.unit] if knob.kind is KnobKind.QUANTITY else expected(knob)
    default = "required" if knob.required else None if knob.default is None else f"default {default_text(knob)}"
    return f" ({'; '.join(part for part in (takes, default) if part)})"
