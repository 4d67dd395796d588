"""IO500: phases of the C version and of the shell version, result.txt, and what is no result."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "io500")
TEXT = recorded("io500-2021-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "ior_easy_write.bytes_per_s": 12.186620 * 2**30,
        "find.ops_per_s": 917_500,
        "ior_easy_write.elapsed_ns": 312.027e9,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_an_invalid_phase_has_no_figure_and_the_score_is_none():
    assert "mdtest_hard_read.ops_per_s" not in PARSER.parse(TEXT)
    assert not [name for name in PARSER.parse(TEXT) if "score" in name.lower()]


def test_the_shell_version_and_result_txt_have_the_same_names():
    assert PARSER.parse(recorded("io500-2019-form.txt"))["ior_hard_write.bytes_per_s"] == pytest.approx(0.237 * 2**30)
    found = PARSER.parse(recorded("io500-result-form.ini"))
    assert found == {name: PARSER.parse(TEXT)[name] for name in found}
    assert len(found) == 4
