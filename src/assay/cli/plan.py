"""An experiment before its first trial: design, schedule, duration, missing evidence, detectable effects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from assay import catalogue
from assay.catalogue import Host
from assay.cli.doctor import MissingObserver, gaps
from assay.errors import ObstacleErrors, UsageError
from assay.experiment import outlook as forecast
from assay.experiment import plan as planning
from assay.experiment import spread
from assay.experiment.consistency import NUMERALS
from assay.experiment.design import Structure, owners, structure, varying
from assay.experiment.named_hosts import LOCAL, readdressed
from assay.experiment.outlook import Outlook, PlannedEffect
from assay.hosts.local import Local
from assay.laboratory.history import history
from assay.laboratory.session import experiment_of, here
from assay.machine import cpus
from assay.measures import difference, percent
from assay.measures.text import level as level_text
from assay.plain import to_plain
from assay.records import Change, DesignKind, Experiment, Factor, Plan, Precision
from assay.statistics.significance import MOST_NEEDED
from assay.terminal.output import Row, deliver, table
from assay.trial import placement
from assay.units import Unit, human

SHOWN_RULES = 12
"""Rules without evidence that are named on one line."""
SOURCES = {
    "history": "from earlier trials",
    "others": "estimate, corrected by trials of other experiments",
    "workloads": "estimate for a local solid-state disk",
}
ALIAS_WIDTH = 96
"""Characters of a line of aliases."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Everything that is known before the first trial."""

    title: str
    digest: str
    schedule: str
    """SHA-256 of the order of trials."""
    plan: Plan
    outlook: Outlook
    design: Structure | None
    """What the design can tell apart, where the file names one."""
    missing: tuple[MissingObserver, ...]
    unverified: tuple[str, ...]
    """Rules whose evidence nobody can give here."""
    obstacles: tuple[str, ...] = ()
    """Why `assay run` would refuse it on this host."""
    not_varied: tuple[str, ...] = ()
    """Why other settings of the CPUs do not vary, where the file varies their number."""


def plan(file: Path, lab: Path, json_to: str | None, hosts: Sequence[str] = ()) -> int:
    """Print the plan of an experiment file for this machine; `hosts` are other addresses. Raises InputErrors, UsageError.

    Gives 2 where `assay run` would refuse it.
    """
    experiment = readdressed(experiment_of(file, lab), hosts)
    host = Local()
    preview = preview_of(experiment, host, history(lab, experiment))
    few = (*spread.too_few_clients(experiment, preview.plan.trials), *spread.without_engine(experiment))
    preview = replace(preview, obstacles=(*few, *map(str, here(experiment, host, lab))))
    deliver(json_to, "plan", lambda: to_plain(preview), lambda: text(experiment, preview))
    return UsageError.exit_status if preview.obstacles else 0


def preview_of(experiment: Experiment, host: Host, known: planning.History | None = None) -> Preview:
    """Draw the schedule, size it by earlier runs, and query the observers about this host.

    Nothing is said of this host where `local` takes no part. Raises UsageError for CPUs that the host does not have.
    """
    here = spread.taking_part(experiment)
    loads = {spec.name: (host,) if LOCAL in experiment.load_hosts(spec) else () for spec in experiment.workloads}
    if wrong := placement.obstacles(loads, experiment):
        raise ObstacleErrors(wrong)
    schedule = planning.plan(experiment, history=known)
    names = catalogue.watchers_of(experiment)
    missing = gaps(host, names) if LOCAL in here else ()
    return Preview(
        title=experiment.title,
        digest=experiment.digest,
        schedule=schedule_digest(schedule),
        plan=schedule,
        outlook=forecast.outlook(experiment, schedule, known),
        design=structure(experiment),
        missing=missing,
        unverified=blind_rules(names, missing),
        not_varied=cpus.not_varied(host) if LOCAL in here and any(_of_cpus(one) for one in experiment.factors) else (),
    )


def _of_cpus(factor: Factor) -> bool:
    return factor.path.endswith((".cpus", ".server_cpus")) and len(factor.levels) > 1


ADDED = ("preparation", None)
"""Left out of the digest of a schedule: older schedules keep theirs."""


