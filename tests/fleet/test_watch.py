"""Foreign commands really watched: accounts, output, signals, touched files and the drain, and nothing left behind."""

import contextlib
import json
import os
import pty
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from assay.fleet import teed
from assay.fleet.hosts import exits
from assay_process import as_nobody, wait_until

MIB = 1 << 20
SIZE = 64 * MIB
DRIVER = Path(__file__).parent.parent / "watch_driver.py"
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: fanotify, taskstats, loop devices")


@pytest.fixture
def room():
    """A directory on the disk that the machine's temporary files are on, for files that caches and devices know."""
    with tempfile.TemporaryDirectory(prefix="assay-watch-", dir="/var/tmp") as path:
        yield Path(path)


def call(room, *argv, options=(), through=(), **more):
    """The process of a watched command, not waited for, and the file for its result."""
    result = room / f"result-{time.monotonic_ns()}.json"
    command = [*through, sys.executable, str(DRIVER), str(result), *options, "--", *map(str, argv)]
    return subprocess.Popen(command, cwd=room, **more), result


def watched(room, *argv, **more):
    """What came of a command, its status, and its output as it was passed on."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    process, result = call(room, *argv, **given)
    out, err = process.communicate(timeout=60)
    seen = json.loads(result.read_text()) if result.exists() else None
    assert seen is not None or process.returncode in (126, 127), err.decode()
    return seen, process.returncode, (out, err)


def moved(seen, rung, direction, span="clock"):
    found = [
        one for one in seen["observations"]["readings"] if (one["rung"], one["direction"], one["span"]) == (rung, direction, span)
    ]
    return sum(one["bytes"] for one in found)


def gauge(seen, path, metric):
    """A figure of the page cache of one file, at the end of the command and after the drain."""
    series = [one for one in seen["observations"]["series"] if (one["subject"], one["metric"]) == (f"path:{path}", metric)]
    return series[0]["value"] if series else None


def of(seen, path):
    """The record of one touched file, None where it is not known."""
    return next((one for one in seen["files"] if one["path"] == str(path)), None)


def filled(path, size=SIZE, *, cold=False):
    """A file of random bytes on the disk, in memory or not."""
    with path.open("wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
        if cold:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


# ---------------------------------------------------------------------------------------------------- accounts


@pytest.mark.parametrize("argv", [("dd", "if=f", "of=/dev/null", "bs=1M"), ("cat", "f"), ("cp", "f", "g")])
def test_a_cold_file_is_read_from_storage_and_a_warm_one_is_not(room, argv):
    filled(room / "f", cold=True)
    cold, *_ = watched(room, *argv, stdout=subprocess.DEVNULL)
    warm, *_ = watched(room, *argv, stdout=subprocess.DEVNULL)
    for seen in (cold, warm):
        assert seen["status"] == 0
        assert seen["account"]["lost"] == 0
        assert SIZE <= moved(seen, "L1", "read") <= 1.05 * SIZE or "cp" in argv
    assert moved(cold, "L2", "read") >= SIZE > 8 * MIB > moved(warm, "L2", "read")
    assert of(cold, room / "f")["cached_before_bytes"] < MIB
    assert of(warm, room / "f")["cached_before_bytes"] == SIZE


def test_children_of_children_are_in_the_account(room):
    filled(room / "f", 8 * MIB)
    seen, *_ = watched(room, "sh", "-c", "sh -c 'cat f f f f; true' > /dev/null; cat f > /dev/null")
    assert 40 * MIB <= seen["account"]["rchar"] <= 42 * MIB
    assert seen["account"]["processes"] == 1
    assert seen["account"]["lost"] == 0
    assert seen["account"]["cpu_user_ns"] + seen["account"]["cpu_system_ns"] > 0


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)
        time.sleep(0.6)
        with open("late", "wb") as file:
            file.write(bytes(8 << 20))
        os._exit(0)
    os._exit(0)
os.wait()
"""


