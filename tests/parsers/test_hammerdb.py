"""HammerDB: transactions a minute in both orders, and a virtual user that failed."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "hammerdb")
TEXT = recorded("hammerdb-4-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "transaction_new_order.ops_per_s": 18_664 / 60,
        "transaction.ops_per_s": 43_386 / 60,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_version_3_has_the_other_order():
    found = PARSER.parse(recorded("hammerdb-3-form.txt"))
    assert found["transaction_new_order.ops_per_s"] == pytest.approx(8043 / 60)


def test_a_virtual_user_that_failed_leaves_no_figure():
    with pytest.raises(EvidenceError, match="did its work"):
        PARSER.parse(TEXT.replace("Vuser 4:FINISHED SUCCESS", "Vuser 4:FINISHED FAILED"))
