"""Run the trials of a plan one after another and keep everything: the loop behind `run` and `quick`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from assay.audit import judge
from assay.experiment import outlook
from assay.experiment import plan as planning
from assay.hosts.local import Local
from assay.laboratory.history import length_ns, standing
from assay.laboratory.results import judged_run
from assay.laboratory.session import trial_runner
from assay.laboratory.soaking import SoakWatch, watch_of
from assay.machine.notebook_watchers import watchers
from assay.notebook.store import Store
from assay.records import Observations, Outcome, Precision, Run, Trial, Verdict
from assay.terminal.output import say
from assay.trial.attempt import OnProgress
from assay.trial.interrupts import Interrupts
from assay.trial.runner import TrialRunner

SECTOR_BYTES = 512
"""Of /proc/diskstats, whatever the device's own are (Linux: Documentation/admin-guide/iostats.rst)."""
MOST_ATTEMPTS = 3
"""A trial spoiled only by noise of the platform is repeated at most twice."""
REPEATS_SHARE = 0.5
"""All repeats for noise together take at most this share of the time that the first attempts of the schedule take."""


@dataclass(kw_only=True)
class RepeatBudget:
    """How much time repeats for noise may still take: noise that goes on would triple an experiment and change nothing."""

    trials: int
    """Trials of the schedule; where budget or precision end it, those begun."""
    grows: bool = False
    first_ns: int = 0
    repeats_ns: int = 0
    begun: int = 0

    def spend(self, run: Run, attempt: int) -> None:
        """Count a run: `attempt` 1 is the first of this session."""
        if attempt > 1:
            self.repeats_ns += length_ns(run)
            return
        self.first_ns += length_ns(run)
        self.begun += 1

    def left_ns(self) -> float:
        """What repeats may still take, by the mean length of the first attempts."""
        whole = self.first_ns if self.grows else self.first_ns / max(1, self.begun) * self.trials
        return REPEATS_SHARE * whole - self.repeats_ns


@dataclass(kw_only=True)
class LiveRows:
    """Keeps what a trial reports of itself where somebody watches the notebook (`assay serve`), and nothing where nobody does.

    A row has the news of the trial, and in a running phase what passed the devices of the target and what waits in memory.
    """

    host: Local = field(default_factory=Local)
    devices: tuple[str, ...] = ()

    def keep(self, store: Store, news: Mapping[str, object]) -> None:
        """Keep a row; never flushes, never fails a run."""
        if isinstance(named := news.get("devices"), list):
            self.devices = tuple(map(str, named))
        if not watchers(self.host, str(store.folder.parent.resolve())):
            return
        with suppress(OSError, ValueError):
            seen = self.counted() if news.get("event") == "running" else {}
            store.live({**news, **seen})

    def counted(self) -> dict[str, object]:
        """Return the counters since the machine began. Raises OSError, ValueError."""
        lines = (line.split() for line in self.host.read("/proc/diskstats").splitlines())
        passed = {
            words[2]: {"read_bytes": int(words[5]) * SECTOR_BYTES, "write_bytes": int(words[9]) * SECTOR_BYTES}
            for words in lines
            if words[2] in self.devices
        }
        memory = dict(line.split(":", 1) for line in self.host.read("/proc/meminfo").splitlines())
        waiting = sum(int(memory[name].split()[0]) for name in ("Dirty", "Writeback")) * 1024
        return {"passed": passed, "dirty_bytes": waiting}


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
    rows: LiveRows = field(default_factory=LiveRows)
    noise_counts: bool = False
    """Whether runs that noise disturbed are as good as others: nothing is then done again for noise."""

    def hear(self, news: Mapping[str, object]) -> None:
        """Take a record of a running trial."""
        self.on_progress(news)
        self.rows.keep(self.store, news)


