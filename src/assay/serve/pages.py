"""The templates of the pages, and the words and figures in them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.answer import marks
from assay.answer.wording import labels
from assay.measures import with_unit
from assay.records import Finding, State
from assay.report import prepared

EXAMPLES = (
    "SELECT experiment, state, count(*) AS verdicts FROM verdicts GROUP BY ALL ORDER BY ALL",
    "SELECT run, measure, value, unit, state FROM verdicts ORDER BY run, measure LIMIT 100",
    "SELECT levels, avg(value) AS mean FROM verdicts JOIN runs USING (experiment, run) GROUP BY ALL ORDER BY ALL",
    "SELECT rule, count(*) AS failed FROM findings WHERE state = 'fail' GROUP BY ALL ORDER BY failed DESC",
)
HTMX = json.dumps({"includeIndicatorStyles": False, "allowEval": False, "selfRequestsOnly": True})


@functools.cache
def environment() -> Any:  # noqa: ANN401 - jinja2 is imported here only
    """Give the templates' environment: every text is escaped."""
    made = prepared.environment(Path(__file__).parent / "templates")
    made.filters |= {"part": lambda text: quote(str(text), safe=""), "quantity": quantity, "when": when}
    made.filters |= {"label": labels.label, "heads": heads, "dotted": dotted, "many": "{:,}".format}
    made.globals |= {"htmx": HTMX, "levels": marks.levels, "counts": counts, "meaning": marks.MEANING}
    return made


def compiled() -> None:
    """Compile every template."""
    prepared.compiled(environment())


def render(template: str, /, **shown: object) -> bytes:
    """Return a page."""
    text: str = environment().get_template(f"{template}.html.j2").render(shown)
    return text.encode()


def dotted(name: str) -> object:
    """Return a name that may go on in the next line behind a dot or an underscore."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[._])", name))


def quantity(value: float | None, unit: str) -> str:
    """Return a figure with its unit."""
    return "-" if value is None else with_unit(value, unit)


def when(text: str) -> str:
    """Return a time to the minute."""
    return text[:16].replace("T", " ") or "-"


def heads(names: Sequence[str]) -> str:
    """Style of a table whose cells have the names of their columns before them on narrow screens (style.css)."""
    quoted = (json.dumps(" ".join(name.split()), ensure_ascii=False) for name in names)
    return ";".join(f"--c{number}:{name}" for number, name in enumerate(quoted, 1))


def counts(findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], tuple[Finding, ...], int]:
    """Return the findings that failed, those without evidence, and how many passed or do not apply."""
    failed, lacking = (tuple(one for one in findings if one.state is state) for state in (State.FAIL, State.UNVERIFIED))
    return failed, lacking, len(findings) - len(failed) - len(lacking)
