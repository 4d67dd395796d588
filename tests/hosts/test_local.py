import os
import signal
import subprocess
import sys

import pytest

from assay.errors import MissingError, RefusedError, TrialError
from assay.hosts.local import Local
from stage.assay_process import wait_until
from stage.processes import wait_ended

ECHO = "import sys\nfor line in sys.stdin:\n    print('got', line.strip(), flush=True)\n"


@pytest.fixture
def host():
    return Local()


def test_commands_are_run_and_told(host, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    done = host.run(["sh", "-c", "echo $LC_ALL $EXTRA; pwd; cat; echo oops >&2"], input_text="in", env={"EXTRA": "x"}, cwd="/")
    assert (done.status, done.stdout, done.stderr) == (0, "C x\n/\nin", "oops\n")
    assert done.wall_ns > 0
    with pytest.raises(TrialError, match=r"sh -c echo no >&2; exit 3: exit status 3: no"):
        host.run(["sh", "-c", "echo no >&2; exit 3"])
    assert host.run(["sh", "-c", "exit 3"], check=False).status == 3
    with pytest.raises(MissingError, match="no-such-command"):
        host.run(["no-such-command"])


def test_run_finds_system_tools_although_path_lacks_their_directory(host, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert host.run(["losetup", "--version"]).status == 0


def test_run_ends_the_whole_group_of_a_command_that_takes_too_long(host, tmp_path):
    pids = tmp_path / "pids"
    with pytest.raises(TrialError, match="stopped after"):
        host.run(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"], timeout_s=0.5)
    wait_ended(int(pids.read_text()))


def test_a_command_in_flight_dies_with_the_lab(tmp_path):
    pids = tmp_path / "pid"
    code = f"from assay.hosts.local import Local; Local().run(['sh', '-c', 'echo $$ > {pids}; exec sleep 600'])"
    lab = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: pids.exists() and pids.read_text().strip())
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    wait_ended(int(pids.read_text()))


def test_spawned_process_is_spoken_to_line_by_line(host):
    process = host.spawn([sys.executable, "-c", ECHO])
    process.send("one")
    process.send("two\n")
    assert process.receive(120) == "got one"
    assert process.receive(120) == "got two"
    with pytest.raises(TimeoutError):
        process.receive(0.05)
    assert os.getpgid(process.pid) == process.pid
    assert process.wait(300) == 0
    assert process.receive(1) is None


def test_lines_come_whole_whatever_their_length_and_end(host):
    process = host.spawn(["printf", "a\\nb"])
    assert [process.receive(120), process.receive(120), process.receive(120)] == ["a", "b", None]
    process.wait(300)
    process = host.spawn([sys.executable, "-c", "print('x' * 300000); print('y')"])
    assert process.receive(120) == "x" * 300000
    assert process.receive(120) == "y"
    process.kill()


def test_sending_to_a_dead_process_tells_its_complaint(host):
    process = host.spawn(["sh", "-c", "echo broken engine >&2; exit 4"])
    assert process.receive(120) is None
    wait_ended(process.pid)
    with pytest.raises(TrialError, match="broken engine"):
        process.send("x")
    assert process.wait(300) == 4


def test_kill_ends_the_group(host):
    process = host.spawn(["sh", "-c", "sleep 600 & echo $!; wait"])
    child = int(process.receive(120))
    process.kill()
    wait_ended(child)


def test_wait_says_when_it_lasts_too_long(host):
    process = host.spawn(["sleep", "600"])
    with pytest.raises(TimeoutError):
        process.wait(0.05)
    process.kill()


def test_files(host, tmp_path):
    path = str(tmp_path / "x")
    host.write(path, "text")
    (tmp_path / "link").symlink_to(path)
    assert host.read(path) == "text"
    assert host.list(str(tmp_path)) == ("link", "x")
    assert host.list(str(tmp_path / "nothing")) == ()
    assert host.exists(path)
    assert not host.exists(path + "y")
    assert host.real_path(str(tmp_path / "link")) == os.path.realpath(path)
    with pytest.raises(OSError, match="nothing"):
        host.read(str(tmp_path / "nothing"))


def test_system_calls_tell_of_a_real_file(host, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 65536)
    seen = host.syscalls.cachestat(str(path))
    assert (seen.cached, seen.dirty, seen.file_bytes) == (65536 // seen.page_bytes, seen.cached, 65536)
    assert host.syscalls.syncfs(str(tmp_path)) >= 0
    extents = host.syscalls.fiemap(str(path))
    assert (extents.mapped_bytes, extents.unwritten_bytes, extents.hole_bytes) == (65536, 0, 0)
    host.syscalls.drop_file(str(path))
    assert host.syscalls.cachestat(str(path)).cached == 0


def test_recorded_host_reads_below_its_root_and_refuses_the_rest(tmp_path):
    (tmp_path / "sys/class/block").mkdir(parents=True)
    (tmp_path / "sys/devices/vda").mkdir(parents=True)
    (tmp_path / "sys/class/block/vda").symlink_to("../../devices/vda")
    host = Local("old", root=tmp_path)
    assert host.list("/sys/class/block") == ("vda",)
    assert host.real_path("/sys/class/block/vda") == "/sys/devices/vda"
    assert host.syscalls is None
    assert not host.is_root()
    for act in (lambda: host.run(["true"]), lambda: host.spawn(["true"]), lambda: host.write("/sys/x", "")):
        with pytest.raises(RefusedError, match="'old'"):
            act()
