"""Every file is in exactly one cell, whatever its time and size; an inode counts once."""

import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.survey.bands import AGE_BANDS, DAY_NS, SIZE_BANDS
from assay.survey.filters import FileTime, Filters, keeper
from assay.survey.result import Counting, reaching
from stage.survey_trees import NOW_NS, distribution, made


def status(time_ns, size, blocks=0, *, nlink=1, inode=1):
    times = {f"st_{clock.value}_ns": time_ns for clock in FileTime}
    return SimpleNamespace(**times, st_size=size, st_blocks=blocks, st_nlink=nlink, st_ino=inode, st_dev=1, st_uid=0)


edges_ns = [NOW_NS - band.least_ns + shift for band in AGE_BANDS for shift in (-1, 0, 1)]
times = st.sampled_from(edges_ns) | st.integers(min_value=-(10**18), max_value=2 * NOW_NS)
edges = [band.most_bytes + shift for band in SIZE_BANDS if band.most_bytes for shift in (-1, 0, 1)]
sizes = st.sampled_from(edges) | st.integers(min_value=0, max_value=2**50)
files = st.lists(st.tuples(times, sizes, st.integers(min_value=0, max_value=2**40)), max_size=60)


def counted(listed, keep=None):
    counting = Counting(FileTime.MODIFIED, NOW_NS, keep)
    for number, (time_ns, size, blocks) in enumerate(listed):
        counting.see(str(number), status(time_ns, size, blocks))
    return counting.distribution()


@given(files)
def test_every_file_is_in_exactly_the_cell_of_its_bands(listed):
    found = counted(listed)
    for row, age in zip(found.cells, AGE_BANDS, strict=True):
        for cell, size in zip(row, SIZE_BANDS, strict=True):
            here = [
                (bytes_, blocks)
                for time_ns, bytes_, blocks in listed
                if (NOW_NS - time_ns >= age.least_ns or age.least_ns == 0)
                and (age.below_ns is None or NOW_NS - time_ns < age.below_ns)
                and (size.above_bytes is None or bytes_ > size.above_bytes)
                and (size.most_bytes is None or bytes_ <= size.most_bytes)
            ]
            assert (cell.files, cell.bytes) == (len(here), sum(bytes_ for bytes_, _ in here))
            assert cell.allocated_bytes == 512 * sum(blocks for _, blocks in here)


@given(files)
def test_sums_over_bands_are_the_total(listed):
    found = counted(listed)
    assert found.kept == found.tree
    assert found.kept.files == len(listed)
    assert found.kept.bytes == sum(size for _, size, _ in listed)
    for name in ("files", "bytes", "allocated_bytes"):
        for groups in (found.ages, found.sizes, [cell for row in found.cells for cell in row]):
            assert sum(getattr(group, name) for group in groups) == getattr(found.kept, name)
    assert reaching(found.ages)[0] == found.kept
    assert reaching(found.ages)[-1] == found.ages[-1]
    assert found.sparse_files == sum(blocks * 512 < size for _, size, blocks in listed)
    assert found.later_files == sum(time_ns > NOW_NS for time_ns, _, _ in listed)


@given(files, st.integers(min_value=0, max_value=3000 * DAY_NS), st.integers(min_value=0, max_value=2**50))
def test_filters_that_complement_each_other_part_the_tree(listed, age_ns, size):
    pairs = [(Filters(older_ns=age_ns), Filters(newer_ns=age_ns)), (Filters(least_bytes=size + 1), Filters(most_bytes=size))]
    whole = counted(listed)
    for filters in pairs:
        parts = [counted(listed, keeper(one, FileTime.MODIFIED, NOW_NS)) for one in filters]
        assert sum(part.kept.files for part in parts) == len(listed)
        assert sum(part.kept.bytes for part in parts) == whole.kept.bytes
        assert all(part.tree == whole.tree for part in parts)


@given(
    st.lists(st.integers(min_value=1, max_value=5), max_size=8).flatmap(
        lambda links: st.permutations([n for n, k in enumerate(links) for _ in range(k)])
    )
)
def test_an_inode_counts_once_in_whatever_order_its_names_come(order):
    counting = Counting(FileTime.MODIFIED, NOW_NS, None)
    for inode in order:
        counting.see("name", status(0, 10, nlink=order.count(inode), inode=inode))
    found = counting.distribution()
    assert (found.kept.files, found.kept.bytes) == (len(set(order)), 10 * len(set(order)))
    assert found.further_names == len(order) - len(set(order))


def test_a_filter_of_names_counts_a_file_once_on_either_side():
    counting = Counting(FileTime.MODIFIED, NOW_NS, keeper(Filters(patterns=("a*",)), FileTime.MODIFIED, NOW_NS))
    for name in ("b1", "a1", "b2", "a2"):
        counting.see(name, status(0, 10, nlink=4, inode=7))
    counting.see("b3", status(0, 5))
    found = counting.distribution()
    assert (found.kept.files, found.kept.bytes, found.further_names) == (1, 10, 1)
    assert (found.tree.files, found.tree.bytes) == (2, 15)


def test_real_files_and_a_sparse_one(tmp_path):
    made(tmp_path / "a" / "empty", 0, days=0.5)
    made(tmp_path / "a" / "week", 1024, days=7)
    made(tmp_path / "a" / "b" / "year", 5000, days=365)
    made(tmp_path / "future", 1025, days=-1)
    os.link(tmp_path / "a" / "b" / "year", tmp_path / "same")
    found = distribution(tmp_path)
    assert [group.files for group in found.ages] == [2, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert [group.files for group in found.sizes] == [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert (found.kept.bytes, found.further_names, found.later_files) == (7049, 1, 1)
    path = made(tmp_path / "holes" / "sparse", 4096)
    os.truncate(path, 10 << 20)
    if path.stat().st_blocks * 512 >= 10 << 20:
        pytest.skip("this file system has no holes")
    found = distribution(tmp_path / "holes")
    assert found.kept.bytes == 10 << 20
    assert 0 < found.kept.allocated_bytes < 1 << 20
    assert found.sparse_files == 1