def test_a_daemon_that_goes_on_after_the_command_is_waited_for_and_accounted(room):
    seen, status, _ = watched(room, sys.executable, "-S", "-c", DAEMON)
    assert status == 0
    assert seen["elapsed_ns"] > 600_000_000
    assert seen["account"]["wchar"] >= 8 * MIB
    assert seen["account"]["processes"] == 2
    assert seen["account"]["lost"] == 0


def test_what_outlives_the_command_for_long_makes_the_account_a_lower_bound(room):
    script = "(head -c 5000000 /dev/zero > big; exec sleep 30) > /dev/null 2>&1 & echo $!; sleep 0.3"
    seen, status, (out, _) = watched(room, "sh", "-c", script, options=("--linger", "0.2"))
    os.kill(int(out), signal.SIGKILL)
    assert status == 0
    assert seen["account"]["lost"] == 1
    assert "outlived" in seen["account"]["lost_reason"]
    assert seen["account"]["wchar"] >= 5_000_000
    assert seen["elapsed_ns"] < 20 * 10**9


def test_a_signal_after_the_commands_end_ends_the_wait_for_its_daemons(room):
    script = "sleep 30 > /dev/null 2>&1 & echo $!"
    process, result = call(room, "sh", "-c", script, options=("--linger", "60"), stdout=subprocess.PIPE)
    daemon = int(process.stdout.readline())
    wait_until(lambda: Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1] == str(process.pid))
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    os.kill(daemon, signal.SIGKILL)
    process.stdout.close()
    assert json.loads(result.read_text())["account"]["lost"] == 1


IGNORES = """
import os, signal, subprocess
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.execvp("dd", ["dd", "if=f", "of=/dev/null", "bs=1M", "status=none"])
try:
    os.wait()
except ChildProcessError:
    pass
"""


@root
def test_children_that_the_kernel_reaps_are_known_from_their_exit_records(room):
    source, reason = exits.listen()
    if source is None:
        pytest.skip(f"nobody hears of exits here: {reason}")
    source.close()
    filled(room / "f", cold=True)
    seen, *_ = watched(room, sys.executable, "-S", "-c", IGNORES)
    assert seen["account"]["lost"] == 0
    assert seen["account"]["read_bytes"] >= SIZE
    assert seen["account"]["rchar"] >= SIZE
    sources = {one["source"] for one in seen["observations"]["readings"] if one["rung"] in ("L1", "L2")}
    assert sources == {"tree:taskstats"}


def test_without_exit_records_they_are_said_to_be_lost():
    with as_nobody(DRIVER) as bench:
        filled(bench.home / "f", 8 * MIB).chmod(0o644)
        bench.home.chmod(0o777)
        seen, *_ = watched(bench.home, sys.executable, "-S", "-c", IGNORES, through=bench.through, env=bench.environment())
    assert seen["account"]["lost"] >= 1
    assert "SIGCHLD" in seen["account"]["lost_reason"]


def test_a_process_with_more_rights_than_ours_is_said_to_be_lost():
    with as_nobody(DRIVER) as bench:
        bench.home.chmod(0o777)
        shutil.copy(shutil.which("cat"), bench.home / "cat")
        (bench.home / "cat").chmod(0o4755)
        words = ("sh", "-c", "./cat /dev/null; echo done")
        ours, *_ = watched(bench.home, *words, through=bench.through, env=bench.environment())
        words = ("./cat", "/dev/null")
        seen, status, _ = watched(bench.home, *words, through=bench.through, env=bench.environment())
    assert (status, seen["account"]["lost"], ours["account"]["lost"]) == (0, 1, 0)
    assert "other rights" in seen["account"]["lost_reason"]


