"""HammerDB: transactions a minute in both orders, and a virtual user that failed."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "hammerdb")
TEXT = recorded("hammerdb-4-form.txt")


def test_a_virtual_user_that_failed_leaves_no_figure():
    with pytest.raises(EvidenceError, match="did its work"):
        PARSER.parse(TEXT.replace("Vuser 4:FINISHED SUCCESS", "Vuser 4:FINISHED FAILED"))
