"""A watched command's output, input, terminal and signals are as without us."""

import contextlib
import json
import os
import pty
import random
import select
import signal
import subprocess
import sys
import time

from assay.watch import relay
from stage.watch_stage import DRIVER, MIB, call, of, watched


def test_output_is_passed_on_byte_for_byte_and_apart(room):
    script = "import os, sys\nfor i in range(160):\n os.write(1, os.urandom(65536)); os.write(2, b'%d\\n' % i)\n"
    whole = "import random, sys; r = random.Random(7); sys.stdout.buffer.write(r.randbytes(10 << 20))"
    seen, _, (out, err) = watched(room, sys.executable, "-S", "-c", script)
    assert (len(out), err) == (160 * 65536, b"".join(b"%d\n" % i for i in range(160)))
    assert seen["stderr"] == {"text": err.decode(), "truncated": False, "refused": ""}
    seen, _, (out, _) = watched(room, sys.executable, "-S", "-c", whole)
    plain = subprocess.run([sys.executable, "-S", "-c", whole], capture_output=True, check=True).stdout
    assert out == plain
    assert seen["stdout"]["truncated"]
    kept = [plain[:MIB].decode("utf-8", "replace"), plain[-MIB:].decode("utf-8", "replace")]
    assert seen["stdout"]["text"] == f"\n[... {8 * MIB} bytes not kept ...]\n".join(kept)


def test_beginning_and_end_are_kept_whatever_the_length(subtests):
    for size in [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 7]:
        with subtests.test(size=size):
            said = random.Random(size).randbytes(size).hex()[:size].encode()
            tee = relay.StreamCopy(None).open()
            inside = os.dup(tee.inside)
            tee.start()
            with os.fdopen(inside, "wb") as pipe:
                pipe.write(said)
            kept = tee.finish(held=False)
            assert kept.truncated == (size > 2 * MIB)
            middle = f"\n[... {size - 2 * MIB} bytes not kept ...]\n" if kept.truncated else ""
            assert kept.text.encode() == (said[:MIB] + middle.encode() + said[-MIB:] if kept.truncated else said)


def test_output_can_be_kept_to_ourselves(room):
    seen, _, (out, err) = watched(room, "sh", "-c", "echo out; echo err >&2", options=("--quiet",))
    assert (out, err) == (b"", b"")
    assert (seen["stdout"]["text"], seen["stderr"]["text"]) == ("out\n", "err\n")


def test_a_slow_reader_gets_all_whoever_still_holds_the_stream(subtests, room):
    for left in ["", "sleep 600 & echo $! > pid; "]:
        with subtests.test(left=left):
            script = f"{left}head -c 1500000 /dev/zero"
            process, result = call(room, "sh", "-c", script, options=("--linger", "0.1"), stdout=subprocess.PIPE)
            time.sleep(1.5)
            took = process.stdout.read(1_000_000)
            time.sleep(0.5)
            took += process.stdout.read(500_000)
            assert (took, process.wait(300)) == (bytes(1_500_000), 0)
            process.stdout.close()
            assert len(json.loads(result.read_text())["stdout"]["text"]) == 1_500_000
            if left:
                os.kill(int((room / "pid").read_text()), signal.SIGKILL)


def test_a_reader_that_goes_away_ends_the_command_as_without_us(room):
    process, result = call(room, "yes", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.read(4) == b"y\ny\n"
    process.stdout.close()
    assert process.wait(300) in (1, 128 + signal.SIGPIPE)
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


def test_signals_that_we_get_end_the_command(subtests, room):
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]:
        with subtests.test(number=number):
            process, result = call(room, "sh", "-c", "echo ready; exec sleep 600", stdout=subprocess.PIPE)
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.1)
            process.send_signal(number)
            assert process.wait(300) == 128 + number
            process.stdout.close()
            assert json.loads(result.read_text())["signal"] == number


def test_signals_that_mean_something_to_the_command_reach_it(room):
    script = (
        "import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\nprint('ready', flush=True)\nsignal.pause()"
    )
    process, _ = call(room, sys.executable, "-S", "-c", script, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.wait(300) == 7
    process.stdout.close()


def test_status_signal_and_what_cannot_be_run(room):
    seen, status, _ = watched(room, "sh", "-c", "kill -9 $$")
    assert (seen["status"], seen["signal"], status) == (None, 9, 137)
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
    _, err = process.communicate(timeout=300)
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
    deadline = time.monotonic() + 300
    while until not in said and time.monotonic() < deadline:
        if select.select([keyboard], [], [], 0.2)[0]:
            try:
                said += os.read(keyboard, 4096)
            except OSError:
                break
    assert until in said, said
    return said


def test_a_key_of_the_terminal_reaches_the_command_once(room):
    waits = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done"
    until = "until [ $got ]; do sleep 0.1; done"
    script = f"ASSAY sh -c 'trap \"echo got; got=1\" INT; echo ready; {until}; {waits}; exit 9'; echo ended $?"
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


def test_the_result_that_a_tool_writes_to_a_file_is_read_and_an_earlier_one_is_not(room):
    seen, *_ = watched(room, "sh", "-c", "echo 42 > out.json", options=("--result", "out.json"))
    assert seen["result"] == "42\n"
    (room / "out.json").write_text("41\n")
    seen, *_ = watched(room, "false", options=("--result", "out.json"))
    assert seen["result"] is None