def test_the_bytes_over_time_rise_from_nothing_to_the_account(room):
    script = (
        "dd if=/dev/zero of=f bs=1M count=8 conv=fsync status=none; sleep 1.3; dd if=/dev/zero of=g bs=1M count=8 status=none"
    )
    seen, *_ = watched(room, "sh", "-c", script)
    (series,) = [one for one in seen["observations"]["series"] if one["metric"] == "write_bytes" and one["layer"] == "process"]
    assert series["value"][0] == 0
    assert series["value"] == sorted(series["value"])
    assert series["value"][-1] == seen["account"]["write_bytes"]
    assert any(8 * MIB <= value < 16 * MIB for value in series["value"])


# --------------------------------------------------------------------------------------- output, input, signals


def test_output_is_passed_on_byte_for_byte_and_apart(room):
    script = "import os, sys\nfor i in range(160):\n os.write(1, os.urandom(65536)); os.write(2, b'%d\\n' % i)\n"
    whole = "import random, sys; r = random.Random(7); sys.stdout.buffer.write(r.randbytes(10 << 20))"
    seen, _, (out, err) = watched(room, sys.executable, "-S", "-c", script)
    assert (len(out), err) == (160 * 65536, b"".join(b"%d\n" % i for i in range(160)))
    assert seen["stderr"] == {"text": err.decode(), "truncated": False}
    seen, _, (out, _) = watched(room, sys.executable, "-S", "-c", whole)
    plain = subprocess.run([sys.executable, "-S", "-c", whole], capture_output=True, check=True).stdout
    assert out == plain
    assert seen["stdout"]["truncated"]
    kept = [plain[:MIB].decode("utf-8", "replace"), plain[-MIB:].decode("utf-8", "replace")]
    assert seen["stdout"]["text"] == f"\n[... {8 * MIB} bytes are not kept ...]\n".join(kept)


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 7])
def test_beginning_and_end_are_kept_whatever_the_length(size):
    said = random.Random(size).randbytes(size).hex()[:size].encode()
    tee = teed.Tee(None).open()
    inside = os.dup(tee.inside)
    tee.start()
    with os.fdopen(inside, "wb") as pipe:
        pipe.write(said)
    kept = tee.finish(30)
    assert kept.truncated == (size > 2 * MIB)
    middle = f"\n[... {size - 2 * MIB} bytes are not kept ...]\n" if kept.truncated else ""
    assert kept.text.encode() == (said[:MIB] + middle.encode() + said[-MIB:] if kept.truncated else said)


def test_output_can_be_kept_to_ourselves(room):
    seen, _, (out, err) = watched(room, "sh", "-c", "echo out; echo err >&2", options=("--quiet",))
    assert (out, err) == (b"", b"")
    assert (seen["stdout"]["text"], seen["stderr"]["text"]) == ("out\n", "err\n")


