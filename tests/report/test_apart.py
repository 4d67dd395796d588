"""The caption of a measure names a highest level only where it is distinct from all others."""

import notebook_records as made
from assay.records import Cell, Comparison, Conclusion, Estimate, Method, Results, VerdictState
from assay.report.charts import cells


def cell(level, value, half):
    estimate = Estimate(value=value, low=value - half, high=value + half, confidence=0.95, unit="1/s", n=5, method=Method.MEAN)
    return Cell(measure=made.RATE, levels={"target": level}, estimate=estimate, values={})


def compared(candidate, baseline, conclusion):
    return Comparison(
        measure=made.RATE,
        factor="target",
        baseline=baseline,
        candidate=candidate,
        within={},
        ratio=None,
        conclusion=conclusion,
        matters_share=0.05,
        detectable_share=None,
        provable_share=None,
    )


def caption(found, comparisons=(), verdicts=None):
    asked = made.experiment()
    results = Results(
        experiment=asked, plan=made.plan(asked), runs=(), comparisons=tuple(comparisons), comparison_verdicts=verdicts or {}
    )
    return cells._apart(results, found)


def test_without_a_comparison_and_with_an_invalid_one_intervals_decide():
    assert "not distinguishable" in caption([cell("ext4", 1000, 200), cell("xfs", 1100, 200)])
    assert caption([cell("ext4", 1000, 20), cell("xfs", 1100, 20)]).startswith("Highest: xfs")
    one = compared("xfs", "ext4", Conclusion.MATTERS)
    asked = made.experiment()
    bad = made.verdict(made.run(made.plan(asked).trials[0]), made.RATE, 1.0, VerdictState.INVALID)
    assert "not distinguishable" in caption([cell("ext4", 1000, 20), cell("xfs", 1100, 20)], [one], {one.id: bad})
    three = [cell("btrfs", 1090, 30), cell("ext4", 1000, 20), cell("xfs", 1100, 30)]
    text = caption(three)
    assert text.startswith("From 1,000/s (ext4) to 1,100/s (xfs)")
    assert text.endswith("which is highest is undecided.")


def test_a_comparison_decides_whatever_the_intervals_are(subtests):
    """Pairs of one block tell levels apart whose own intervals overlap, and the other way round."""
    for conclusion, begins in [
        (Conclusion.MATTERS, "Highest: xfs"),
        (Conclusion.IMMATERIAL, "Highest: xfs"),
        (Conclusion.UNDECIDED, "From"),
        (Conclusion.EQUIVALENT, "From"),
    ]:
        for arms in [("xfs", "ext4"), ("ext4", "xfs")]:
            for half in [20, 200]:
                with subtests.test(conclusion=conclusion, arms=arms, half=half):
                    found = [cell("ext4", 1000, half), cell("xfs", 1100, half)]
                    assert caption(found, [compared(*arms, conclusion)]).startswith(begins)
