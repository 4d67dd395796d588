"""The sentence that anybody can repeat, assembled from values: of made-up results, and of a recorded `assay quick`."""

import re
from dataclasses import replace

import pytest

from assay.answer.answer import answer
from assay.answer.essence import essence
from assay.answer.wording.essence import within
from assay.answer.wording.summary import following, opening
from assay.cli import summary
from assay.records import Claim, Durability, Tier, VerdictState
from report import fixture, recorded


def plain(text):
    return text.replace("\u202f", " ")


def one_run(**claims):
    """One run of a made-up experiment; other claims by the name of the measure."""
    results = fixture.one_run()
    measures = tuple(replace(one, claim=claims.get(one.workload, one.claim)) for one in results.experiment.measures)
    return replace(results, experiment=replace(results.experiment, measures=measures))


def test_claimed_rates_come_first_and_untrusted_ones_carry_their_verdict():
    said = plain(opening(answer(one_run())))
    assert re.fullmatch(
        r"Reads [\d.]+ MB/s, reads [\d.]+ MB/s, writes [\d.]+ MB/s to stable media, [\d,]+ creates a second"
        r"; what looks faster is memory \([\d.]+ GB/s\)",
        said,
    )
    bare = dict.fromkeys(("spool", "cold", "warm", "direct", "dump"), Claim())
    said = plain(opening(answer(one_run(**bare))))
    assert "to stable media" not in said
    assert " creates a second" in said
    results = one_run()
    first = results.runs[0]
    doubted = replace(first.verdicts["cold.read.bytes_per_s"], state=VerdictState.UNVERIFIED)
    runs = (replace(first, verdicts={**first.verdicts, "cold.read.bytes_per_s": doubted}),)
    found = answer(replace(results, runs=runs))
    assert re.match(r"Reads [\d.]+ MB/s \[UNVERIFIED\], reads ", plain(opening(found)))
    assert found.state is VerdictState.UNVERIFIED
    results = one_run()
    first = results.runs[0]
    name = "dump.write.bytes_per_s"
    runs = (replace(first, verdicts={**first.verdicts, name: replace(first.verdicts[name], state=VerdictState.TAINTED)}),)
    said = plain(opening(answer(replace(results, runs=runs))))
    assert re.search(r"writes [\d.]+ MB/s \[TAINTED\]", said)


def test_only_what_compares_nothing_and_has_two_rates_has_such_a_sentence():
    assert essence(fixture.results()) is None
    results = one_run()
    lone = replace(results, cells=tuple(one for one in results.cells if one.measure.startswith("cold")))
    assert essence(lone) is None
    assert opening(answer(lone)).startswith("cold read, throughput: ")


def test_commits_are_operations_that_each_end_with_a_flush():
    stable = Claim(tier=Tier.DEVICE, durability=Durability.STABLE_MEDIA)
    results = one_run(dump=stable)
    measures = tuple(replace(one, figure="ops_per_s") if one.workload == "dump" else one for one in results.experiment.measures)
    workloads = tuple(
        replace(one, knobs={**one.knobs, "flush": "each"}) if one.name == "dump" else one for one in results.experiment.workloads
    )
    cells = tuple(
        replace(one, measure="dump.write.ops_per_s", estimate=replace(one.estimate, value=3712.0, unit="1/s"))
        if one.measure == "dump.write.bytes_per_s"
        else one
        for one in results.cells
    )
    first = results.runs[0]
    verdicts = {**first.verdicts, "dump.write.ops_per_s": first.verdicts["dump.write.bytes_per_s"]}
    asked = replace(results.experiment, measures=measures, workloads=workloads)
    said = opening(answer(replace(results, experiment=asked, cells=cells, runs=(replace(first, verdicts=verdicts),))))
    assert re.search(r", [\d,]+ creates and 3,710 commits a second", plain(said))


def test_no_figure_lies_farther_off_than_the_sentence_says():
    """An interval from 0.63 to 1.6 times the figure was said to be within 48 %: its upper end is 60 % above."""
    portions = essence(one_run()).portions
    wide = [replace(one, estimate=replace(one.estimate, value=100.0, low=63.0, high=160.0)) for one in portions]
    assert plain(within(wide)) == "each within a factor of 1.6"
    near = [replace(one, estimate=replace(one.estimate, value=100.0, low=90.0, high=130.0)) for one in portions]
    assert plain(within(near)) == "each within 30 %"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return recorded.results(tmp_path_factory.mktemp("quick"))


def test_a_recorded_quick_in_one_sentence(quick):
    found = answer(quick)
    said = plain(opening(found))
    assert said == (
        "Writes 803 MB/s, reads 1.24 GB/s, 10,600 random reads and 397 commits a second; each within a factor of 3.6; "
        "what looks faster is memory (5.80 GB/s)"
    )
    assert summary.summary(quick).splitlines()[0] == f"{opening(found)} [{found.state.value}]"
    assert all("interval" not in line for line in following(found) if line.startswith("stream"))
