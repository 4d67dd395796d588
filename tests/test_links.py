"""Payload capacities against the figures that practitioners know."""

import pytest

from assay import links


def test_payload(subtests):
    for text, megabytes in [
        ("1GbE", 117.7),
        ("10gbe", 1177),
        ("2GFC", 206.6),
        ("2 x 2GFC", 413.2),
        ("16GFC", 1653),
        ("SATA-3", 600),
        ("PCIe-3 x4", 3938),
        ("U320", 320),
        ("1 GbE MTU 1500", 117.685),
        ("1GbE MTU 9000", 123.755),
        ("10GBASE-T", 1177),
        ("1000BASE-T", 117.7),
        ("PCIe 2.0 x4", 2000),
        ("sata 3", 600),
        ("SAS-2 x4", 2400),
        ("PCI-X 64/133", 1066.6),
    ]:
        with subtests.test(text=text, megabytes=megabytes):
            found = links.find(text)
            assert found is not None
            assert found.payload_bytes_per_s / 1e6 == pytest.approx(megabytes, rel=0.001)


def test_every_entry_has_a_source_and_carries_less_than_its_line():
    for name in links.names():
        found = links.find(name)
        assert found.source
        assert found.payload_bytes_per_s <= found.line_bits_per_s / 8


def test_tcp_over_gigabit_ethernet_is_the_known_figure():
    """941.48 Mbit/s by arithmetic; 941.49 on a wire whose clock is within the 100 millionths that the standard allows."""
    assert links.find("1 GbE MTU 1500").payload_bytes_per_s * 8 == pytest.approx(941.49e6, rel=1e-4)


def test_how_the_payload_follows_is_told(subtests):
    for name in links.names():
        with subtests.test(name=name):
            found = links.find(f"2 x {name}")
            assert found.steps[0].startswith("2 x ")
            assert (len(found.steps) > 1) == (found.payload_bytes_per_s < found.line_bits_per_s / 8 * 0.9999)


def test_a_bus_is_shared_by_both_directions():
    assert links.find("PCI-32/33").shared
    assert not links.find("1GbE").shared


def test_unknown_links(subtests):
    for text in ["", "carrier pigeon", "3 x", "50 MB/s", "SATA-3 x0", "0 x 1GbE", "2GFC MTU 1500", "1GbE MTU 100"]:
        with subtests.test(text=text):
            assert links.find(text) is None


def test_a_limit_is_a_link_or_a_rate(subtests):
    for text, rate in [("100 MB/s", 100e6), ("100 Mbit/s", 12.5e6), ("SATA-3", 600e6)]:
        with subtests.test(text=text, rate=rate):
            assert links.capacity(text) == pytest.approx(rate)


def test_what_is_neither_a_link_nor_a_rate_is_no_limit(subtests):
    for text in ["", "bar", "SATA-3 x0", "0 B/s", "100 Mbps", "5 ms"]:
        with subtests.test(text=text):
            refusal = links.capacity(text)
            assert not isinstance(refusal, float)
            assert refusal.found
            assert refusal.expected


def test_unit_mistakes(subtests):
    for ratio, words in [(8.02, "bits"), (1.0486, "MiB"), (1.0737, "GiB"), (1.25, "8b/10b"), (1.99, "both")]:
        with subtests.test(ratio=ratio, words=words):
            assert words in links.unit_mistake(ratio, 0.02)


def test_no_mistake():
    assert links.unit_mistake(1.5, 0.02) is None
