"""Self-test: counting on made-up outcomes, two controls really run, an interrupt, an ordinary user, its own cost."""

import json
import os
import shutil
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.read import Control
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import Finding, Severity, State
from assay.selftest import counts, lies
from assay.selftest.control import Heard
from assay.selftest.counts import TRIES, ControlOutcome, Judgement, NamedControl, Side, remarks, settled, tally
from stage.assay_process import Bench, as_nobody, wait_until
from stage.rows import each

CONTROL = Control(rule="T01", measure="w.read.bytes_per_s", fail={"w.cache": "warm"}, passes={"w.cache": "cold"}, needs=())
BLIND = Control(rule="T01", measure="w.read.bytes_per_s", fail={}, passes={}, needs=(), says="unverified")
NOISE = ("N02 steal: others used the processor",)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make and mount file systems")


def finding(state, rule="T01", severity=Severity.INVALIDATES):
    return Finding(
        subject="run:0001/1:w.read.bytes_per_s",
        phase=None,
        rule=rule,
        name="a-rule",
        state=state,
        severity=severity,
        part="tier",
        statement=f"it is {state}",
    )


FAIL, PASS, OPEN = finding(State.FAIL), finding(State.PASS), finding(State.UNVERIFIED)
OTHER = finding(State.FAIL, "L04")
NOTE = finding(State.FAIL, severity=Severity.NOTES)


def heard(*, lie=(FAIL,), twin=(PASS,), others=(), noise=(), control=CONTROL):
    return Heard(control=control, of_lie=lie, of_twin=twin, false_alarms=others, lie_spoiled=noise, twin_spoiled=noise)


def sides(*tries):
    judgement = settled(tries)
    return None if judgement is None else tuple(one.side for one in judgement)


@each(
    "tried lie twin",
    (heard(), Side.CAUGHT, Side.CLEARED),
    (heard(lie=(PASS,)), Side.MISSED, Side.CLEARED),
    (heard(lie=(FAIL, PASS)), Side.MISSED, Side.CLEARED),
    (heard(lie=()), Side.MISSED, Side.CLEARED),
    (heard(twin=(FAIL,), others=(FAIL,)), Side.CAUGHT, Side.ACCUSED),
    (heard(others=(OTHER,)), Side.CAUGHT, Side.ACCUSED_BY_OTHERS),
    (heard(twin=(NOTE,)), Side.CAUGHT, Side.CLEARED),
    (heard(lie=(NOTE,), twin=(NOTE,)), Side.CAUGHT, Side.ACCUSED),
    (heard(twin=(OPEN,), others=(OTHER,)), Side.CAUGHT, Side.ACCUSED_BY_OTHERS),
    (heard(noise=NOISE), Side.CAUGHT, Side.CLEARED),
    (heard(lie=(OPEN,), control=BLIND), Side.CAUGHT, Side.CLEARED),
    (heard(lie=(PASS,), control=BLIND), Side.MISSED, Side.CLEARED),
    (heard(lie=(OPEN,), twin=(OPEN,), control=BLIND), Side.CAUGHT, Side.ACCUSED),
)
def test_what_a_try_comes_to(tried, lie, twin):
    assert sides(tried) == (lie, twin)


def test_what_noise_spoiled_is_tried_again_and_in_the_end_not_judged():
    spoiled = heard(lie=(PASS,), twin=(FAIL,), noise=NOISE)
    assert sides() is None
    assert sides(spoiled) is None
    assert sides(spoiled, heard()) == (Side.CAUGHT, Side.CLEARED)
    assert sides(spoiled, heard(lie=())) == (Side.MISSED, Side.CLEARED)
    lie, twin = settled([spoiled] * TRIES)
    assert (lie.side, twin.side) == (Side.NOT_JUDGED, Side.NOT_JUDGED)
    assert lie.why == NOISE[0]


def test_a_side_that_was_judged_stays_so_whatever_comes_later():
    first = heard(lie=(PASS,), noise=())
    assert sides(first) == (Side.MISSED, Side.CLEARED)
    half = heard(twin=(FAIL,), noise=NOISE)
    assert sides(half, heard(lie=(PASS,))) == (Side.CAUGHT, Side.CLEARED)


def test_a_twin_of_which_the_rule_cannot_tell_is_neither_cleared_nor_accused():
    lie, twin = settled([heard(twin=(OPEN,))] * TRIES)
    assert (lie.side, twin.side, twin.why) == (Side.CAUGHT, Side.NOT_JUDGED, "T01 unverified: it is unverified")


def outcome(lie, twin, tries=1):
    return ControlOutcome(lie=Judgement(side=lie, why="so"), twin=Judgement(side=twin, why="so"), tries=tries, elapsed_ns=10**9)


LIES = st.sampled_from([Side.CAUGHT, Side.MISSED, Side.NOT_JUDGED])
TWINS = st.sampled_from([Side.CLEARED, Side.ACCUSED, Side.ACCUSED_BY_OTHERS, Side.NOT_JUDGED])
OUTCOMES = st.lists(st.builds(outcome, LIES, TWINS, st.integers(1, TRIES)), max_size=30)


