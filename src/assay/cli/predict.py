"""A production load on another machine: utilisation, response times, number of machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from assay.cli import tables
from assay.cli.size import finite, refusal
from assay.errors import AssayError
from assay.laboratory.results import current
from assay.measures.text import word
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.prediction import demand, wording
from assay.prediction import file as predict_file
from assay.prediction.platform import matches_words
from assay.prediction.predict import Prediction, ResourceUse, predict
from assay.prediction.question import Platform
from assay.prediction.values import Selection
from assay.records import Estimate
from assay.sizing.directory import beside
from assay.terminal.output import deliver
from assay.units import Refusal


def run(file: Path, *, json_to: str | None) -> int:
    """Predict what the file asks and print the answer. Gives 0. Raises UsageError, InputErrors with every mistake of the file."""
    found = predict(predict_file.read(file, laboratory(file)))
    deliver(json_to, "predict", lambda: document(found), lambda: text(found))
    return 0


def laboratory(file: Path) -> predict_file.Laboratory:
    """Notebooks and tables beside the file, or where the verb was called."""
    return predict_file.Laboratory(
        samples=lambda lab, which: measured(beside(file, lab), which),
        capacities=lambda lab, which, measure, where: capacity((beside(file, lab), which), measure, where),
        texts=lambda name: text_of(beside(file, name)),
    )


def text_of(path: Path) -> str | Refusal:
    """The text of a file that the given one names."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        return Refusal(found=f"{path} ({why})", expected="a table of comma-separated values")


def measured(lab: Path, which: str | None) -> Sequence[demand.Sample] | Refusal:
    """The samples of an experiment."""
    try:
        folder = notebook.choose(lab, which)
        return demand.samples(current(folder), notebook.load(folder))
    except AssayError as error:
        return refusal(lab, error)


def capacity(of: tuple[Path, str | None], measure: str, where: Selection) -> Estimate | Refusal:
    """A measure of an experiment; over its cells the least: a machine is sized by what it surely does."""
    try:
        results = current(notebook.choose(*of))
    except AssayError as error:
        return refusal(of[0], error)
    cells = [cell for cell in results.cells if cell.measure == measure]
    typed = [{path: word(results.experiment, path, level) for path, level in cell.levels.items()} for cell in cells]
    found = [cell.estimate for cell, words in zip(cells, typed, strict=True) if matches_words(words, where)]
    known = [one for one in found if one is not None]
    if not known:
        names = ", ".join(sorted({cell.measure for cell in results.cells}))
        return Refusal(found=f"{measure!r} in {str(of[0])!r}", expected=f"one of: {names or 'none, nothing was measured'}")
    return min(known, key=lambda one: one.value)


def text(found: Prediction) -> str:
    """Return the answer, then its basis."""
    question = found.question
    blocks = [f"{question.title}. {question.question}".strip(), wording.answer(found)]
    every = (
        ("Use of each resource", wording.USE_HEAD, wording.use_rows(found)),
        ("Resource use of one operation", wording.DEMAND_HEAD, wording.demand_rows(found)),
        ("Held-out mixes: predicted and observed", wording.HOLDOUT_HEAD, wording.holdout_rows(found)),
    )
    blocks += [tables.titled(*one) for one in every if one[2]]
    return "\n\n".join((*blocks, "\n".join(found.assumptions))).strip()


def document(found: Prediction) -> dict[str, object]:
    """The answer and what it stands on, for programs; what has no bound is null."""
    question = found.question
    values: dict[str, object] = {
        "title": question.title,
        "answer": wording.answer(found),
        "utilisation": interval(found.utilisation),
        "slowdown": interval(found.slowdown),
        "servers": {"likely": found.servers[0], "at_upper_end": found.servers[1]},
        "multipliers": {name: interval(one) for name, one in found.multipliers.items()},
        "saturates_first": found.first.capacity.resource,
        "resources": {use.capacity.resource: of_use(use) for use in found.uses},
        "old": None if question.old is None else of_platform(question.old),
        "new": None if question.new is None else of_platform(question.new),
        "validated": found.is_validated,
        "assumptions": list(found.assumptions),
    }
    return {key: finite(value) for key, value in values.items()}


def of_use(use: ResourceUse) -> dict[str, object]:
    """What is used of one resource, and what that stands on."""
    return {
        "capacity": interval(use.capacity.amount),
        "there_is": use.capacity.text,
        "utilisation": interval(use.utilisation),
        "slowdown": interval(use.slowdown),
        "servers": {"likely": use.servers[0], "at_upper_end": use.servers[1]},
        "hours": list(use.hours),
        "new": None if use.capacity.platform is None else of_platform(use.capacity.platform),
    }


def interval(one: tuple[float, float, float]) -> dict[str, float]:
    """A 90 % interval with its middle."""
    return dict(zip(("low", "value", "high"), one, strict=True))


def of_platform(platform: Platform) -> dict[str, object]:
    """The demands of a platform and the tests of them; mixes that were held out in units/s."""
    found, background = platform.found, platform.demand.background
    return {
        "notebook": platform.source,
        "resource": platform.demand.resource,
        "operations": {name: to_plain(one) for name, one in platform.demand.estimates.items()},
        "background": None if background is None else to_plain(background),
        "misfit_share": found.misfit,
        "linear": found.is_linear,
        "holdouts": [{**asdict(one), "predicted": interval(one.predicted), "met": one.is_covered} for one in platform.holdouts],
    }
