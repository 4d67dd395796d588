"""Within the trials: the table and the marks of a report, from runs whose rates are known."""

from dataclasses import replace

import notebook_records as made
from assay.analysis.steady_state import courses
from assay.records import Judged, Results
from assay.report import markdown, page, runs
from assay.report.charts import timeline
from assay.report.galleries import Pictures
from course_cases import noise, scene


def judged(rates):
    asked, run, seen = scene(rates)
    run = replace(run, phases=tuple(replace(phase, directions={}) for phase in run.phases))
    verdicts = {made.RATE: made.verdict(run, made.RATE, 1000.0)}
    return asked, Judged(run=run, verdicts=verdicts, courses=courses(asked, run, seen)), seen


def results(rates, runs=1):
    asked, one, seen = judged(rates)
    many = tuple(
        replace(one, run=replace(one.run, trial=replace(one.run.trial, id=number, position=number)))
        for number in range(1, runs + 1)
    )
    return Results(experiment=asked, plan=made.plan(asked), runs=many, ruleset="test"), seen


FALLS = [value * (0.7 if at >= 60 else 1.0) for at, value in enumerate(noise("drawn", spread=0.01))]


def test_falls_are_marked_and_what_is_steady_has_no_marks():
    found, seen = results(FALLS)
    text = page.render(found, lambda _: seen, Pictures())
    assert '<section id="steady">' in text
    assert "falls by " in text
    assert 'href="#steady"' in text
    (figure,) = timeline.figures(found.experiment, [(found.runs[0], seen)])
    rules = [layer for panel in figure.panels for layer in panel.spec["layer"] if layer["mark"]["type"] == "rule"]
    marked = {round(row["x"]) for layer in rules for row in layer["data"]["values"]}
    assert marked == {6}
    assert "dotted line" in figure.alone
    assert all("levels change at 6" in panel.description for panel in figure.panels)
    found, seen = results(FALLS)
    old = replace(found, runs=tuple(replace(one, courses={}) for one in found.runs))
    assert 'id="steady"' not in page.render(old, lambda _: seen, Pictures())
    found, seen = results(noise("level", spread=0.01))
    (figure,) = timeline.figures(found.experiment, [(found.runs[0], seen)])
    assert "dotted" not in figure.caption
    assert all("levels change" not in panel.description for panel in figure.panels)
    (rate, _) = runs.steady(found)
    assert rate.counts == "1 steady"
    assert rate.rows[0].statement.startswith("steady from the beginning; ")
    assert "Not steady within" not in markdown.render(found)


def test_runs_that_were_not_steady_are_listed_and_like_measures_grouped():
    found, _ = results(noise("most", spread=0.01), runs=runs.LISTED + 9)
    _, fallen, _ = judged(FALLS)
    last = replace(fallen, run=replace(fallen.run, trial=replace(fallen.run.trial, id=99)))
    (rate, _) = runs.steady(replace(found, runs=(*found.runs, last)))
    assert rate.counts == f"{runs.LISTED + 9} steady, 1 not steady"
    assert (rate.rows[0].run, rate.left_out) == ("0099/1", 10)
    assert "run 0099/1: falls by " in markdown.render(replace(found, runs=(last,)))
    found, _ = results(noise("few", 12))
    (both,) = runs.steady(found)
    assert " and " in both.title
    assert both.counts == "1 unknown"
