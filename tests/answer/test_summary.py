"""The first line of an answer: which measure, who is ahead, how sure, what verdict; a lie is called one, noise is not."""

import re
from dataclasses import replace
from types import SimpleNamespace

from assay.answer.answer import answer
from assay.answer.wording.summary import following, opening, remarks, reservations
from assay.cli import summary
from assay.records import (
    ArmOrder,
    Conclusion,
    EndpointKind,
    Estimate,
    Exclusion,
    ExclusionReason,
    Fit,
    Growth,
    Label,
    LawName,
    Method,
    Nature,
    Outcome,
    Pairs,
    Place,
    Rank,
    Ranking,
    RequirementState,
    Scaling,
    ScalingKind,
    Severity,
    Shape,
    State,
    VerdictState,
)
from assay.report import markdown
from report import fixture
from stage.effect_cases import FULL, answered, planted

RATE = "spool.create.ops_per_s"
BOAST = "warm.read.bytes_per_s"
INVALID = Exclusion(reason=ExclusionReason.INVALID)
ORDER = ArmOrder(candidate="xfs", baseline="ext4", compared="target")
LINEAR = Fit(law=LawName.LINEAR, contention=0.0, coherency=0.0)


def lead(results):
    """The opening in words, and what follows it."""
    found = answer(results)
    if found.state is None:
        return None
    said, state = opening(found), found.state
    return SimpleNamespace(said=said, state=state, text=f"{said} [{state.value}]", more=following(found))


def first_only(results, name):
    """The experiment with one measure moved to the front."""
    order = sorted(results.experiment.measures, key=lambda one: one.name != name)
    return replace(results, experiment=replace(results.experiment, measures=tuple(order)))


def without_a_figure(results, name, rule="T01", part="tier"):
    """The results in which a rule called every run of a measure INVALID."""
    sample = next(f for judged in results.runs for v in judged.verdicts.values() for f in v.findings)
    found = replace(sample, rule=rule, name="foreign-activity", part=part, state=State.FAIL, severity=Severity.INVALIDATES)

    def spoiled(verdict):
        own = replace(found, relabel="page-cache bandwidth, none from the device", detail=f"device share {verdict.value:.3g}")
        label = Label(nature=Nature.OTHER, operation="read", because=(rule,))
        return replace(verdict, state=VerdictState.INVALID, findings=(own,), label=label, corrected=None)

    runs = tuple(
        replace(one, verdicts={key: spoiled(verdict) if key == name else verdict for key, verdict in one.verdicts.items()})
        for one in results.runs
    )
    cells = tuple(
        replace(one, estimate=None, unfiltered=one.estimate, values={}, excluded=dict.fromkeys(one.values, INVALID))
        if one.measure == name
        else one
        for one in results.cells
    )
    compared = tuple(
        replace(one, ratio=None, conclusion=Conclusion.UNDECIDED) if one.measure == name else one for one in results.comparisons
    )
    return replace(results, runs=runs, cells=cells, comparisons=compared)


def test_a_comparison_opens_with_measure_direction_interval_and_verdict():
    results = fixture.results()
    said = lead(results)
    assert said.text.startswith("spool create, operations per second: xfs is faster, 1.29 to 1.45 times")
    assert "from 1.14 to 1.66)" in said.text
    assert said.text.endswith("[SOUND]")
    assert summary.summary(results).splitlines()[0] == said.text
    assert f"**{markdown.escape(said.text)}**" in markdown.render(results)
    # What is required follows with where it holds, and the largest difference of another measure.
    (line,) = [one for one in said.more if "required of spool list" in one]
    assert line.index("undecided at") < line.index("met at target = ext4 and xfs, clients = 1 and 2")
    met = tuple(replace(one, state=RequirementState.MET) for one in results.requirements)
    assert any(": met [" in one for one in lead(replace(results, requirements=met)).more)
    (line,) = (one for one in said.more if one.startswith("largest difference of another measure: "))
    assert "spool create, latency, 99th percentile: xfs is faster" in line
    more = len(answer(results).others) - 1
    assert line.endswith(f"; {more} more measure{' differs' if more == 1 else 's differ'}") == (more > 0)


