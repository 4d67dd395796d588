"""The rows of the tables about runs: steady states, cost of the load, environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from assay import measures
from assay.answer import marks
from assay.answer.scales import show
from assay.answer.wording import coherence, hosts
from assay.answer.wording import operations as ladders
from assay.answer.wording.steady import detail
from assay.frozen import dataclass
from assay.measures.cost import UNITS
from assay.records import (
    Course,
    CourseKind,
    CourseState,
    Experiment,
    Judged,
    Observations,
    Phase,
    Results,
    When,
)

LISTED = 40
"""Most runs of a measure that are listed; where there are more, those that were not steady come first."""
ORDER = (CourseState.NOT_STEADY, CourseState.UNKNOWN, CourseState.STEADY)


@dataclass(frozen=True, kw_only=True)
class SteadyRow:
    """One run's sentence."""

    run: str
    levels: str
    state: CourseState
    statement: str


@dataclass(frozen=True, kw_only=True)
class SteadyGroup:
    """The sentences of one measure, or of several that have the same ones."""

    title: str
    counts: str
    """`9 steady, 1 not steady`."""
    rows: tuple[SteadyRow, ...]
    left_out: int


def steady(results: Results) -> tuple[SteadyGroup, ...]:
    """A group for each measure that has a course; measures whose runs all say the same are one."""
    groups: dict[tuple[Course, ...], list[str]] = {}
    for measure in results.experiment.measures:
        here = [(judged, judged.courses[measure.name]) for judged in results.runs if measure.name in judged.courses]
        if here:
            groups.setdefault(tuple(bare(course) for _, course in here), []).append(measure.name)
    known = {measure.name: marks.measure(measure) for measure in results.experiment.measures}
    return tuple(group(" and ".join(known[name] for name in names), names[0], results) for names in groups.values())


def bare(one: Course) -> Course:
    """A course without the name of its measure; of one of which nothing is known its unit does not matter, either."""
    return replace(one, measure="") if one.mean else replace(one, measure="", kind=CourseKind.RATE, unit="")


def group(title: str, name: str, results: Results) -> SteadyGroup:
    """One measure: how many runs are in which state, and their sentences."""
    here = [(judged, judged.courses[name]) for judged in results.runs if name in judged.courses]
    states = [course.state for _, course in here]
    shown = here if len(here) <= LISTED else sorted(here, key=lambda pair: ORDER.index(pair[1].state))[:LISTED]
    return SteadyGroup(
        title=title,
        counts=", ".join(f"{states.count(state)} {state.value}" for state in reversed(ORDER) if state in states),
        rows=tuple(
            SteadyRow(
                run=judged.id,
                levels=marks.levels(results.experiment, judged.run.trial.levels),
                state=course.state,
                statement=detail(course),
            )
            for judged, course in shown
        ),
        left_out=len(here) - len(shown),
    )


COLUMNS = {
    "user_instructions_per_op": "user instructions",
    "kernel_instructions_per_op": "kernel instructions",
    "user_cycles_per_op": "user cycles",
    "kernel_cycles_per_op": "kernel cycles",
    "cpu_ns_per_op": "CPU time",
    "voluntary_switches": "voluntary switches",
    "involuntary_switches": "involuntary switches",
    "faults": "page faults",
}
"""Figure -> head of its column; the first five are per operation."""
UNKNOWN = "not known"


def costs(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object]:
    """Give the rows (run, levels, phase, figures) and heads of the table, and the names of the columns left out as unknown."""
    phases = [(judged, phase) for judged, _ in observed for phase in judged.run.phases if phase.measured]
    known = [name for name in COLUMNS if any(measures.costs(phase)[name] is not None for _, phase in phases)]
    return {
        "rows": tuple(_rows(experiment, phases, known)),
        "columns": tuple(COLUMNS[name] for name in known),
        "unknown": ", ".join(COLUMNS[name] for name in COLUMNS if name not in known),
    }


def _rows(
    experiment: Experiment, phases: Sequence[tuple[Judged, Phase]], known: Sequence[str]
) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    for judged, phase in phases if known else ():
        found = measures.costs(phase)
        figures = tuple(UNKNOWN if (value := found[name]) is None else show(value, UNITS[name]) for name in known)
        yield judged.id, marks.levels(experiment, judged.run.trial.levels), phase.name, figures


def operations(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object] | None:
    """Give the heads, the rows (run, levels, the kind's counts) and notes of the ladder of operations; None without one."""
    found = [(judged, ladders.ladders(judged.run, seen)) for judged, seen in observed]
    rows = tuple(
        (judged.id, marks.levels(experiment, judged.run.trial.levels), *cells)
        for judged, one in found
        for cells in ladders.rows(one)
    )
    notes = tuple(dict.fromkeys(f"Run {judged.id}, {text}" for judged, one in found for text in ladders.notes(one)))
    return {"head": ("run", "levels", *ladders.HEAD), "rows": rows, "notes": notes} if rows else None


def coherent(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object] | None:
    """Give the heads and the rows (run, levels, the step's figures) of what readers saw of writers; None without any."""
    rows = tuple(
        (judged.id, marks.levels(experiment, judged.run.trial.levels), *cells)
        for judged, seen in observed
        for cells in coherence.rows(judged.run, seen)
    )
    return {"head": ("run", "levels", *coherence.HEAD), "rows": rows} if rows else None


