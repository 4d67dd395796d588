"""The name of a rule set: words, comments and layout are no part of it, numbers, operators and matched texts are."""

import re
from pathlib import Path

import pytest

import assay
from assay.audit import ruleset
from assay.laboratory.results import current
from assay.notebook import read as notebook
from stage import cli_notebook
from stage.rows import each

RULE = '''"""Finds slow trials."""

import re

LIMIT = 0.5
WORDS = "the load was slow"
BACK, THROUGH = "write back", "write through"
ERROR = re.compile("I/O error|link down")


def check(share, fact):
    """Fail where the share is above the limit."""
    if share > LIMIT and fact != BACK:  # strictly
        return f"{share} of {LIMIT}: {WORDS}", "fail"
    return "all is well here", "pass"
'''


def digest_of(text):
    return ruleset.digest([("rule.py", text)])


@each(
    "old new",
    ("Finds slow trials.", "Detects trials that are slow."),
    ("the load was slow", "CPU time was short, and much of it was spent elsewhere"),
    ("{share} of {LIMIT}: {WORDS}", "{WORDS} (limit {LIMIT}, {share} used)"),
    ("# strictly", ""),
    ("all is well here", "no limit was reached"),
    ('    """Fail where the share is above the limit."""\n', ""),
    ('"all is well here", "pass"', '(\n        "all is "\n        "well",\n        "pass",\n    )'),
)
def test_a_word_changes_no_digest(old, new):
    assert old in RULE
    assert digest_of(RULE.replace(old, new)) == digest_of(RULE)


@each(
    "old new",
    ("0.5", "0.6"),
    ("share > LIMIT", "share >= LIMIT"),
    (" and ", " or "),
    ('"fail"', '"unverified"'),
    ("write back", "write cache"),
    ("I/O error", "I/O errors"),
)
def test_a_number_an_operator_or_a_matched_text_changes_it(old, new):
    assert old in RULE
    assert digest_of(RULE.replace(old, new)) != digest_of(RULE)


def test_thresholds_count_and_their_sources_do_not():
    text = '[X01]\nlimit = { value = 0.5, source = "a paper of 1999" }\n'
    first = ruleset.digest([("limits.toml", text)])
    assert ruleset.digest([("limits.toml", "# why\n" + text.replace("a paper of 1999", "another paper"))]) == first
    assert ruleset.digest([("limits.toml", text.replace("0.5", "0.6"))]) != first


def test_wording_is_no_part_of_it():
    files = {path.relative_to(ruleset.ROOT).parts[0] for path in ruleset.judging(ruleset.ROOT)}
    assert not files & {"answer", "report", "cli", "terminal"}


def reworded(text):
    """Every sentence of a module in capital letters."""
    return re.sub(r'(?<=")[A-Z][a-z]+ [a-z ]+\.(?=")', lambda found: found[0].upper(), text)


@pytest.mark.slow
def test_other_words_in_the_package_judge_no_notebook_again(tmp_path, monkeypatch):
    files = [(path.name, path.read_text()) for path in ruleset.judging(Path(assay.__file__).parent)]
    other = [(name, reworded(text) if name.endswith(".py") else text) for name, text in files]
    assert sum(one != two for one, two in zip(files, other, strict=True)) > 20
    assert ruleset.digest(other) == ruleset.digest(files)
    lab = cli_notebook.lab(tmp_path / "lab")
    folder = notebook.choose(lab, "a-mail")
    monkeypatch.setattr("assay.laboratory.results.judged_anew", lambda folder: pytest.fail("judged again"))
    assert current(folder).cells, "what is stored by the same rules is taken"


def test_it_is_remembered_beside_the_compiled_modules(tmp_path, monkeypatch):
    (tmp_path / "__pycache__").mkdir()
    monkeypatch.setattr(ruleset, "ROOT", tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    first = ruleset.remembered([("rule.py", RULE.encode())])
    assert first == digest_of(RULE)
    monkeypatch.setattr(ruleset, "digest", lambda files: pytest.fail("parsed again"))
    assert ruleset.remembered([("rule.py", RULE.encode())]) == first
