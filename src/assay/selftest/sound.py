"""`assay selftest --audit --sound N`: sound trials of many kinds, really run; whatever is called invalid is a false alarm.

The kinds are the shipped sound experiments (`controls/sound/`) and the sound twins of the controls, one after the other until so
many trials were judged. None is repeated for its outcome: what a rule says of the first try counts, also on a busy machine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from assay.errors import AssayError, UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import clean_quietly, engine_path
from assay.machine import cgroups
from assay.records import Experiment, Finding, Judged, Outcome, Results, Severity, State, Value
from assay.selftest import lies as audit
from assay.selftest import sound_report as shown
from assay.selftest.control import accuses, last_runs, measured, obstacle
from assay.selftest.counts import Subject
from assay.selftest.sound_report import Tried
from assay.terminal.output import deliver
from assay.terminal.progress import ProgressMode

FILESYSTEM = "disk.filesystem"
"""The factor of the sound experiments."""
LIMIT = "limit."
"""How the knobs of a disk of known speed begin."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    trials: int
    json_to: str | None = None
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of sound trial."""

    name: str
    path: Path
    experiment: Experiment
    obstacle: str | None
    """Why this user or machine cannot run it."""


@dataclass
class Found:
    """What came of the trials so far."""

    tried: list[Tried] = field(default_factory=list)
    complete: bool = False

    @property
    def judged(self) -> int:
        """How many trials have a verdict."""
        return sum(one.failed is None for one in self.tried)


def run_sound_trials(request: Request) -> int:
    """Run so many sound trials, print who accused them; 0, with a gate 3 where any rule did, 130 after an interrupt.

    Raises UsageError where no number of trials is asked for, MissingError without an engine.
    """
    if request.trials < 1:
        raise UsageError(f"found --sound {request.trials}; expected 1 or more")
    every = kinds()
    engine_path()
    clean_quietly(Local())
    found = conduct([kind for kind in every if kind.obstacle is None], request)
    skipped = {kind.name: kind.obstacle for kind in every if kind.obstacle is not None}
    results = shown.SoundResults(tried=tuple(found.tried), skipped=skipped, complete=found.complete)
    deliver(request.json_to, shown.VERB, lambda: shown.plain(results), lambda: shown.text(results))
    if not found.complete:
        return audit.INTERRUPTED
    return BAD_VERDICT if request.gate is not Gate.OFF and any(one.accused for one in found.tried) else 0


# ------------------------------------------------------------------------------------------------- the kinds


def kinds() -> tuple[Kind, ...]:
    """All kinds, the shipped ones first."""
    return (*shipped(), *twins())


def shipped() -> Iterator[Kind]:
    """The sound experiments, on each of their file systems."""
    folder = Path(str(resources.files("assay.controls"))) / "sound"
    for path in sorted(folder.glob("*.toml")):
        experiment = read.read(path)
        (levels,) = (factor.levels for factor in experiment.factors if factor.path == FILESYSTEM)
        for level in levels:
            one = restricted(experiment, {FILESYSTEM: level})
            yield Kind(name=f"{path.stem} {level}", path=path, experiment=one, obstacle=hindered(one))


def twins() -> Iterator[Kind]:
    """The sound twin of each control."""
    for pair in audit.pairs():
        control = read.control(pair.path)
        assert control is not None
        one = restricted(read.read(pair.path), control.passes)
        yield Kind(name=f"twin of {pair.subject.name}", path=pair.path, experiment=one, obstacle=obstacle(control))


def restricted(experiment: Experiment, levels: Mapping[str, Value]) -> Experiment:
    """The experiment with these levels alone, once."""
    factors = tuple(
        replace(factor, levels=(levels[factor.path],)) if factor.path in levels else factor for factor in experiment.factors
    )
    return replace(experiment, factors=factors, repeats=1)


def hindered(experiment: Experiment) -> str | None:
    """Why a sound experiment cannot run here: its loop disk needs root, a disk of known speed a throttle."""
    if os.geteuid() != 0:
        return "needs root"
    if not Local().exists("/dev/loop-control"):
        return "needs loop devices"
    knobs = (name for target in experiment.targets for name, value in target.knobs.items() if value is not None)
    return cgroups.throttle_obstacle(Local()) if any(name.startswith(LIMIT) for name in knobs) else None


# ---------------------------------------------------------------------------------------------- the trials


def conduct(able: Sequence[Kind], request: Request) -> Found:
    """Round after round until so many trials are judged; a round in which none is judged is the last."""
    found = Found()
    try:
        with audit.progressing(request.progress, request.trials) as tell:
            before, number = -1, 0
            while before < found.judged < request.trials:
                before, number = found.judged, number + 1
                one_round(able, number, request.trials, (found, tell))
    except KeyboardInterrupt:
        return found
    found.complete = True
    return found


def one_round(able: Sequence[Kind], number: int, wanted: int, where: tuple[Found, Callable[[Subject, int], None]]) -> None:
    """Each kind once, with the data and the order of this round, until enough are judged."""
    found, tell = where
    for kind in able:
        if found.judged >= wanted:
            return
        tell(Subject(name=kind.name, rule="sound"), found.judged + 1)
        found.tried.extend(tried(kind, number))


def tried(kind: Kind, seed: int) -> tuple[Tried, ...]:
    """The trials of one kind; its notebook is thrown away."""
    with tempfile.TemporaryDirectory(prefix="assay-selftest-") as lab:
        try:
            results = measured(replace(kind.experiment, seed=seed), kind.path.read_text(encoding="utf-8"), Path(lab))
        except AssayError as error:
            return (Tried(kind=kind.name, failed=f"could not be run: {error}"),)
        return tuple(of_results(kind.name, results))


def of_results(kind: str, results: Results) -> Iterator[Tried]:
    """What was said of each trial."""
    for run in last_runs(results):
        if run.run.outcome is Outcome.FINISHED and run.verdicts:
            yield of_run(kind, run)
        else:
            yield Tried(kind=kind, failed=run.run.error or f"the run {run.run.outcome.value} and nothing was judged")


def of_run(kind: str, run: Judged) -> Tried:
    """What all rules said of all measures of one run."""
    findings = [finding for verdict in run.verdicts.values() for finding in verdict.findings]
    return Tried(
        kind=kind,
        spoke=frozenset(finding.rule for finding in findings if finding.state in (State.PASS, State.FAIL)),
        accused={finding.rule: finding.statement for finding in findings if accuses(finding)},
        noise=frozenset(finding.rule for finding in findings if is_noise(finding)),
    )


def is_noise(finding: Finding) -> bool:
    """Whether a rule of noise says that the platform spoiled the trial."""
    return (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES) and not accuses(finding)
