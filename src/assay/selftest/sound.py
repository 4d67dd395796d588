"""`assay selftest --audit --sound N`: sound trials of many kinds, really run; whatever is called invalid is a false alarm.

The kinds are the shipped sound experiments (`controls/sound/`) and the sound twins of the controls, one after the other until so
many trials were judged. None is repeated for its outcome: what a rule says of the first try counts, also on a busy machine.
The words are the answer, each accusation, counts by kind and by rule; `plain` gives them as assay.selftest-sound/1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from assay.errors import AssayError, UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import clean_quietly
from assay.machine.engine_file import engine_path
from assay.records import Experiment, Finding, Outcome, Results, State, Value
from assay.selftest import Request
from assay.selftest.control import accuses, fixed, last_runs, measured, obstacle
from assay.selftest.counts import NamedControl, each_once, head, interval, of, percent
from assay.selftest.lies import INTERRUPTED, Show, gathered, pairs
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.output import Row, deliver, table

FILESYSTEM = "disk.filesystem"
"""The factor of the sound experiments."""
LIMIT = "limit."
"""How the knobs of a disk of known speed begin."""
VERB = "selftest-sound"
BY_KIND = ("kind", "accused", "95 % interval")
BY_RULE = ("rule", "accused", "95 % interval")


@dataclass(frozen=True, kw_only=True)
class TrialKind:
    """One kind of sound trial."""

    name: str
    path: Path
    experiment: Experiment
    obstacle: str | None
    """Why this user or machine cannot run it."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One sound trial and what the rules made of it."""

    kind: str
    failed: str | None = None
    """Why there is no verdict: then it is not counted."""
    spoke: frozenset[str] = frozenset()
    """The rules that passed or failed one of its measures."""
    accused: Mapping[str, str] = field(default_factory=dict)
    """Rule -> its statement, of those that called a measure invalid."""
    noise: frozenset[str] = frozenset()
    """Rules of noise that say that the machine spoiled it; these speak of the platform and accuse nobody."""


@dataclass(frozen=True, kw_only=True)
class SoundResults:
    """All trials in their order, and the kinds that could not be run."""

    tried: tuple[Tried, ...]
    skipped: Mapping[str, str]
    """Kind -> why this user or machine cannot run it."""
    complete: bool = True
    """Whether it came to its end without an interrupt."""

    @property
    def judged(self) -> tuple[Tried, ...]:
        """Those with verdicts."""
        return tuple(one for one in self.tried if one.failed is None)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that spoke of any of them."""
        return tuple(sorted({rule for one in self.judged for rule in one.spoke}))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that were tried, in their order."""
        return tuple(dict.fromkeys(one.kind for one in self.tried))


def run_sound_trials(request: Request, trials: int) -> int:
    """Run so many sound trials, print who accused them; 0, with a gate 3 where any rule did, 130 after an interrupt.

    Raises UsageError where no number of trials is asked for, MissingError without an engine.
    """
    if trials < 1:
        raise UsageError(f"found --sound {trials}; expected 1 or more")
    every = (*shipped(), *twins())
    engine_path()
    clean_quietly(Local())
    able = [kind for kind in every if kind.obstacle is None]
    found, complete = gathered(request.progress, trials, lambda show: rounds(able, trials, show))
    skipped = {kind.name: kind.obstacle for kind in every if kind.obstacle is not None}
    results = SoundResults(tried=found, skipped=skipped, complete=complete)
    deliver(request.json_to, VERB, lambda: plain(results), lambda: text(results))
    if not complete:
        return INTERRUPTED
    return BAD_VERDICT if request.gate is not Gate.OFF and any(one.accused for one in found) else 0


# ------------------------------------------------------------------------------------------------- the kinds


def shipped() -> Iterator[TrialKind]:
    """The sound experiments, on each of their file systems."""
    folder = Path(str(resources.files("assay.controls"))) / "sound"
    for path in sorted(folder.glob("*.toml")):
        experiment = read.read(path)
        (levels,) = (factor.levels for factor in experiment.factors if factor.path == FILESYSTEM)
        for level in levels:
            one = restricted(experiment, {FILESYSTEM: level})
            yield TrialKind(name=f"{path.stem} {level}", path=path, experiment=one, obstacle=obstacle(needs(one)))


def twins() -> Iterator[TrialKind]:
    """The sound twin of each control."""
    for pair in pairs():
        one = restricted(read.read(pair.path), pair.control.passes)
        yield TrialKind(name=f"twin of {pair.subject.name}", path=pair.path, experiment=one, obstacle=pair.subject.obstacle)


def restricted(experiment: Experiment, levels: Mapping[str, Value]) -> Experiment:
    """The experiment with these levels alone, once."""
    return replace(fixed(experiment, levels), repeats=1)


def needs(experiment: Experiment) -> tuple[str, ...]:
    """What a sound experiment needs of a machine: its loop disk needs root, a disk of known speed a throttle."""
    knobs = (name for target in experiment.targets for name, value in target.knobs.items() if value is not None)
    return ("root", "loop", *(("throttle",) if any(name.startswith(LIMIT) for name in knobs) else ()))


# ---------------------------------------------------------------------------------------------- the trials


def rounds(able: Sequence[TrialKind], wanted: int, show: Show) -> Iterator[Tried]:
    """Round after round, each with data and an order of its own, until so many trials are judged.

    A round in which none is judged is the last.
    """
    before, judged, seed = -1, 0, 0
    while before < judged < wanted:
        before, seed = judged, seed + 1
        for kind in able:
            if judged >= wanted:
                return
            show(NamedControl(name=kind.name, rule="sound"), judged + 1)
            for one in tried(kind, seed):
                judged += one.failed is None
                yield one


