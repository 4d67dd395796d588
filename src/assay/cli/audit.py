"""Judge all runs again, from the raw data by today's rules."""

from __future__ import annotations

from pathlib import Path

from assay.answer.plainly import plainly
from assay.audit.verdicts import failures
from assay.cli.terminal.summary import summary
from assay.laboratory.gate import Gate, status
from assay.laboratory.results import judged_anew
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Results, Verdict
from assay.terminal.output import deliver

MOST_NAMED = 20
"""So many changed verdicts are named."""


def audit(lab: Path, which: str | None, *, json_to: str | None, gate: Gate) -> int:
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
    return status(results, gate)


def text(former: Results | None, now: Results) -> str:
    """Return the answer, then the verdicts that differ from those of former rules."""
    parts = (summary(now), changed(former, now) if former else "")
    return "\n\n".join(part for part in parts if part)


def changed(former: Results, now: Results) -> str:
    """By which rules it was judged before, and which verdicts are others by today's, with the rules that failed then or now."""
    known = {judged.id: judged.verdicts for judged in former.runs}
    both = [
        (f"{judged.id} {measure}", known[judged.id][measure], verdict)
        for judged in now.runs
        for measure, verdict in judged.verdicts.items()
        if measure in known.get(judged.id, {})
    ]
    compared = former.comparison_verdicts.items()
    both += [(subject, old, now.comparison_verdicts[subject]) for subject, old in compared if subject in now.comparison_verdicts]
    others = [line(name, old, new) for name, old, new in both if old.state is not new.state]
    more = [f"    and {len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    counted = f"{len(others)} of {len(both)} verdicts changed"
    first = f"Rules {former.ruleset} -> {now.ruleset}: {counted}{':' if others else '.'}"
    return "\n".join((first, *others[:MOST_NAMED], *more)) if both else ""


def line(name: str, old: Verdict, new: Verdict) -> str:
    """`0003/1 stream.read.bytes_per_s: SOUND -> TAINTED (L01)`."""
    failed = [{finding.rule for finding in failures(one.findings)} for one in (old, new)]
    why = ", ".join(sorted(failed[1] - failed[0])) or ", ".join(f"{rule} passes now" for rule in sorted(failed[0] - failed[1]))
    return f"    {name}: {old.state.value} -> {new.state.value}{f' ({why})' if why else ''}"
