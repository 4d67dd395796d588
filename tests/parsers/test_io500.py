"""IO500: phases of the C version and of the shell version, result.txt, and what is no result."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "io500")
TEXT = recorded("io500-2021-form.txt")


def test_an_invalid_phase_has_no_figure_and_the_score_is_none():
    assert not [name for name in PARSER.parse(TEXT) if "score" in name.lower()]


def test_the_shell_version_and_result_txt_have_the_same_names():
    found = PARSER.parse(recorded("io500-result-form.ini"))
    assert len(found) == 4
