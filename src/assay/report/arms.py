"""How the two arms of a comparison differ besides the factor, as the audit found it (C01), for the page and for `compare`."""

from __future__ import annotations

from assay.answer import marks
from assay.frozen import dataclass
from assay.records import Comparison, Experiment, Finding, Meaning, Results


@dataclass(frozen=True, kw_only=True)
class ArmDifferences:
    """How the two arms of one or more comparisons differ, as the audit found it (C01)."""

    title: str
    """`disk: ext4 against xfs`."""
    compared: int
    """How many facts were held against each other."""
    beside: tuple[str, ...]
    """What differs and does not follow from the factor."""
    changed: tuple[str, ...]
    """What changed during a run."""
    implied: tuple[str, ...]
    """What differs because the factor does."""

    @property
    def sentence(self) -> str:
        """Say it in one sentence, also if nothing differs."""
        follow = f" From it follow {marks.count(len(self.implied), 'fact')}." if self.implied else ""
        changed = f" {marks.count(len(self.changed), 'fact')} changed during a run." if self.changed else ""
        besides = marks.count(len(self.beside), "thing") if self.beside else "nothing"
        return f"The arms differ in {besides} besides the factor ({self.compared} facts compared).{changed}{follow}"


CHANGED, IMPLIED = "changed during a run: ", "implied: "
"""How C01 begins those pieces of its evidence that are no difference beside the factor."""


def arms(results: Results) -> tuple[ArmDifferences, ...]:
    """How the arms differ, once for all comparisons of the same arms of which the same was found."""
    judged = ((one, results.comparison_verdicts[one.id]) for one in results.comparisons if one.id in results.comparison_verdicts)
    rows = (
        _arms(results.experiment, one, finding)
        for one, verdict in judged
        for finding in verdict.findings
        if finding.meaning is Meaning.DIFFERENCES and "differing" in finding.observed
    )
    return tuple(dict.fromkeys(rows))


def _arms(experiment: Experiment, one: Comparison, finding: Finding) -> ArmDifferences:
    changed = [text.removeprefix(CHANGED) for text in finding.evidence if text.startswith(CHANGED)]
    implied = [text.removeprefix(IMPLIED) for text in finding.evidence if text.startswith(IMPLIED)]
    compared = finding.observed.get("compared")
    levels = [marks.level(experiment, one.factor, level) for level in (one.baseline, one.candidate)]
    return ArmDifferences(
        title=f"{one.factor}: {levels[0]} against {levels[1]}",
        compared=int(compared) if isinstance(compared, int | float) else 0,
        beside=tuple(text for text in finding.evidence if not text.startswith((CHANGED, IMPLIED))),
        changed=tuple(changed),
        implied=tuple(implied),
    )