def schedule_digest(schedule: Plan) -> str:
    """SHA-256 of the canonical JSON of all trials: the same file and seed give the same order."""
    trials = [{name: value for name, value in one.items() if (name, value) != ADDED} for one in to_plain(schedule.trials)]
    canonical = json.dumps(trials, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def blind_rules(names: Sequence[str], missing: Sequence[MissingObserver]) -> tuple[str, ...]:
    """Rules that need evidence which only a missing observer gives."""
    seeing = set(names) - {gap.observer for gap in missing}
    given = [key for name in seeing for key in catalogue.find("observers", name).gives]
    lost = [key for gap in missing for key in gap.evidence if not _among(key, given)]
    if not lost:
        return ()
    rules = (catalogue.find("rules", name) for name in catalogue.names("rules"))
    return tuple(sorted({rule.id for rule in rules if any(_among(need, lost) for need in rule.needs)}))


def _among(key: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def text(experiment: Experiment, preview: Preview) -> str:
    """The preview for people, the answer first."""
    outlook = preview.outlook
    source = SOURCES[outlook.duration_from]
    lines = [
        preview.title,
        *(f"  refused     {obstacle}" for obstacle in preview.obstacles),
        f"  trials      {outlook.trials:,} = {_arithmetic(experiment, outlook)}",
        f"  duration    {_lasting(outlook)} ({source})",
        f"  schedule    {preview.schedule[:16]} (seed {experiment.seed}, drawn to {preview.plan.drawn_blocks:,} blocks)",
        f"  experiment  {experiment.digest[:16]}",
        *(f"  measure     {measure.name}" for measure in experiment.measures),
        *_design(experiment, preview.design),
        *_comparison(experiment, outlook),
        *(f"  missing     {one.observer}: {one.reason}" for one in preview.missing),
        *_blind(preview.unverified),
        *(f"  not varied  {reason}" for reason in preview.not_varied),
        *(f"  note        {note.subject}: {note.text}" for note in preview.plan.notes),
    ]
    return "\n".join(lines)


def _arithmetic(experiment: Experiment, outlook: Outlook) -> str:
    levels = [
        f"{len(factor.levels) + factor.returns} {f'sittings of {factor.path}' if factor.change is Change.MANUAL else factor.path}"
        for factor in experiment.factors
    ]
    if (designed := structure(experiment)) is not None:
        levels = [f"{designed.combinations} combinations"]
    how = ""
    if isinstance(experiment.repeats, Precision):
        how = f" at most, until ±{human(experiment.repeats.half_width_share, Unit.SHARE)}"
    elif experiment.budget_ns is not None:
        how = f" in {_duration(experiment.budget_ns)}"
    if experiment.slices is not None:
        return " x ".join([*levels, f"{outlook.blocks // experiment.slices:,} preparations", f"{experiment.slices:,} slices"])
    return " x ".join([*levels, f"{outlook.blocks:,} blocks{how}"])


def _lasting(outlook: Outlook) -> str:
    """`about 5 min`; between the shortest and the longest where a precision decides."""
    if outlook.shortest_ns == outlook.duration_ns:
        return f"about {_duration(outlook.duration_ns)}"
    return f"{_duration(outlook.shortest_ns)} at least, {_duration(outlook.duration_ns)} at most"


def _duration(ns: int) -> str:
    seconds = ns / 1e9
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _comparison(experiment: Experiment, outlook: Outlook) -> list[str]:
    if outlook.compare is None and experiment.design is None:
        return ["  compares    nothing: no factor to compare, so figures without ratios"]
    matters = human(experiment.matters_share, Unit.SHARE)
    together = _together(outlook)
    contrasts = (
        f"{outlook.contrasts} contrast{'' if outlook.contrasts == 1 else 's'} per measure{together}, {outlook.design.value} arms"
    )
    first = f"  compares    {outlook.compare}, {contrasts}; smallest relevant effect {matters}"
    if outlook.compare is None:
        first = f"  estimates   {outlook.contrasts} effects per measure, Holm-adjusted; smallest relevant effect {matters}"
    names = [_spread(effect, precise=isinstance(experiment.repeats, Precision)) for effect in outlook.effects]
    rows = [
        Row(cells=(f"    {name}", _least(effect.detectable_share), _least(effect.provable_share), *_needed(outlook, effect)))
        for name, effect in zip(names, outlook.effects, strict=True)
    ]
    unit, between = (
        ("blocks", "trial-to-trial variation") if experiment.slices is None else ("preparations", "between preparations")
    )
    needed = (f"{unit} to detect {matters}",) if outlook.compare is not None else ()
    header = (f"  {between}", "minimum detectable effect", "minimum provable effect", *needed)
    return [first, table(header, rows, range(1, len(header)))]


def _together(outlook: Outlook) -> str:
    """` (3 tests, Dunnett-adjusted; 6 of secondary measures, Benjamini-Yekutieli-adjusted)`; empty of a single test."""
    procedure = "Dunnett-adjusted, or Holm where spreads differ" if outlook.by_dunnett else "Holm-adjusted"
    texts = [f"{outlook.family_size} tests, {procedure}"] if outlook.family_size > 1 else []
    if outlook.secondary_size > 1:
        texts += [f"{outlook.secondary_size} of secondary measures, Benjamini-Yekutieli-adjusted"]
    return f" ({'; '.join(texts)})" if texts else ""


def _needed(outlook: Outlook, effect: PlannedEffect) -> tuple[str, ...]:
    """How many blocks a difference that matters takes, where something is compared."""
    if outlook.compare is None:
        return ()
    return (f"{effect.needed:,}" if effect.needed else f"over {MOST_NEEDED:,}",)


def _spread(effect: PlannedEffect, *, precise: bool) -> str:
    """`CV 3 %`, with the measure that had it before, and with the blocks that it takes to a precision."""
    seen = f" ({effect.measure}, earlier runs)" if effect.measure else ""
    return f"CV {human(effect.cv_share, Unit.SHARE)}{seen}" + (f", {effect.blocks:,} blocks" if precise else "")


def _least(share: float | None) -> str:
    return difference(share) or "none"


def _blind(rules: tuple[str, ...]) -> list[str]:
    if not rules:
        return []
    more = f" and {len(rules) - SHOWN_RULES} more" if len(rules) > SHOWN_RULES else ""
    return [f"  unverified  for lack of that evidence: {', '.join(rules[:SHOWN_RULES])}{more}"]


def _design(experiment: Experiment, designed: Structure | None) -> Iterator[str]:
    """How many combinations, what generates them, which effects are aliased; nothing for a file without a design."""
    if designed is None:
        return
    several = varying(experiment.factors)
    resolution = f", resolution {NUMERALS[designed.resolution]}" if designed.resolution else ""
    yield (
        f"  design      {designed.kind.value}{resolution}: {designed.combinations} of {designed.of:,} combinations of "
        f"{len(several)} factors in every block"
    )
    letters = {path: f"{letter} " for letter, path in designed.letters.items()}
    where = owners(several) if designed.kind is DesignKind.ONE_AT_A_TIME else {}
    on = {place: f"; on target {several[factor].levels[step]}" for place, (factor, step) in where.items()}
    for place, factor in enumerate(several):
        baseline, *levels = (level_text(experiment, factor.path, level) for level in factor.levels)
        shown = f"{baseline} (baseline), {', '.join(levels)}{on.get(place, '')}"
        yield f"  factor      {letters.get(factor.path, '')}{factor.path}: {shown}"
    for one in designed.generators:
        yield f"  generator   {one}"
    yield from _wrapped("  aliases     ", designed.aliases)
    yield from _confounding(designed)


def _confounding(designed: Structure) -> Iterator[str]:
    """Yield the consequence of the aliases in one line."""
    if designed.kind is DesignKind.ONE_AT_A_TIME:
        yield '  Interactions are not estimated. Use design = "full" or "fractional" to estimate them.'
    elif designed.kind is DesignKind.SCREENING:
        much = f" (up to {percent(designed.partly_mixed)} of each)" if designed.partly_mixed else ""
        yield f"  Main effects are aliased with interactions of other factors{much}. Use this design for screening only."
    elif designed.resolution == 3:
        yield "  Main effects are aliased with the interactions above."
    elif designed.resolution == 4:
        yield "  Aliased interactions (above) cannot be separated; main effects are clear of them."


def _wrapped(head: str, parts: tuple[str, ...]) -> Iterator[str]:
    """The parts behind each other, a new line where one is full."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) > ALIAS_WIDTH:
            yield f"{head}{line}"
            line = ""
        line += f"{', ' if line else ''}{part}"
    if line:
        yield f"{head}{line}"
