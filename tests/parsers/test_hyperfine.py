"""hyperfine: several commands, text and JSON alike, runs that failed."""

import re

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "hyperfine")
TEXT = recorded("hyperfine-1.15.0.txt")


def test_the_json_has_the_same_means_and_what_failed():
    text = recorded("hyperfine-1.15.0.json")
    assert PARSER.parse(text.replace("        0,", "        1,", 1))["command.errors"] == 1


def test_a_text_with_runs_that_failed_is_refused():
    with pytest.raises(EvidenceError, match="did its work"):
        PARSER.parse(TEXT + "  Warning: Ignoring non-zero exit code.\n")


def test_what_it_says_of_failures_on_its_other_output_is_known():
    """The table goes to standard output, the warning to standard error."""
    assert re.search(PARSER.broken, "  Warning: Ignoring non-zero exit code.")
    assert not re.search(PARSER.broken, "  Warning: Statistical outliers were detected.")
