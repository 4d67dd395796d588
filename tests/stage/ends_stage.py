"""What the tests of workloads between two ends share: one trial, both ends on this machine."""

from assay import catalogue
from assay.hosts.local import Local
from assay.records import Experiment, TargetSpec, WorkloadSpec
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger
from stage.trial_stage import HURRY, engine, trial

SOCKET = TargetSpec(name="wire", kind="socket", knobs={})


def conduct(tmp_path, clients=1, target=SOCKET, observers=(), **knobs):
    kind = knobs.pop("kind", "net_stream")
    workload = WorkloadSpec(name="n", kind=kind, knobs={**HURRY, **knobs})
    experiment = Experiment(title="t", question="q", targets=(target,), workloads=(workload,), factors=(), measures=())
    runner = TrialRunner(
        experiment=experiment,
        host=Local(),
        ledger=Ledger(tmp_path / "ledger"),
        scratch=str(tmp_path),
        engine=engine(),
        observers=tuple(catalogue.find("observers", name) for name in observers),
    )
    return runner.run(trial(clients=clients), 1)
