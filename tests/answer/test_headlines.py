"""The answer in sentences: every compared measure, in words, with interval, what was not seen, verdict and its cause."""

import itertools
from dataclasses import replace

from assay import measures
from assay.answer import doubts, headlines, marks
from assay.answer.wording import comparison as sentence
from assay.answer.wording import summary as words
from assay.records import (
    Comparison,
    Conclusion,
    Estimate,
    Exclusion,
    ExclusionReason,
    Method,
    Observations,
    Severity,
    State,
    Tier,
    VerdictState,
)
from assay.report import markdown, page
from assay.report.charts import forest
from assay.report.galleries import Pictures
from report import fixture
from stage import notebook_records as made

FAILED = {"0001/1": Exclusion(reason=ExclusionReason.OUTCOME)}


def comparison(value=0.605, low=0.541, high=0.676, conclusion=Conclusion.MATTERS, **changes):
    ratio = Estimate(value=value, low=low, high=high, confidence=0.95, unit="ratio", n=5, method=Method.PAIRED_GEOMETRIC)
    base = Comparison(
        measure="spool.unlink.ops_per_s",
        factor="target",
        baseline="ext4",
        candidate="xfs",
        within={},
        ratio=ratio,
        conclusion=conclusion,
        matters_share=0.1,
        detectable_share=0.371,
        provable_share=0.5,
    )
    return replace(base, **changes)


def test_sentences_say_who_is_ahead_by_how_much_and_how_sure(subtests):
    undecided, same = Conclusion.UNDECIDED, Conclusion.EQUIVALENT
    for figure, one, begins, ends in [
        ("ops_per_s", comparison(), "xfs is slower: 0.60 times", "0.54 to 0.68)"),
        ("latency_p99_ns", comparison(), "xfs is faster: it takes 0.60 times", "0.54 to 0.68)"),
        ("cpu_ns_per_op", comparison(), "xfs is better: 0.60 times", "0.54 to 0.68)"),
        ("longest_pause_ns", comparison(), "xfs is better: 0.60 times", "0.54 to 0.68)"),
        ("frames", comparison(), "xfs is lower: 0.60 times", "0.54 to 0.68)"),
        (
            "ops_per_s",
            comparison(1.002, 0.998, 1.006, same),
            "xfs and ext4 are equivalent: 1.002 times",
            "±10 %)",
        ),
        ("bytes_per_s", comparison(1.03, 1.01, 1.05, Conclusion.IMMATERIAL), "xfs is faster, too little to matter", "±10 %)"),
        ("ops_per_s", comparison(0.934, 0.74, 1.18, undecided), "xfs against ext4 is undecided: 0.93 times", ": 37.1 %"),
        ("ops_per_s", comparison(1.15, 1.02, 1.3, undecided), "xfs is faster, whether it matters is undecided", ": 10 %"),
        ("bytes_per_s", comparison(1.1, 0.2, 6.01, undecided, detectable_share=8.7), "xfs against ext4 is", ": 9.7 times"),
        ("ops_per_s", comparison(1.5, None, None, undecided), "xfs against ext4 is undecided: 1.50 times; no interval", "be 0"),
        ("ops_per_s", comparison(conclusion=undecided, ratio=None, excluded=FAILED), "xfs against ext4", "(1 run excluded)"),
        ("errors", comparison(conclusion=undecided, ratio=None, excluded=FAILED, has_zero=True), "xfs against", "a value is 0"),
        (
            "ops_per_s",
            comparison(1.04, 1.01, 1.07, same, p_value=0.01, adjusted_p_value=0.08),
            "xfs and",
            "0.08)",
        ),
    ]:
        with subtests.test(figure=figure, ends=ends):
            asked = made.experiment(measures=(f"spool.unlink.{figure}",))
            asked = replace(asked, measures=(replace(asked.measures[0], operation="unlink"),))
            said = str(sentence.sentence(asked, replace(one, measure=asked.measures[0].name)))
            assert (said[: len(begins)], said[-len(ends) :]) == (begins, ends)


