"""What a file system promises is found out on real mounts, whatever their configuration says."""

import os
import subprocess

import pytest

from assay.hosts import filesystem_semantics

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount")


@pytest.fixture
def mounted(tmp_path):
    points = []

    def mount(options):
        point = tmp_path / str(len(points))
        point.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=4m,{options}", "none", str(point)], check=True)
        points.append(point)
        return str(point)

    yield mount
    for point in points:
        subprocess.run(["umount", str(point)], check=True)


@pytest.mark.root
@ROOT
def test_access_times_are_found_by_reading(subtests, mounted):
    for options, told in [("noatime", "never"), ("relatime", "first read after a change or a day"), ("strictatime", "each read")]:
        with subtests.test(options=options, told=told):
            assert filesystem_semantics.probe(mounted(options))["access_time"] == told


@pytest.mark.root
@ROOT
def test_a_file_system_without_attributes_or_lists_says_no(mounted, tmp_path):
    point = tmp_path / "ram"
    point.mkdir()
    subprocess.run(["mount", "-t", "ramfs", "none", str(point)], check=True)
    try:
        found = filesystem_semantics.probe(str(point))
        assert (found["attributes"], found["access_lists"], found["hard_links"]) == ("no", "no", "yes")
    finally:
        subprocess.run(["umount", str(point)], check=True)


def test_nothing_is_left_behind_and_every_promise_is_told(tmp_path):
    found = filesystem_semantics.probe(str(tmp_path))
    assert set(found) == set(filesystem_semantics.PROBES)
    assert found["names"] == "upper and lower case differ"
    assert found["modes"] == "kept"
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_made_nothing_is_told(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        filesystem_semantics.probe(str(tmp_path / "gone"))
