import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "rbd_bench")


def test_a_mix_has_both_directions_and_a_failure_no_figure():
    text = recorded("rbd_bench-18-mix-form.txt")
    found = PARSER.parse(text)
    assert {name.partition(".")[0] for name in found} == {"mixed", "read", "write"}
    with pytest.raises(EvidenceError, match="bench failed"):
        PARSER.parse(text + "bench failed: (5) Input/output error\n")
