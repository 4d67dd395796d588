"""A lab of two experiments for tests of the verbs that only look."""

from pathlib import Path

from assay.audit import judge
from assay.laboratory.results import judged_anew
from assay.notebook import layout
from assay.notebook.store import Store
from assay.records import Outcome, Phase, Requirement, RequirementKind
from stage import notebook_records as made

NAME = "a-mail-spool-abababab"
"""The folder of the experiment with runs."""


def phases(rate: float) -> tuple[Phase, ...]:
    return (made.phase([made.client(count=round(rate), last_ns=10**9, busy_ns=99 * 10**7)]),)


def lab(path: Path, *, judged: bool = True, difference: float = 1.5) -> Path:
    """An empty experiment, and one of ten runs in which xfs does `difference` times as many creates a second."""
    empty = made.experiment(title="Nothing yet", digest="00" * 32)
    with Store.create(path, empty, made.plan(empty), "title = 'Nothing yet'"):
        pass
    bound = Requirement(measure=made.RATE, kind=RequirementKind.AT_LEAST, bound=900.0, text=">= 900/s")
    asked = made.experiment(requirements=(bound,))
    with Store.create(path, asked, made.plan(asked), made.TEXT) as kept:
        for trial in kept.plan.trials:
            rate = 1000.0 * (difference if trial.levels["target"] == "xfs" else 1) * (1 + trial.block / 1000)
            kept.add(made.run(trial, phases=phases(rate)), made.observations(round(rate)))
        kept.add(made.run(kept.plan.trials[0], attempt=2, outcome=Outcome.INTERRUPTED), made.observations())
        if judged:
            results = judged_anew(kept.folder)
            kept.judge(judge.ruleset(), [verdict for one in results.runs for verdict in one.verdicts.values()])
            kept.derive(results.ruleset, results)
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of an experiment besides what the next writer makes anew."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith((layout.INDEX, layout.LOCK))
    }