@given(OUTCOMES, OUTCOMES)
def test_sums_add_up_and_nothing_is_lost(some, more):
    both, parts = tally([*some, *more]), [tally(some), tally(more)]
    assert both.caught.of + both.lies_not_judged == both.accused.of + both.twins_not_judged == len(some) + len(more)
    assert both.caught.happened == sum(part.caught.happened for part in parts)
    assert both.accused.happened == sum(part.accused.happened for part in parts)
    assert both.by_others <= both.accused.happened <= both.accused.of
    assert both.repeated == sum(one.tries - 1 for one in [*some, *more])
    gated = lies.status(both, Gate.ON)
    ill = any(one.lie.side is Side.MISSED or one.twin.side in (Side.ACCUSED, Side.ACCUSED_BY_OTHERS) for one in [*some, *more])
    assert gated == (BAD_VERDICT if ill else 0)
    assert lies.status(both, Gate.OFF) == 0
    unjudged = both.lies_not_judged + both.twins_not_judged
    assert lies.status(both, Gate.STRICT) == (BAD_VERDICT if ill or unjudged else 0)


def told(*outcomes, complete=True):
    rows = (
        (NamedControl(name="client_page_cache", rule="T01"), outcomes),
        (NamedControl(name="steal", rule="N02", obstacle="needs root"), ()),
    )
    return counts.ControlResults(rows=rows, times=len(outcomes), complete=complete)


def test_the_answer_comes_first_and_the_sums_last():
    good = outcome(Side.CAUGHT, Side.CLEARED)
    lines = counts.text(told(*[good] * 28)).splitlines()
    assert lines[0].startswith("28 of 28 faults caught, 0 of 28 controls accused; 95 % CI limits: at least 87.7 % caught")
    assert "at most 12.3 %" in lines[0]
    assert "skipped: needs root" in "\n".join(lines)
    last = "\n".join(lines[lines.index(next(line for line in lines if line.startswith("sum"))) :])
    assert "28 of 28" in last
    assert "1 skipped" in last


def test_what_went_wrong_is_said_once_with_how_often():
    miss = outcome(Side.MISSED, Side.ACCUSED)
    assert list(remarks([miss, miss])) == ["fault missed: so (2 times)", "control accused: so (2 times)"]
    text = counts.text(told(miss, miss))
    assert text.startswith("0 of 2 faults caught, 2 of 2 controls accused")
    assert "T01 client_page_cache: fault missed: so (2 times)" in text


def test_as_an_object_with_nulls_where_nothing_was_judged():
    found = counts.plain(told(outcome(Side.NOT_JUDGED, Side.CLEARED), complete=False))
    (one, skipped) = found["controls"]
    assert (counts.VERB, found["complete"]) == ("selftest-audit", False)
    assert "interrupted" in found["answer"]
    assert one["lies"] == {"caught": 0, "missed": 0, "not_judged": 1, "caught_low": None, "caught_high": None}
    assert one["twins"]["cleared"] == 1
    assert skipped["skipped"] == "needs root"
    assert found["sum"]["skipped"] == 1


def test_nothing_judged_is_no_success():
    assert counts.text(told()).startswith("nothing was judged")


def test_every_mistake_of_the_call_at_once(tmp_path):
    done = Bench(tmp_path).run("selftest", "--audit", "--rules", "Z98,T01,Z99", "--times", "0")
    assert done.returncode == 2
    assert all(word in done.stderr for word in ("Z98", "Z99", "--times 0"))
    done = Bench(tmp_path).run("selftest", "--rules", "T01", "--times", "2", "--gate")
    assert done.returncode == 2
    assert "--rules, --times, --gate without --audit" in done.stderr


@pytest.mark.slow
@as_root
def test_controls_really_run(tmp_path):
    bench = Bench(tmp_path)
    done = bench.run("selftest", "--audit", "--rules", "W05,evidence-missing", "--json", "--gate", "--progress", "none")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert done.returncode == 0, found["answer"]
    assert [one["rule"] for one in found["controls"]] == ["E01", "W05"]
    assert found["answer"].startswith("2 of 2 faults caught, 0 of 2 controls accused")
    assert found["sum"]["lies"]["caught_low"] == pytest.approx(0.025 ** (1 / 2))
    assert bench.traces() == []


@pytest.mark.slow
@as_root
def test_an_interrupt_undoes_everything_and_prints_what_was_counted(tmp_path):
    bench = Bench(tmp_path)
    process = bench.start("selftest", "--audit", "--rules", "D06", "--times", "50", "--json", "--progress", "json")
    wait_until(lambda: json.loads(process.stderr.readline())["number"] >= 2, within_s=120)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=300)
    found = json.loads(out)
    assert process.returncode == 130
    assert "All changes of the machine are undone" in errors
    assert "kept" not in errors
    assert not found["complete"]
    assert 1 <= found["controls"][0]["lies"]["caught"] < 50
    assert bench.traces() == []


@as_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, to be an ordinary user")
def test_an_ordinary_user_is_told_what_was_skipped():
    with as_nobody() as bench:
        done = bench.run("selftest", "--audit", "--rules", "T01,N02", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {one["rule"] for one in found["controls"]} == {"T01", "N02"}
    assert {one["skipped"] for one in found["controls"]} == {"needs root"}
    assert found["answer"] == "nothing was judged"


def test_the_labs_own_cost(tmp_path):
    done = Bench(tmp_path).run("selftest", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "assay.selftest/1"
    looked = [one for one in found["observers"] if one["obstacle"] is None]
    assert {"cpu", "memory", "process_io"} <= {one["observer"] for one in looked}
    assert all(one["looks"] > 0 and one["cpu_ns_per_look"] > 0 for one in looked)
    assert found["null"]["cpu_ns_per_op"] > 0
    assert found["start"]["clients"] == 16
    assert found["start"]["cpu_ns"] > 0
