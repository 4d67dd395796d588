"""Small files that stay open between two looks say what they say now, whatever became of what they speak of."""

import os
import subprocess
from pathlib import Path

import pytest

from assay.hosts.local import MOST_OPEN, KeptOpen


def descriptors():
    return {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}


def test_a_file_of_the_kernel_is_read_anew_each_time_and_stays_open_until_the_end():
    with KeptOpen() as host:
        said: set[str] = set()
        for _ in range(1000):  # the kernel counts when it looks at the clock, and later where others have the CPU
            said |= {host.read("/proc/self/schedstat")} if sum(range(300_000)) else set()
            if len(said) == 3:
                break
        assert "/proc/self/schedstat" not in said
        assert any(path.endswith("/schedstat") for path in descriptors())
    assert len(said) == 3
    assert not any(path.endswith("/schedstat") for path in descriptors())


def test_it_reads_what_any_host_reads():
    with KeptOpen() as host:
        for path in ("/proc/vmstat", "/proc/diskstats", "/proc/self/mountinfo", "/proc/sys/kernel/ostype"):
            kept = [host.read(path) for _ in range(3)]
            assert [line.split()[:1] for line in kept[2].splitlines()] == [line.split()[:1] for line in kept[0].splitlines()]
            assert kept[2].endswith("\n")


def test_files_of_the_disk_may_be_replaced(tmp_path):
    path = tmp_path / "f"
    with KeptOpen() as host:
        for text in ("one", "two", "three"):
            (tmp_path / "new").write_text(text)
            (tmp_path / "new").rename(path)
            assert host.read(str(path)) == text


def test_what_is_gone_is_gone():
    process = subprocess.Popen(["sleep", "60"])
    path = f"/proc/{process.pid}/stat"
    with KeptOpen() as host:
        try:
            assert [host.read(path).split()[0] for _ in range(3)] == [str(process.pid)] * 3
        finally:
            process.kill()
            process.wait()
        with pytest.raises(OSError, match="No such"):
            host.read(path)
        with pytest.raises(OSError, match="No such"):
            host.read("/proc/none")


def test_it_holds_no_more_open_than_it_may():
    names = [path for path in Path("/proc/sys/vm").iterdir() if os.access(path, os.R_OK)]
    names += [path for path in Path("/proc/sys/kernel").iterdir() if path.is_file() and os.access(path, os.R_OK)]
    with KeptOpen() as host:
        before = len(descriptors())
        for path in [path for path in names for _ in range(2)]:
            try:
                host.read(str(path))
            except OSError:
                continue
        assert 0 < len(descriptors()) - before <= MOST_OPEN
