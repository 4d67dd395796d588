"""How the arms differ, as the report and `assay compare` lay it out."""

import dataclasses

import notebook_records as made
from assay.records import Finding, Meaning, Observations, Results, Severity, State, missing_on
from assay.report.arms import arms
from assay.report.runs import facts
from report import fixture


def judged(evidence: tuple[str, ...]) -> Results:
    """The made-up experiment with this evidence of C01 in every comparison."""
    whole = fixture.results()
    verdicts = {}
    for one in whole.comparisons:
        verdict = whole.comparison_verdicts[one.id]
        finding = Finding(
            subject=verdict.subject,
            phase=None,
            rule="C01",
            meaning=Meaning.DIFFERENCES,
            name="fingerprint",
            state=State.PASS,
            severity=Severity.NOTES,
            part="comparability",
            statement="x",
            observed={"differing": 0.0, "compared": 370.0},
            evidence=evidence,
        )
        verdicts[verdict.subject] = dataclasses.replace(verdict, findings=(finding,))
    return dataclasses.replace(whole, comparison_verdicts=verdicts)


def test_how_the_arms_differ_is_told_once_and_what_changed_and_what_follows_apart():
    (one,) = arms(judged(()))
    assert one.sentence == "The arms differ in nothing besides the factor (370 facts compared)."
    assert " against " in one.title
    evidence = (
        "cpu.governor: a against b",
        "changed during a run: x (1 -> 2)",
        "implied: target.size: 1 against 2",
        "implied: mkfs.inodes: 1 against 2",
    )
    (one,) = arms(judged(evidence))
    assert (one.beside, one.changed, one.implied) == (
        ("cpu.governor: a against b",),
        ("x (1 -> 2)",),
        ("target.size: 1 against 2", "mkfs.inodes: 1 against 2"),
    )
    assert one.sentence == (
        "The arms differ in 1 thing besides the factor (370 facts compared). 1 fact changed during a run. From it follow 2 facts."
    )


def test_evidence_that_one_reason_takes_away_is_one_line() -> None:
    one = made.judged(made.run(made.plan(made.experiment()).trials[0]), {})
    absent = {"layout.highest_byte": "no data files", "server.requests": "no command", "extents.hole_bytes": "no data files"}
    seen = Observations(missing=missing_on("local", None, absent))
    assert facts([(one, seen)])["missing"] == (
        ("extents.hole_bytes, layout.highest_byte", "no data files"),
        ("server.requests", "no command"),
    )