def test_a_reader_that_goes_away_ends_the_command_as_without_us(room):
    process, result = call(room, "yes", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.read(4) == b"y\ny\n"
    process.stdout.close()
    assert process.wait(30) in (1, 128 + signal.SIGPIPE)
    assert json.loads(result.read_text())["signal"] in (None, signal.SIGPIPE)


def test_standard_input_and_open_files_are_the_commands(room):
    (room / "in").write_bytes(b"hello\0world" * 1000)
    with (room / "in").open("rb") as given:
        seen, _, (out, _) = watched(room, "cat", stdin=given)
    assert out == b"hello\0world" * 1000
    assert of(seen, room / "in")["written"] is False
    with (room / "log").open("wb") as extra:
        os.set_inheritable(extra.fileno(), True)
        script = f"head -c 3000000 /dev/zero >&{extra.fileno()}"
        seen, *_ = watched(room, "bash", "-c", script, pass_fds=(extra.fileno(),))
    assert of(seen, room / "log")["written"] is True
    assert of(seen, room / "log")["size_bytes"] == 3_000_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_that_we_get_end_the_command(room, number):
    process, result = call(room, "sh", "-c", "echo ready; exec sleep 60", stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    process.stdout.close()
    assert json.loads(result.read_text())["signal"] == number


def test_signals_that_mean_something_to_the_command_reach_it(room):
    script = (
        "import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\nprint('ready', flush=True)\nsignal.pause()"
    )
    process, _ = call(room, sys.executable, "-S", "-c", script, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.wait(30) == 7
    process.stdout.close()


def test_a_killed_command_is_told_by_its_signal(room):
    seen, status, _ = watched(room, "sh", "-c", "kill -9 $$")
    assert (seen["status"], seen["signal"], status) == (None, 9, 137)


def test_status_and_what_cannot_be_run(room):
    assert watched(room, "sh", "-c", "exit 3")[1] == 3
    assert watched(room, "no-such-command-anywhere")[1] == 127
    assert watched(room, "./missing/file")[1] == 127
    (room / "plain").write_text("text")
    assert watched(room, "./plain")[1] == 126
    (room / "script").write_text('echo "$1"; exit 5\n')
    (room / "script").chmod(0o755)
    assert watched(room, "./script", "a b")[1:] == (5, (b"a b\n", b""))


ASKS = "import os, sys; print(os.isatty(1), os.isatty(2), os.get_terminal_size(1)); print('err', file=sys.stderr)"


def test_where_ours_is_a_terminal_the_command_has_one_of_the_same_size(room):
    import termios

    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (33, 101))
    process, result = call(room, sys.executable, "-S", "-c", ASKS, stdout=inner, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=30)
    os.close(inner)
    said = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(outer, 4096):
            said += chunk
    os.close(outer)
    assert said == b"True False os.terminal_size(columns=101, lines=33)\r\n"
    assert err == b"err\n"
    assert json.loads(result.read_text())["stdout"]["text"] == said.decode().replace("\r", "")


@contextlib.contextmanager
def at_a_terminal(room, script):
    """A shell with job control whose terminal is ours to type on; `ASSAY` in the script watches what follows."""
    program = f"{sys.executable} {DRIVER} {room}/result.json --"
    pid, keyboard = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "-c", "set -m\n" + script.replace("ASSAY", program)])
    try:
        yield keyboard
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(keyboard)


def shown(keyboard, until):
    """What the terminal shows until it has shown so much."""
    said = b""
    deadline = time.monotonic() + 30
    while until not in said and time.monotonic() < deadline:
        if select.select([keyboard], [], [], 0.2)[0]:
            try:
                said += os.read(keyboard, 4096)
            except OSError:
                break
    assert until in said, said
    return said


def test_a_key_of_the_terminal_reaches_the_command_once(room):
    script = "ASSAY sh -c 'trap \"echo got\" INT; echo ready; sleep 30; sleep 0.5; exit 9'; echo ended $?"
    with at_a_terminal(room, script) as keyboard:
        shown(keyboard, b"ready")
        time.sleep(0.2)
        os.write(keyboard, b"\x03")
        assert shown(keyboard, b"ended 9").count(b"got") == 1


def test_a_stopped_job_stops_as_a_whole_and_goes_on(room):
    script = "ASSAY sh -c 'echo ready; read line; echo line=$line'; echo stopped $?; fg > /dev/null; echo ended $?"
    with at_a_terminal(room, script) as keyboard:
        shown(keyboard, b"ready")
        time.sleep(0.2)
        os.write(keyboard, b"\x1a")
        shown(keyboard, b"stopped 148")
        time.sleep(0.2)
        os.write(keyboard, b"typed\n")
        assert b"line=typed" in shown(keyboard, b"ended 0")


def test_the_result_that_a_tool_writes_to_a_file_is_read(room):
    seen, *_ = watched(room, "sh", "-c", "echo 42 > out.json", options=("--result", "out.json"))
    assert seen["result"] == "42\n"


# ------------------------------------------------------------------------------------------ files and the drain


