"""The casebook: its pages, what a side comes to, and cases that really run."""

import json

import pytest

from assay import catalogue
from assay.errors import UsageError
from assay.records import VerdictState
from assay.selftest import casebook
from assay.selftest.casebook import Answer, Case, Results, of_lie, of_twin
from assay.selftest.casebook_pages import FOLDER, PUBLISHED, expected, page, pages, published
from stage.assay_process import Bench
from stage.rows import each

GIVEN = 'INVALID or TAINTED, T06, "never written"'
GOOD = (
    "# T\n\n- **Believed:** a.\n- **It was:** b.\n- **Assay:** INVALID, T06\n- **Source:** <https://x>\n\n"
    "```sh\n# fault\ntrue\n```\n"
)


def finding(rule="T06", state="fail", severity="invalidates"):
    return {"rule": rule, "state": state, "severity": severity, "statement": "so"}


def an_answer(state="INVALID", *findings, text="90 % was never\n  written"):
    return Answer(text=text, state=state and VerdictState(state), findings=findings)


def test_every_page_is_a_case_whose_rules_and_tools_have_names():
    every = pages()
    ids = {catalogue.find("rules", name).id for name in catalogue.names("rules")}
    assert len(every) > 60
    assert not [one.name for one in every if not one.source.startswith("https://")]
    assert not [one.name for one in every for group in one.expected.rules if group - ids]
    assert {path.name for path in FOLDER.iterdir()} - {f"{one.name}.md" for one in every} == {
        "README.md",
        "published.md",
        "stage.sh",
        "answers.py",
    }


@each(
    "text wrong",
    (GOOD.replace("- **Source:** <https://x>\n", ""), "no line '- **Source:** ...'"),
    (GOOD.replace("# fault", "#"), "no part '# fault'"),
    (GOOD.replace(", T06", ""), "found 'INVALID'; expected verdicts, and ids"),
    (GOOD + "\n" * 20 + "end\n", "expected at most 25"),
    (GOOD[1:], "found no title"),
)
def test_a_page_that_lacks_something_is_refused(text, wrong):
    with pytest.raises(UsageError, match=r"docs/casebook/x\.md") as error:
        page("x", text)
    assert wrong in str(error.value)


def test_a_row_of_the_table_is_a_case_and_one_that_lacks_a_cell_is_refused():
    text = PUBLISHED.read_text(encoding="utf-8")
    rows = {one.name: one for one in published(text)}
    assert len(rows) > 30
    usb = rows["posted_usb"]
    assert (usb.title, usb.expected) == ("5 GB/s over USB", expected("INVALID, L04, T05"))
    assert usb.lie.startswith('assay check "5,060.26 MiB/s read')
    assert all(one.is_posted and one.twin and one.expected.rules for one in rows.values())
    with pytest.raises(UsageError, match=r"docs/casebook/published\.md"):
        list(published(text.replace(" | `430 MB/s", " | 430 MB/s")))


@each(
    "found lie twin",
    (an_answer("INVALID", finding()), "hit", "accused"),
    (an_answer("TAINTED", finding(severity="qualifies")), "hit", "accused"),
    (an_answer("INVALID", finding(), text="other words"), "half", "accused"),
    (an_answer("INVALID", finding("T01")), "half", "accused"),
    (an_answer("SOUND", finding(severity="notes")), "half", "cleared"),
    (an_answer("SOUND", finding(state="pass")), "miss", "cleared"),
    (an_answer("BOUNDED", finding("N03", severity="qualifies")), "miss", "cleared"),
    (an_answer("UNVERIFIED", finding("E01", "unverified")), "miss", "unverified"),
    (an_answer("UNVERIFIED", finding("W01", "pass")), "miss", "cleared"),
    (an_answer(None), "miss", "cleared"),
    ("no answer", "not judged", "not judged"),
)
def test_what_a_side_comes_to(found, lie, twin):
    assert of_lie(expected(GIVEN), found).side == lie
    assert of_twin(expected(GIVEN), found).side == twin


@each(
    "found lie",
    (an_answer(None), "hit"),
    (an_answer("INVALID", finding()), "hit"),
    (an_answer("SOUND"), "half"),
    (an_answer(None, text="wrote 105 MB"), "miss"),
)
def test_where_a_command_claims_nothing_the_words_decide(found, lie):
    assert of_lie(expected('"never written"'), found).side == lie


def test_halves_are_misses_and_a_skipped_case_is_no_case():
    given = expected(GIVEN)
    found = (an_answer("INVALID", finding()), an_answer("INVALID"), an_answer("SOUND"))
    ran = [Case(page=page("x", GOOD), lie=of_lie(given, one), twin=of_twin(given, one)) for one in found]
    results = Results(cases=(*ran, Case(page=page("y", GOOD), obstacle="needs root")))
    assert (results.hits.happened, results.hits.of, results.called_sound) == (1, 3, 1)
    assert (results.accused.happened, results.accused.of) == (1, 3)
    assert len(results.skipped) == 1
    plain = casebook.plain(results)
    assert plain["lies"]["hits_high"] == pytest.approx(0.9057, abs=1e-4)
    assert "skipped: needs root" in casebook.text(results)


def test_cases_of_arithmetic_really_run_and_are_named(tmp_path):
    bench = Bench(tmp_path)
    names = "faster_than_gigabit,iops_against_amount"
    done = bench.run("selftest", "--casebook", "--cases", names, "--json", "--gate", "--progress=none")
    kept = json.loads(done.stdout)
    assert (done.returncode, kept["schema"]) == (0, "assay.selftest-casebook/1"), done.stderr
    assert [one["lie"]["side"] for one in kept["cases"]] == ["hit", "hit"]
    assert [one["twin"]["side"] for one in kept["cases"]] == ["cleared", "cleared"]
    assert kept["lies"]["hits"] == 2


def test_unknown_cases_and_words_that_do_not_go_together_are_refused(tmp_path):
    bench = Bench(tmp_path)
    for words, wrong in ((("--casebook", "--cases", "nothing"), "'nothing'"), (("--cases", "x"), "--casebook")):
        done = bench.run("selftest", *words)
        assert done.returncode == 2
        assert wrong in done.stderr
