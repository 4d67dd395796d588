"""What a text of a speed says."""

import pytest

from assay.sizing.chain import Speed, media, random_ops_per_s, speed_of
from assay.units import Refusal
from stage.rows import each


@each(
    "text count megabytes",
    ("2 x 2GFC", 2, 206.6),
    ("1 GbE MTU 1500", 1, 117.7),
    ("PCIe 2.0 x4", 1, 2000),
    ("6 x SATA 7200", 6, 100),
    ("95 MB/s", 1, 95),
    ("2 x 95 MB/s", 2, 95),
    ("4 x SAS 15000", 4, 150),
    ("24 x 15k SAS", 24, 150),
    ("6 × sata 7200rpm disks", 6, 100),
    ("12 x SATA 7.2k", 12, 100),
    ("2 x 2 Gb FC", 2, 206.6),
    ("FC 2Gb", 1, 206.6),
    ("Fibre Channel 2 Gbit/s", 1, 206.6),
    ("gigabit", 1, 117.7),
    ("2 x 1000BASE-SX", 2, 117.7),
    ("10 GigE, MTU 9000", 1, 1237.5),
    ("10 Gigabit Ethernet", 1, 1176.9),
    ("10GBASE-SR", 1, 1176.9),
    ("PCI Express 2.0 x4", 1, 2000),
    ("SATA III", 1, 600),
    ("SAS 6Gb/s", 1, 600),
    ("Ultra320 SCSI", 1, 320),
    ("PCI", 1, 133.3),
)
def test_one_unit_and_how_many(text, count, megabytes):
    found = speed_of(text)
    assert isinstance(found, Speed)
    assert found.count == count
    assert found.bytes_per_s / 1e6 == pytest.approx(megabytes, rel=0.001)
    assert found.steps
    assert found.source


@each("text", "", "  ", "0 x 1GbE", "fast", "0 MB/s", "6 x", "10 Mbps")
def test_what_says_nothing_is_refused_with_examples(text):
    found = speed_of(text)
    assert isinstance(found, Refusal)
    assert "2 x 2GFC" in found.expected


@each(
    "text fix",
    ("1 Gbps", "for 'Gbps' write GB/s (powers of 1,000), GiB/s (powers of 1,024) or Gbit/s"),
    ("40 MB/sec", "for 'MB/sec' write MB/s"),
    ("100 Mbit", "for 'Mbit' write Mbit/s"),
    ("0 x 1GbE", "1 or more of them"),
    ("1GbE mtu 99000", "an MTU from 576 to 9216"),
    ("2GFC MTU 9000", "2GFC without an MTU, which only Ethernet has"),
    ("10GbE SFP+", "did you mean '10GbE'"),
    ("8 x SSD", "did you mean 'SATA SSD'?"),
    ("6 x SATA", "'SATA 7200'"),
)
def test_what_is_wrong_comes_with_what_to_write(text, fix):
    found = speed_of(text)
    assert isinstance(found, Refusal)
    assert fix in found.expected


@each("text bits", ("1 GbE MTU 1500", "941.5 Mbit/s"), ("2 x 1 GbE MTU 9000", "1980 Mbit/s"))
def test_ethernet_is_told_in_bits_with_the_frames_that_were_asked_for(text, bits):
    found = speed_of(text)
    assert isinstance(found, Speed)
    assert found.steps[-1] == bits
    assert f"(MTU {text[-4:]})" in found.steps[-2]
    assert "1500" not in found.source


def test_turning_disks_do_what_practitioners_know_and_a_slip_is_guessed():
    found = speed_of("SATA 7201")
    assert isinstance(found, Refusal)
    assert "SATA 7200" in found.expected
    # About 80 of 7,200/min and 180 of 15,000/min.
    assert random_ops_per_s(7200, 8.5) == pytest.approx(80, rel=0.05)
    assert random_ops_per_s(15000, 3.5) == pytest.approx(180, rel=0.05)


@each("name", *sorted(media()))
def test_every_medium_has_a_source_and_operations(name):
    found = speed_of(name)
    assert isinstance(found, Speed)
    assert found.source
    assert found.is_disk
    assert found.read_ops_per_s > 0
    assert found.write_ops_per_s > 0
