"""The language of the pages and of the texts in the code, by scripts/language.py; and the lint's own rules."""

import importlib.util
import sys
from pathlib import Path

from assay import catalogue
from assay.laboratory import rule_pages

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("language", ROOT / "scripts" / "language.py")
assert SPEC is not None
assert SPEC.loader is not None
language = importlib.util.module_from_spec(SPEC)
sys.modules["language"] = language
SPEC.loader.exec_module(language)

LONG = " ".join(["word"] * 26)


def test_pages_and_texts_are_plain_english():
    assert [str(one) for name in language.EVERYWHERE for one in language.violations(ROOT / name)] == []


def test_pages_that_are_made_from_the_rules_are_plain_english():
    made = {name: rule_pages.markdown(rule_pages.page(name, catalogue.find("rules", name))) for name in catalogue.names("rules")}
    assert [str(one) for name, text in made.items() for one in language.of_page(text, f"page of {name}")] == []


def problems(text, suffix=".md"):
    return [violation.problem for violation in language.CHECKS[suffix](text, "src/assay/rules/x.py")]


def test_a_banned_word_is_found_in_prose_and_in_tables_but_not_in_code():
    for word in ("told", "Said", "stands", "meant", "looked at", "others", "meanwhile", "processors", "runs an arm"):
        assert problems(f"The disk is {word}.\n") == [f"the word '{word}'"]
        assert problems(f"| the disk | {word} |\n") == [f"the word '{word}'"]
        assert problems(f"The disk is `{word}`.\n\n```\n{word}\n```\n") == []
        assert problems(f'X = "The disk is {word}."\n', ".py") == [f"the word '{word}'"]


def test_an_opening_is_found_in_every_sentence():
    for word in ("Of", "Where", "What"):
        bad = f"It is so. {word} it is so."
        assert problems(bad) == [f"a sentence opens with '{word}'", "2 sentences on one line"]
        assert problems(f'X = f"{{y}}: it is so. {word} it is so."\n', ".py") == [f"a sentence opens with '{word}'"]
        assert problems(f"# {word} it is\n") == []


def test_long_sentences_are_found_and_a_code_span_is_one_word():
    assert problems(f"{LONG}.\n") == [f"26 words in a sentence: {LONG[:60]}"]
    assert problems(f"`{LONG}` and [two words](https://example.org/{LONG.replace(' ', '/')}).\n") == []
    assert problems(f'X = "{LONG[:60]}" "{LONG[60:]}"\n', ".py") == [f"26 words in a sentence: {LONG[:60]}"]


def test_a_sentence_has_a_line_of_its_own():
    assert problems("One thing is so.\nAnother is so.\n- a point\n- another point: 5 %\n\n**What to do.** Repeat it.\n") == []
    assert problems("One thing is\nso.\n") == ["a sentence goes on in the next line"]
    assert problems("One is so. Two is so.\n") == ["2 sentences on one line"]
    assert problems("See A. B. Author (e.g. The Book), i.e. Chapter 3.5 of it.\n") == []


def test_literature_and_patterns_and_docstrings_are_no_prose():
    assert problems(f"## Sources\nA. Author: {LONG}. A title. Where\nit was printed.\n") == []
    assert problems(f'"""A rule.\n\n{LONG}."""\nimport re\nX = re.compile("{LONG}")\nR = f(sources=("{LONG}",))\n', ".py") == []
    assert problems('"""Says what was told."""\n', ".py") == ["the word 'told'"], "the first line of a plug is its help"