def test_as_many_decimals_as_the_interval_bears(subtests):
    for value, low, high, texts in [
        (0.415, 0.347, 0.496, ("0.41", "0.35", "0.50")),
        (0.0345, 0.0312, 0.0381, ("0.035", "0.031", "0.038")),
        (0.656, 0.045, 9.482, ("0.66", "0.045", "9.5")),
        (123.4, 110.0, 140.0, ("123", "110", "140")),
        (120.0, 30.0, 4567.0, ("120", "30", "4,600")),
    ]:
        with subtests.test(value=value):
            assert measures.digits(comparison(value, low, high).ratio) == texts


def test_why_there_is_no_interval(subtests):
    for n, method, least in [
        (2, Method.PAIRED_GEOMETRIC, 3),
        (1, Method.PAIRED_GEOMETRIC, 3),
        (5, Method.PAIRED_MEDIANS, 6),
        (9, Method.UNPAIRED_MEDIANS, 20),
    ]:
        with subtests.test(n=n):
            ratio = Estimate(value=1.5, low=None, high=None, confidence=0.95, unit="ratio", n=n, method=method)
            text = sentence.no_interval(ratio)
            assert [int(word) for word in text.split() if word.isdecimal()] == [n, least]
    # Too few pairs are the reason, and not the number of tests.
    ratio = Estimate(value=0.04, low=None, high=None, confidence=0.95, unit="ratio", n=2, method=Method.PAIRED_GEOMETRIC)
    lost = comparison(0.04, 0.03, 0.05, Conclusion.UNDECIDED, p_value=0.02, adjusted_p_value=0.16)
    assert sentence.undecided_for(lost).startswith("not significant")
    assert sentence.undecided_for(replace(lost, ratio=ratio)).startswith("no interval")


def test_every_compared_measure_has_its_answer_and_every_comparison_its_place():
    results = fixture.results()
    found = headlines.headlines(results)
    compared = dict.fromkeys(one.measure for one in results.comparisons)
    assert len(found) == len(compared) > 1
    text = " ".join(str(words.line(results.experiment, line)) for one in found for line in one.lines)
    for clients in dict.fromkeys(one.within["clients"] for one in results.comparisons):
        assert str(clients) in text


def test_conditions_that_agree_share_a_sentence_and_their_worst_verdict():
    results = fixture.results()
    name = results.comparisons[0].measure
    same = tuple(
        replace(one, conclusion=Conclusion.MATTERS, ratio=replace(one.ratio, value=value, low=value - 0.1, high=value + 0.1))
        for one, value in zip((c for c in results.comparisons if c.measure == name), (1.3, 1.5, 1.9), strict=False)
    )
    verdicts = dict(results.comparison_verdicts)
    last = same[-1].id
    verdicts[last] = replace(verdicts[last], state=VerdictState.INVALID)
    one = headlines.headlines(replace(results, comparisons=same, comparison_verdicts=verdicts))[0]
    (line,) = one.lines
    levels = marks.listed([f"{c.within['clients']}" for c in same])
    text = str(words.line(results.experiment, line))
    assert text.startswith("xfs is faster: 1.30 to 1.90 times the rate of ext4 at clients = " + levels)
    assert "95 % intervals from 1.20 to 2.00" in text
    assert line.state is VerdictState.INVALID


def test_a_doubtful_comparison_says_why():
    results = fixture.results()
    one = results.comparisons[0]
    verdict = results.comparison_verdicts[one.id]
    sample = next(f for judged in results.runs for v in judged.verdicts.values() for f in v.findings)
    wide = replace(sample, rule="S02", name="wide-interval", state=State.FAIL, severity=Severity.QUALIFIES, short="too few runs")
    said = doubts.why(results, one, replace(verdict, state=VerdictState.TAINTED, findings=(wide,)))
    assert words.reason(said[0]) == "too few runs (S02)"
    assert doubts.why(results, one, replace(verdict, state=VerdictState.SOUND)) == ()
    assert doubts.why(results, one, None) == ()


def test_what_leaves_a_run_unverified_is_a_rule_that_its_claim_needs():
    results = fixture.results()
    sample = next(f for judged in results.runs for v in judged.verdicts.values() for f in v.findings)
    unknown = [
        replace(sample, rule=rule, state=State.UNVERIFIED, short=short) for rule, short in (("G06", "a"), ("T06", "holes read"))
    ]
    first = results.runs[0]
    measure, verdict = next(iter(first.verdicts.items()))
    claimed = replace(verdict.claim, tier=Tier.DEVICE)
    open_one = replace(verdict, claim=claimed, state=VerdictState.UNVERIFIED, findings=tuple(unknown))
    (found,) = doubts.of_runs([replace(first, verdicts={measure: open_one})], measure)
    assert words.reason(found) == "1 of 1 runs UNVERIFIED, not ruled out: holes read (T06)"


