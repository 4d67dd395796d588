"""The results as a JUnit file, which continuous integration shows: a test for each figure, comparison and requirement.

A test fails where the gate would: by a verdict that it does not let through, or a requirement that is not met. A figure that no
run gave, and a requirement that is undecided, are skipped; by the strict gate an undecided one fails, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from assay.analysis.cells import measure_of
from assay.answer import marks
from assay.answer.doubts import requirements
from assay.answer.scales import show, show_interval
from assay.answer.trust import own_state
from assay.answer.wording import comparison, summary
from assay.frozen import dataclass
from assay.laboratory.gate import Gate, became_worse, unmet
from assay.records import Cell, Comparison, RequirementState, Results, VerdictState

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold (Char of its section 2.2)."""


@dataclass(frozen=True, kw_only=True)
class Test:
    """A line of the file."""

    kind: str
    name: str
    text: str
    failed: str = ""
    """Why; empty where it passed."""
    skipped: str = ""


def junit(results: Results, gate: Gate) -> str:
    """Return the file's text. Without a gate it is that of `--gate`."""
    gate = Gate.ON if gate is Gate.OFF else gate
    found = [*_figures(results, gate), *_comparisons(results, gate), *_requirements(results, gate)]
    counts = {
        "tests": str(len(found)),
        "failures": str(sum(bool(one.failed) for one in found)),
        "skipped": str(sum(bool(one.skipped) for one in found)),
        "errors": "0",
    }
    root = ET.Element("testsuites", {"name": "assay", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _plain(results.experiment.title), **counts})
    for one in found:
        case = ET.SubElement(suite, "testcase", {"classname": f"assay.{one.kind}", "name": _plain(one.name)})
        if one.failed:
            ET.SubElement(case, "failure", {"message": _plain(one.failed)}).text = _plain(one.text)
        elif one.skipped:
            ET.SubElement(case, "skipped", {"message": _plain(one.skipped)})
        ET.SubElement(case, "system-out").text = _plain(one.text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _plain(text: str) -> str:
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _figures(results: Results, gate: Gate) -> Iterator[Test]:
    for cell in results.cells:
        where = marks.levels(results.experiment, cell.levels)
        name = " at ".join(filter(None, (summary.named(measure_of(results.experiment, cell.measure)), where)))
        state = own_state(results, cell)
        if cell.estimate is None:
            bad = cell.unfiltered is not None and state in gate.bad  # measured, and not what it is called
            why = {"failed": state.value} if bad else {"skipped": "no figure"}
            yield Test(kind="figures", name=name, text="no run counts", **why)
            continue
        text = f"{show(cell.estimate.value, cell.estimate.unit)} {_interval(cell)} [{state.value}]".replace("  ", " ")
        yield Test(kind="figures", name=name, text=text, failed=state.value if state in gate.bad else "")


def _interval(cell: Cell) -> str:
    return f"({found})" if cell.estimate and (found := show_interval(cell.estimate)) else ""


def _comparisons(results: Results, gate: Gate) -> Iterator[Test]:
    for one in results.comparisons:
        verdict = results.comparison_verdicts.get(one.id)
        state = verdict.state if verdict else VerdictState.UNVERIFIED
        failed = state.value if state in gate.bad else "worse" if gate is Gate.WORSE and became_worse(results, one) else ""
        text = f"{comparison.statement(results.experiment, one)} [{state.value}]"
        yield Test(kind="comparisons", name=_compared(results, one), text=text, failed=failed)


def _compared(results: Results, one: Comparison) -> str:
    arms = f"{one.candidate} against {one.baseline}"
    where = marks.levels(results.experiment, one.within)
    return " at ".join(filter(None, (f"{summary.named(measure_of(results.experiment, one.measure))}, {arms}", where)))


def _requirements(results: Results, gate: Gate) -> Iterator[Test]:
    for one in requirements(results):
        title = summary.named(one.measure) if one.measure else one.name
        for row in one.rows:
            where = marks.levels(results.experiment, row.levels)
            state = row.state
            yield Test(
                kind="requirements",
                name=" at ".join(filter(None, (f"{title} {one.text}", where))),
                text=f"{state.value} [{one.state.value}]",
                failed=state.value if state in unmet(gate) else "",
                skipped=state.value if state is RequirementState.UNDECIDED and state not in unmet(gate) else "",
            )
