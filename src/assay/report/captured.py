"""The page of a dissected capture: the answer, pictures over time, the tables, and what to know about them."""

from __future__ import annotations

from collections.abc import Iterator

from assay.dissect import wording
from assay.dissect.levels import LevelResult
from assay.dissect.result import SECOND_NS, Dissection, unindexed, widened
from assay.frozen import dataclass
from assay.report import picture
from assay.report.charts.figure import Drawn, Table
from assay.report.charts.over_time import OverTime, TimeLine, drawn
from assay.units import Unit, digits, human

FEWEST_POINTS, MOST_POINTS = 24, 240
A_POINT = 10
"""Operations of an interval, about: of fewer a line over time shows chance."""
MOST_ROWS = 50
"""Rows of a table of filters or clients."""


@dataclass(frozen=True, kw_only=True)
class CapturePage:
    """What the page is made of."""

    found: Dissection
    levels: tuple[LevelResult, ...]
    link: tuple[str, float] | None
    """Name and bytes a second one way."""


def render(page: CapturePage) -> str:
    """Return the page's text."""
    found = page.found
    context = {
        "answer": wording.answer(found),
        "levels": tuple(wording.level_lines(page.levels)),
        "notes": (*((wording.counts(found),) if found.operations else ()), wording.total(found, page.link)),
        "pictures": tuple(pictures(page)),
        "tables": tuple(tables(found)),
        "remarks": wording.remarks(found),
        "style": picture.read("style.css"),
    }
    text: str = picture.environment().get_template("captured.html.j2").render(context)
    return text


def pictures(page: CapturePage) -> Iterator[Drawn]:
    """Yield operations by kind, response times and bytes, each over time."""
    found = page.found
    timeline = found.values["timeline"]
    if not timeline["bytes"]:
        return
    points = max(FEWEST_POINTS, min(MOST_POINTS, found.requests // A_POINT))
    least_ns = -(-len(timeline["bytes"]) * timeline["interval_ns"] // points)
    wide = {
        name: widened(timeline[name], timeline["interval_ns"], least_ns)[0] for name in ("bytes", "answered", "response_sum_ns")
    }
    interval_ns = widened(timeline["bytes"], timeline["interval_ns"], least_ns)[1]
    interval_s = interval_ns / SECOND_NS
    kinds = {name: widened(values, timeline["interval_ns"], least_ns)[0] for name, values in timeline["requests"].items()}
    if kinds:
        lines = tuple(TimeLine(name=name, values=tuple(one / interval_s for one in values)) for name, values in kinds.items())
        chart = OverTime(
            title="Operations by kind",
            sentence="Requests a second of each kind over time.",
            interval_s=interval_s,
            lines=lines,
            shown=lambda one: f"{digits(one)}/s",
        )
        yield drawn(chart)
        yield _responses(wide["response_sum_ns"], wide["answered"], _highest(timeline, least_ns), interval_s)
    rates = TimeLine(name="all frames", values=tuple(one / interval_s for one in wide["bytes"]))
    chart = OverTime(
        title="Bytes on the wire",
        sentence="Bytes a second of all frames over time.",
        interval_s=interval_s,
        lines=(rates,),
        shown=lambda one: human(one, Unit.BYTES_PER_S),
        limit=page.link,
    )
    yield drawn(chart)


def _highest(timeline: dict[str, list[int]], least_ns: int) -> list[int]:
    interval_ns = int(str(timeline["interval_ns"]))
    step = max(1, -(-least_ns // interval_ns))
    values = timeline["response_max_ns"]
    return [max(values[at : at + step]) for at in range(0, len(values), step)]


def _responses(sums: list[int], answered: list[int], highest: list[int], interval_s: float) -> Drawn:
    mean = tuple(total / count if count else None for total, count in zip(sums, answered, strict=True))
    longest = tuple(float(one) if count else None for one, count in zip(highest, answered, strict=True))
    lines = (TimeLine(name="mean", values=mean), TimeLine(name="longest", values=longest))
    sentence = "Mean and longest response of each interval."
    chart = OverTime(
        title="Response times", sentence=sentence, interval_s=interval_s, lines=lines, shown=wording.time, by_tens=True
    )
    return drawn(chart)


def tables(found: Dissection) -> Iterator[tuple[str, Table]]:
    """Yield the tables with their headings."""
    if found.operations:
        yield "Operations", Table(head=wording.OPERATION_HEAD, rows=wording.operation_rows(found))
    if found.filters:
        yield "Filters", Table(head=wording.FILTER_HEAD, rows=wording.filter_rows(found.filters[:MOST_ROWS]))
    if slow := unindexed(found):
        yield "Candidates for an index", Table(head=wording.FILTER_HEAD, rows=wording.filter_rows(slow[:MOST_ROWS]))
    if found.clients:
        yield "Clients", Table(head=wording.CLIENT_HEAD, rows=wording.client_rows(found)[:MOST_ROWS])
    yield from _who(found)


def _who(found: Dissection) -> Iterator[tuple[str, Table]]:
    """Yield who authenticates how, who asks for what, and what took longest."""
    parts = (
        ("Authentications", wording.BIND_HEAD, wording.bind_rows(found)),
        ("Failed binds", wording.FAILED_HEAD, wording.failed_rows(found)),
        ("By client, filter and result", wording.USE_HEAD, wording.use_rows(found)),
        ("Slowest operations", wording.SLOW_HEAD, wording.slowest_rows(found)),
        ("Controls and extended operations", wording.CONTROL_HEAD, wording.control_rows(found)),
    )
    yield from ((heading, Table(head=head, rows=rows[:MOST_ROWS])) for heading, head, rows in parts if rows)
