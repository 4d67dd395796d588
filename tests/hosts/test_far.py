"""A far host over a real agent of this machine."""

import errno
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from agents import ENGINE, PATIENCE_S, agent_channel, ended, far_host, until
from assay.catalogue import Machine
from assay.errors import AssayError, LostHostError, MissingError, RefusedError, TrialError
from assay.hosts.far import FarHost
from assay.hosts.local import Local

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


def test_what_a_far_host_tells_is_what_this_machine_tells(host, tmp_path):
    own = Local()
    (tmp_path / "link").symlink_to("gone/away")
    assert host.machine() == own.machine() != Machine(serial="", boot="")
    assert host.read("/proc/sys/kernel/osrelease") == own.read("/proc/sys/kernel/osrelease")
    assert host.list("/sys/block") == own.list("/sys/block")
    assert host.list("/nowhere") == ()
    assert (host.exists("/proc"), host.exists("/nowhere")) == (True, False)
    assert host.is_root() == own.is_root()
    for path in (tmp_path / "link" / "x", "/proc/self/../version", "/bin/sh", "/nowhere/../etc", "relative"):
        assert host.real_path(str(path)) == own.real_path(str(path))


def test_a_file_is_written_as_a_whole(host, tmp_path):
    file = tmp_path / "file"
    file.write_text("much longer than what follows")
    host.write(str(file), 'quote " newline \n and $(date) ä')
    assert file.read_text() == 'quote " newline \n and $(date) ä'
    assert host.read(str(file)) == file.read_text()


def test_an_error_keeps_its_number_and_names_the_host(host, tmp_path):
    with pytest.raises(FileNotFoundError, match="filer:/nowhere") as seen:
        host.read("/nowhere")
    assert (seen.value.errno, seen.value.strerror) == (errno.ENOENT, os.strerror(errno.ENOENT))
    with pytest.raises(IsADirectoryError, match="filer:/"):
        host.write(str(tmp_path), "")


def test_bytes_that_are_no_text_are_replaced(host, tmp_path):
    (tmp_path / "bytes").write_bytes(b"a\xff\xfe\n\x00\xe2\x82b")
    assert host.read(str(tmp_path / "bytes")) == Local().read(str(tmp_path / "bytes"))
    assert host.run(["printf", r"a\377b\n"]).stdout == "a\ufffdb\n"
    process = host.spawn(["printf", r"\377one\ntwo"])
    assert [process.receive(PATIENCE_S) for _ in range(3)] == ["\ufffdone", "two", None]


def test_the_clock_of_a_far_host_lies_between_asking_and_answer(host):
    probes = [host.probe() for _ in range(50)]
    assert all(asked <= theirs <= answered for asked, theirs, answered in probes)
    before = time.monotonic_ns()
    assert before <= host.monotonic_ns() <= time.monotonic_ns()


def test_run_returns_what_the_command_printed_in_the_c_locale(host):
    done = host.run(["sh", "-c", "echo $LC_ALL $EXTRA; pwd; cat; echo oops >&2"], input_text="in", env={"EXTRA": "x"}, cwd="/")
    assert (done.status, done.stdout, done.stderr) == (0, "C x\n/\nin", "oops\n")
    assert done.argv[0] == "sh"
    assert done.wall_ns > 0


def test_run_tells_status_and_complaint_and_the_host(host):
    with pytest.raises(TrialError, match=r"filer: sh -c echo no >&2; exit 3: exit status 3: no"):
        host.run(["sh", "-c", "echo no >&2; exit 3"])
    assert host.run(["sh", "-c", "exit 3"], check=False).status == 3
    assert host.run(["sh", "-c", "kill -9 $$"], check=False).status == -9


def test_a_command_that_is_not_there_is_named(host):
    with pytest.raises(MissingError, match="filer: no-such-command"):
        host.run(["no-such-command"])
    with pytest.raises(MissingError, match="filer: /no/such"):
        host.spawn(["/no/such"])
    with pytest.raises(OSError, match="filer"):
        host.run(["true"], cwd="/nowhere")
    with pytest.raises(OSError, match="filer"):
        host.run([])


def test_system_tools_are_found_although_path_lacks_their_directory():
    with far_host(env={"PATH": "/usr/bin:/bin"}) as host:
        assert host.run(["losetup", "--version"]).status == 0


