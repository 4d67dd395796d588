import os
import subprocess

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.memory import OBSERVER
from assay.records import Edge, Subject
from stage.assay_process import wait_until
from stage.mount_spaces import mount_space
from stage.observer_looks import bumped, look, recorded, replayed, the_series


def parsed(*changes, host="cgroup_v1"):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, recorded(host), Subject(), *changes), Subject())


def test_gauges_are_bytes_and_counters_start_at_zero():
    evidence = parsed({}, {"/proc/meminfo": bumped(r"Dirty: +(\d+)", 4), "/proc/vmstat": bumped(r"(?m)^pswpin (\d+)", 3)})
    dirty = the_series(evidence, "dirty_bytes").value
    assert dirty[2] - dirty[1] == 4096
    assert list(the_series(evidence, "swapped_in_pages").value) == [0, 0, 3, 3]
    assert the_series(evidence, "total_bytes").value[0] > 1 << 30


def test_cached_inodes_and_names_are_counted_without_being_root():
    evidence = parsed(
        {"/proc/sys/fs/inode-nr": bumped(r"^(\d+)", 1000), "/proc/sys/fs/dentry-state": bumped(r"^(\d+)", 7)}, host="no_psi"
    )
    inodes, names = (the_series(evidence, metric).value for metric in ("inode_cache_objects", "dentries"))
    assert (inodes[1] - inodes[0], names[1] - names[0]) == (1000, 7)
    assert not evidence.missing


def test_a_falling_counter_or_unknown_text_is_refused(subtests):
    for path, change in [
        ("/proc/meminfo", lambda text: text + "Four words of it\n"),
        ("/proc/vmstat", bumped(r"(?m)^pgmajfault (\d+)", -1)),
        ("/proc/sys/fs/inode-nr", lambda _: "many 0\n"),
    ]:
        with subtests.test(path=path, change=change), pytest.raises(EvidenceError, match="expected"):
            parsed({}, {path: change})


FILES = 3000


@pytest.fixture
def xfs(tmp_path):
    """Mount a fresh xfs with 3,000 files anew, cold, in a namespace that nobody copies: gives its path in there."""
    if os.geteuid() != 0:
        pytest.skip("mounting an image needs root")
    image, point = tmp_path / "image", tmp_path / "point"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(320 << 20)
    subprocess.run(["mkfs.xfs", "-q", image], check=True)
    with mount_space() as space:

        def mounted_anew():
            space.run("umount", point, check=False)
            space.run("mount", "-o", "loop", image, point)
            return space.path(point)

        place = mounted_anew()
        for number in range(FILES):
            (place / f"o{number:08}").touch()
        yield mounted_anew


@pytest.mark.root
def test_real_inodes_read_from_a_cold_file_system_are_counted_and_warm_ones_are_not(xfs):
    """The kernel counts the inodes of all: it is looked at until nobody else made or forgot some meanwhile."""

    def counted():
        place, looks = xfs(), []
        for edge in (Edge.ARMED, Edge.LAST, Edge.DRAINED):
            looks.append(look(OBSERVER, Local(), Subject(), edge, len(looks)))
            for number in range(FILES):
                (place / f"o{number:08}").stat()
        cached = the_series(OBSERVER.parse("h", "p", looks, Subject()), "inode_cache_objects").value
        return 2950 <= cached[1] - cached[0] <= 3300 and abs(cached[2] - cached[1]) <= 100

    wait_until(counted)
