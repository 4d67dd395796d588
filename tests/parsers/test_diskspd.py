import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.records import Tier
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "diskspd")


def test_reads_and_writes_of_a_mix():
    found = PARSER.parse(recorded("diskspd-2.0-mix.txt"))
    assert (found["read.bytes"], found["read.count"], found["read.ops_per_s"]) == (102_645_760, 25_060, 834.98)
    assert found["write.bytes_per_s"] == pytest.approx(1.38 * 2**20)
    assert found["write.bytes_per_s"] == pytest.approx(found["write.bytes"] / (found["write.elapsed_ns"] / 1e9), rel=0.01)
    assert found["read.latency_mean_ns"] == pytest.approx(272_000)
    assert found["read.latency_p99_ns"] == pytest.approx(877_000)
    assert found["write.latency_p999_ns"] == pytest.approx(8.378e6)
    assert found["write.latency_max_ns"] == pytest.approx(35.257e6)


def test_a_side_that_did_nothing_has_no_figures():
    found = PARSER.parse(recorded("diskspd-2.2.0-write.txt"))
    assert {key.partition(".")[0] for key in found} == {"write"}
    assert found["write.ops_per_s"] == 2_242_082.85


def test_without_latencies_there_are_none():
    rows = recorded("diskspd-2.0-mix.txt").partition("total:\n")[0].splitlines(keepends=True)
    plain = "".join(row.replace(" |  AvgLat  | IopsStdDev | LatStdDev", "") for row in rows)
    for numbers in (" |    0.272 |      94.24 |     0.185", " |    2.179 |      38.48 |     1.037"):
        plain = plain.replace(numbers, "")
    assert not [key for key in PARSER.parse(plain) if "latency" in key]


def test_half_a_report_is_no_result():
    with pytest.raises(EvidenceError):
        PARSER.parse(recorded("diskspd-2.0-mix.txt").partition("Read IO")[0])


def test_it_knows_its_own():
    assert PARSER.recognises(("diskspd.exe", "-d5"), recorded("diskspd-2.2.0-write.txt"))
    assert PARSER.tier(("diskspd",)) is Tier.DEVICE
