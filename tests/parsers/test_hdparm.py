import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.records import Tier
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "hdparm")


def test_megabytes_are_2_to_the_20():
    half = PARSER.resolution(recorded("hdparm-9.65-t.txt"))
    assert half["read.bytes_per_s"] == pytest.approx(0.005 * (1 << 20))
    assert half["read.elapsed_ns"] == pytest.approx(5e6)


def test_reads_of_the_cache_have_another_name():
    assert set(PARSER.parse(recorded("hdparm-9.65-T-direct.txt"))) == {
        f"cached_read.{name}" for name in ("bytes", "elapsed_ns", "bytes_per_s")
    }


@pytest.mark.parametrize(
    ("words", "tier"),
    [
        ("hdparm -t /dev/sda", Tier.DEVICE),
        ("hdparm -T /dev/sda", Tier.CLIENT_CACHE),
        ("hdparm -tT /dev/sda", Tier.DEVICE),
        ("hdparm -T -t --direct /dev/sda", Tier.DEVICE),
        ("hdparm --direct -t /dev/sda", Tier.DEVICE),
        ("hdparm -I /dev/sda", None),
    ],
)
def test_the_letters_say_what_is_measured(words, tier):
    assert PARSER.tier(words.split()) is tier


def test_several_timings_of_one_device_are_runs_of_which_the_last_counts():
    text = recorded("hdparm-9.65-again.txt")
    assert len(PARSER.runs(text)) == 2


def test_two_devices_or_none_are_refused():
    with pytest.raises(EvidenceError, match="2 timings of read"):
        PARSER.parse(recorded("hdparm-9.65-again.txt").replace("loop0", "loop1", 1))
    with pytest.raises(EvidenceError, match="without a complete result"):
        PARSER.parse(recorded("hdparm-9.65-failed.txt"))
