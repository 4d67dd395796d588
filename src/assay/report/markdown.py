"""The report as short Markdown: the answer, requirements, figures, doubts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from assay.answer import marks
from assay.answer.answer import Answer, answer
from assay.answer.headlines import Headline, Line
from assay.answer.scales import show, show_interval, times
from assay.answer.wording import comparison, effects, hosts, scaling, summary, trust
from assay.records import CourseState, Experiment, Results, VerdictState
from assay.report import listing, runs
from assay.report.charts import forest, tornado

MEANS = re.compile(
    r"[\\`*|~]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # between letters it is only itself
    r"|<(?=[A-Za-z/!?])|&(?=#|\w+;)"
    rf"|\[(?!(?:{'|'.join(VerdictState)})\](?![(\[:]))"  # a verdict in brackets is no link
    r"|^[#>+=-]"
)
"""What Markdown would take for its own."""


def render(results: Results, command: str | None = None) -> str:
    """Give the text, with tables; everything that came from outside is escaped. `command` makes the experiment run again."""
    experiment, found = results.experiment, answer(results)
    unsteady = (
        f"{one.title}, run {row.run}: {row.statement}"
        for one in runs.steady(results)
        for row in one.rows
        if row.state is CourseState.NOT_STEADY
    )
    parts = [
        f"# {escape(experiment.title)}",
        f"*{escape(experiment.question)}*" if experiment.question else "",
        "\n".join(f"- {escape(one)}" for one in hosts.of_runs(results.runs)),
        _lead(found),
        _headlines(results, found),
        _requirements(found),
        _figures(results),
        _comparisons(results),
        _listed("Dips", (comparison.dip(experiment, one) for one in results.dips)),
        _listed("How it scales", (scaling.statement(experiment, one) for one in results.scaling)),
        *_effects(results),
        _listed("Not steady within the trial", unsteady),
        _verdicts(results, found),
        _doubts(found),
        _listed("Do it again", (f"{key}: {value}" for key, value in listing.again(results, command))),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line, and that is read without it: only what would mean something is escaped."""
    return MEANS.sub(r"\\\g<0>", " ".join(text.split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty where there are no rows."""
    body = ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]
    if not body:
        return ""
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *body])


def _lead(found: Answer) -> str:
    if found.state is None:
        return ""
    opening = f"{summary.opening(found)} [{found.state.value}]"
    return "\n".join((f"**{escape(opening)}**", *(f"- {escape(one)}" for one in summary.following(found))))


def _headlines(results: Results, found: Answer) -> str:
    if not results.runs:
        return f"There is no answer yet: no run has been made of {marks.count(len(results.plan.trials), 'trial')}."
    return "\n".join(line for group in found.headlines for line in _group(results.experiment, group))


def _group(experiment: Experiment, group: Headline) -> Iterator[str]:
    """The first lines of a measure, and how many more there are."""
    named = f"- **{escape(summary.named(group.measure))}:** "
    for line in group.lines[: group.shown]:
        yield f"{named}{escape(str(summary.line(experiment, line)))} ({because(line)})"
    if len(group.lines) > group.shown:
        yield f"{named}{len(group.lines) - group.shown} more below"


def because(line: Line) -> str:
    """The verdict with its causes."""
    causes = "; ".join(map(summary.reason, line.reasons))
    return line.state.value + (f": {escape(causes)}" if causes else "")


def _requirements(found: Answer) -> str:
    rows = [
        (
            one.state.value,
            marks.measure(group.measure) if group.measure else group.name,
            marks.bound(group.text),
            marks.levels(found.experiment, one.levels),
            show(one.estimate.value, times(one.estimate.unit)) if one.estimate else "",
            show_interval(one.estimate) if one.estimate else "",
            one.verdict.value,
        )
        for group in found.requirements
        for one in group.rows
    ]
    return _titled("Requirements", table(("state", "measure", "requirement", "where", "value", "interval", "verdict"), rows))


def _figures(results: Results) -> str:
    rows = [(one.name, one.levels, one.value, one.interval, one.state.value, one.label) for one in listing.figures(results)]
    return _titled("Figures", table(("measure", "where", "value", "interval", "verdict", "what it really is"), rows))


def _comparisons(results: Results) -> str:
    rows = [
        (group.title, row.condition, row.text, row.interval, row.comparison.conclusion.value, row.state.value)
        for group in forest.ratios(results)
        for row in group.rows
    ]
    return _titled("Comparisons", table(("measure", "what", "ratio", "interval", "conclusion", "verdict"), rows))


def _effects(results: Results) -> Iterator[str]:
    pictures = tornado.figures(results)
    for one in results.sensitivity:
        mine = [
            each.table
            for each in pictures
            if each.name in (tornado.NAME + one.measure, tornado.NAME + one.measure + tornado.PAIRS)
        ]
        texts = [
            f"{escape(effects.statement(results.experiment, one))} [{one.verdict.value}]",
            *(table(each.head, each.rows) for each in mine),
        ]
        yield _titled(f"Which factors matter to {one.measure}", "\n\n".join(texts))


def _verdicts(results: Results, found: Answer) -> str:
    rows = [(state.value, str(n), marks.MEANING[state]) for state, n in found.counts]
    return _titled("How far the figures can be trusted", table(("verdict", "figures", "meaning"), rows)) if results.runs else ""


def _doubts(found: Answer) -> str:
    texts = [f"- {escape(one)}" for one in trust.losses(found.losses)]
    texts += [f"- **{one.rule} {escape(one.name)}** ({one.state.value}): {escape(one.statement)}" for one in found.doubts]
    texts += [f"- {escape(one)}" for one in summary.reservations(found)]
    return _titled("Doubts", "\n".join(texts))


def _listed(title: str, texts: Iterable[str]) -> str:
    return _titled(title, "\n".join(f"- {escape(text)}" for text in texts))


def _titled(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""