def test_a_command_that_takes_too_long_is_ended_with_its_group(host, tmp_path):
    pids = tmp_path / "pids"
    with pytest.raises(TrialError, match=r"filer: sh .*stopped after"):
        host.run(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"], timeout_s=0.5)
    assert until(lambda: ended(int(pids.read_text())))
    with pytest.raises(TrialError, match="stopped after"):
        host.run(["sh", "-c", "exec >&- 2>&-; sleep 600"], timeout_s=0.2)


def test_a_server_that_a_command_leaves_behind_stays(host, tmp_path):
    left = int(host.run(["sh", "-c", "sleep 600 > /dev/null 2>&1 & echo $!"]).stdout)
    assert host.run(["true"]).status == 0
    assert not ended(left)
    os.kill(left, signal.SIGKILL)


def test_big_outputs_come_whole_and_endless_ones_are_refused(host):
    done = host.run(["sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' y >&2"])
    assert (len(done.stdout), set(done.stdout), len(done.stderr)) == (9_000_000, {"x"}, 300_000)
    with pytest.raises(TrialError, match="16 MiB"):
        host.run(["head", "-c", "20000000", "/dev/zero"])
    with pytest.raises(OSError, match="filer") as seen:
        host.read("/dev/zero")
    assert seen.value.errno == errno.EFBIG


def test_big_inputs_go_whole(host, tmp_path):
    text = "0123456789abcdef" * 500_000
    assert host.run(["wc", "-c"], input_text=text).stdout.strip() == str(len(text))
    host.write(str(tmp_path / "big"), text)
    assert host.read(str(tmp_path / "big")) == text
    process = host.spawn(["cat"])
    process.send(text)
    assert process.receive(PATIENCE_S) == text


def test_a_command_that_does_not_read_its_input_is_run_all_the_same(host):
    assert host.run(["true"], input_text="x" * 1_000_000).status == 0


def test_runs_go_beside_each_other_and_beside_the_clock(host):
    with ThreadPoolExecutor(8) as pool:
        started = time.monotonic()
        waiting = [pool.submit(host.run, ["sleep", "1"]) for _ in range(8)]
        host.probe()
        assert not all(one.done() for one in waiting)
        assert all(one.result().status == 0 for one in waiting)
    assert time.monotonic() - started < 7


def test_a_process_is_spoken_to_line_by_line(host):
    process = host.spawn(["sh", "-c", "while read -r line; do echo got $line; done; echo end; exit 4"])
    process.send("one")
    process.send("two\n")
    assert [process.receive(PATIENCE_S) for _ in range(2)] == ["got one", "got two"]
    with pytest.raises(TimeoutError, match="filer: sh gave no output"):
        process.receive(0.05)
    process.end_input()
    assert [process.receive(PATIENCE_S) for _ in range(3)] == ["end", None, None]
    assert process.wait(PATIENCE_S) == 4


def test_a_process_that_has_ended_says_why_it_takes_no_line(host):
    process = host.spawn(["sh", "-c", "echo broken >&2; exit 7"])
    assert process.receive(PATIENCE_S) is None
    assert process.wait(PATIENCE_S) == 7
    with pytest.raises(TrialError, match=r"filer: sh has ended \(status 7\): broken"):
        process.send("more")
    process.kill()


def test_the_end_of_a_long_complaint_is_kept(host):
    process = host.spawn(["sh", "-c", "seq 1 20000 >&2; exit 1"])
    assert process.wait(PATIENCE_S) == 1
    assert process.complaint().endswith("19999\n20000\n")
    assert len(process.complaint()) == 2000


def test_a_kill_ends_the_whole_group(host, tmp_path):
    pids = tmp_path / "pids"
    process = host.spawn(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"])
    assert until(lambda: pids.exists() and pids.read_text().strip())
    process.kill()
    assert process.wait(PATIENCE_S) == -9
    assert until(lambda: ended(int(pids.read_text())))
    assert ended(process.pid)


def test_what_a_process_leaves_in_its_group_ends_with_it(host, tmp_path):
    pids = tmp_path / "pids"
    process = host.spawn(["sh", "-c", f"sleep 600 & echo $! > {pids}"])
    assert process.receive(PATIENCE_S) is None
    assert until(lambda: ended(int(pids.read_text())))


def test_wait_raises_where_the_process_goes_on(host):
    process = host.spawn(["sleep", "600"])
    with pytest.raises(TimeoutError, match="filer: sleep still runs"):
        process.wait(0.05)
    process.kill()


def test_a_listener_hears_what_came_before_and_after_and_the_end(host):
    process = host.spawn(["sh", "-c", "echo one; read x; echo two"])
    assert until(lambda: not process._lines.empty())
    heard = []
    before = time.monotonic_ns()
    process.listen(lambda line, at_ns: heard.append((line, at_ns)))
    process.send("go on")
    assert process.wait(PATIENCE_S) == 0
    assert [line for line, _ in heard] == ["one", "two", None]
    assert [at > before for _, at in heard] == [False, True, True]


def test_a_listener_that_asks_its_host_is_refused_at_once(host):
    process = host.spawn(["sh", "-c", "read x; echo one"])
    found = []

    def heard(line, _at_ns):
        if line is not None:
            try:
                host.read("/proc/uptime")
            except AssertionError as error:
                found.append(str(error))

    process.listen(heard)
    process.send("go")
    assert process.wait(PATIENCE_S) == 0
    assert "would wait for ever" in found[0]


def test_sixteen_engines_over_one_channel(host):
    engines = [host.spawn(["assay-engine"], env={"ASSAY_FAMILY": "x"}) for _ in range(16)]
    heard = {engine.pid: [] for engine in engines}
    for engine in engines:
        engine.listen(lambda line, _at, pid=engine.pid: heard[pid].append(line))
    for engine in engines:
        settings = {"operation": "null", "ops": 1000}
        engine.send(json.dumps({"type": "config", "engine": "null", "phase": "p", "settings": settings}))
        engine.send(json.dumps({"type": "go", "at_ns": 0}))
    assert until(lambda: all(any('"result"' in line for line in lines) for lines in heard.values()))
    for engine in engines:
        kinds = [json.loads(line)["type"] for line in heard[engine.pid]]
        assert [kind for kind in kinds if kind != "progress"] == ["hello", "armed", "result"]
        assert json.loads(heard[engine.pid][0])["pid"] == engine.pid
        engine.kill()
    assert all(ended(engine.pid) for engine in engines)


def test_many_threads_ask_at_once_and_each_gets_its_own_answer(host, tmp_path):
    def ask(number):
        path = tmp_path / f"file-{number}"
        host.write(str(path), str(number))
        process = host.spawn(["sh", "-c", f"read x; echo {number} $x"])
        process.send(str(number))
        return (
            host.read(str(path)),
            host.run(["echo", str(number)]).stdout.strip(),
            process.receive(PATIENCE_S),
            process.wait(PATIENCE_S),
        )

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, range(120)))
    assert answers == [(str(n), str(n), f"{n} {n}", 0) for n in range(120)]