def test_written_arguments_are_dirty_at_the_end_and_drained(room):
    seen, *_ = watched(room, "dd", "if=/dev/zero", f"of={room}/f", "bs=1M", "count=32", "status=none")
    one = of(seen, room / "f")
    assert (one["written"], one["size_bytes"], one["cached_before_bytes"]) == (True, 32 * MIB, 0)
    assert one["dirty_bytes"] == seen["drained_bytes"] > 0
    assert gauge(seen, room / "f", "dirty_bytes") == [one["dirty_bytes"], 0]
    assert seen["drain_ns"] > 0
    assert seen["files_missing"] is None
    flushed, *_ = watched(room, "dd", "if=/dev/zero", f"of={room}/g", "bs=1M", "count=32", "conv=fsync", "status=none")
    assert of(flushed, room / "g")["dirty_bytes"] == 0
    assert gauge(flushed, room / "g", "dirty_bytes") == [0, 0]


@root
def test_files_that_no_argument_names_are_known(room):
    (room / "deep" / "er").mkdir(parents=True)
    filled(room / "source", 4 * MIB)
    script = "cat source source > deep/er/target; echo x > deep/gone; rm deep/gone"
    seen, *_ = watched(room, "sh", "-c", script)
    assert of(seen, room / "deep/er/target")["written"] is True
    assert of(seen, room / "deep/er/target")["size_bytes"] == 8 * MIB
    assert of(seen, room / "source")["written"] is False
    assert of(seen, room / "deep/gone") is None
    assert seen["files_missing"] is None
    assert seen["drained_bytes"] is not None


@root
def test_files_of_others_are_not_the_commands(room):
    stop = room / "stop"
    other = subprocess.Popen(["sh", "-c", f"while [ ! -e {stop} ]; do echo x > {room}/others; sleep 0.01; done"])
    try:
        wait_until((room / "others").exists)
        seen, *_ = watched(room, "sh", "-c", "sleep 0.3; echo y > mine")
    finally:
        stop.touch()
        other.wait(10)
    assert of(seen, room / "mine") is not None
    assert of(seen, room / "others") is None


@root
def test_what_is_removed_while_it_is_followed_is_not_kept_alive(room):
    script = "dd if=/dev/zero of=f bs=1M count=16 status=none; rm f"
    seen, *_ = watched(room, "sh", "-c", script)
    assert seen["account"]["cancelled_write_bytes"] >= 15 * MIB or moved(seen, "L9", "write") > 8 * MIB


def test_an_ordinary_user_has_less_evidence_and_no_crash():
    with as_nobody(DRIVER) as bench:
        bench.home.chmod(0o777)
        given = {"through": bench.through, "env": bench.environment()}
        one, status, _ = watched(bench.home, "dd", "if=/dev/zero", "of=f", "bs=1M", "count=8", "status=none", **given)
        hidden = "dd if=/dev/zero bs=1M count=8 status=none | sh -c 'mkdir -p d; cat > d/h; mv d/h d/i; cp d/i d/k; rm d/i'"
        two, *_ = watched(bench.home, "sh", "-c", hidden, **given)
        held = "import time; f = open('held', 'wb'); f.write(bytes(8 << 20)); f.flush(); time.sleep(0.5)"
        three, *_ = watched(bench.home, sys.executable, "-S", "-c", held, **given)
    assert status == 0
    assert one["account"]["wchar"] >= 8 * MIB
    assert (of(one, bench.home / "f")["written"], one["files_missing"]) == (True, None)
    assert one["drain_ns"] > 0
    assert "not known" in two["files_missing"]
    assert of(three, bench.home / "held")["written"] is True


@root
def test_a_block_device_is_touched_as_a_file_is(room):
    with (room / "image").open("wb") as file:
        file.truncate(32 * MIB)
    made = subprocess.run(["losetup", "-f", "--show", room / "image"], check=True, capture_output=True, text=True)
    loop = made.stdout.strip()
    try:
        seen, *_ = watched(room, "sh", "-c", f"dd if=/dev/zero of={loop} bs=1M count=8 status=none")
        named, *_ = watched(room, "dd", f"if={loop}", "of=/dev/null", "bs=1M", "status=none")
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
    assert (of(seen, loop)["written"], of(seen, loop)["size_bytes"]) == (True, 32 * MIB)
    assert seen["drain_ns"] is not None
    assert of(named, loop)["written"] is False
    assert [place["kind"] for place in named["places"] if place["address"] == loop] == ["device"]


