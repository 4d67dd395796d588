"""Sound trials test the audit: counting on made-up outcomes, the kinds that ship, some really run."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment import plan
from assay.selftest import sound
from assay.selftest.sound import SoundResults, Tried, share
from stage.assay_process import Bench

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make and mount file systems")
RULES = ("D01", "E05", "N02", "T01")
OUTCOMES = st.builds(
    Tried,
    kind=st.sampled_from(["commits ext4", "twin of holes"]),
    failed=st.sampled_from([None, None, None, "the run failed"]),
    spoke=st.frozensets(st.sampled_from(RULES), min_size=1),
    noise=st.frozensets(st.just("N02")),
).flatmap(
    lambda one: st.builds(
        Tried,
        kind=st.just(one.kind),
        failed=st.just(one.failed),
        spoke=st.just(one.spoke),
        noise=st.just(one.noise & one.spoke),
        accused=st.dictionaries(st.sampled_from(sorted(one.spoke)), st.just("so"), max_size=2),
    )
)


@given(st.lists(OUTCOMES, max_size=30))
def test_counts_by_kind_add_up_and_no_rule_is_charged_for_what_it_did_not_judge(tried):
    told = SoundResults(tried=tuple(tried), skipped={})
    whole = share(told.tried)
    by_kind = [share(sound.of_kind(told, kind)) for kind in told.kinds]
    assert whole.of == sum(one.of for one in by_kind) == len(told.judged)
    assert whole.happened == sum(one.happened for one in by_kind)
    for rule in told.rules:
        found = share(told.judged, rule)
        assert found.happened <= min(found.of, whole.happened)
        assert found.of == sum(rule in one.spoke for one in told.judged)
    found = sound.plain(told)
    assert (found["trials"], found["accused"]) == (whole.of, whole.happened)
    json.dumps(found)


SOUND = Tried(kind="commits ext4", spoke=frozenset({"D01", "D02"}))
ACCUSED = Tried(kind="twin of holes", spoke=frozenset({"D01", "T06"}), accused={"T06": "holes"}, noise=frozenset({"N02"}))


def test_the_answer_comes_first_and_each_accusation_is_told():
    lines = sound.text(SoundResults(tried=(SOUND,) * 199 + (ACCUSED,), skipped={"steal": "needs root"})).splitlines()
    assert lines[0].startswith("false alarms: 1 of 200 sound trials; upper limit of the 95 % CI 2.8 %")
    assert lines[2] == "twin of holes: T06: holes"
    assert any(line.split()[:5] == ["T06", "1", "of", "1", "2.5"] for line in lines)
    assert any("D01" in line and "0 of 200" in line for line in lines)
    assert "skipped: needs root" in "\n".join(lines)


def test_none_of_200_is_at_most_two_in_a_hundred():
    text = sound.text(SoundResults(tried=(SOUND,) * 200, skipped={}))
    assert text.startswith("false alarms: 0 of 200 sound trials; upper limit of the 95 % CI 1.8 %")


def test_nothing_judged_is_no_success():
    text = sound.text(SoundResults(tried=(Tried(kind="x", failed="the run failed"),), skipped={}, complete=False))
    assert text.startswith("no trial was judged; interrupted")
    assert "x: not judged: the run failed" in text


def test_every_kind_is_of_many_and_tells_no_lie():
    kinds = (*sound.shipped(), *sound.twins())
    assert len(kinds) == len({kind.name for kind in kinds}) > 40
    for kind in kinds:
        assert plan.plan(kind.experiment).trials, kind.name
    (twin,) = (kind for kind in kinds if kind.name == "twin of client_page_cache")
    assert [dict(trial.levels) for trial in plan.plan(twin.experiment).trials] == [{"w.cache": "cold"}]


def test_every_mistake_of_the_call(tmp_path):
    bench = Bench(tmp_path)
    for words, said in ((("--audit", "--sound", "0"), "--sound 0"), (("--sound", "5"), "--sound without --audit")):
        done = bench.run("selftest", *words)
        assert (done.returncode, said in done.stderr) == (2, True)
    done = bench.run("selftest", "--audit", "--sound", "5", "--rules", "T01", "--times", "2")
    assert (done.returncode, "--rules, --times with --sound" in done.stderr) == (2, True)


@as_root
def test_two_really_run(tmp_path):
    bench = Bench(tmp_path)
    done = bench.run("selftest", "--audit", "--sound", "2", "--json", "--gate")
    found = json.loads(done.stdout)
    assert found["schema"] == "assay.selftest-sound/1"
    assert found["trials"] >= 2
    assert done.returncode == (3 if found["accused"] else 0)
    assert bench.traces() == []