# Looks


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


# System calls


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


# The end of a host


def raises_lost(host, reason):
    for call in (lambda: host.read("/proc/uptime"), lambda: host.run(["true"]), host.probe, lambda: host.spawn(["cat"])):
        with pytest.raises(LostHostError, match=f"host filer is lost: .*{reason}") as seen:
            call()
        assert isinstance(seen.value, AssayError)
        assert isinstance(seen.value, OSError)
    with pytest.raises(LostHostError):
        host.look("x").end()


def test_a_killed_agent_is_lost_at_once_and_its_processes_with_it(host):
    engine, sleeper = host.spawn(["assay-engine"]), host.spawn(["sleep", "600"])
    assert json.loads(engine.receive(PATIENCE_S))["type"] == "hello"
    heard = []
    sleeper.listen(lambda line, _at_ns: heard.append(line))
    failed = []
    waiting = threading.Thread(target=lambda: failed.append(outcome_of(lambda: host.run(["sleep", "600"]))))
    waiting.start()
    os.kill(host.hello["pid"], signal.SIGKILL)
    waiting.join(PATIENCE_S)
    assert isinstance(failed[0], LostHostError)
    raises_lost(host, "its connection ended")
    assert until(lambda: ended(engine.pid) and ended(sleeper.pid))
    assert engine.receive(PATIENCE_S) is None
    assert heard == [None]
    with pytest.raises(LostHostError, match="host filer is lost"):
        engine.wait(PATIENCE_S)
    with pytest.raises(LostHostError, match="host filer is lost"):
        engine.send("more")
    engine.kill()
    engine.end_input()