def test_labels_of_the_axis_keep_apart(subtests):
    for low, high in [(0.98, 1.03), (0.96, 1.12), (0.7, 1.2), (0.2, 6.0), (0.01, 90.0)]:
        with subtests.test(low=low):
            results = fixture.results()
            ratio = replace(results.comparisons[0].ratio, low=low, high=high)
            axis = forest.axis(replace(results, comparisons=(replace(results.comparisons[0], ratio=ratio),)))
            places = [at for at, _ in axis.ticks]
            assert len(places) >= 3
            assert len({label for _, label in axis.ticks}) == len(places)
            assert all(after - before >= 13.9 for before, after in itertools.pairwise(places))
            assert any(label == "1" for _, label in axis.ticks)


def test_a_ratio_beyond_the_axis_is_an_arrow_and_no_dot_at_its_edge():
    results = fixture.results()
    far = replace(results.comparisons[0], ratio=replace(results.comparisons[0].ratio, value=2320.0, low=1820.0, high=2960.0))
    near = replace(results.comparisons[1], ratio=replace(results.comparisons[1].ratio, value=2.0, low=1.9, high=2.1))
    made = replace(results, comparisons=(far, near))
    rows = [row for group in forest.ratios(made) for row in group.rows]
    assert [(row.before, row.after, row.outside) for row in rows] == [(False, True, True), (False, False, False)]
    drawn = forest.figure(made).drawn.inside
    assert (drawn.count("<circle"), drawn.count("<path")) == (1, 1)
    assert "beyond the axis" in forest.figure(made).caption
    assert "beyond the axis" not in forest.figure(replace(results, comparisons=(near,))).caption


def test_ratios_of_12_25_and_37_are_apart_on_the_axis():
    results = fixture.results()
    sizes = (12.0, 25.0, 37.0)
    far = tuple(
        replace(one, ratio=replace(one.ratio, value=size, low=size / 1.1, high=size * 1.1))
        for one, size in zip(results.comparisons, sizes, strict=False)
    )
    results = replace(results, comparisons=far)
    places = [row.at for group in forest.ratios(results) for row in group.rows]
    assert places == sorted(set(places))
    assert places[-1] < 100
    assert places[1] - places[0] > 10, "the field is theirs, and not that of ratios below one"
    axis = forest.axis(results)
    assert axis.one < 10
    assert {label.rpartition("×")[2].strip("\u202f") for _, label in axis.ticks} >= {"1", "10"}


def test_every_measure_has_the_marks_of_the_axis_below_its_rows():
    results = fixture.results()
    inside = forest.figure(results).drawn.inside
    groups = forest.ratios(results)
    assert inside.count(">1</text>") == len(groups) > 1
    text = page.render(results, fixture.few(fixture.loader(results)), Pictures())
    assert text.count('class="ratio axis"') == len(groups)


def test_of_many_lines_the_first_are_told_and_the_others_are_counted():
    results = fixture.results()
    counted = replace(results.experiment, factors=(), compare="clients", measures=(results.experiment.measures[0],))
    sample = next(
        one for one in results.comparisons if one.conclusion is Conclusion.MATTERS and one.measure == counted.measures[0].name
    )
    many = tuple(replace(sample, factor="clients", baseline=1, candidate=n, within={}) for n in range(2, 61))
    told = replace(results, experiment=counted, comparisons=many)
    (group,) = headlines.headlines(told)
    assert (len(group.lines), group.shown) == (59, headlines.MOST_LINES)
    assert "51 more below" in markdown.render(told)
    text = page.render(told, lambda _: Observations(), Pictures())
    assert "<summary>51 lines more</summary>" in text
    (few,) = headlines.headlines(replace(told, comparisons=many[: headlines.MOST_LINES + 1]))
    assert few.shown == headlines.MOST_LINES + 1
