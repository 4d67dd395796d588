"""Looks at a far host, counted in exchanges."""

import json
import subprocess

import pytest

from assay.hosts.far import FarHost
from assay.hosts.local import Local
from stage.agents import agent_channel, far_host

PROC = ("stat", "meminfo", "vmstat", "diskstats", "loadavg", "uptime", "version", "net/dev", "net/snmp", "softirqs", "swaps")
FOURTEEN = (*(f"/proc/{name}" for name in PROC), "/proc/self/io", "/proc/self/stat", "/proc/pressure/nowhere")


@pytest.fixture
def host(tmp_path):
    with far_host(env={"XDG_RUNTIME_DIR": str(tmp_path)}) as made:
        yield made


class Counted:
    """A channel that counts the lines that go out through it."""

    def __init__(self, channel):
        self.channel, self.lines = channel, []

    def send(self, line):
        self.lines.append(json.loads(line))
        self.channel.send(line)

    def __getattr__(self, name):
        return getattr(self.channel, name)


@pytest.fixture
def counted():
    channel = Counted(agent_channel())
    with FarHost("filer", channel) as made:
        yield made, channel


def read_all(reader):
    return [reader.read(path) for path in FOURTEEN[:-1]] + [reader.exists(FOURTEEN[-1]), reader.list("/sys/block")]


def test_a_look_asks_in_one_exchange_what_the_former_one_asked(counted):
    host, channel = counted
    for expected in (["look", *["read"] * 13, "exists", "list", "clock"], ["look"], ["look"]):
        channel.lines.clear()
        before = host.monotonic_ns()
        look = host.look("fourteen")
        found = read_all(look.host)
        began, took = look.end()
        assert before <= began <= began + took <= host.monotonic_ns()
        assert [line["do"] for line in channel.lines if line["do"] != "lease"][1:-1] == expected
    assert found[0].startswith("cpu ")
    assert found[-2:] == [False, Local().list("/sys/block")]


def test_a_look_that_asks_more_asks_that_by_itself_and_forgets_what_is_not_wanted(counted):
    host, channel = counted

    def look(*paths):
        channel.lines.clear()
        now = host.look("x")
        texts = [now.host.read(path) for path in paths]
        now.end()
        return texts, [line.get("path", line.get("read")) for line in channel.lines if line["do"] in ("look", "read")]

    assert look("/proc/uptime")[1] == [[], "/proc/uptime"]
    assert look("/proc/uptime", "/proc/loadavg")[1] == [["/proc/uptime"], "/proc/loadavg"]
    assert look("/proc/loadavg")[1] == [["/proc/uptime", "/proc/loadavg"]]
    assert look("/proc/loadavg", "/proc/loadavg")[1] == [["/proc/loadavg"]]
    assert host.look("another").end()[1] >= 0


def test_a_look_raises_for_a_file_that_went_and_sees_one_that_came_back(counted, tmp_path):
    host, _ = counted
    file = tmp_path / "file"

    def look():
        now = host.look("x")
        try:
            return now.host.read(str(file))
        except FileNotFoundError as error:
            return error.filename
        finally:
            now.end()

    gone = f"filer:{file}"
    assert look() == gone
    assert look() == gone
    file.write_text("here")
    assert look() == "here"
    file.unlink()
    assert look() == gone


def test_system_calls_of_a_look_go_with_it(counted, tmp_path):
    host, channel = counted

    def look():
        channel.lines.clear()
        now = host.look("x")
        calls = now.host.syscalls
        space = calls.space(str(tmp_path))
        with pytest.raises(FileNotFoundError):
            calls.cachestat("/nowhere")
        calls.booted_ns()
        now.end()
        return space, [line["do"] for line in channel.lines if line["do"] != "lease"]

    space, asked = look()
    assert asked == ["look", "space", "cachestat", "booted_ns", "clock"]
    again, asked = look()
    assert asked == ["look"]
    assert all(0 <= share <= 1 for share in (*space, *again))


def test_what_a_look_changes_it_reads_anew(counted, tmp_path):
    host, _ = counted
    file = tmp_path / "file"
    file.write_text("before")
    for _ in range(2):
        look = host.look("x")
        look.host.read(str(file))
        look.host.write(str(file), "after")
        assert look.host.read(str(file)) == "after"
        look.end()
        file.write_text("before")


def test_the_host_of_a_look_is_the_host(host):
    assert host.look("x").host == host
    assert hash(host.look("x").host) == hash(host)
    assert {host: 1}[host.look("x").host] == 1


def asked_in(host, channel, act):
    """What went out during one look, without leases and clocks around it."""
    channel.lines.clear()
    look = host.look("processes")
    found = act(look.host)
    look.end()
    return found, [line["do"] for line in channel.lines if line["do"] not in ("lease", "clock")]


def test_a_command_of_an_observer_forgets_nothing(counted):
    def act(host):
        before = host.read("/proc/version")
        return before, host.run(["true"]).status, host.read("/proc/uptime"), host.read("/proc/stat")

    host, channel = counted
    asked_in(host, channel, act)
    (version, status, *_), asked = asked_in(host, channel, act)
    assert version.startswith("Linux")
    assert status == 0
    assert asked == ["look", "run"]


def test_what_follows_a_list_or_a_first_question_about_a_process_is_asked_at_once(counted):
    """Threads, descriptors and files of one process, as observers ask for them: the first look of a host knows none of it."""

    def of_process(pid):
        def act(host):
            threads = host.list(f"/proc/{pid}/task")
            texts = [host.read(f"/proc/{pid}/task/{one}/{file}") for one in threads for file in ("stat", "schedstat", "children")]
            ends = {host.real_path(f"/proc/{pid}/fd/{one}") for one in host.list(f"/proc/{pid}/fd")}
            return len(texts), ends, host.read(f"/proc/{pid}/status"), host.real_path(f"/proc/{pid}/ns/net")

        return act

    host, channel = counted
    with subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE) as process:
        (texts, ends, status, network), asked = asked_in(host, channel, of_process(process.pid))
        assert asked == ["look"] * 3, "nothing known; the process; its threads and descriptors"
        assert texts == 3
        assert any("pipe:[" in one for one in ends)
        assert "Name:\tsleep" in status
        assert "net:[" in network
        assert asked_in(host, channel, of_process(process.pid))[1] == ["look"]
        process.kill()


def test_of_what_is_new_in_a_list_the_same_is_asked(counted):
    """A process that came between two looks, among all."""

    def act(host):
        return [
            host.read(f"/proc/{pid}/stat") for pid in host.list("/proc") if pid.isdigit() and host.exists(f"/proc/{pid}/stat")
        ]

    host, channel = counted
    asked_in(host, channel, act)
    with subprocess.Popen(["sleep", "60"]) as process:
        asked_in(host, channel, act)
        found, asked = asked_in(host, channel, act)
        process.kill()
    assert any(one.startswith(f"{process.pid} (sleep)") for one in found)
    assert "read" not in asked
