"""Judge all runs again, from the raw data by today's rules."""

from __future__ import annotations

import json
from pathlib import Path

from assay.cli.gate import Gate, status
from assay.cli.judging import judged_anew
from assay.cli.readable import readable
from assay.cli.summary import summary
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.plain import to_plain


def audit(lab: Path, which: str | None, *, as_json: bool, gate: Gate) -> int:
    """Judge an experiment anew, keep what comes out under today's ruleset, show it. Raises BusyError while a run writes."""
    folder = notebook.choose(lab, which)
    with Store.open(folder) as store:
        results = judged_anew(folder)
        store.judge(results.ruleset, [verdict for judged in results.runs for verdict in judged.verdicts.values()])
        store.derive(results.ruleset, results)
    print(json.dumps(to_plain(results), sort_keys=True) if as_json else summary(readable(results)))
    return status(results, gate)
