"""Links as claims write them."""

import pytest

from assay import links
from assay.published import reading, statement


def test_every_link_is_known_by_its_name_and_in_other_writings(subtests):
    for name in links.names():
        with subtests.test(name=name):
            found = statement.wire_at(f"2 x {name}", 0)
            assert (found.base, found.link.count, found.assumed) == (name, 2, None)
            assert found.link.payload_bytes_per_s == pytest.approx(2 * links.find(name).payload_bytes_per_s)
    for text, name in (
        ("1 GbE", "1GbE"),
        ("GigE", "1GbE"),
        ("gigabit Ethernet", "1GbE"),
        ("SATA 3", "SATA-3"),
        ("PCIe 3.0 x4", "4 x PCIe-3"),
        ("two 2 Gb/s fibre channel", "2 x 2GFC"),
        ("dual 4GFC", "2 x 4GFC"),
    ):
        with subtests.test(text=text):
            found = statement.wire_at(text, 0)
            assert (found.name, found.assumed, found.end) == (name, None, len(text))
    for text, name in (("2 Gb port", "2GFC"), ("1 Gb port", "1GbE"), ("10 Gbit/s link", "10GbE"), ("8G ports", "8GFC")):
        with subtests.test(assumed=text):
            found = statement.wire_at(text, 0)
            assert (found.name, name in found.assumed) == (name, True)


def test_no_link():
    texts = ("", "2 Gb", "10 Gb/s", "7 Gb port", "0 x 1GbE", "10GbEx", "512 MB", "12 GB", "0 MB/s line", "2.5 Gbit/s")
    assert [text for text in texts if statement.wire_at(text, 0)] == []
    others = ("over 400 MB/s", "450 MB/s over 60 s", "450 MB/s, over 413 clients", "100 MB/s over 0 MB/s", "5 s over 4")
    assert [text for text in others if reading.read(text).wires] == []
    for text in ("450 MB/s over a 413 MB/s link", "450 MB/s over 2 x 2GFC"):  # taken by its name
        (wire,) = reading.read(text).wires
        assert (wire.name.startswith("over"), text.endswith(wire.name)) == (False, True)


def test_a_line_of_a_rate_without_a_standard(subtests):
    for text, rate in [("2.5 Gbit/s line", 312.5e6), ("100 MB/s uplink", 100e6), ("34 Mbit/s WAN", 4.25e6)]:
        with subtests.test(text=text):
            found = statement.wire_at(text, 0)
            assert (found.link.payload_bytes_per_s, found.nominal_bytes_per_s, found.is_coded) == (rate, rate, False)
            assert "names no coding" in found.assumed
            assert statement.with_jumbo(found) is None


def test_bare_bits_are_those_of_the_name_and_frames_may_be_large():
    names = ("2GFC", "2 x 2GFC", "1GbE-jumbo")
    assert [statement.wire_at(name, 0).nominal_bytes_per_s for name in names] == [250e6, 500e6, 125e6]
    assert statement.with_jumbo(statement.wire_at("2 x 1GbE", 0)).payload_bytes_per_s == pytest.approx(247.5e6, rel=0.001)
    assert statement.with_jumbo(statement.wire_at("2GFC", 0)) is None
