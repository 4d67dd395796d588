"""What the experiment and its comparisons are besides the answer, each once, with the comparisons of which it holds."""

from __future__ import annotations

from assay.audit import verdicts
from assay.frozen import dataclass
from assay.records import Comparison, Results


@dataclass(frozen=True, kw_only=True)
class Remarked:
    """What the experiment or its comparisons are besides, and which comparisons; none where it holds for all."""

    statement: str
    comparisons: tuple[Comparison, ...] = ()


def remarks(results: Results) -> tuple[Remarked, ...]:
    """The notes of the experiment and of all comparisons that rename them, each statement once."""
    found: dict[str, list[Comparison]] = {one.statement: [] for one in verdicts.notes(results.findings) if one.relabel}
    for comparison in results.comparisons:
        verdict = results.comparison_verdicts.get(comparison.id)
        texts = dict.fromkeys(one.statement for one in verdicts.notes(verdict.findings) if one.relabel) if verdict else ()
        for text in texts:
            found.setdefault(text, []).append(comparison)
    every = len(results.comparisons)
    return tuple(Remarked(statement=text, comparisons=tuple(of) if len(of) < every else ()) for text, of in found.items())
