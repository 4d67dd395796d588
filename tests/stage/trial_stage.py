"""What the tests of the fleet share: a live host, the real engine or one that misbehaves, a small experiment on a directory."""

import sys
from pathlib import Path

import pytest

import assay
from assay import catalogue
from assay.hosts.local import Local
from assay.records import Experiment, TargetSpec, Trial, WorkloadSpec
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger

HOST = Local()
MIB = 1 << 20
ENGINE = Path(assay.__file__).parent / "bin" / "assay-engine"
FAKE = Path(__file__).parent / "fake_engine.py"


HURRY = {"quiesce": 0}
"""Most tests need no quiet, and whoever else writes on this machine would make them wait for it."""


def engine():
    """The real engine's path."""
    if not ENGINE.is_file():
        pytest.skip(f"no load engine at {ENGINE}: make build")
    return str(ENGINE)


def fake(directory, mode):
    """An engine that speaks the protocol and misbehaves in one way (see fake_engine.py)."""
    path = Path(directory) / f"engine-{mode}"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} -S {FAKE} {mode}\n")
    path.chmod(0o755)
    return str(path)


def bulk(name="w", **knobs):
    given = {
        "operations": ("write", "read"),
        "size": 8 * MIB,
        "record_size": MIB,
        "flush": "end",
        "cache": "cold",
        **HURRY,
        **knobs,
    }
    return WorkloadSpec(name=name, kind="bulk_io", knobs=given)


def command(name="c", *argv, **knobs):
    return WorkloadSpec(name=name, kind="command", knobs={"argv": argv, "parse": "elapsed", **HURRY, **knobs})


def experiment(path, *workloads, factors=()):
    here = TargetSpec(name="here", kind="directory", knobs={"path": str(path)})
    return Experiment(title="t", question="q", targets=(here,), workloads=workloads, factors=factors, measures=())


def trial(**levels):
    return Trial(id=3, experiment="x", levels=levels, replicate=1, block=1, sitting=0, position=0, seed=5)


class Laboratory:
    """A lab with directories of its own; `left` says what it left behind."""

    def __init__(self, tmp_path):
        self.work = tmp_path / "work"
        self.scratch = tmp_path / "scratch"
        self.notes = tmp_path / "ledger"
        for path in (self.work, self.scratch):
            path.mkdir()
        self.ledger = Ledger(self.notes)

    def lab(self, *workloads, engine_path=None, observers=(), factors=()):
        return TrialRunner(
            experiment=experiment(self.work, *workloads, factors=factors),
            host=HOST,
            ledger=self.ledger,
            scratch=str(self.scratch),
            engine=engine_path or engine(),
            observers=tuple(catalogue.find("observers", name) for name in observers),
        )

    def conduct(self, *workloads, observers=(), **levels):
        """Run one trial of these workloads."""
        lab = self.lab(*workloads, observers=observers)
        lab.install()
        try:
            return lab.run(trial(**levels), 1)
        finally:
            lab.remove()

    def left(self):
        """Files, ledger entries."""
        return sorted(path.name for path in self.work.iterdir()), self.ledger.unwind()
