"""What an agent undoes when its controller goes away, and what it leaves for the next one when it is killed itself."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.errors import RefusedError
from assay.hosts.far import FarHost
from assay.hosts.local import Local
from stage.agents import ENGINE, agent_channel, far_host
from stage.assay_process import wait_until
from stage.processes import ended


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A directory of notes of the test's own where it does not run as root, else the one of the system."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return Path("/run/assay") if os.geteuid() == 0 and os.access("/run", os.W_OK) else tmp_path / "assay"


def files(home):
    return {path.name for path in home.glob("*.notes")} if home.exists() else set()


def of(home, host):
    return [path for path in home.glob("*.notes") if path.name.startswith(f"{host.hello['pid']}-")]


def test_a_note_is_durable_and_struck_out_and_its_file_goes(home):
    with far_host() as host:
        file = host.note(1, "mount", {"path": '/x "y"\n', "device": "d"}, "true")
        host.note(2, "loop", {}, "true")
        host.strike(1)
        host.strike(77)
        first, *others = (json.loads(line) for line in (home / file).read_text().splitlines())
        stat = Path(f"/proc/{host.hello['pid']}/stat").read_text().rpartition(")")[2].split()
        assert (first["pid"], first["start_ticks"]) == (host.hello["pid"], int(stat[19]))
        assert first["boot"] == Local().machine().boot
        assert others[0] == {"n": 1, "kind": "mount", "details": {"path": '/x "y"\n', "device": "d"}, "back": "true"}
        assert others[2] == {"struck": 1}
        assert (home / file).stat().st_mode & 0o777 == 0o600
        assert home.stat().st_mode & 0o777 == 0o700
        with pytest.raises(FileExistsError):
            host.note(2, "loop", {}, "true")
    assert file not in files(home)


def test_the_end_of_input_undoes_what_is_noted_in_order(home, tmp_path):
    record = tmp_path / "record"
    with far_host() as host:
        host.note(1, "mount", {}, f"echo one >> {record}")
        host.note(2, "throttle", {}, f"echo two >> {record}")
        host.note(3, "loop", {}, f"echo three >> {record}")
        host.note(4, "cgroup", {}, f"echo four >> {record}")
        host.strike(3)
    assert record.read_text().split() == ["two", "four", "one"]
    assert not of(home, host)


def test_what_cannot_be_undone_stays_for_the_next_one(home, tmp_path):
    with far_host() as host:
        file = host.note(1, "mount", {"path": "/x"}, "exit 1")
        host.note(2, "loop", {}, "true")
    with far_host() as other:
        (left,) = (note for note in other.left() if note.file == file)
        assert (left.n, left.kind, left.details) == (1, "mount", {"path": "/x"})
        here = Local().machine()
        assert (left.machine.serial, left.machine.boot) == (here.serial, here.boot)
        other.strike(1, file)
        assert all(note.file != file for note in other.left())
    assert file not in files(home)


def test_notes_of_the_living_are_nobodys_business(home):
    with far_host() as host, far_host() as other:
        file = host.note(1, "mount", {}, "true")
        assert all(note.file != file for note in other.left())
        other.strike(1, file)
        assert file in files(home)


def test_only_files_of_notes_are_struck_in(subtests, home):
    for file in ["../x.notes", "/etc/passwd", "x", ".."]:
        with subtests.test(file=file), far_host() as host, pytest.raises(RefusedError):
            host.strike(1, file)


def test_a_killed_agent_leaves_its_notes_and_a_torn_line_is_left_out(home):
    with far_host() as host:
        file = host.note(1, "mount", {"path": "/x"}, "true")
        os.kill(host.hello["pid"], signal.SIGKILL)
        wait_until(lambda: host.lost() is not None)
    with (home / file).open("a") as torn:
        torn.write('{"n":2,"kind":"lo')
    with far_host() as other:
        assert [note.n for note in other.left() if note.file == file] == [1]
        other.strike(1, file)
    assert file not in files(home)


def test_a_directory_that_somebody_else_may_write_in_is_refused(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root uses /run")
    (tmp_path / "assay").mkdir(mode=0o777)
    (tmp_path / "assay").chmod(0o777)
    with far_host(env={"XDG_RUNTIME_DIR": str(tmp_path)}) as host, pytest.raises(RefusedError, match="other users may write"):
        host.note(1, "mount", {}, "true")


@pytest.mark.root
def test_another_user_keeps_notes_in_a_directory_of_its_own_and_refuses_one_that_is_not(tmp_path):
    """As nobody, with a copy of the engine that nobody may run."""
    room = Path("/tmp") / f"assay-test-{os.getpid()}"
    room.mkdir(mode=0o755)
    try:
        engine = room / "engine"
        engine.write_bytes(ENGINE.read_bytes())
        engine.chmod(0o755)
        (room / "good").mkdir()
        os.chown(room / "good", 65534, 65534)
        (room / "bad" / "assay").mkdir(parents=True)
        for runtime, expected in ((room / "good", '"file"'), (room / "bad", "other users may write there")):
            (room / "bad").chmod(0o777)
            lines = '{"id":1,"do":"note","n":1,"kind":"x","back":"true"}\n'
            argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(engine), "agent"]
            with subprocess.Popen(argv, env={"XDG_RUNTIME_DIR": str(runtime)}, stdin=-1, stdout=-1, text=True) as agent:
                agent.stdin.write(lines)
                agent.stdin.flush()
                assert json.loads(agent.stdout.readline())["uid"] == 65534
                assert expected in agent.stdout.readline()
                agent.stdin.close()
    finally:
        subprocess.run(["rm", "-r", "--", str(room)], check=True)


@pytest.fixture
def mounted(tmp_path):
    """A mount point whose mount somebody else must undo; undone here all the same."""
    point = tmp_path / "point"
    point.mkdir()
    yield point
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run(["umount", str(point)], check=True, stderr=subprocess.DEVNULL)


def is_mounted(point):
    return f" {point} " in Path("/proc/self/mountinfo").read_text()


def way_back(point):
    return f"grep -q ' {point} .* assay-test ' /proc/self/mountinfo || exit 0; umount -- {point}"


@pytest.mark.root
def test_a_mount_is_undone_when_the_controller_is_killed(home, mounted, tmp_path):
    code = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from stage.agents import agent_channel
from assay.hosts.far import FarHost
host = FarHost("filer", agent_channel())
host.note(1, "mount", {{}}, {way_back(mounted)!r})
host.run(["mount", "-t", "tmpfs", "assay-test", {str(mounted)!r}])
busy = host.spawn(["sh", "-c", "cd {mounted} && echo busy && exec sleep 600"])
busy.receive(120)
print(host.hello["pid"], busy.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as controller:
        agent, busy = map(int, controller.stdout.readline().split())
        assert is_mounted(mounted)
        controller.kill()
        wait_until(lambda: not is_mounted(mounted))
        wait_until(lambda: ended(agent))
        assert ended(busy)
    assert not [name for name in files(home) if name.startswith(f"{agent}-")]


@pytest.mark.root
def test_a_mount_is_undone_when_the_lease_ends(home, mounted):
    channel = agent_channel()
    try:
        host = FarHost("filer", channel)
        host.note(1, "mount", {}, way_back(mounted))
        host.run(["mount", "-t", "tmpfs", "assay-test", str(mounted)])
        host._exchange._renew = lambda: None  # as if we were frozen
        host._exchange.ask("lease", for_ns=300_000_000)
        wait_until(lambda: not is_mounted(mounted))
        wait_until(lambda: host.lost() is not None)
        wait_until(lambda: not of(home, host))
    finally:
        channel.close()


def test_a_frozen_controller_loses_its_agent_within_the_lease(home, tmp_path):
    record = tmp_path / "record"
    code = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from stage.agents import agent_channel
from assay.hosts.far import FarHost
host = FarHost("filer", agent_channel(), lease_s=1.0)
host.note(1, "x", {{}}, "echo undone > {record}")
print(host.hello["pid"], host.spawn(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as controller:
        agent, child = map(int, controller.stdout.readline().split())
        controller.send_signal(signal.SIGSTOP)
        wait_until(lambda: record.exists() and ended(child) and ended(agent))
        controller.kill()


def test_a_signal_ends_an_agent_in_order(subtests, home, tmp_path_factory):
    for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]:
        with subtests.test(number=number):
            tmp_path = tmp_path_factory.mktemp("case")
            record = tmp_path / "record"
            with far_host() as host:
                host.note(1, "x", {}, f"echo undone > {record}")
                child = host.spawn(["sleep", "600"])
                os.kill(host.hello["pid"], number)
                wait_until(lambda: host.lost() is not None)
                assert "a signal came" in str(host.lost())
            assert record.read_text() == "undone\n"
            assert ended(child.pid)


def test_what_is_busy_at_first_is_undone_a_little_later(home, tmp_path):
    once = tmp_path / "once"
    with far_host() as host:
        host.note(1, "mount", {}, f"test -e {once} && exit 0; touch {once}; exit 1")
    assert not of(home, host)


def test_a_way_back_begins_after_everything_that_was_started_has_ended(home, tmp_path):
    record = tmp_path / "record"
    with far_host() as host:
        child = host.spawn(["sh", "-c", "trap '' TERM HUP; while :; do sleep 0.01; done"])
        host.note(
            1, "x", {}, f"grep -qs 'State:.[^ZX]' /proc/{child.pid}/status && echo alive > {record} || echo gone > {record}"
        )
        host._exchange.tell("run", argv=["sleep", "600"])
    assert record.read_text() == "gone\n"


@pytest.mark.root
def test_an_agent_with_mounts_of_its_own_takes_them_along_when_it_is_killed(home, tmp_path):
    point = tmp_path / "point"
    point.mkdir()
    channel = agent_channel("--own-mounts")
    with FarHost("filer", channel) as host:
        host.run(["mount", "-t", "tmpfs", "assay-test", str(point)])
        assert f" {point} " in host.read("/proc/self/mountinfo")
        assert not is_mounted(point)
        os.kill(channel.pid, signal.SIGKILL)
        wait_until(lambda: host.lost() is not None)
    time.sleep(0.05)
    assert not is_mounted(point)
