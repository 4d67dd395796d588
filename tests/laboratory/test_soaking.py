"""A soak: piece after piece, over at the first thing that goes wrong, and resumed where it was left."""

import os
import shutil
from dataclasses import replace

from assay.experiment import plan as planning
from assay.experiment import read
from assay.laboratory.campaign import Campaign, conduct
from assay.laboratory.soaking import SoakWatch, watch_of, why_over
from assay.machine import notebook_watchers
from assay.notebook import index
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Claim, EngineError, Label, Nature, Outcome, Severity, SoakSpec, State, Verdict, VerdictState
from assay.trial.runner import TrialRunner
from audit.case_builder import SECOND, Made, case_of, run_of
from stage.rows import each

SPEC = SoakSpec(duration_ns=3600 * SECOND, piece_ns=600 * SECOND, least_rate_share=0.5)


def verdict(value, *findings):
    return Verdict(
        subject="0001/1",
        measure="w.read.ops_per_s",
        state=VerdictState.SOUND,
        value=value,
        unit="1/s",
        findings=findings,
        claim=Claim(),
        label=Label(nature=Nature.AS_SEEN),
        bound=None,
        corrected=None,
    )


def watched(*pieces, spec=SPEC):
    watch = SoakWatch(spec=spec)
    for run, verdicts in pieces:
        watch.look(run, verdicts)
    return watch


RUN = run_of(Made())


def kernel(severity):
    from assay.rulekit.findings import found
    from assay.rules.kernel_log import RULE

    return found(RULE, case_of(Made(), "N07"), State.FAIL, "I/O error on sda.", severity=severity)


def test_the_first_thing_that_goes_wrong_is_the_reason():
    assert watched((RUN, [verdict(100.0)]), (RUN, [verdict(60.0)])).reason is None
    slow = watched((RUN, [verdict(100.0)]), (RUN, [verdict(90.0)]), (RUN, [verdict(40.0)]), (RUN, [verdict(1.0)]))
    assert slow.reason.startswith("stopped at piece 3 of 6, after 30 min: rate: w.read.ops_per_s is 40")
    assert "I/O error on sda" in watched((RUN, [verdict(1.0, kernel(Severity.QUALIFIES))])).reason
    assert watched((RUN, [verdict(1.0, kernel(Severity.NOTES))])).reason is None, "of another device"


@each("what", "verify", "lost", "changed")
def test_a_failed_verification_stops_it(what):
    (phase,) = RUN.phases
    (client, *_) = phase.clients
    error = EngineError(operation="read", code=84, count=3, path="/x", what=what)
    bad = replace(RUN, phases=(replace(phase, clients=(replace(client, errors=(error,)),)),))
    reason = watched((bad, [verdict(1.0)])).reason
    assert reason.endswith("failed verification: 3 records are not what was written")
    off = replace(SPEC, verification=False)
    assert watched((bad, [verdict(1.0)]), spec=off).reason is None


def test_records_that_cannot_be_read_are_named_apart():
    (phase,) = RUN.phases
    (client, *_) = phase.clients
    lost = EngineError(operation="read", code=84, count=3, path="/x", what="lost")
    errors = (lost, replace(lost, count=5, what="unreadable"))

    def reason(few):
        bad = replace(RUN, phases=(replace(phase, clients=(replace(client, errors=few),)),))
        return watched((bad, [verdict(1.0)])).reason

    assert reason(errors).endswith("failed verification: 3 records are not what was written, 5 records cannot be read")
    assert reason(errors[1:]).endswith("failed verification: 5 records cannot be read")


FILE = """title = "S"
[targets.d]
kind = "directory"
path = "{path}"
[workloads.w]
kind = "null"
quiesce = "0 s"
rate = "1000 /s"
[soak]
duration = "3 s"
piece = "1 s"
stop_on = ["verification"{more}]
"""


def store_of(tmp_path, more=""):
    text = FILE.format(path=tmp_path, more=more)
    experiment = read.parse(text, "s.toml")
    return Store.create(tmp_path / "lab", experiment, planning.plan(experiment), text, fresh=False)


def conducted(store, heard):
    finished = frozenset(run.trial.id for run in notebook.runs(store.folder))
    conduct(Campaign(store=store, on_progress=heard.append, finished=finished))
    return [run.outcome.value for run in notebook.runs(store.folder)]


def test_it_runs_piece_after_piece_and_goes_on_where_it_was_left(tmp_path, monkeypatch):
    with store_of(tmp_path) as store:
        monkeypatch.setattr(SoakWatch, "look", lambda self, run, verdicts: setattr(self, "reason", "a test says so"))
        heard = []
        assert conducted(store, heard) == ["finished"], "over after the first piece"
        assert [one["reason"] for one in heard if one["event"] == "enough"] == ["soak: a test says so"]
        assert conducted(store, []) == ["finished"], "and stays over"
        monkeypatch.undo()
        assert conducted(store, []) == ["finished"] * 3
        assert all(run.phases[0].clients[0].operations[0].count in range(900, 1100) for run in notebook.runs(store.folder))


def test_who_watches_the_notebook_sees_each_piece(tmp_path):
    with store_of(tmp_path) as store:
        watching = notebook_watchers.watch(store.folder.parent)
        assert conducted(store, []) == ["finished"] * 3
        os.close(watching)
        assert {row["trial"] for _, _, row in index.live(store.folder)} == {one.id for one in store.plan.trials}


def test_a_soak_that_other_rules_judged_keeps_the_rate_of_its_first_piece(tmp_path):
    """A newer lab resumes it: the pieces so far are judged again, and a damaged one hides no other."""
    with store_of(tmp_path, more=', "rate < 50 %"') as store:
        assert conducted(store, []) == ["finished"] * 3
        first = dict(watch_of(store)._first)
        assert first
        shutil.rmtree(store.folder / "derived")
        assert watch_of(store)._first == first
        (notebook.attempts(store.folder)[1] / "run.json").write_text("{")
        assert watch_of(store).pieces == 2


def test_a_piece_that_failed_is_the_reason_and_is_tried_again(tmp_path, monkeypatch):
    with store_of(tmp_path) as store:
        good = TrialRunner.run

        def broken(*given):
            run, seen = good(*given)
            return replace(run, outcome=Outcome.PARTIAL, error="phase w.null: no answer"), seen

        monkeypatch.setattr(TrialRunner, "run", broken)
        assert conducted(store, []) == ["partial"]
        assert why_over(store) == "stopped at piece 1 of 3: the piece ended as partial: phase w.null: no answer"
        monkeypatch.undo()
        conduct(Campaign(store=store, on_progress=lambda news: None, attempts={store.plan.trials[0].id: 1}))
        assert why_over(store) is None
