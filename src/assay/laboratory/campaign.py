"""Run the trials of a plan one after another and keep everything: the loop behind `run` and `quick`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from assay.audit import judge
from assay.experiment import plan as planning
from assay.hosts.local import Local
from assay.laboratory.history import standing
from assay.laboratory.results import judged_run
from assay.laboratory.session import trial_runner
from assay.notebook.store import Store
from assay.records import Observations, Outcome, Precision, Run, Severity, State, Trial, Verdict, VerdictState
from assay.trial.attempt import OnProgress
from assay.trial.runner import TrialRunner

MOST_ATTEMPTS = 3
"""A trial spoiled only by noise of the platform is repeated at most twice (DESIGN 7)."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """What a campaign needs: where question, schedule and runs are kept, and who hears of the progress."""

    store: Store
    on_progress: OnProgress
    sitting: int | None = None
    """Which sitting to run where a factor is changed by hand."""
    finished: frozenset[int] = frozenset()
    """Trials that the notebook already holds."""
    attempts: Mapping[int, int] = field(default_factory=dict)
    """Trial -> how many attempts the notebook already holds."""


def conduct(campaign: Campaign) -> None:
    """Run what is left of the schedule. Everything that was set up is removed at the end, also after an interrupt."""
    with trial_runner(campaign.store.experiment, Local(), campaign.store.folder.parent) as runner:
        for trial in due(campaign):
            execute(campaign, runner, trial)


def due(campaign: Campaign) -> Iterator[Trial]:
    """The trials still to run, in the order of the schedule; a block that was begun is completed, whatever was said since."""
    over: set[int] = set()
    for (sitting, block), members in groupby(campaign.store.plan.trials, key=lambda trial: (trial.sitting, trial.block)):
        trials = list(members)
        left = [trial for trial in trials if trial.id not in campaign.finished]
        if campaign.sitting not in (None, sitting) or sitting in over or not left:
            continue
        if len(left) == len(trials) and enough(campaign, sitting, block):
            over.add(sitting)
            continue
        yield from left


def enough(campaign: Campaign, sitting: int, block: int) -> bool:
    """Whether budget or precision say that this block may not start; without either the schedule is run as it was drawn."""
    experiment = campaign.store.experiment
    if experiment.budget_ns is None and not isinstance(experiment.repeats, Precision):
        return False
    reason = planning.reason_to_stop(experiment, standing(campaign.store.folder, experiment, sitting))
    if reason is not None:
        campaign.on_progress({"event": "enough", "block": block, "reason": reason})
    return reason is not None


def execute(campaign: Campaign, runner: TrialRunner, trial: Trial) -> None:
    """One trial with its repetitions: a run that only noise spoiled is done again, all attempts are kept."""
    first = campaign.attempts.get(trial.id, 0) + 1
    for attempt in range(first, first + MOST_ATTEMPTS):
        run, observations = runner.run(trial, attempt, campaign.on_progress)
        verdicts = keep(campaign, run, observations)
        if run.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if run.outcome is not Outcome.FINISHED or not spoiled_by_noise(verdicts):
            return


def keep(campaign: Campaign, run: Run, observations: Observations) -> tuple[Verdict, ...]:
    """Store a run and what the audit says of it."""
    campaign.store.add(run, observations)
    if run.outcome is not Outcome.FINISHED:
        return ()
    known = judged_run(campaign.store.experiment, run, observations)
    verdicts = tuple(known.verdicts.values())
    campaign.store.judge(judge.ruleset(), verdicts, {known.id: known.courses})
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