def test_a_lie_in_front_is_called_one_and_the_next_measure_answers(subtests):
    results = first_only(without_a_figure(fixture.results(), BOAST), BOAST)
    said = lead(results)
    assert said.state is VerdictState.INVALID
    assert said.said.startswith("warm read, throughput: ")
    assert "no device figure: page-cache bandwidth" in said.said
    assert "and more" not in said.said
    assert said.more[0].startswith("spool create, operations per second: xfs is faster")
    assert said.more[0].endswith("[SOUND]")
    for share, words in [(0.0, "; storage gave nothing"), (0.5, "; corrected "), (1.0, "none from the device")]:
        with subtests.test(share=share):  # the corrected figure was left out of the sentence
            runs = []
            for one in results.runs:
                verdicts = {
                    name: replace(verdict, corrected=verdict.value * share) if name == BOAST and verdict.value else verdict
                    for name, verdict in one.verdicts.items()
                }
                runs.append(replace(one, verdicts=verdicts))
            said = lead(replace(results, runs=tuple(runs))).said
            assert (words in said, "corrected" in said) == (True, share == 0.5)
    noisy = lead(first_only(without_a_figure(fixture.results(), BOAST, rule="N03", part="noise"), BOAST)).said
    assert ("(N03)" in noisy, "does not count" in noisy, "no device figure" in noisy) == (True, True, False)


def test_where_nothing_is_compared_the_figure_itself_is_told():
    results = first_only(replace(fixture.results(), comparisons=()), "cold.read.bytes_per_s")
    one = next(cell for cell in results.cells if cell.measure == "cold.read.bytes_per_s" and cell.estimate)
    alone = lead(replace(results, cells=(one,)))
    assert re.match(r"cold read, throughput: \d+\D?MB/s \(95 % interval ", alone.said)
    assert "over 6 combinations of levels" in lead(results).said
    assert "in one run" not in alone.said


def test_a_designed_experiment_opens_with_the_factor_that_matters_most():
    results = answered(FULL, (2, 2, 2), planted)
    said = lead(results)
    sure = r"\+\d+(\.\d)? % \(\+\d+(\.\d)? to \+\d+(\.\d)?\) with 1 instead of 0 on average"
    assert re.match(rf"spool create, operations per second: spool\.c matters most: {sure}; spool\.a too: -", said.said)
    assert any(one.startswith("Together: ") for one in said.more)
    assert not said.said.endswith(".")


def test_a_break_even_of_which_nothing_is_known_is_not_told():
    at = Estimate(value=2.5, low=1.2, high=3.9, confidence=0.95, unit="", n=0, method=Method.CROSSING_OF_MEANS)
    for low, high, text in (
        (1.2, 3.9, "break-even at 2.5 (1.2 to 3.9) clients; beyond it xfs is below ext4"),
        (1.0, 4.0, "no significant break-even from 1 to 4 clients"),
    ):
        found = growth(ScalingKind.BREAK_EVEN, Shape.CROSSES, RATE, replace(at, low=low, high=high), order=ORDER)
        named = "spool create, operations per second, xfs against ext4"
        assert f"{named}: {text}" in lead(replace(fixture.results(), scaling=(found,))).more


def growth(kind, shape, measure, at=None, **values):
    base = Scaling(kind=kind, shape=shape, measure=measure, factor="clients", within={}, at=at, lowest=1, highest=4)
    return replace(base, **values)


def test_a_compared_count_opens_with_how_the_figure_grows_not_with_each_number():
    results = fixture.results()
    sample = next(one for one in results.comparisons if one.measure == RATE and one.conclusion is Conclusion.MATTERS)
    compared = tuple(
        replace(sample, factor="clients", baseline=1, candidate=n, within={}, ratio=replace(sample.ratio, value=float(n)))
        for n in (2, 3, 4, 6)
    )
    at = Estimate(value=3.3, low=3.1, high=3.5, confidence=0.95, unit="", n=0, method=Method.CROSSING_OF_MEANS)
    kept = growth(ScalingKind.OBJECTIVE, Shape.CROSSES, "spool.list.latency_p99_ns", at, requirement="<= 50 ms")
    law = growth(ScalingKind.LAW, Shape.PROPORTIONAL, RATE, growth=Growth(fit=LINEAR, times=4.0))
    counted = replace(
        results, comparisons=compared, scaling=(law, kept), experiment=replace(results.experiment, compare="clients")
    )
    told = lead(counted)
    assert told.said.startswith(
        "spool create, operations per second grows in proportion up to 4 clients: no limit reached, nothing follows for more;"
        " clients = 6 is faster, 6.00"
    )
    assert "clients = 2" not in told.said
    assert "spool list, latency, 99th percentile <= 50 ms is kept up to 3.3 (3.1 to 3.5) clients" in told.more


def test_one_order_everywhere_is_no_break_even():
    results = fixture.results()
    mine = tuple(replace(one, conclusion=Conclusion.MATTERS) for one in results.comparisons if one.measure == RATE)
    found = growth(ScalingKind.BREAK_EVEN, Shape.INDISTINCT, RATE, order=ORDER)
    open_ = tuple(replace(one, conclusion=Conclusion.UNDECIDED) for one in mine)
    elsewhere = tuple(replace(one, candidate="btrfs") for one in open_)
    named = "spool create, operations per second, xfs against ext4: "
    for compared, begins in (
        (mine, "no break-even from 1 to 4 clients"),
        (open_, "no significant difference"),
        ((*mine, *elsewhere), "no break-even"),  # another arm says nothing of these two
    ):
        told = lead(replace(results, comparisons=compared, scaling=(found,))).more
        assert any(one.startswith(f"{named}{begins}") for one in told)


