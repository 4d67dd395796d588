"""Show the comparisons with interval and conclusion."""

from __future__ import annotations

import json
from pathlib import Path

from assay.cli import tables
from assay.cli.gate import Gate, status
from assay.cli.judging import current
from assay.cli.readable import readable
from assay.errors import UsageError
from assay.notebook import read as notebook
from assay.plain import to_plain


def compare(lab: Path, which: str | None, *, as_json: bool, gate: Gate) -> int:
    """Show what an experiment compares. Raises UsageError where it compares nothing."""
    folder = notebook.choose(lab, which)
    results = current(folder)
    if not results.comparisons:
        raise UsageError(
            f"found nothing compared in {folder.name}; expected `compare` in the experiment file and runs of two levels"
        )
    if as_json:
        answer = {
            "comparisons": to_plain(results.comparisons),
            "verdicts": to_plain(results.comparison_verdicts),
            "requirements": to_plain(results.requirements),
        }
        print(json.dumps(answer, sort_keys=True))
    else:
        results = readable(results)
        why = tables.reasons(results.comparison_verdicts.values())
        parts = (tables.comparison_table(results), tables.requirement_table(results), why, tables.damage(results.damaged))
        print("\n\n".join(part for part in parts if part))
    return status(results, gate)
