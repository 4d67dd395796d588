"""A far host over a real agent of this machine."""

import errno
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.catalogue import Machine, Notes
from assay.errors import MissingError, TrialError
from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost
from assay.hosts.local import Local
from stage.agents import ENGINE, PATIENCE_S, far_host
from stage.assay_process import wait_until
from stage.processes import ended


@pytest.fixture
def host(tmp_path):
    with far_host(env={"XDG_RUNTIME_DIR": str(tmp_path)}) as made:
        yield made


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


def test_files_are_written_and_read_as_a_whole(host, tmp_path):
    file = tmp_path / "file"
    file.write_text("much longer than what follows")
    host.write(str(file), 'quote " newline \n and $(date) ä')
    assert file.read_text() == 'quote " newline \n and $(date) ä'
    assert host.read(str(file)) == file.read_text()
    with pytest.raises(FileNotFoundError, match="filer:/nowhere") as seen:
        host.read("/nowhere")
    assert (seen.value.errno, seen.value.strerror) == (errno.ENOENT, os.strerror(errno.ENOENT))
    with pytest.raises(IsADirectoryError, match="filer:/"):
        host.write(str(tmp_path), "")
    (tmp_path / "bytes").write_bytes(b"a\xff\xfe\n\x00\xe2\x82b")
    assert host.read(str(tmp_path / "bytes")) == Local().read(str(tmp_path / "bytes"))
    assert host.run(["printf", r"a\377b\n"]).stdout == "a\ufffdb\n"
    process = host.spawn(["printf", r"\377one\ntwo"])
    assert [process.receive(PATIENCE_S) for _ in range(3)] == ["\ufffdone", "two", None]
    for call in (lambda: host.read("/x\udc80"), lambda: host.run(["echo", "\udc80"])):
        with pytest.raises(OSError, match="filer"):
            call()
    assert host.run(["printf", "%s", "\u2028 ä \x85"]).stdout == "\u2028 ä \x85"


def test_a_far_host_keeps_notes(host):
    assert isinstance(host, Notes)
    assert not isinstance(Local(), Notes)
    assert host.far
    assert host.look("x").host.far


def test_the_clock_of_a_far_host_lies_between_asking_and_answer(host):
    probes = [host.probe() for _ in range(50)]
    assert all(asked <= theirs <= answered for asked, theirs, answered in probes)
    before = time.monotonic_ns()
    assert before <= host.monotonic_ns() <= time.monotonic_ns()


@pytest.mark.root
def test_a_clock_that_is_another_one_is_known_within_the_bound():
    """A time namespace has a clock of its own, and the offset is known exactly."""
    offset_s = 5000
    words = ["unshare", "--time", "--monotonic", str(offset_s), "--fork", "--kill-child", str(ENGINE), "agent"]
    with FarHost("filer", LocalChannel(words)) as host:
        for asked, theirs, answered in (host.probe() for _ in range(50)):
            assert asked <= theirs - offset_s * 10**9 <= answered
        began, took = host.look("x").end()
        assert time.monotonic_ns() - 10**9 * PATIENCE_S < began - offset_s * 10**9 <= time.monotonic_ns()
        assert took >= 0


def test_commands_are_run_and_told(host):
    done = host.run(["sh", "-c", "echo $LC_ALL $EXTRA; pwd; cat; echo oops >&2"], input_text="in", env={"EXTRA": "x"}, cwd="/")
    assert (done.status, done.stdout, done.stderr) == (0, "C x\n/\nin", "oops\n")
    assert done.argv[0] == "sh"
    assert done.wall_ns > 0
    with pytest.raises(TrialError, match=r"filer: sh -c echo no >&2; exit 3: exit status 3: no"):
        host.run(["sh", "-c", "echo no >&2; exit 3"])
    assert host.run(["sh", "-c", "exit 3"], check=False).status == 3
    assert host.run(["sh", "-c", "kill -9 $$"], check=False).status == -9
    with pytest.raises(MissingError, match="filer: no-such-command"):
        host.run(["no-such-command"])
    with pytest.raises(MissingError, match="filer: /no/such"):
        host.spawn(["/no/such"])
    with pytest.raises(OSError, match="filer"):
        host.run(["true"], cwd="/nowhere")
    with pytest.raises(OSError, match="filer"):
        host.run([])
    assert host.run(["true"], input_text="x" * 1_000_000).status == 0


def test_system_tools_are_found_although_path_lacks_their_directory():
    with far_host(env={"PATH": "/usr/bin:/bin"}) as host:
        assert host.run(["losetup", "--version"]).status == 0