def ladders_and_coherence(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object]:
    """Give the tables that loads of one kind alone have: operations of directories, what readers saw of writers."""
    return {"operations": operations(experiment, observed), "coherence": coherent(experiment, observed)}


FIRST = (
    "kernel.release",
    "cpu.model",
    "cpu.online",
    "memory.total",
    "host.system",
    "mount.target.fstype",
    "mount.target.source",
    "mount.target.options",
    "0.name",
    "0.queue.scheduler",
    "0.queue.write_cache",
    "0.queue.read_ahead_kb",
)
"""Keys, or the ends of keys, of the facts that stand on top."""


def facts(observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object]:
    """Give the rows (key, host, value, class), how many differ, whose they are, and the missing evidence."""
    values: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for judged, seen in observed:
        for fact in seen.facts:
            if fact.when is When.BEFORE:
                here = values.setdefault((fact.key, fact.host, fact.fact_class.value), {})
                here.setdefault(fact.value, []).append(judged.id)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for (key, host, kind), found in sorted(values.items()):
        alike.setdefault((key, _value(found), kind), []).append(host)
    everyone = {host for _, host, _ in values}
    changed = {(key, host, kind) for (key, host, kind), found in values.items() if len(found) > 1}
    rows = [((key, of[0], kind) in changed, (key, _whose(of, everyone), value, kind)) for (key, value, kind), of in alike.items()]
    return {
        "rows": tuple(row for _, row in sorted(rows, key=lambda pair: (not pair[0], _rank(pair[1][0])))),
        "compared": len(observed),
        "differing": sum(differs for differs, _ in rows),
        "runs": f"{marks.count(len(observed), 'run')} ({', '.join(judged.id for judged, _ in observed)})",
        "missing": _missing(observed),
    }


def _missing(observed: Sequence[tuple[Judged, Observations]]) -> tuple[tuple[str, str], ...]:
    """Give the keys of each reason together: a phase without files lacks a dozen of them, and hides what can be mended."""
    if any(judged.run.is_spread for judged, _ in observed):
        return hosts.missing((judged.run, seen) for judged, seen in observed)
    keys: dict[str, list[str]] = {}
    for key, reason in sorted({one.key: one.reason for _, seen in observed for one in seen.missing}.items()):
        keys.setdefault(reason, []).append(key)
    return tuple((", ".join(names), reason) for reason, names in keys.items())


def _whose(names: Sequence[str], everyone: Collection[str]) -> str:
    """The hosts of which a fact is so; how many, where they are many."""
    if len(names) == len(everyone) > 1:
        return f"all {len(names)} hosts"
    return ", ".join(names) if len(names) <= hosts.FEW else f"{len(names)} hosts"


def spread(observed: Sequence[tuple[Judged, Observations]]) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
    """The tables of hosts: of each run over several hosts its name, and a row for each host. Equal tables are one."""
    found: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for judged, seen in observed:
        if rows := hosts.rows(judged.run, seen):
            found.setdefault(rows, []).append(judged.id)
    return tuple((", ".join(runs), rows) for rows, runs in found.items())


OF_TARGET = ("device.", "mount.")
"""Facts that the target's host tells of the target."""
OURS = "/.assay-"
"""Where the path of a place goes on below the directory of the user, which a file may name from where it was begun."""
MOST_PLACES = 4
"""So many places of an experiment are named on its first screen."""


def places(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> tuple[str, ...]:
    """`/data: ext4 on vda · host a · Linux 6.1`: where each of these runs ran, each place once."""
    found = dict.fromkeys(_place(experiment, judged, seen) for judged, seen in observed)
    return tuple(one for one in found if one)[:MOST_PLACES]


def _place(experiment: Experiment, judged: Judged, seen: Observations) -> str:
    known: dict[str, list[str]] = {}
    spread, targets = hosts.named(judged.run), judged.run.target_hosts
    for fact in seen.facts:
        if fact.when is When.BEFORE and not (spread and fact.key.startswith(OF_TARGET) and fact.host not in targets):
            known.setdefault(fact.key, []).append(fact.value)
    target = judged.run.trial.levels.get("target", experiment.first_target.name if experiment.first_target else None)
    path = next((one.knobs.get("path") for one in experiment.targets if one.name == target), None)
    if isinstance(path, str) and not path.startswith("/"):
        path = next((one.address.partition(OURS)[0] for one in judged.run.places if one.target == target), "") or path
    devices = [values[0] for key, values in known.items() if re.fullmatch(r"device\.\d+\.name", key)]
    system, *_ = known.get("mount.target.fstype", [""])
    on = " on ".join(part for part in (system, *devices) if part) or known.get("mount.target.source", [""])[0]
    here = spread or (f"host {', '.join(dict.fromkeys(known['host.name']))}" if "host.name" in known else "")
    kernel = f"Linux {', '.join(dict.fromkeys(known['kernel.release']))}" if "kernel.release" in known else ""
    where = ": ".join(part for part in (str(path or target or ""), on) if part)
    return " · ".join(part for part in (where, here, kernel) if part)


def _rank(key: str) -> int:
    """The place of a fact among those that a reader asks for first; behind them all others."""
    return next((place for place, first in enumerate(FIRST) if key == first or key.endswith(first)), len(FIRST))


def _value(found: dict[str, list[str]]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{value} ({', '.join(runs)})" for value, runs in found.items())
