"""Run the trials of a plan one after another and keep everything: the loop behind `run` and `quick`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay import catalogue
from assay.audit import judge
from assay.errors import MissingError
from assay.experiment import plan as planning
from assay.fleet.hosts.local import Local
from assay.fleet.ledger import Ledger
from assay.fleet.run import Lab
from assay.notebook.store import Store
from assay.records import Experiment, Observations, Outcome, Plan, Run, Severity, State, Trial, Verdict, VerdictState

MOST_ATTEMPTS = 3
"""A trial spoiled only by noise of the platform is repeated at most twice (DESIGN 7)."""

OnProgress = Callable[[Mapping[str, object]], None]


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """What a campaign needs: the question, its schedule, where it is kept, whom to tell."""

    experiment: Experiment
    plan: Plan
    store: Store
    on_progress: OnProgress
    sitting: int | None = None
    """Which sitting to run where a factor is changed by hand."""
    finished: frozenset[int] = frozenset()
    """Trials that the notebook already holds."""


def engine_path() -> Path:
    """The load engine inside the package. Raises MissingError."""
    path = Path(__file__).parent.parent / "bin" / "assay-engine"
    if not path.is_file():
        raise MissingError(f"found no load engine at {path}; expected it beside the package: run `make build`")
    return path


def clean_orphans() -> tuple[str, ...]:
    """Undo what an earlier, dead process of ours left behind; what was undone, in words."""
    return tuple(Ledger.clean(Local()))


def conduct(campaign: Campaign) -> None:
    """Run what is left of the schedule. Everything that was set up is removed at the end, also after an interrupt."""
    host = Local()
    chosen = observers(campaign.experiment, host)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch, Ledger() as ledger:
        lab = Lab(
            experiment=campaign.experiment,
            host=host,
            ledger=ledger,
            scratch=scratch,
            engine=str(engine_path()),
            observers=chosen,
        )
        try:
            lab.install()
            for trial in due(campaign):
                execute(campaign, lab, trial)
        finally:
            lab.remove()


def observers(experiment: Experiment, host: catalogue.Host) -> tuple[catalogue.Observer, ...]:
    """The observers that the experiment names, or all; what a machine does not allow is recorded as missing evidence."""
    del host
    wanted = experiment.observers if experiment.observers is not None else catalogue.names("observers")
    return tuple(catalogue.find("observers", name) for name in wanted)


def due(campaign: Campaign) -> Iterator[Trial]:
    """The trials still to run, in the order of the schedule, as far as repeats, precision or budget ask for them."""
    for trial in campaign.plan.trials:
        if trial.id in campaign.finished or campaign.sitting not in (None, trial.sitting):
            continue
        if trial.block < campaign.plan.blocks:
            yield trial


def execute(campaign: Campaign, lab: Lab, trial: Trial) -> None:
    """One trial with its repetitions: a run that only noise spoiled is done again, all attempts are kept."""
    for attempt in range(1, MOST_ATTEMPTS + 1):
        run, observations = lab.run(trial, attempt, campaign.on_progress)
        verdicts = keep(campaign, run, observations)
        if run.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if run.outcome is not Outcome.FINISHED or not spoiled_by_noise(verdicts):
            return


def keep(campaign: Campaign, run: Run, observations: Observations) -> tuple[Verdict, ...]:
    """Store a run and what the audit says of it."""
    campaign.store.add(run, observations)
    verdicts = judge.judge_run(campaign.experiment, run, observations) if run.outcome is Outcome.FINISHED else ()
    campaign.store.judge(judge.ruleset(), verdicts)
    return verdicts


def spoiled_by_noise(verdicts: tuple[Verdict, ...]) -> bool:
    """Whether some measure is INVALID and every invalidating failure is one of the platform's noise (N rules)."""
    failed = [
        finding.rule
        for verdict in verdicts
        if verdict.state is VerdictState.INVALID
        for finding in verdict.findings
        if finding.state is State.FAIL and finding.severity is Severity.INVALIDATES
    ]
    return bool(failed) and all(rule.startswith("N") for rule in failed)


__all__ = ["Campaign", "clean_orphans", "conduct", "due", "engine_path", "planning"]