def test_a_command_that_takes_too_long_is_ended_with_its_group(host, tmp_path):
    pids = tmp_path / "pids"
    with pytest.raises(TrialError, match=r"filer: sh .*stopped after"):
        host.run(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"], timeout_s=0.5)
    wait_until(lambda: ended(int(pids.read_text())))
    with pytest.raises(TrialError, match="stopped after"):
        host.run(["sh", "-c", "exec >&- 2>&-; sleep 600"], timeout_s=0.2)


def test_what_an_agent_starts_ends_at_the_signals_that_the_agent_waits_for(host):
    """A server that a command leaves behind is ended by SIGTERM, as on this machine: a blocked signal is inherited."""
    mask = host.run(["grep", "SigBlk", "/proc/self/status"]).stdout.split()[1]
    assert int(mask, 16) == 0
    process = host.spawn(["sleep", "60"])
    host.run(["kill", "-TERM", str(process.pid)])
    assert process.wait(PATIENCE_S) == -signal.SIGTERM


def test_a_server_that_a_command_leaves_behind_stays(host, tmp_path):
    left = int(host.run(["sh", "-c", "sleep 600 > /dev/null 2>&1 & echo $!"]).stdout)
    assert host.run(["true"]).status == 0
    assert not ended(left)
    os.kill(left, signal.SIGKILL)


def test_outputs_and_inputs_come_whole(host, tmp_path):
    done = host.run(["sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' y >&2"])
    assert (len(done.stdout), set(done.stdout), len(done.stderr)) == (9_000_000, {"x"}, 300_000)
    with pytest.raises(TrialError, match="16 MiB"):
        host.run(["head", "-c", "20000000", "/dev/zero"])
    with pytest.raises(OSError, match="filer") as seen:
        host.read("/dev/zero")
    assert seen.value.errno == errno.EFBIG
    text = "0123456789abcdef" * 500_000
    assert host.run(["wc", "-c"], input_text=text).stdout.strip() == str(len(text))
    host.write(str(tmp_path / "big"), text)
    assert host.read(str(tmp_path / "big")) == text
    process = host.spawn(["cat"])
    process.send(text)
    assert process.receive(PATIENCE_S) == text
    process = host.spawn(["sh", "-c", "seq 1 20000 >&2; exit 1"])
    assert process.wait(PATIENCE_S) == 1
    assert process.complaint().endswith("19999\n20000\n")
    assert len(process.complaint()) == 2000


def test_runs_go_beside_each_other_and_beside_the_clock(host, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        each = f'mkdir "{tmp_path}/$1"; while [ "$(ls "{tmp_path}" | wc -l)" -lt 8 ]; do sleep 0.05; done'
        waiting = [pool.submit(host.run, ["sh", "-c", each, "sh", str(at)], timeout_s=PATIENCE_S) for at in range(7)]
        host.probe()
        assert not any(one.done() for one in waiting)
        (tmp_path / "7").mkdir()
        assert all(one.result().status == 0 for one in waiting)


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
    process = host.spawn(["sh", "-c", "echo broken >&2; exit 7"])
    assert process.receive(PATIENCE_S) is None
    assert process.wait(PATIENCE_S) == 7
    with pytest.raises(TrialError, match=r"filer: sh has ended \(status 7\): broken"):
        process.send("more")
    process.kill()
    process = host.spawn(["sleep", "600"])
    with pytest.raises(TimeoutError, match="filer: sleep still runs"):
        process.wait(0.05)
    process.kill()


def test_a_kill_ends_the_whole_group(host, tmp_path):
    pids = tmp_path / "pids"
    process = host.spawn(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"])
    wait_until(lambda: pids.exists() and pids.read_text().strip())
    process.kill()
    assert process.wait(PATIENCE_S) == -9
    wait_until(lambda: ended(int(pids.read_text())))
    assert ended(process.pid)


def test_what_a_process_leaves_in_its_group_ends_with_it(host, tmp_path):
    pids = tmp_path / "pids"
    process = host.spawn(["sh", "-c", f"sleep 600 & echo $! > {pids}"])
    assert process.receive(PATIENCE_S) is None
    wait_until(lambda: ended(int(pids.read_text())))


def test_a_listener_hears_what_came_before_and_after_and_the_end(host):
    process = host.spawn(["sh", "-c", "echo one; read x; echo two"])
    wait_until(lambda: not process._lines.empty())
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
    wait_until(lambda: all(any('"result"' in line for line in lines) for lines in heard.values()))
    for engine in engines:
        kinds = [json.loads(line)["type"] for line in heard[engine.pid]]
        assert [kind for kind in kinds if kind not in ("progress", "told")] == ["hello", "armed", "result"]
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
