import dataclasses
import json

import pytest

import cli_notebook
from assay.audit import judge
from assay.cli.results import audit
from assay.errors import BusyError
from assay.laboratory.gate import Gate
from assay.laboratory.results import current
from assay.notebook import read
from assay.notebook.store import Store
from assay.records import Severity, State, VerdictState


def test_runs_are_judged_anew_and_kept(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab", judged=False)
    folder = read.choose(lab, "a-mail")
    assert read.rulesets(folder) == ()
    assert audit(lab, "a-mail", json_to="-", gate=Gate.ON) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ruleset"] == judge.ruleset()
    kept = read.results(folder, judge.ruleset())
    assert len(kept.comparisons) == 1
    assert kept == current(folder)
    assert {one.verdicts["spool.create.ops_per_s"].state.value for one in kept.runs if one.verdicts} == {"SOUND"}


def test_the_evidence_of_a_run_is_read_once(tmp_path, monkeypatch):
    folder = read.choose(cli_notebook.lab(tmp_path / "lab", judged=False), "a-mail")
    asked, through = [], read.through
    monkeypatch.setattr(read, "through", lambda *what: (asked.append(what[-1]), through(*what))[1])
    found = current(folder)
    assert found.comparison_verdicts
    assert sorted(asked) == sorted(one.id for one in found.runs if one.verdicts)


def test_raw_data_stays_as_it_was_and_a_damaged_trial_is_named(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab", judged=False)
    raw = {path: path.read_bytes() for path in lab.glob("*/trials/**/*") if path.is_file()}
    audit(lab, "a-mail", json_to=None, gate=Gate.OFF)
    assert {path: path.read_bytes() for path in lab.glob("*/trials/**/*") if path.is_file()} == raw
    first, *rest = capsys.readouterr().out.splitlines()
    assert "xfs is faster, 1.500 times" in first
    assert "A mail spool: 2 figures SOUND" in rest
    assert not any("Rules 0" in line for line in rest), "only today's rules judged"
    path = read.choose(lab, "a-mail") / "trials/0002/attempt-1/series.parquet"
    path.write_bytes(path.read_bytes()[:50])
    assert audit(lab, "a-mail", json_to=None, gate=Gate.OFF) == 0
    text = capsys.readouterr().out
    assert "DAMAGED trials/0002/attempt-1: " in text
    assert "series.parquet: 50 bytes" in text
    assert "A mail spool: 2 figures SOUND" in text


def test_while_a_run_writes_the_audit_waits_its_turn(tmp_path):
    lab = cli_notebook.lab(tmp_path / "lab")
    with Store.open(read.choose(lab, "a-mail")), pytest.raises(BusyError, match="process"):
        audit(lab, "a-mail", json_to=None, gate=Gate.OFF)


def test_verdicts_by_other_rules_are_named_with_the_rules_that_made_the_difference(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab")
    folder = read.choose(lab, "a-mail")
    now = current(folder)
    first = now.runs[0]
    measure, verdict = next(iter(first.verdicts.items()))
    failed = dataclasses.replace(verdict.findings[0], rule="L01", state=State.FAIL, severity=Severity.INVALIDATES)
    old = dataclasses.replace(verdict, state=VerdictState.INVALID, findings=(failed,))
    with Store.open(folder) as store:
        store.judge("0.0.9-0123456789ab", [old])
    audit(lab, "a-mail", json_to=None, gate=Gate.OFF)
    said = capsys.readouterr().out
    assert f"Rules 0.0.9-0123456789ab -> {judge.ruleset()}: 1 of 1 verdicts changed:" in said
    assert f"{first.id} {measure}: INVALID -> {verdict.state.value}" in said