def tried(kind: TrialKind, seed: int) -> tuple[Tried, ...]:
    """The trials of one kind; its notebook is thrown away."""
    with tempfile.TemporaryDirectory(prefix="assay-selftest-") as lab:
        try:
            results = measured(replace(kind.experiment, seed=seed), kind.path.read_text(encoding="utf-8"), Path(lab))
        except AssayError as error:
            return (Tried(kind=kind.name, failed=f"could not be run: {error}"),)
        return tuple(of_results(kind.name, results))


def of_results(kind: str, results: Results) -> Iterator[Tried]:
    """What came of each trial: the findings of all rules on all its measures."""
    for run in last_runs(results):
        findings = [finding for verdict in run.verdicts.values() for finding in verdict.findings]
        if run.run.outcome is Outcome.FINISHED and run.verdicts:
            yield Tried(
                kind=kind,
                spoke=frozenset(finding.rule for finding in findings if finding.state in (State.PASS, State.FAIL)),
                accused={finding.rule: finding.statement for finding in findings if accuses(finding)},
                noise=frozenset(finding.rule for finding in findings if is_noise(finding)),
            )
        else:
            yield Tried(kind=kind, failed=run.run.error or f"the run {run.run.outcome.value} and nothing was judged")


def is_noise(finding: Finding) -> bool:
    """Whether a rule of noise says that the platform spoiled the trial."""
    return finding.counts and finding.part == "noise"


def share(trials: Iterable[Tried], rule: str | None = None) -> Proportion:
    """How many of these trials any rule accused, or this one, of those that it spoke of."""
    counted = [one for one in trials if one.failed is None and (rule is None or rule in one.spoke)]
    return proportion(sum(bool(one.accused) if rule is None else rule in one.accused for one in counted), len(counted))


def of_kind(results: SoundResults, kind: str) -> tuple[Tried, ...]:
    """The trials of one kind."""
    return tuple(one for one in results.tried if one.kind == kind)


def answer(results: SoundResults) -> str:
    """`0 of 200 sound trials accused; ...` in one sentence."""
    whole = share(results.tried)
    parts = [f"false alarms: {whole.happened} of {whole.of} sound trials" if whole.of else "no trial was judged"]
    if whole.of and whole.high is not None:
        parts.append(f"upper limit of the 95 % CI {percent(whole.high)}")
    if not results.complete:
        parts.append("interrupted; counts so far")
    return "; ".join(parts)


def text(results: SoundResults) -> str:
    """For people."""
    kinds = table(BY_KIND, [*kind_rows(results), sums(results)], (1, 2))
    rules = table(BY_RULE, list(rule_rows(results)), (1, 2)) if results.rules else ""
    return "\n\n".join(part for part in (answer(results), "\n".join(remarks(results)), kinds, rules) if part)


def remarks(results: SoundResults) -> Iterator[str]:
    """Every accusation, then why trials have no verdict, each different sentence once with how often."""
    accusations = [f"{one.kind}: {rule}: {statement}" for one in results.judged for rule, statement in one.accused.items()]
    return each_once(accusations + [f"{one.kind}: not judged: {one.failed}" for one in results.tried if one.failed is not None])


def kind_rows(results: SoundResults) -> Iterator[Row]:
    """A line a kind, those that could not be run last."""
    for kind in results.kinds:
        yield row(kind, share(of_kind(results, kind)), note(of_kind(results, kind)))
    for kind, why in results.skipped.items():
        yield Row(cells=(kind, "-", ""), note=f"skipped: {why}")


def rule_rows(results: SoundResults) -> Iterator[Row]:
    """A line a rule: accused, of the trials that it spoke of."""
    for rule in results.rules:
        noisy = sum(rule in one.noise for one in results.judged)
        yield row(rule, share(results.judged, rule), f"noise in {noisy}" if noisy else "")


def sums(results: SoundResults) -> Row:
    """The last line of the kinds."""
    skipped = f"{len(results.skipped)} kinds skipped" if results.skipped else ""
    return row("sum", share(results.tried), "; ".join(part for part in (skipped, note(results.tried)) if part))


def row(name: str, found: Proportion, remark: str) -> Row:
    """One line."""
    return Row(cells=(name, of(found), interval(found)), note=remark)


def note(trials: Iterable[Tried]) -> str:
    """Trials that noise spoiled by its own rules' word, and those without a verdict."""
    trials = tuple(trials)
    noisy, failed = sum(bool(one.noise) for one in trials), sum(one.failed is not None for one in trials)
    return ", ".join(part for part in (f"noise in {noisy}" if noisy else "", f"{failed} not judged" if failed else "") if part)


def plain(results: SoundResults) -> dict[str, Any]:
    """The object of the schema; limits are null where nothing was judged."""
    return {
        **head(answer(results), complete=results.complete),
        **counts(share(results.tried)),
        "not_judged": len(results.tried) - len(results.judged),
        "kinds": [
            {"kind": kind, "skipped": None, **counts(share(of_kind(results, kind))), "note": note(of_kind(results, kind))}
            for kind in results.kinds
        ]
        + [{"kind": kind, "skipped": why, **counts(share(())), "note": ""} for kind, why in results.skipped.items()],
        "rules": [{"rule": rule, **counts(share(results.judged, rule))} for rule in results.rules],
        "remarks": list(remarks(results)),
    }


def counts(found: Proportion) -> dict[str, Any]:
    """A share as plain values."""
    return {"trials": found.of, "accused": found.happened, "accused_low": found.low, "accused_high": found.high}
