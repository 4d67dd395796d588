"""CrystalDiskMark: tests by order, size, queue and threads, under their side."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "crystaldiskmark")
TEXT = recorded("crystaldiskmark-8-form.txt")


def test_versions_3_to_6_name_the_side_in_the_line():
    old = "CrystalDiskMark 3.0.1 x64\n    Random Read 4KB (QD=32) :   271.859 MB/s [ 66371.9 IOPS]\n"
    assert PARSER.parse(old)["random_4kb_q32_read.bytes_per_s"] == 271.859e6


def test_a_line_under_no_side_has_no_figure():
    with pytest.raises(EvidenceError):
        PARSER.parse(TEXT.replace("[Read]", "[Raed]").replace("[Write]", "[Wirte]").replace("[Mix]", "[Mxi]"))