@contextlib.contextmanager
def throttled(room, rate):
    """A file system on a loop device that writes no faster than `rate` bytes/s."""
    image, point = room / "image", room / "mnt"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(128 * MIB)
    loop = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
    rule = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
    number = Path(f"/sys/block/{Path(loop).name}/dev").read_text().strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", loop], check=True)
        subprocess.run(["mount", loop, point], check=True)
        subprocess.run(["sync", "-f", point], check=True)
        rule.write_text(f"{number} {rate}\n")
        yield point, Path(loop).name
    finally:
        if rule.exists():
            rule.write_text(f"{number} 0\n")
        subprocess.run(["umount", point], check=False)
        subprocess.run(["losetup", "-d", loop], check=True)


@root
@pytest.mark.skipif(
    not Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists(), reason="no block throttle of control groups v1"
)
def test_the_drain_takes_as_long_as_the_disk_below_needs(room):
    with throttled(room, 16 * MIB) as (point, loop):
        seen, *_ = watched(room, "dd", "if=/dev/zero", f"of={point}/f", "bs=1M", "count=24", "status=none")
        stack = next(one["devices"] for one in seen["places"] if one["address"] == str(point))
    assert stack[0] == loop
    assert len(stack) >= 2
    assert seen["drained_bytes"] >= 16 * MIB
    assert seen["drain_ns"] >= 0.9 * (seen["drained_bytes"] / (16 * MIB)) * 1e9
    uppers = {one["subject"] for one in seen["observations"]["readings"] if one["rung"] == "L8"}
    assert uppers == {f"device:{loop}"}
    assert moved(seen, "L8", "write", "drain") >= 0.9 * seen["drained_bytes"]


# ------------------------------------------------------------------------------------------------ left behind


def test_nothing_is_left_behind_and_little_is_used(room):
    seen, *_ = watched(room, "sh", "-c", "sleep 1 & sleep 1; wait", stdout=subprocess.DEVNULL)
    # 0, 1, 2 and the directory that lists them
    assert len(seen["left"]["descriptors"]) == 4
    assert seen["left"]["children"] == []
    assert 0 < seen["own_cpu_ns"] < 250_000_000 + seen["elapsed_ns"] * 0.003


def test_the_command_is_in_our_group_and_session_and_control_groups(room):
    script = "import os; print(os.getpgrp(), os.getsid(0)); print(open('/proc/self/cgroup').read())"
    process, _ = call(room, sys.executable, "-S", "-c", script, stdout=subprocess.PIPE)
    out = process.communicate(timeout=30)[0].decode()
    group, session = out.splitlines()[0].split()
    assert (int(group), int(session)) == (os.getpgrp(), os.getsid(0))
    assert out.partition("\n")[2].strip() == Path("/proc/self/cgroup").read_text().strip()


def test_watching_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "duckdb", "pydantic", "typer", "rich", "altair", "jinja2")
    code = f"import sys, assay.fleet.watch; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_thousands_of_short_processes_are_followed(room):
    (room / "in").write_bytes(b"x" * 1000)
    script = 'i=0; while [ $i -lt 400 ]; do /bin/cat in >> "out$((i % 7))"; i=$((i + 1)); done'
    seen, *_ = watched(room, "sh", "-c", script)
    assert seen["account"]["lost"] == 0
    assert seen["account"]["wchar"] >= 400_000
    if os.geteuid() == 0 and seen["files_missing"] is None:
        assert {Path(one["path"]).name for one in seen["files"] if one["written"]} == {f"out{i}" for i in range(7)}