def test_no_figure_is_no_answer():
    results = fixture.results()
    nothing = replace(results, runs=(), cells=(), comparisons=(), requirements=())
    assert lead(nothing) is None
    assert summary.summary(nothing).startswith(results.experiment.title)


def compared(count, **change):
    """An experiment of one measure with a comparison for each number of clients, each with a ratio of its own."""
    results = fixture.results()
    first = next(one for one in results.comparisons if one.measure == RATE and one.conclusion is Conclusion.MATTERS)
    ratios = [1.2, 3.0, 1.5, 36.6][:count]
    found = tuple(
        replace(
            first,
            factor="clients",
            baseline=1,
            candidate=number,
            within={},
            ratio=replace(first.ratio, value=ratio, low=ratio / 1.05, high=ratio * 1.05),
            **change,
        )
        for number, ratio in enumerate(ratios, 2)
    )
    asked = replace(results.experiment, factors=(), compare="clients", measures=(results.experiment.measures[0],))
    return replace(results, experiment=asked, comparisons=found, scaling=(), requirements=())


def test_of_many_levels_the_largest_effect_is_named_and_not_left_out():
    found = lead(compared(4))
    assert "per second: clients = 5 is faster, 36.6 times" in found.said
    assert found.said.index("36.6") < found.said.index("3.00") < found.said.index("1.50")
    assert "; 1 more below" in found.said


def test_a_lead_that_is_too_little_to_matter_is_named_as_that():
    results = lying(compared(2), 1.04, 0.5)
    first, second = results.comparisons
    near = replace(first, conclusion=Conclusion.IMMATERIAL, ratio=replace(first.ratio, low=1.01, high=1.07))
    said = lead(replace(results, comparisons=(near, second))).said
    assert "clients = 3 is slower, 0.50 times" in said
    assert "clients = 2 is faster, too little to matter" in said


def test_a_parallel_efficiency_is_given_once():
    results = compared(1, conclusion=Conclusion.UNDECIDED)
    share = replace(results.comparisons[0].ratio, value=0.6, low=0.5, high=0.7)
    (one,) = (replace(each, parallel_efficiency=share) for each in results.comparisons)
    found = lead(replace(results, comparisons=(one,)))
    assert "parallel efficiency" not in found.said
    assert [text for text in found.more if text.startswith("parallel efficiency 60 %, 2 clients against 1")]


def lying(results, *ratios):
    """The comparisons with these ratios, each known to 5 % on both sides."""
    found = tuple(
        replace(one, ratio=replace(one.ratio, value=ratio, low=ratio / 1.05, high=ratio * 1.05))
        for one, ratio in zip(results.comparisons, ratios, strict=True)
    )
    return replace(results, comparisons=found)


def ranked(results, *leading, conditions=1):
    """The results with an order of the baseline and the candidates, of which these could be the best."""
    first = results.comparisons[0]
    levels = [first.baseline, *(one.candidate for one in results.comparisons)]
    order = sorted(levels, key=lambda level: (level not in leading, leading.index(level) if level in leading else level))
    estimate = next(cell.estimate for cell in results.cells if cell.measure == first.measure and cell.estimate)
    ranks = tuple(
        Rank(level=level, estimate=replace(estimate, value=1000.0 - 100 * at), may_be_best=level in leading or not leading)
        for at, level in enumerate(order)
    )
    ahead = replace(first, candidate=order[0], baseline=order[1], of_every_pair=True)
    ahead = replace(ahead, ratio=replace(first.ratio, value=1.11, low=1.08, high=1.14))
    found = Ranking(measure=first.measure, factor=first.factor, within={}, ranks=ranks, ahead=ahead)
    every = tuple(replace(found, within={"depth": at} if conditions > 1 else {}) for at in range(conditions))
    sound = replace(results.comparison_verdicts[next(iter(results.comparison_verdicts))], state=VerdictState.SOUND)
    return replace(results, rankings=every, comparison_verdicts={**results.comparison_verdicts, ahead.id: sound})


def test_the_values_come_first_then_the_best_and_by_how_much():
    said = lead(ranked(lying(compared(3), 0.5, 1.4, 0.9), 3)).said
    assert "per second: clients 1: 900/s, 2: 800/s, 3: 1,000/s, 4: 700/s" in said
    assert "; clients = 3 is fastest, 1.11 times the rate of 1 (95 % interval 1.08 to 1.14)" in said
    assert "0.50 times" not in said, "the table has the comparisons with the baseline"


