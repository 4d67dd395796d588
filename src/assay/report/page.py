"""The report: one self-contained HTML page that opens with the answer. It computes nothing, it lays out."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.answer import marks
from assay.answer.answer import answer
from assay.answer.doubts import Doubt
from assay.answer.scales import NARROW, number, show, show_interval, show_range, times
from assay.answer.wording import comparison, effects, hosts, labels, scaling, summary, trust
from assay.records import Bound, Estimate, Results, Severity, State, Verdict
from assay.report import arms, galleries, ladder, listing, picture, prepared, runs
from assay.report.charts import blocks, forest, theme
from assay.report.charts import ladder as rungs
from assay.report.charts.figure import ChartFigure
from assay.report.galleries import Load, Pictures

AGAIN = 5
"""Lines of what doing it again takes that are shown at once: command, seed, schedule, digest, rules."""
FEW = 3
"""Doubts that are shown at once where none speaks against a figure."""
BREAKS = {"wrapped": r"""[^\s"'(]/""", "dotted": "[._]", "parted": "[,=/_:]"}
"""Filter -> behind what a text may go on in the next line: a slash within a path, not the one that begins it; names; lists."""


def write(results: Results, load: Load, path: Path, pictures: Pictures | None = None) -> None:
    """Write the page. `load` gives the observations of a run by its id (`0007/1`).

    Raises MissingError where the charts' JavaScript was not built in, OSError where the file cannot be written.
    """
    path.write_text(render(results, load, pictures or Pictures()), encoding="utf-8")


def render(results: Results, load: Load, pictures: Pictures) -> str:
    """The page's text."""
    found = galleries.groups(results)
    measures = tuple(listing.measures(results))
    kinds = galleries.galleries(results, load, found, pictures)
    ran = blocks.figure(results)
    shown = (*(one.figure for one in measures), ran, *(one for kind in kinds for one in kind.figures))
    drawn = any(one and one.panels for one in shown)
    observed = [(judged, load(judged.id)) for judged in galleries.representatives(results, found)]
    context: dict[str, object] = {
        "results": results,
        "experiment": results.experiment,
        "style": picture.read("style.css"),
        "config": theme.CONFIG,
        "drawn": drawn,
        "bundle": picture.bundle() if drawn else "",
        "boot": picture.read("templates/boot.js"),
        "ladders": (steps := ladder.ladders(results.experiment, observed)),
        "rungs": rungs.figure(steps),
        **runs.ladders_and_coherence(results.experiment, observed),
        "forest": forest.figure(results),
        "measures": measures,
        "drawn_as": next((one.figure.alone for one in measures if one.figure and one.figure.alone), ""),
        "bare": not results.comparisons and not any(one.figure and one.figure.seen for one in measures),
        "galleries": kinds,
        "steady": runs.steady(results),
        "tables": pictures.tables,
        "schedule": ran,
        "facts": runs.facts(observed),
        "hosts": runs.spread(observed),
        "host_columns": hosts.HEAD,
        "places": runs.places(results.experiment, observed),
        "arms": arms.arms(results),
        "costs": runs.costs(results.experiment, observed),
        **opening(results),
        "verdict_groups": tuple(listing.verdicts(results)),
        "again": listing.again(results, pictures.command),
    }
    context["lone"] = not results.comparisons and all(one.figure is None or one.figure.lone for one in measures)
    context["sections"] = sections(context)
    return str(_environment().get_template("page.html.j2").render(context))


def opening(results: Results) -> dict[str, object]:
    """What the first screen needs."""
    found = answer(results)
    return {
        "answer": found,
        "lead": summary.opening(found),
        "lead_more": summary.following(found),
        "headlines": found.headlines,
        "figures_now": () if results.comparisons or results.sensitivity else listing.opening(results),
        "counts": found.counts,
        "total": sum(n for _, n in found.counts),
        "noise": tuple(trust.noisy(found)),
        "doubts": found.doubts,
        "grave": grave(found.doubts),
        "losses": tuple(trust.losses(found.losses)),
        "reservations": tuple(summary.reservations(found)),
        "ratios": forest.ratios(results),
        "axis": forest.axis(results),
        "matters": results.experiment.matters_share,
        "ratios_said": forest.caption(forest.ratios(results), results.experiment.matters_share),
        "requirements": found.requirements,
        "again_shown": AGAIN,
        "started": min((judged.run.started_utc for judged in results.runs), default="")[:16].replace("T", " "),
    }