def conduct(campaign: Campaign) -> None:
    """Run what is left of the schedule, or until a host is lost or a soak is over. All that was set up is removed at the end."""
    mine = [one for one in campaign.store.plan.trials if campaign.sitting in (None, one.sitting)]
    patience = RepeatBudget(
        trials=sum(one.id not in campaign.finished for one in mine),
        grows=campaign.store.experiment.budget_ns is not None or isinstance(campaign.store.experiment.repeats, Precision),
    )
    watch = watch_of(campaign.store)
    if watch is not None and watch.reason is not None:
        campaign.hear({"event": "enough", "block": watch.pieces, "reason": f"soak: {watch.reason}"})
        return
    with trial_runner(campaign.store.experiment, Local(), campaign.store.folder.parent) as runner:
        for trial in pending(campaign):
            if watch is not None:
                if soaked(campaign, runner, trial, watch):
                    return
            else:
                execute(campaign, runner, trial, patience)
            if (lost := runner.lost()) is not None:
                say(f"assay: {lost}. The schedule ends here. Continue it with --resume.", sys.stderr)
                return


def soaked(campaign: Campaign, runner: TrialRunner, trial: Trial, watch: SoakWatch) -> bool:
    """One piece of a soak, once; True where it is the last one, as something went wrong."""
    watch.look(*attempted(campaign, runner, trial, campaign.attempts.get(trial.id, 0) + 1))
    if watch.reason is not None:
        campaign.hear({"event": "enough", "block": trial.block, "reason": f"soak: {watch.reason}"})
    return watch.reason is not None


def pending(campaign: Campaign) -> Iterator[Trial]:
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
    now = standing(campaign.store.folder, experiment, sitting)
    reason = planning.reason_to_stop(experiment, now)
    needed = outlook.blocks_needed(experiment, now)
    if reason is None and needed is not None:
        campaign.hear({"event": "precision", **dict(zip(("blocks_low", "blocks", "blocks_high"), needed, strict=True))})
    if reason is not None:
        campaign.hear({"event": "enough", "block": block, "reason": reason})
    return reason is not None


def execute(campaign: Campaign, runner: TrialRunner, trial: Trial, patience: RepeatBudget) -> None:
    """One trial with its repetitions: a run that only noise spoiled is done again while there is time, all attempts are kept."""
    first = campaign.attempts.get(trial.id, 0) + 1
    for attempt in range(first, first + MOST_ATTEMPTS):
        run, verdicts = attempted(campaign, runner, trial, attempt)
        patience.spend(run, attempt - first + 1)
        is_slice = campaign.store.experiment.slices is not None  # both arms meet it
        rules = () if is_slice else spoilers(run, () if campaign.noise_counts else verdicts)
        if not rules or attempt == first + MOST_ATTEMPTS - 1:
            return
        again = length_ns(run) <= patience.left_ns()
        news = {"trial": trial.id, "attempt": attempt, "rules": rules, "left_s": round(max(0.0, patience.left_ns()) / 1e9, 1)}
        campaign.hear({**news, "event": "repeated for noise" if again else "noise, no time left to repeat"})
        if not again:
            return


def attempted(campaign: Campaign, runner: TrialRunner, trial: Trial, attempt: int) -> tuple[Run, tuple[Verdict, ...]]:
    """One attempt at a trial, kept, with what the audit says of it. Raises KeyboardInterrupt where it was interrupted."""
    with Interrupts() as interrupts, interrupts.shielded():  # the runner has its own: what has ended is kept first
        run, observations = runner.run(trial, attempt, campaign.hear)
        verdicts = keep(campaign, run, observations)
    if run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return run, verdicts


def keep(campaign: Campaign, run: Run, observations: Observations) -> tuple[Verdict, ...]:
    """Store a run and what the audit says of it."""
    campaign.store.add(run, observations)
    if run.outcome is not Outcome.FINISHED:
        return ()
    known = judged_run(campaign.store.experiment, run, observations)
    verdicts = tuple(known.verdicts.values())
    campaign.store.judge(judge.ruleset(), verdicts, {known.id: known.courses})
    return verdicts


LATE_START = ("late start",)
"""What spoiled a run of which a client waited too long for its CPU."""


def spoilers(run: Run, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """What of the platform spoiled a run that a repeat can mend; nothing where something else went wrong."""
    if run.outcome is Outcome.FINISHED:
        return spoiled_by_noise(verdicts)
    return LATE_START if run.started_late else ()


def spoiled_by_noise(verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """The rules of noise of the measures with which nothing is wrong but disturbances; empty where no repeat mends anything."""
    mended = [one for one in verdicts if all(finding.is_disturbance for finding in one.findings if finding.counts)]
    return tuple(sorted({finding.rule for verdict in mended for finding in verdict.noise}))
