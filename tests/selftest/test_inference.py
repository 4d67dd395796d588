"""Experiments of drawn values: what is counted, and that a broken promise ends the gate with 3."""

import json

from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.selftest import Request, inference
from assay.selftest.inference import Promises, counted, kept

DRAWN = 12


def test_the_same_numbers_are_drawn_each_time_and_each_kind_is_counted():
    found = counted(DRAWN)
    assert (found.experiments, found.intervals, found.effects, len(found.shares)) == (DRAWN, 2 * DRAWN, DRAWN, DRAWN)
    assert found.covered >= 2 * DRAWN - 4
    assert 0 < found.shown <= DRAWN
    assert found.discoveries > 0
    assert counted(2) == counted(2)


def test_a_difference_that_is_there_is_counted_as_an_error_of_equal_levels(monkeypatch):
    """Were equal levels not equal, the count would say so: what it counts is not always 0."""
    drawn = inference.drawn
    monkeypatch.setattr(inference, "drawn", lambda about, draw, effects: drawn(about, draw, effects or {0: 0.5}))
    assert counted(4).equal_families == 4


def test_a_promise_that_is_broken_beyond_chance_fails_the_gate(monkeypatch, tmp_path):
    sound = Promises(
        experiments=100, equal_families=5, shares=[0.0], discoveries=1, covered=190, intervals=200, shown=80, effects=100
    )
    assert kept(sound)
    for broken in ({"equal_families": 20}, {"covered": 150}, {"shares": [0.2]}):
        values = Promises(**{**vars(sound), **broken})
        assert not kept(values)
        monkeypatch.setattr(inference, "counted", lambda experiments, values=values: values)
        request = Request(json_to=str(tmp_path / "told.json"), gate=Gate.ON)
        assert inference.check_inference(request, 100) == BAD_VERDICT
    assert json.loads((tmp_path / "told.json").read_text())["false_discoveries"] == 0.2


def test_words_that_do_not_go_together_are_refused(bench):
    for words, said in ((["--inference", "0"], "expected 1 or more"), (["--inference", "3", "--audit"], "with --inference")):
        done = bench.run("selftest", *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
