"""ldclt: the global rate of a process that did its work, and errors added over their codes."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ldclt")
TEXT = recorded("ldclt-1.3.5.17-already-there.txt")
SOUND = recorded("ldclt-1.2.11.29.txt")


def test_errors_of_all_codes_are_added_and_an_unreadable_count_leaves_them_out():
    known = "Global error 68 (Already exists) occurs   100 times"
    more = f"{known}\nldclt[11581]: Global error -1 (Can't contact LDAP server) occurs     3 times"
    illegal = f"{more}\nldclt[11581]: Global illegal errors (codes not in [0, 97]) occurs     1 times"
    assert [PARSER.parse(TEXT.replace(known, said))["request.errors"] for said in (known, more, illegal)] == [100, 103, 104]
    assert "request.errors" not in PARSER.parse(TEXT.replace("occurs   100", "occurs   1x0"))


def test_two_processes_are_two_runs_and_one_that_gave_up_has_no_figure():
    both = SOUND + TEXT
    assert [PARSER.parse(part)["request.count"] for part in PARSER.runs(both)] == [41633, 200]
    with pytest.raises(EvidenceError, match="Max errors reached"):
        PARSER.parse(SOUND + recorded("ldclt-3.2.2-most-errors.txt"))