def grave(doubts: Sequence[Doubt]) -> int:
    """Count the doubts that are shown at once: all that speak against a figure and are no noise; the rest is folded."""
    against = sum(one.state is State.FAIL and one.severity is not Severity.NOTES and not one.disturbs for one in doubts)
    shown = against or FEW
    return shown if len(doubts) - shown > 2 else len(doubts)


def figures(results: Results, load: Load, pictures: Pictures) -> tuple[ChartFigure, ...]:
    """All figures of the page, in its order."""
    found = galleries.groups(results)
    observed = [(judged, load(judged.id)) for judged in galleries.representatives(results, found)]
    measured = [one.figure for one in listing.measures(results)]
    kinds = galleries.galleries(results, load, found, pictures)
    answers, evidence = ([one for kind in kinds if kind.answers is first for one in kind.figures] for first in (True, False))
    steps = rungs.figure(ladder.ladders(results.experiment, observed))
    whole = (forest.figure(results), *answers, steps, *measured, *evidence, blocks.figure(results))
    return tuple(one for one in whole if one is not None)


def sections(context: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The entries of the navigation: what is there, in order."""
    entries = [
        ("answer", "The answer", True),
        *((kind.id, kind.name, kind.figures) for kind in context["galleries"] if kind.answers),
        ("bytes", "Ladder of bytes", context["ladders"]),
        ("operations", "Ladder of operations", context["operations"]),
        ("coherence", "Coherence", context["coherence"]),
        ("measures", "Measures", context["measures"] and not context["bare"]),
        *((kind.id, kind.name, kind.figures) for kind in context["galleries"] if not kind.answers),
        ("steady", "Within the trials", context["steady"]),
        ("verdicts", "Verdicts and findings", context["results"].runs),
        ("runs", "Schedule", context["schedule"]),
        ("environment", "Environment", True),
        ("again", "Do it again", True),
    ]
    return tuple((id_, name) for id_, name, there in entries if there)


def compiled() -> None:
    """Compile every template of the reports."""
    prepared.compiled(_environment())


def _environment() -> Any:  # noqa: ANN401 - jinja2 is imported here only
    """Give the templates' environment with the filters and words of this page."""
    made = picture.environment()
    made.filters |= {"spec": _spec, "plain": _plain, "bound": _bound, "estimate": _estimate, "code": _code}
    made.filters |= {
        "unbroken": _unbroken,
        **{name: functools.partial(_broken, behind) for name, behind in BREAKS.items()},
        "heads": _heads,
        "reason": summary.reason,
        "label": _label,
    }
    made.globals |= {
        "shapes": marks.SHAPES,
        "meaning": marks.MEANING,
        "ticks": marks.REQUIREMENT_MARKS,
        "words": marks,
        "comparison": comparison,
        "summary": summary,
        "effects": effects,
        "scaling": scaling,
    }
    return made


def _spec(value: object) -> object:
    """JSON that may stand in a script element."""
    from markupsafe import Markup

    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))  # noqa: S704 - no `<` is left


def _plain(value: float | str | None) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def _unbroken(text: str) -> str:
    """Text that keeps numbers and percent signs in one line."""
    return re.sub(r"(\d) %", rf"\1{NARROW}%", text)


def _heads(names: Sequence[str]) -> str:
    """Style of a table that names its columns once for narrow screens, where each cell shows the name of its own (style.css)."""
    quoted = ('"' + re.sub(r"[\x00-\x1f]", " ", name).replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names[1:])
    return ";".join(f"--c{number}:{name}" for number, name in enumerate(quoted, 1))


def _broken(behind: str, text: str) -> object:
    """Text that may go on in the next line behind what a pattern finds."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(f"(?<={behind})", text))


def _label(verdict: Verdict) -> str:
    """What a figure is, without its disturbance: noise has a line of its own."""
    return labels.PART.join(labels.undisturbed(verdict))


def _bound(value: Bound) -> str:
    return show_range(value.low, value.high, value.unit)


def _estimate(value: Estimate) -> str:
    interval = show_interval(value)
    return show(value.value, times(value.unit)) + (f" ({interval})" if interval else "")


def _code(text: str) -> object:
    """Text with what stands between backticks set as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped on this line
