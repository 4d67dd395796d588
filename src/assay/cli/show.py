"""Show one run: its measures with verdicts, what failed and why, and how its phases went."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay import measures
from assay.analysis import steady_state
from assay.answer import doubts
from assay.answer.wording import coherence, drill, hosts, labels, steady, time_spent
from assay.answer.wording import operations as ladders
from assay.answer.wording.load import account, own_cost
from assay.audit import judge
from assay.cli import tables
from assay.errors import DamagedError, UsageError
from assay.laboratory.results import judged_run
from assay.measures import directory
from assay.measures.outages import Outage, outages
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.records import Experiment, Finding, Judged, Observations, Outcome, Phase, Run, State, Verdict, When, sides
from assay.terminal.output import Row, deliver, say, table
from assay.units import Unit

MOUNTED, FILESYSTEM = ".clients.mount", ".clients.filesystem"
"""Facts of a target whose clients mount it."""
MOST_NAMED = 20
"""Of many runs so many are named where the one that was asked for is not there."""


def show(lab: Path, which: str | None, run_id: str, *, json_to: str | None) -> int:
    """Show a run of an experiment by today's rules. Raises UsageError naming the runs that there are, DamagedError."""
    folder = notebook.choose(lab, which)
    judged = find(folder, run_of(folder, run_id))
    experiment = notebook.read_plan(folder)[0]
    seen = notebook.observations(folder, judged.id)
    treated = treatments(experiment, judged, seen)
    deliver(json_to, "show", lambda: as_plain(experiment, judged, treated, seen), lambda: text(experiment, judged, treated, seen))
    return 0


def run_of(folder: Path, text: str) -> str:
    """Return the name of a run: `7/1` is 0007/1; a trial alone is its last run, and if it has several, which there are is said.

    Raises UsageError.
    """
    if not (text.isascii() and text.isdecimal()):
        return layout.run_id(*layout.split_run_id(text))
    found = [each for path in notebook.attempts(folder) if (each := layout.split_attempt(path))[0] == int(text)]
    names = [layout.run_id(*each) for each in found]
    if len(names) > 1:
        say(f"assay: trial {int(text)} has the runs {', '.join(names)}; the last one is shown", sys.stderr)
    return names[-1] if names else layout.run_id(int(text), 1)


def outages_of(experiment: Experiment, judged: Judged, seen: Observations) -> dict[str, tuple[Outage, ...]]:
    """Phase -> what its operations did around each cut of a path; phases without a cut are left out."""
    events = {one.name: one.events for one in experiment.workloads}
    found = {phase.name: outages(phase, seen, events.get(phase.workload, ())) for phase in judged.run.phases}
    return {name: each for name, each in found.items() if each}


def as_plain(experiment: Experiment, judged: Judged, treated: Mapping[str, str], seen: Observations) -> dict[str, object]:
    """A run with its verdicts, how figures were made, and what the load itself used in each phase (`measures.costs`).

    Of a run over several hosts also what evidence is missing, by host.
    """
    costs = {phase.name: measures.costs(phase) for phase in judged.run.phases}
    courses = {name: {**to_plain(one), "statement": steady.statement(one)} for name, one in judged.courses.items()}
    lacking = {"missing": to_plain(sides.lacking(judged.run, seen))} if judged.run.is_spread else {}
    answered = directory.counted(judged.run)
    answers = {} if answered is None else {"directory": to_plain(answered)}
    cuts = outages_of(experiment, judged, seen)
    away = {"outages": to_plain(cuts)} if cuts else {}
    counted = ladders.ladders(judged.run, seen)
    steps = {"operation_ladder": to_plain(counted)} if counted else {}
    named = {"courses": courses, "treatments": dict(treated), "costs": costs}
    return {**to_plain(judged), **named, **lacking, **answers, **away, **steps}


def treatments(experiment: Experiment, judged: Judged, seen: Observations) -> dict[str, str]:
    """How each figure was made that is not simply what was done over the time in which it was; with what it was before."""
    found: dict[str, str] = {}
    for measure in experiment.measures:
        figure = measures.value(judged.run, seen, measure) if measure.name in judged.verdicts else None
        if figure is None:
            continue
        charged = labels.charged((figure.flushes, figure.flush_ns), figure.drain_ns)
        before = "" if figure.raw is None else f"{tables.figure_text(figure.raw, figure.unit)} without"
        if parts := [part for part in (figure.treatment, charged, before) if part]:
            found[measure.name] = "; ".join(parts)
    return found


