"""What a text of a speed says."""

import pytest

from assay.sizing.speeds import Speed, media, random_ops_per_s, speed
from assay.units import Refusal


@pytest.mark.parametrize(
    ("text", "count", "megabytes"),
    [
        ("2 x 2GFC", 2, 206.6),
        ("1 GbE MTU 1500", 1, 117.7),
        ("PCIe 2.0 x4", 1, 2000),
        ("6 x SATA 7200", 6, 100),
        ("95 MB/s", 1, 95),
        ("2 x 95 MB/s", 2, 95),
        ("4 x SAS 15000", 4, 150),
    ],
)
def test_one_unit_and_how_many(text, count, megabytes):
    found = speed(text)
    assert isinstance(found, Speed)
    assert found.count == count
    assert found.bytes_per_s / 1e6 == pytest.approx(megabytes, rel=0.001)
    assert found.steps
    assert found.source


@pytest.mark.parametrize("text", ["", "  ", "0 x 1GbE", "fast", "0 MB/s", "6 x", "10 Mbps"])
def test_what_says_nothing_is_refused_with_examples(text):
    found = speed(text)
    assert isinstance(found, Refusal)
    assert "2 x 2GFC" in found.expected


def test_a_slip_is_guessed():
    found = speed("SATA 7201")
    assert isinstance(found, Refusal)
    assert "SATA 7200" in found.expected


def test_turning_disks_do_what_practitioners_know():
    """About 80 of 7,200/min and 180 of 15,000/min."""
    assert random_ops_per_s(7200, 8.5) == pytest.approx(80, rel=0.05)
    assert random_ops_per_s(15000, 3.5) == pytest.approx(180, rel=0.05)


@pytest.mark.parametrize("name", sorted(media()))
def test_every_medium_has_a_source_and_operations(name):
    found = speed(name)
    assert isinstance(found, Speed)
    assert found.source
    assert found.is_disk
    assert found.read_ops_per_s > 0
    assert found.write_ops_per_s > 0
