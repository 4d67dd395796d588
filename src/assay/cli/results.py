"""A stored experiment once more: `assay audit` judges all runs again by today's rules, `assay report` writes the report."""

from __future__ import annotations

import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from assay.answer.plainly import plainly
from assay.audit.verdicts import failures
from assay.cli import tables
from assay.cli.job import NOTHING, JobFiles
from assay.cli.summary import summary
from assay.errors import UsageError
from assay.laboratory.gate import Gate, status
from assay.laboratory.results import current, gated, judged_anew
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Results, Verdict
from assay.terminal.output import STANDARD_OUTPUT, deliver, write

MOST_NAMED = 20
"""So many changed verdicts are named."""


def audit(
    lab: Path, which: str | None, *, json_to: str | None, gate: Gate, bound_factor: float | None = None, job: JobFiles = NOTHING
) -> int:
    """Judge an experiment anew, keep what comes out under today's ruleset, show it. Raises BusyError while a run writes."""
    folder = notebook.choose(lab, which)
    with Store.open(folder) as store:
        results = judged_anew(folder)
        before = next((name for name in reversed(notebook.rulesets(folder)) if name != results.ruleset), None)
        former = notebook.results(folder, before) if before else None
        verdicts = [verdict for judged in results.runs for verdict in judged.verdicts.values()]
        store.judge(results.ruleset, verdicts, {judged.id: judged.courses for judged in results.runs})
        store.derive(results.ruleset, results)
    deliver(json_to, "audit", lambda: plainly(results), lambda: text(former, results))
    seen = gated(folder, results, bound_factor)
    job.write(seen, gate)
    return status(seen, gate)


def text(former: Results | None, now: Results) -> str:
    """Return the answer, then the verdicts that differ from those of former rules."""
    parts = (summary(now), changed(former, now) if former else "")
    return "\n\n".join(part for part in parts if part)


def changed(former: Results, now: Results) -> str:
    """By which rules it was judged before, and which verdicts differ by today's, with the rules that failed then or now."""
    known = {judged.id: judged.verdicts for judged in former.runs}
    both = [
        (f"{judged.id} {measure}", known[judged.id][measure], verdict)
        for judged in now.runs
        for measure, verdict in judged.verdicts.items()
        if measure in known.get(judged.id, {})
    ]
    compared = former.comparison_verdicts.items()
    both += [(subject, old, now.comparison_verdicts[subject]) for subject, old in compared if subject in now.comparison_verdicts]
    changes = [line(name, old, new) for name, old, new in both if old.state is not new.state]
    more = [f"    and {len(changes) - MOST_NAMED} more"] if len(changes) > MOST_NAMED else []
    counted = f"{len(changes)} of {len(both)} verdicts changed"
    first = f"Rules {former.ruleset} -> {now.ruleset}: {counted}{':' if changes else '.'}"
    return "\n".join((first, *changes[:MOST_NAMED], *more)) if both else ""


def line(name: str, old: Verdict, new: Verdict) -> str:
    """`0003/1 stream.read.bytes_per_s: SOUND -> TAINTED (L01)`."""
    failed = [{finding.rule for finding in failures(one.findings)} for one in (old, new)]
    why = ", ".join(sorted(failed[1] - failed[0])) or ", ".join(f"{rule} passes now" for rule in sorted(failed[0] - failed[1]))
    return f"    {name}: {old.state.value} -> {new.state.value}{f' ({why})' if why else ''}"


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """The words of one call."""

    lab: Path
    which: str | None = None
    out: Path | None = None
    form: str = "html"
    open: bool = False
    chart: str | None = None
    json_to: str | None = None


def report(request: ReportRequest) -> int:
    """Write the report, or with `chart` that chart alone, and print the path. Gives 0.

    Raises UsageError for an unknown chart, MissingError where a part for drawing is not installed.
    """
    folder = notebook.choose(request.lab, request.which)
    to_stdout = request.out is not None and str(request.out) == STANDARD_OUTPUT
    if to_stdout and (request.json_to == STANDARD_OUTPUT or request.open):
        raise UsageError("found --out - with --json or --open; expected one of them: the report is on standard output")
    results = current(folder)
    if to_stdout:
        with tempfile.TemporaryDirectory(prefix="assay-report-") as made:
            path = written(folder, results, request, Path(made) / ("chart.svg" if request.chart else "report"))
            write(STANDARD_OUTPUT, path.read_text(encoding="utf-8"))
    else:
        path = written(folder, results, request, request.out)
    values = {"format": path.suffix.removeprefix("."), "chart": request.chart, "path": str(path)}
    deliver(request.json_to, "report", lambda: values, None if to_stdout else lambda: str(path))
    tables.warn_of_damage(folder, results.damaged)
    if request.open:
        webbrowser.open(path.resolve().as_uri())
    return 0


def written(folder: Path, results: Results, request: ReportRequest, out: Path | None) -> Path:
    """Write the report or the chart; return its path."""
    from assay.laboratory import pages  # the drawing libraries, only now

    if request.chart:
        return pages.write_chart(folder, results, request.chart, out)
    return pages.write(folder, results, out, request.form)