def outcome_of(call):
    try:
        return call()
    except (AssayError, OSError) as error:
        return error


@pytest.fixture
def little_patience(monkeypatch):
    """A frozen agent does not end by itself."""
    monkeypatch.setattr("assay.hosts.channel.FAREWELL_S", 0.5)


def test_an_agent_that_is_frozen_is_lost_after_its_lease(little_patience):
    with far_host(lease_s=1.5) as host:
        os.kill(host.hello["pid"], signal.SIGSTOP)
        began = time.monotonic()
        assert until(lambda: host.lost() is not None)
        assert time.monotonic() - began > 1
        raises_lost(host, "nothing came from it for 1.5 s")


def test_a_frozen_agent_that_is_asked_much_is_lost_all_the_same(tmp_path, little_patience):
    with far_host(lease_s=1.5) as host, ThreadPoolExecutor(4) as pool:
        os.kill(host.hello["pid"], signal.SIGSTOP)
        asked = [pool.submit(host.write, str(tmp_path / "x"), "x" * 200_000) for _ in range(4)]
        assert all(isinstance(one.exception(PATIENCE_S), LostHostError) for one in asked)


def test_the_lease_is_renewed_as_long_as_we_live():
    with far_host(lease_s=1.0) as host:
        time.sleep(2.5)
        assert host.run(["true"]).status == 0


def test_a_closed_host_ends_its_agent_and_says_so(tmp_path):
    with far_host() as host:
        process = host.spawn(["sleep", "600"])
        host.close()
        host.close()
        assert ended(host.hello["pid"])
        assert ended(process.pid)
        raises_lost(host, "its connection was closed")


def test_something_that_is_no_agent_is_told_with_its_words():
    from assay.hosts.channel import LocalChannel

    with pytest.raises(LostHostError, match="host x is lost: its connection ended: no space here"):
        FarHost("x", LocalChannel(["sh", "-c", "echo no space here >&2; exit 1"]))
    with pytest.raises(LostHostError, match=r"did not answer for 0\.3 s"):
        FarHost("x", LocalChannel(["cat"]), hello_s=0.3)


def test_what_a_login_shell_says_before_the_agent_is_left_out():
    from assay.hosts.channel import LocalChannel

    channel = LocalChannel(["sh", "-c", f"echo Welcome; echo; echo '42'; exec {ENGINE} agent"])
    with FarHost("filer", channel) as host:
        assert host.run(["true"]).status == 0


class Damaging:
    """A channel that damages the lines of one direction from some moment on."""

    def __init__(self, channel):
        self.channel, self.outwards, self.inwards = channel, "", ""

    def send(self, line):
        self.channel.send(self.outwards or line)

    def listen(self, heard):
        self.channel.listen(lambda line, at_ns: heard(self.inwards if self.inwards and line else line, at_ns))

    def __getattr__(self, name):
        return getattr(self.channel, name)


@pytest.mark.parametrize("text", ["\x00rubbish", '{"id":', "[1]", '{"process":1}', '{"id":[]}', '{"type":"x"}'])
def test_a_damaged_line_from_the_far_end_loses_the_host(text):
    channel = Damaging(agent_channel())
    with FarHost("filer", channel) as host:
        process = host.spawn(["cat"])
        assert process._number == 2
        channel.inwards = text.replace('"process":1', '"process":2')
        raises_lost(host, "expected a message|damaged|KeyError")


def test_a_damaged_line_to_the_far_end_loses_the_host():
    channel = Damaging(agent_channel())
    with FarHost("filer", channel) as host:
        channel.outwards = '{"do":"clo'
        raises_lost(host, "it found a damaged line")


def test_a_request_that_the_agent_does_not_know_is_refused(host):
    with pytest.raises(RefusedError, match=r"filer: unknown variant .format_disk."):
        host._exchange.ask("format_disk")
    with pytest.raises(RefusedError, match=r"filer: unknown field .more."):
        host._exchange.ask("read", path="/proc/uptime", more=1)
    with pytest.raises(RefusedError, match=r"filer: missing field .path."):
        host._exchange.ask("read")
    assert host.run(["true"]).status == 0