def find(folder: Path, run_id: str) -> Judged:
    """The run with its verdicts, as stored by today's rules or judged in memory."""
    try:
        judged = notebook.one_result(folder, run_id, judge.ruleset())
    except DamagedError as error:
        raise DamagedError(f"run {run_id} is damaged: {error}. Measure it again with `assay run --resume`.") from error
    if judged is not None:
        return whole(folder, notebook.read_plan(folder)[0], judged)
    kept = notebook.scan(folder)
    names = [run.id for run in kept.runs]
    more = f" and {len(names) - MOST_NAMED} more (`assay list {folder.name}`)" if len(names) > MOST_NAMED else ""
    there = f"one of: {', '.join(names[:MOST_NAMED])}{more}" if names else "a kept run: there is none yet"
    damaged = f"; damaged: {', '.join(kept.damaged)}" if kept.damaged else ""
    raise UsageError(f"found no run {run_id} in {folder.name}; expected {there}{damaged}")


def whole(folder: Path, experiment: Experiment, judged: Judged) -> Judged:
    """The run with verdicts and courses; what is not stored is made of its evidence."""
    if judged.run.outcome is not Outcome.FINISHED or judged.courses:
        return judged
    seen = notebook.observations(folder, judged.id)
    if not judged.verdicts:
        return judged_run(experiment, judged.run, seen)
    return replace(judged, courses=steady_state.courses(experiment, judged.run, seen))


def text(experiment: Experiment, judged: Judged, treated: Mapping[str, str], seen: Observations) -> str:
    """A run in words."""
    run, lacking = judged.run, list(hosts.lines(judged.run, seen))
    started = run.started_utc[:19].replace("T", " ")
    levels = tables.levels_text(experiment, run.trial.levels)
    head = f"run {judged.id} of {experiment.title!r}: {run.outcome.value}, {started} UTC, {levels}"
    findings = [finding for verdict in judged.verdicts.values() for finding in verdict.findings]
    parts = [
        head.rstrip(", "),
        f"error: {run.error}" if run.error else "",
        verdict_table(judged),
        told_table(run.phases, judged),
        together("corrections:", treated),
        together("over time:", {measure: steady.statement(course) for measure, course in judged.courses.items()}),
        tables.reasons(judged.verdicts.values()),
        unverified(findings),
        phase_table(run.phases),
        spent(run.phases, seen),
        mounts(seen),
        ladder_of_operations(run, seen),
        table(coherence.HEAD, [Row(cells=cells) for cells in steps], coherence.NUMBERS)
        if (steps := coherence.rows(run, seen))
        else "",
        table(hosts.HEAD, [Row(cells=cells) for cells in found], hosts.NUMBERS) if (found := hosts.rows(run, seen)) else "",
        "\n".join(("missing evidence:", *lacking)) if lacking else "",
        "\n".join(("outages:", *cuts)) if (cuts := lines_of_cuts(outages_of(experiment, judged, seen))) else "",
        "\n".join(("drill:", *(f"    {line}" for line in records))) if (records := list(drill.lines(run, seen))) else "",
        account(run.phases),
        own_cost(run.phases),
    ]
    return "\n\n".join(part for part in parts if part)


def spent(phases: tuple[Phase, ...], seen: Observations) -> str:
    """What threads of the load and of its server did in each measured phase; empty where nobody looked."""
    lines = [
        f"    {phase.name}{'' if name == 'spent' else f', {name}'}: {words}"
        for phase in phases
        if phase.measured
        for name, words in time_spent.lines(phase, seen)
    ]
    return "\n".join(("where the time went:", *lines)) if lines else ""


def mounts(seen: Observations) -> str:
    """The options with which the clients' mounts were in force, by target and host, as /proc/mounts has them."""
    known = {(one.host, one.key): one.value for one in seen.facts if one.when is When.BEFORE and one.key.endswith(MOUNTED)}
    kinds = {(one.host, one.key): one.value for one in seen.facts if one.key.endswith(FILESYSTEM)}
    lines = {
        f"    {kinds.get((host, key.removesuffix(MOUNTED) + FILESYSTEM), 'unknown')}: {value}": None
        for (host, key), value in known.items()
    }
    return "\n".join(("mounts of the clients:", *lines)) if lines else ""


