"""CrystalDiskMark: tests by order, size, queue and threads, under their side."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "crystaldiskmark")
TEXT = recorded("crystaldiskmark-8-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "sequential_1mib_q8t1_read.bytes_per_s": 543.188e6,
        "random_4kib_q1t1_write.ops_per_s": 16_216.1,
        "random_4kib_q1t1_write.latency_mean_ns": 61_320,
        "sequential_1mib_q8t1_mixed.bytes_per_s": 363.554e6,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_versions_3_to_6_name_the_side_in_the_line():
    found = PARSER.parse(recorded("crystaldiskmark-6-form.txt"))
    assert found["random_4kib_q8t8_write.ops_per_s"] == 83_278.8
    assert found["sequential_q32t1_read.bytes_per_s"] == 551.339e6
    old = "CrystalDiskMark 3.0.1 x64\n    Random Read 4KB (QD=32) :   271.859 MB/s [ 66371.9 IOPS]\n"
    assert PARSER.parse(old)["random_4kb_q32_read.bytes_per_s"] == 271.859e6


def test_a_line_under_no_side_has_no_figure():
    with pytest.raises(EvidenceError):
        PARSER.parse(TEXT.replace("[Read]", "[Raed]").replace("[Write]", "[Wirte]").replace("[Mix]", "[Mxi]"))
