"""The report as short Markdown: the answer, requirements, figures, what to distrust."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from assay.answer import doubts, first_line, headlines, marks
from assay.answer.scales import show, show_range, times
from assay.records import CourseState, Results, VerdictState
from assay.report import listing, steady
from assay.report.charts import forest, tornado

MEANS = re.compile(
    r"[\\`*|~]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # between letters it is only itself
    r"|<(?=[A-Za-z/!?])|&(?=#|\w+;)"
    rf"|\[(?!(?:{'|'.join(VerdictState)})\](?![(\[:]))"  # a verdict in brackets is no link
    r"|^[#>+=-]"
)
"""What Markdown would take for its own."""


def render(results: Results) -> str:
    """The text, with tables; everything that came from outside is escaped."""
    parts = [
        f"# {escape(results.experiment.title)}",
        f"*{escape(results.experiment.question)}*" if results.experiment.question else "",
        _lead(results),
        _headlines(results),
        _requirements(results),
        _figures(results),
        _comparisons(results),
        _troughs(results),
        _scaling(results),
        *_effects(results),
        _steady(results),
        _verdicts(results),
        _doubts(results),
        _again(results),
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


def _lead(results: Results) -> str:
    first = first_line.lead(results)
    return "\n".join((f"**{escape(first.text)}**", *(f"- {escape(one)}" for one in first.more))) if first else ""


def _headlines(results: Results) -> str:
    if not results.runs:
        return f"There is no answer yet: no run has been made of {marks.count(len(results.plan.trials), 'trial')}."
    return "\n".join(line for group in headlines.headlines(results) for line in _group(group))


def _group(group: headlines.Headline) -> Iterator[str]:
    """The first lines of a measure, and how many more there are."""
    named = f"- **{escape(group.title)}, {escape(group.figure)}:** "
    yield from (f"{named}{escape(line.text)} ({because(line)})" for line in group.lines[: group.told])
    if len(group.lines) > group.told:
        yield f"{named}{len(group.lines) - group.told} more below"


def because(line: headlines.Line) -> str:
    """The verdict with its causes."""
    return line.state.value + (f": {escape('; '.join(line.why))}" if line.why else "")


def _requirements(results: Results) -> str:
    rows = [
        (
            one.state.value,
            group.title,
            group.text,
            marks.levels(one.levels),
            show(one.estimate.value, times(one.estimate.unit)) if one.estimate else "",
            show_range(one.estimate.low, one.estimate.high, times(one.estimate.unit)) if one.estimate else "",
            one.verdict.value,
        )
        for group in doubts.requirements(results)
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


def _steady(results: Results) -> str:
    lines = [
        f"- {escape(f'{one.title}, run {row.run}: {row.statement}')}"
        for one in steady.steady(results)
        for row in one.rows
        if row.state is CourseState.NOT_STEADY
    ]
    return _titled("Not steady within the trial", "\n".join(lines))


def _troughs(results: Results) -> str:
    return _titled("Troughs", "\n".join(f"- {escape(one.statement)}" for one in results.troughs))


def _scaling(results: Results) -> str:
    return _titled("How it scales", "\n".join(f"- {escape(one.statement)}" for one in results.scaling))


def _effects(results: Results) -> Iterator[str]:
    pictures = tornado.figures(results)
    for one in results.sensitivity:
        mine = [
            each.table
            for each in pictures
            if each.name in (tornado.NAME + one.measure, tornado.NAME + one.measure + tornado.PAIRS)
        ]
        told = [f"{escape(one.statement)} [{one.verdict.value}]", *(table(each.head, each.rows) for each in mine)]
        yield _titled(f"Which factors matter to {one.measure}", "\n\n".join(told))


def _verdicts(results: Results) -> str:
    rows = [(state.value, str(n), marks.MEANING[state]) for state, n in doubts.counts(results)]
    return _titled("How far the figures can be trusted", table(("verdict", "figures", "meaning"), rows)) if results.runs else ""


def _doubts(results: Results) -> str:
    said = [f"- {escape(one)}" for one in doubts.losses(results)]
    said += [
        f"- **{one.rule} {escape(one.name)}** ({one.state.value}): {escape(one.statement)}" for one in doubts.doubts(results)
    ]
    said += [f"- {escape(one)}" for one in doubts.reservations(results)]
    return _titled("What to distrust", "\n".join(said))


def _again(results: Results) -> str:
    return _titled("Do it again", "\n".join(f"- {key}: {escape(value)}" for key, value in listing.again(results, None)))


def _titled(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""
