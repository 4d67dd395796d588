"""Looks at a far host, counted in exchanges."""

import json

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
