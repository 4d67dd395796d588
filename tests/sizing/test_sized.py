"""Layouts, failures and shares; and laws that hold for any chain."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sizing.chain import ChainLoad, ChainPart, Layout, MeasuredLimit, PartChain, Speed, Upgrade, random_ops_per_s, speed_of
from assay.sizing.sized import limit, nominal, size, survives
from stage.rows import each

TEXTS = (
    "2 x 2GFC",
    "1 GbE MTU 1500",
    "3 x 10GbE",
    "PCIe 2.0 x4",
    "PCI-32/33",
    "95 MB/s",
    "8 x SATA 7200",
    "12 x SAS 15k",
    "4 x SATA SSD",
)


def part(text, name="part", **more):
    found = speed_of(text)
    assert isinstance(found, Speed)
    return ChainPart(name=name, speed=found, **more)


@each(
    "layout read write random_writes",
    (Layout.NONE, 800, 800, 8 * 78.9),
    (Layout.RAID0, 800, 800, 8 * 78.9),
    (Layout.RAID10, 800, 400, 8 * 78.9 / 2),
    (Layout.RAID5, 700, 700, 8 * 78.9 / 4),
    (Layout.RAID6, 600, 600, 8 * 78.9 / 6),
)
def test_what_a_layout_costs(layout, read, write, random_writes):
    found = nominal(part("8 x SATA 7200", layout=layout))
    assert found.read_bytes_per_s / 1e6 == pytest.approx(read)
    assert found.write_bytes_per_s / 1e6 == pytest.approx(write)
    assert found.write_ops_per_s == pytest.approx(random_writes, rel=0.001)


@each(
    "layout failed lives",
    (Layout.NONE, 1, False),
    (Layout.RAID0, 1, False),
    (Layout.RAID10, 1, True),
    (Layout.RAID5, 1, True),
    (Layout.RAID5, 2, False),
    (Layout.RAID6, 2, True),
    (Layout.RAID6, 3, False),
)
def test_what_survives(layout, failed, lives):
    disks = part("8 x SATA 7200", layout=layout)
    assert survives(disks, failed) is lives
    assert (nominal(disks, failed).read_bytes_per_s > 0) is lives


@each(
    "layout read random_reads random_writes",
    (Layout.RAID10, 4, 4, 4),
    (Layout.RAID5, 7 * 7 / 8, 4, 7 / 4),
    (Layout.RAID6, 7 * 6 / 8, 8 / (1 + 6 / 7), 7 / 6),
)
def test_what_a_lost_disk_leaves(layout, read, random_reads, random_writes):
    """In disks' worth. The mirror of the lost disk does the work of two; a read of lost data is one of all the others."""
    left = nominal(part("8 x SATA 7200", layout=layout), failed=1)
    each = random_ops_per_s(7200, 8.5)
    assert left.read_bytes_per_s / 100e6 == pytest.approx(read)
    assert left.read_ops_per_s / each == pytest.approx(random_reads)
    assert left.write_ops_per_s / each == pytest.approx(random_writes)


def test_what_stands_by_or_spares_takes_the_place():
    spared, plain = part("9 x SATA 7200", layout=Layout.RAID5, standby=1), part("8 x SATA 7200", layout=Layout.RAID5)
    assert nominal(spared) == nominal(plain)
    assert nominal(spared, failed=1) == nominal(plain, failed=1)
    ports = part("2 x 1GbE", standby=1)
    assert nominal(ports).read_bytes_per_s == nominal(ports, failed=1).read_bytes_per_s


def test_a_bus_adds_both_directions_and_a_measured_limit_counts():
    load = ChainLoad(read_bytes_per_s=50e6, write_bytes_per_s=50e6)
    assert nominal(part("PCI-32/33")).used(load) == pytest.approx(100 / 133.3, rel=0.001)
    assert nominal(part("1GbE")).used(load) == pytest.approx(50 / 117.7, rel=0.001)
    assert limit(part("1GbE", measured=MeasuredLimit(read_bytes_per_s=95e6))).read_bytes_per_s == pytest.approx(95e6)
    paths = part("2 x 2GFC", measured=MeasuredLimit(read_bytes_per_s=450e6))
    assert limit(paths).read_bytes_per_s == pytest.approx(413.26e6, rel=0.001)
    stage = size(PartChain(title="", question="", load=ChainLoad(read_bytes_per_s=1e6), parts=(paths,))).stages[0]
    assert "1.09 times its limit" in stage.impossible[0]


parts = st.builds(
    lambda text, measured: part(
        text,
        layout=Layout.RAID10 if "SATA" in text or "SAS" in text else Layout.NONE,
        measured=MeasuredLimit(read_bytes_per_s=measured),
    ),
    st.sampled_from(TEXTS),
    st.none() | st.floats(1e6, 1e9),
)
loads = st.builds(
    ChainLoad,
    read_bytes_per_s=st.floats(1, 1e9),
    write_bytes_per_s=st.floats(0, 1e9),
    read_ops_per_s=st.floats(0, 1e5),
    write_ops_per_s=st.floats(0, 1e5),
    operation_bytes=st.floats(512, 1e6),
)


@given(parts, loads, st.integers(0, 3))
def test_a_failure_never_makes_a_part_faster(one, load, failed):
    assert limit(one, failed + 1).used(load) >= limit(one, failed).used(load) * (1 - 1e-9)


@given(st.lists(parts, min_size=1, max_size=4), loads, st.sampled_from(TEXTS))
def test_no_unit_more_of_the_same_lowers_the_limit(made, load, text):
    named = tuple(ChainPart(**{**vars(one), "name": f"{one.name} {at}"}) for at, one in enumerate(made))
    first = named[0]
    doubled = f"{2 * first.speed.count} x {first.speed.text.split(' x ')[-1]}"
    found = speed_of(doubled if " x " in first.speed.text else first.speed.text)
    assert isinstance(found, Speed)
    upgrade = Upgrade(speed=found, layout=first.layout, standby=0, price=None)
    changed = ChainPart(**{**vars(first), "upgrades": (upgrade,), "measured": MeasuredLimit()})
    sized = size(PartChain(title="", question="", load=load, parts=(changed, *named[1:])))
    assert sized.upgrades[0].carries >= sized.carries * (1 - 1e-9)
    assert 0 <= sized.carries < math.inf
    assert {stage.part.name for stage in sized.stages} >= {sized.first}
