"""One trial of one workload without a notebook: what `assay load` and the self-test run."""

from __future__ import annotations

from assay.hosts.local import Local
from assay.laboratory.session import engine_path, observers, own_ledger
from assay.records import Experiment, Observations, Plan, Run
from assay.terminal.progress import Progress, ProgressMode
from assay.trial.runner import TrialRunner


def conduct(experiment: Experiment, plan: Plan, host: Local, mode: ProgressMode) -> tuple[Run, Observations]:
    """Run the one trial; everything that was set up is removed at the end, also after an interrupt."""
    progress = Progress(mode, len(plan.trials))
    with own_ledger() as ledger:
        lab = TrialRunner(
            experiment=experiment,
            host=host,
            ledger=ledger,
            scratch="",
            engine=str(engine_path()),
            observers=observers(experiment),
        )
        try:
            lab.install()
            return lab.run(plan.trials[0], 1, progress)
        finally:
            lab.remove()
            progress.close()