def lines_of_cuts(cuts: Mapping[str, tuple[Outage, ...]]) -> list[str]:
    """A line for each operation and cut."""
    return [f"    {name}: {drill.cut(one)}" for name, each in cuts.items() for one in each]


def verdict_table(judged: Judged) -> str:
    """Every measure with its value and verdict."""
    rows = [
        Row(
            cells=(
                verdict.state.value,
                measure,
                tables.figure_text(verdict.value, verdict.unit),
                corrected(verdict),
                doubts.tier([verdict]),
            ),
            note=labels.label(verdict),
        )
        for measure, verdict in judged.verdicts.items()
    ]
    return table(("verdict", "measure", "value", "corrected", "tier"), rows, (2, 3)) if rows else ""


def together(head: str, texts: Mapping[str, str]) -> str:
    """The texts on measures below a heading, measures of the same text in one line; empty where there are none."""
    lines: dict[str, list[str]] = {}
    for measure, text in texts.items():
        lines.setdefault(text, []).append(measure)
    return "\n".join((head, *(f"    {', '.join(names)}: {text}" for text, names in lines.items()))) if lines else ""


def corrected(verdict: Verdict) -> str:
    """The corrected figure, else the bound, else `-`."""
    if verdict.corrected is not None:
        return tables.figure_text(verdict.corrected, verdict.unit)
    if verdict.bound is None:
        return "-"
    low, high = (tables.figure_text(edge, verdict.bound.unit) for edge in (verdict.bound.low, verdict.bound.high))
    return f"<= {high}" if low == "-" else f">= {low}" if high == "-" else f"{low} to {high}"


def unverified(findings: list[Finding]) -> str:
    """What could not be verified, each statement once, with what would tell."""
    open_ones = [one for one in findings if one.state is State.UNVERIFIED]
    found = {f"    {one.rule} {one.name}: {one.statement}": f"        {one.advice}" if one.advice else None for one in open_ones}
    return "not verified:\n" + "\n".join(line for pair in found.items() for line in pair if line) if found else ""


def phase_table(phases: tuple[Phase, ...]) -> str:
    """How the phases followed each other."""
    rows = [
        Row(
            cells=(
                phase.name if phase.measured else f"({phase.name})",
                tables.figure_text(phase.start_ns, Unit.NANOSECONDS),
                tables.figure_text(phase.lasted_ns, Unit.NANOSECONDS),
                tables.figure_text(phase.drain_ns, Unit.NANOSECONDS),
                f"{phase.cache_asked.value}, {cached(phase)}",
                str(len(phase.clients)),
                operations(phase),
            )
        )
        for phase in phases
    ]
    return table(("phase", "start", "length", "drain", "cache", "clients", "operations"), rows, (1, 2, 3, 5)) if rows else ""


def told_table(phases: tuple[Phase, ...], judged: Judged) -> str:
    """Return the figures that a tool told of its operations and that no measure shows."""
    shown = {measure.partition(".")[2] for measure in judged.verdicts}
    rows = [
        Row(cells=(operation, figure, tables.figure_text(value, measures.FIGURES[figure].unit)))
        for phase in phases
        for name, value in phase.values.items()
        if (operation := name.rpartition(".")[0]) in phase.operations
        and (figure := name.rpartition(".")[2]) in measures.FIGURES
        and name not in shown
    ]
    return table(("operation", "figure", "told"), rows, (2,)) if rows else ""


def ladder_of_operations(run: Run, seen: Observations) -> str:
    """What client, wire and server counted of a directory load; empty without one."""
    found = ladders.ladders(run, seen)
    rows = [Row(cells=cells) for cells in ladders.rows(found)]
    return "\n".join((table(ladders.HEAD, rows, ladders.NUMBERS), *ladders.notes(found))) if rows else ""


def cached(phase: Phase) -> str:
    """What was known of the cache before the clock started."""
    share = phase.cached_share_before
    return "cached share unknown" if share is None else f"{measures.percent(share)} cached"


def operations(phase: Phase) -> str:
    """`create 20,000, list 40`: completed, over all clients, with errors where there were some."""
    done: dict[str, int] = {}
    failed: dict[str, int] = {}
    for client in phase.clients:
        for total in client.operations:
            done[total.operation] = done.get(total.operation, 0) + total.count
            failed[total.operation] = failed.get(total.operation, 0) + total.errors
    return ", ".join(
        f"{name} {count:,}" + (f" ({failed[name]:,} errors)" if failed[name] else "") for name, count in done.items()
    )