def test_levels_that_cannot_be_told_apart_share_the_lead_and_the_smallest_number_is_named():
    said = lead(ranked(lying(compared(3), 1.9, 1.95, 1.2), 3, 2)).said
    assert "clients = 2 and 3 lead, and which of them is fastest is undecided: clients = 3 against clients = 2 " in said
    assert "; nothing more is shown to be gained above clients = 2;" in said
    alike = lead(ranked(lying(compared(2), 1.02, 0.98))).said
    assert ("which is fastest is undecided: " in alike, " lead" in alike) == (True, False)


def test_under_several_conditions_each_has_its_order_below():
    found = lead(ranked(lying(compared(2), 1.5, 3.0), 3, conditions=6))
    assert "fastest" not in found.said or "clients = 3 is fastest" in found.said
    orders = [text for text in found.more if text.startswith("at depth = ")]
    assert [text.partition(":")[0] for text in orders] == [f"at depth = {at}" for at in range(4)]


def test_an_undecided_comparison_says_so_once():
    results = compared(3)
    first, second, third = results.comparisons
    third = replace(third, conclusion=Conclusion.UNDECIDED, ratio=replace(third.ratio, value=0.96, low=0.7, high=1.3))
    said = lead(replace(results, comparisons=(first, second, third))).said
    assert "; clients = 4 against 1 is undecided (0.96 times; 95 % interval 0.70 to 1.30)" in said
    assert said.count("undecided") == 1


def test_trials_that_failed_are_in_the_first_line():
    results = compared(2)
    assert (
        "failed"
        not in lead(replace(results, runs=tuple(one for one in results.runs if one.run.outcome is Outcome.FINISHED))).said
    )
    trials = {one.run.trial.id for one in results.runs}
    finished = {one.run.trial.id for one in results.runs if one.run.outcome is Outcome.FINISHED}
    assert lead(results).said.endswith(f"; {len(trials - finished)} of {len(trials)} trials failed")
    most = replace(results, runs=tuple(one for one in results.runs if one.run.trial.id in finished and one.run.trial.id > 2))
    missing = len(results.plan.trials) - len({one.run.trial.id for one in most.runs})
    assert lead(most).said.endswith(f"; {missing} of {len(results.plan.trials)} trials not run")


def with_a_note(results, chosen, text="No difference shown, and no equivalence either."):
    """The results with a finding that renames these comparisons."""
    sample = next(f for judged in results.runs for v in judged.verdicts.values() for f in v.findings)
    note = replace(sample, state=State.FAIL, severity=Severity.NOTES, relabel="undecided", statement=text)
    verdict = replace(next(iter(results.comparison_verdicts.values())), findings=(note,))
    return replace(results, findings=(), comparison_verdicts={one.id: verdict for one in chosen})


def test_a_note_on_some_comparisons_names_them():
    """A finding on a secondary measure without its name was read as the answer to the question."""
    results = fixture.results()
    others = [one for one in results.comparisons if one.measure != RATE]

    def note(results, chosen):
        (one,) = (text for text in remarks(answer(with_a_note(results, chosen))) if "No difference shown" in text)
        return one.removesuffix("No difference shown, and no equivalence either.")

    assert re.fullmatch(r".+, .+, xfs( at .+)?: ", note(results, others[:1]))
    pairs = replace(results, experiment=replace(results.experiment, pairs=Pairs.ALL))
    assert ", xfs against ext4" in note(pairs, others[:1]), "each level is held against each"
    assert note(results, results.comparisons) == ""


def test_a_file_system_in_memory_or_on_another_one_is_named(subtests):
    for filesystem, devices, remark in [
        ("tmpfs", (), "ext4: tmpfs, no block device below"),
        ("fuse.sshfs", (), "ext4: FUSE, no block device below"),
        ("overlay", ("vda",), "ext4: overlay on vda"),
        ("ext4", ("vda",), None),
    ]:
        with subtests.test(filesystem=filesystem):
            results = fixture.results()
            place = Place(
                target="ext4", host="local", kind=EndpointKind.DIRECTORY, address="/data", filesystem=filesystem, devices=devices
            )
            one = results.runs[0]
            runs = (replace(one, run=replace(one.run, places=(place,))), *results.runs[1:])
            found = list(remarks(answer(replace(results, runs=runs))))
            assert ([remark] if remark else []) == [each for each in found if each.startswith("ext4: ")]


def test_a_note_that_renames_a_comparison_is_said_once():
    results = fixture.results()
    found = answer(with_a_note(results, results.comparisons[:1], "No difference shown here."))
    assert "No difference shown here." in [one.statement for one in found.doubts]
    assert [one for one in remarks(found) if one.endswith("No difference shown here.")]
    assert not [one for one in reservations(found) if "No difference shown here." in one]
