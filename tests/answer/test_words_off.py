"""Words off: with every sentence function replaced by a constant, nothing but texts changes."""

import csv
import importlib
import inspect
import io
import json
import pkgutil

import pytest

import cli_notebook
import closed_system
import grid_cases
import notebook_records as made
from assay.analysis.scaling.bounds import bounded, pictured
from assay.analysis.scaling.law import scaling
from assay.answer import wording
from assay.answer.answer import answer
from assay.answer.plainly import plainly
from assay.cli import tables
from assay.cli.compare import compare
from assay.laboratory.gate import Gate, status
from assay.plain import to_plain
from assay.records import Observations, Results
from assay.report import page, runs
from assay.report.galleries import Pictures
from effect_cases import FULL, answered, planted
from report import fixture

TEXTS = {"statement", "more"}
"""Keys of JSON that hold sentences of the answer."""
POPS_UP = "t"
"""The column of a chart's data with the text of a mark."""


def constant(*_args, **_named):
    return "words"


def constants(*_args, **_named):
    return ["words"]


CODES = {
    "str": constant.__code__,
    "list[str]": constants.__code__,
    "tuple[str, ...]": constants.__code__,
    "Iterator[str]": constants.__code__,
}


def functions():
    """Every function of the wording that gives a text or several."""
    for found in pkgutil.iter_modules(wording.__path__):
        module = importlib.import_module(f"{wording.__name__}.{found.name}")
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                code = CODES.get(function.__annotations__.get("return"))
                if code is not None:
                    yield function, code


@pytest.fixture
def words_off(monkeypatch):
    """Switch the words off: whoever imported a function has the constant, too."""

    def switch():
        for function, code in functions():
            monkeypatch.setattr(function, "__defaults__", None)
            monkeypatch.setattr(function, "__code__", code)

    return switch


def masked(value):
    """Plain values without the sentences of the answer."""
    if isinstance(value, dict):
        return {key: "" if key in TEXTS and "rule" not in value else masked(item) for key, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list) else value


def drawn(value):
    """A chart's specification without the texts that pop up: marks, scales, and the data in their order."""
    if isinstance(value, dict) and isinstance(value.get("values"), str):
        rows = csv.DictReader(io.StringIO(value["values"]))
        return [{key: item for key, item in row.items() if key != POPS_UP} for row in rows]
    if isinstance(value, dict):
        return {key: drawn(item) for key, item in value.items()}
    return [drawn(item) for item in value] if isinstance(value, list) else value


def noted(results):
    """The terminal's tables without their notes: verdicts, measures, levels and figures, in their order."""
    made = (tables.comparison_table(results), tables.requirement_table(results), tables.cell_table(results))
    return [line for table in made for line in table.splitlines() if line and not line.startswith(" ")]


def cases():
    """Made-up experiments that have, together, every kind of answer: results, evidence, pictures."""
    whole = fixture.results()
    yield whole, fixture.loader(whole), fixture.pictures(whole)
    asked, runs, table, load = closed_system.system()
    plan = made.plan(asked, 5)
    answers = (*scaling(asked, table, ()), *bounded(asked, runs, table, load))
    curves = Results(experiment=asked, plan=plan, runs=tuple(runs), cells=table, scaling=answers)
    yield curves, load, Pictures(scaled=pictured(asked, runs, table, load))
    for results in (grid_cases.results(), answered(FULL, (2, 2, 2), planted)):
        yield results, lambda run: Observations(), Pictures()


def told(results, load, pictures):
    """Everything but texts."""
    figures = page.figures(results, load, pictures)
    return {
        "answer": answer(results),
        "json": json.dumps(masked(plainly(results)), sort_keys=True),
        "charts": json.dumps([[drawn(to_plain(panel.spec)) for panel in one.panels] for one in figures]),
        "figures": [(one.name, len(one.table.rows)) for one in figures],
        "steady": [[(row.run, row.state) for row in group.rows] for group in runs.steady(results)],
        "terminal": noted(results),
        "gate": [status(results, gate) for gate in Gate],
    }


def test_there_are_sentences_to_switch_off():
    assert len(list(functions())) > 60


def test_nothing_but_texts_changes(words_off, subtests):
    for number in range(4):
        with subtests.test(number=number):
            case = list(cases())[number]
            before = told(*case)
            assert "words" not in before["json"]
            words_off()
            after = told(*case)
            assert {name for name in before if before[name] != after[name]} == set()
            assert '"statement": "words"' in json.dumps(plainly(case[0])), "they were switched off"


def test_the_verb_ends_alike_and_its_json_differs_in_texts_alone(tmp_path, words_off):
    lab = cli_notebook.lab(tmp_path / "lab", difference=0.5)

    def called(name):
        to = tmp_path / name
        ended = compare(lab, "a-mail", json_to=str(to), gate=Gate.STRICT)
        return ended, masked(json.loads(to.read_text()))

    before = called("before.json")
    words_off()
    assert called("after.json") == before
    assert before[0] != 0
