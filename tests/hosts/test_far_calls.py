"""System calls of a far host beside those of this machine."""

import errno
import os
import time

import pytest

from assay.hosts.local import Local
from stage.agents import PATIENCE_S, far_host


@pytest.fixture
def host(tmp_path):
    with far_host(env={"XDG_RUNTIME_DIR": str(tmp_path)}) as made:
        yield made


def both(host, name, *arguments):
    return [outcome(getattr(calls, name), *arguments) for calls in (host.syscalls, Local().syscalls)]


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return error.errno


def test_system_calls_tell_what_they_tell_on_this_machine(host, room):
    file = room / "file"
    with file.open("wb") as made:
        made.write(b"x" * 300_000)
        made.seek(1 << 20)
        made.write(b"y" * 5000)
        os.fsync(made.fileno())
    for name in ("cachestat", "fiemap", "placed"):
        theirs, ours = both(host, name, str(file))
        assert theirs == ours, name
    assert outcome(host.syscalls.placed, str(file)) == outcome(Local().syscalls.placed, str(file))
    for name in ("cachestat", "fiemap", "placed", "drop_file", "syncfs", "space", "filesystem_semantics"):
        theirs, ours = both(host, name, "/nowhere")
        assert theirs == ours == errno.ENOENT, name
    theirs, ours = both(host, "filesystem_semantics", str(room))
    assert theirs == ours
    assert [path.name for path in room.iterdir()] == ["file"]
    theirs, ours = both(host, "space", "/proc")
    assert theirs == ours == (1.0, 1.0)
    assert host.syscalls.syncfs(str(room)) > 0
    assert abs(host.syscalls.booted_ns() - Local().syscalls.booted_ns()) < 10**9
    assert 0 < host.syscalls.cpu_clock(os.getpid()) <= Local().syscalls.cpu_clock(os.getpid())
    assert both(host, "cpu_clock", 2**22 + 1) == [errno.ENOENT, errno.ENOENT]
    pieces = host.syscalls.spin()
    assert len(pieces) == 25
    assert min(pieces) > 10_000


def test_dropping_a_file_takes_its_pages(host, room):
    file = room / "file"
    file.write_bytes(b"x" * 300_000)
    seen = outcome(host.syscalls.cachestat, str(file))
    if isinstance(seen, int):
        pytest.skip(f"cachestat: {os.strerror(seen)}")
    assert seen.cached > 0
    host.syscalls.drop_file(str(file))
    assert host.syscalls.cachestat(str(file)).cached == 0


def test_memory_is_held_by_the_agent_and_given_back(host):
    def resident():
        lines = host.read(f"/proc/{host.hello['pid']}/status").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) << 10

    before = resident()
    with host.syscalls.memory_held(100 << 20):
        assert resident() - before > 90 << 20
    assert resident() - before < 20 << 20
    with pytest.raises(OSError, match="filer") as seen, host.syscalls.memory_held(1 << 60):
        pass
    assert seen.value.errno == errno.ENOMEM
    assert host.lost() is None


@pytest.mark.root
def test_the_kernel_log_is_told_from_look_to_look(host):
    if not os.access("/dev/kmsg", os.W_OK):
        pytest.skip("/dev/kmsg cannot be written here")
    host.syscalls.kernel_log()
    token = f"assay test {os.getpid()} {time.monotonic_ns()}"
    host.write("/dev/kmsg", f"<6>{token}\n")
    assert token in host.syscalls.kernel_log()
    assert token not in host.syscalls.kernel_log()


@pytest.mark.root
def test_a_mount_of_another_namespace_is_unmounted(host, tmp_path):
    point = tmp_path / "point"
    point.mkdir()
    process = host.spawn(["unshare", "--mount", "sh", "-c", f"mount -t tmpfs assay-test {point} && echo mounted && read x"])
    try:
        assert process.receive(PATIENCE_S) == "mounted"
        assert str(point) in host.read(f"/proc/{process.pid}/mountinfo")
        host.syscalls.unmount_in(f"/proc/{process.pid}/ns/mnt", str(point))
        assert str(point) not in host.read(f"/proc/{process.pid}/mountinfo")
        with pytest.raises(OSError, match=str(point)):
            host.syscalls.unmount_in(f"/proc/{process.pid}/ns/mnt", str(point))
    finally:
        process.kill()
