"""`assay load`: one engine, once, without a lab around it; its figures, its own cost and the audit of its number."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.cli.claims import claimed
from assay.experiment import single
from assay.hosts.local import Local
from assay.laboratory.gate import Gate, status
from assay.laboratory.session import clean_quietly
from assay.laboratory.single_run import conduct
from assay.machine import ownership
from assay.machine.files import NOTHING, path_state
from assay.records import Experiment, Judged, Observations, Outcome, Plan, Results, Run
from assay.terminal.output import STANDARD_OUTPUT, deliver
from assay.terminal.progress import ProgressMode

FAILED = 1


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    kind: str
    words: Sequence[str]
    json_to: str | None = None
    claim: str | None = None
    keep: bool = False
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


def load(request: Request) -> int:
    """Do what the words say, once, and tell what came of it. Raises InputErrors with every mistake, before anything is done."""
    host = Local()
    clean_quietly(host)
    asked = replace(single.load_request(request.kind, request.words), keep=request.keep)
    if request.claim is not None:
        asked = replace(asked, claim=claimed(asked.document, request.claim))
    check_output(asked, request.json_to)
    found = path_state(host, asked.path) if asked.path is not None else None
    experiment = single.experiment(asked, found)
    plan = single.plan(experiment)
    run, observations = conduct(experiment, plan, host, request.progress)
    if request.keep and found is not None and found.kind == NOTHING and run.outcome is not Outcome.FINISHED:
        ownership.discard_file(host, found.path)  # half a file is not what was to be kept
    if run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return conclude(request, experiment, plan, (run, observations))


def check_output(asked: single.LoadRequest, json_to: str | None) -> None:
    """Note where the file for the figures cannot be written."""
    parent = Path(json_to).absolute().parent if json_to not in (None, STANDARD_OUTPUT) else None
    if parent is not None and not parent.is_dir():
        asked.document.wrong((), f"no directory {parent} for --json", "one that exists")


def conclude(request: Request, experiment: Experiment, plan: Plan, what: tuple[Run, Observations]) -> int:
    """Judge, show and keep what was found; the exit status."""
    from assay.audit import judge
    from assay.cli.terminal import load as shown
    from assay.measures import sums

    run, observations = what
    finished = run.outcome is Outcome.FINISHED
    verdicts = judge.judge_run(experiment, run, observations) if finished else ()
    whole = sums.whole(run, observations, experiment.measures)
    result = shown.LoadResult(experiment=experiment, run=run, whole=whole, verdicts=verdicts)
    deliver(request.json_to, "load", lambda: shown.as_plain(result), (lambda: shown.text(result)) if finished else None)
    if not finished:
        print(f"assay: load {run.outcome}: {run.error}", file=sys.stderr)
        return FAILED
    judged = Judged(run=run, verdicts={verdict.measure: verdict for verdict in verdicts})
    return status(Results(experiment=experiment, plan=plan, runs=(judged,)), request.gate)
