"""A host behind shells, over real sshds: files, commands, names that are code elsewhere, looks, clocks, the way back."""

import os
import queue
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from unittest import mock

import pytest

from assay.errors import LostHostError, MissingError, TrialError
from assay.hosts import far_shell, shell_notes
from assay.hosts.addresses import parsed
from assay.hosts.shell import ShellHost
from assay.hosts.ssh import Door
from stage.assay_process import wait_until

pytestmark = pytest.mark.root
EVIL = 'it\'s $(touch pwned) `touch pwned`\n"x" -n \\ *'
SOON_S = shell_notes.LEASE_S - 5
"""Before any lease runs out."""
SHELLS = ("/bin/dash", "/bin/bash", "/bin/busybox")


def host_on(machine, name="s"):
    return ShellHost(name, Door(name, parsed(machine.address)), address=machine.address)


def files_as_a_local_host_gives_them(machine, host):
    (machine.home / "no end").write_text("one\n\ntwo")
    (machine.home / "empty").write_text("")
    assert host.read("/root/no end") == "one\n\ntwo"
    assert host.read("/root/empty") == ""
    assert host.list("/root") == ("empty", "no end")
    assert host.list("/nowhere") == ()
    assert (host.exists("/root/empty"), host.exists("/nowhere")) == (True, False)
    assert host.real_path("/proc/self/../version") == "/proc/version"
    host.write("/root/empty", "line\nhalf")
    assert (machine.home / "empty").read_text() == "line\nhalf"
    for path, error in (("/nowhere", FileNotFoundError), ("/root", IsADirectoryError), ("/root/empty/x", NotADirectoryError)):
        with pytest.raises(error):
            host.read(path)
    with pytest.raises(FileNotFoundError):
        host.write("/nowhere/x", "")


def names_are_taken_literally_and_never_executed(machine, host):
    path = f"/root/{EVIL}"
    host.write(path, EVIL)
    assert host.read(path) == EVIL
    assert EVIL in host.list("/root")
    assert host.exists(path)
    assert host.real_path(path) == path
    assert host.run(["printf", "%s", EVIL]).stdout == EVIL
    assert host.run(["cat"], input_text=EVIL).stdout == EVIL
    assert host.run(["sh", "-c", 'printf "%s|%s" "$A" "$PWD"'], env={"A": EVIL}, cwd="/root").stdout == f"{EVIL}|/root"
    process = host.spawn(["printf", "%s", EVIL])
    assert "\n".join(iter(lambda: process.receive(120), None)) == EVIL
    process.wait(300)
    host.note(1, EVIL, {EVIL: EVIL}, f"printf %s {shlex.quote(EVIL)} > /root/undone")
    host.close()
    assert (machine.home / "undone").read_text() == EVIL
    assert {one.name for one in machine.home.iterdir()} == {EVIL, "undone"}
    with pytest.raises(ValueError, match="null byte"):
        host.read("/a\0b")


def commands(machine, host):
    done = host.run(["sh", "-c", "echo out; echo problem >&2; cat; exit 3"], input_text="in", check=False)
    assert (done.status, done.stdout, done.stderr) == (3, "out\nin", "problem")
    assert host.run(["sh", "-c", "kill -9 $$"], check=False).status == -9
    with pytest.raises(TrialError, match="s: false: exit status 1"):
        host.run(["false"])
    with pytest.raises(MissingError, match="nonesuch: command not found on host s"):
        host.run(["nonesuch"])
    with pytest.raises(TrialError, match="time limit"):
        host.run(["sleep", "600"], timeout_s=0.3)
    assert host.run(["echo", "again"]).stdout == "again\n"


def a_command_that_takes_too_long_is_ended(machine, host):
    with pytest.raises(TrialError, match="time limit"):
        host.run(["sh", "-c", "sleep 601; true"], timeout_s=0.3)
    wait_until(lambda: not any("sleep 601" in command for command in machine.processes().values()))


def processes_are_spoken_to_line_by_line(machine, host):
    process = host.spawn(["cat"])
    for line in ("one", "", "two"):
        process.send(line)
    assert [process.receive(120) for _ in range(3)] == ["one", "", "two"]
    with pytest.raises(TimeoutError):
        process.receive(0.1)
    assert host.read(f"/proc/{process.pid}/comm") == "cat\n"
    assert process.wait(300) == 0
    assert process.receive(1) is None
    with pytest.raises(MissingError, match="nonesuch"):
        host.spawn(["nonesuch"])
    heard = queue.Queue()
    process = host.spawn(["sh", "-c", "echo a; printf b; echo why >&2; exit 5"])
    process.listen(lambda line, at_ns: heard.put(line))
    assert [heard.get(timeout=120) for _ in range(3)] == ["a", "b", None]
    assert process.wait(300) == 5
    assert "why" in process.complaint()


def a_killed_process_takes_its_children_with_it(machine, host):
    process = host.spawn(["sh", "-c", "sleep 602 & sleep 603"])
    wait_until(lambda: sum("sleep 60" in command for command in machine.processes().values()) >= 2)
    process.kill()
    wait_until(lambda: not any("sleep 60" in command for command in machine.processes().values()))


def the_second_look_is_one_exchange_and_finds_what_is_there_now(machine, host):
    def looked():
        look = host.look("files")
        found = [look.host.read("/root/a"), look.host.list("/root"), look.host.exists("/root/b"), look.host.read("/proc/version")]
        with pytest.raises(FileNotFoundError):
            look.host.read("/nowhere")
        return found, look.end()

    (machine.home / "a").write_text("first")
    looked()
    (machine.home / "a").write_text("second\n")
    (machine.home / "b").write_text("")
    before_ns = time.monotonic_ns() + machine.offset_ns
    with mock.patch.object(host._first, "ask", wraps=host._first.ask) as asked:
        found, (from_ns, took_ns) = looked()
    after_ns = time.monotonic_ns() + machine.offset_ns
    assert found == ["second\n", ("a", "b"), True, host.read("/proc/version")]
    assert asked.call_count == 1
    slack_ns = host._files.clock.bound_ns()
    assert before_ns - slack_ns <= from_ns <= from_ns + took_ns <= after_ns + slack_ns


def the_true_offset_lies_within_the_bound(machine, host):
    for _ in range(10):
        asked_ns, theirs_ns, answered_ns = host.probe()
        offset_ns = theirs_ns - (asked_ns + answered_ns) // 2
        assert abs(offset_ns - machine.offset_ns) <= (answered_ns - asked_ns) // 2 + 1
    before_ns = time.monotonic_ns() + machine.offset_ns
    theirs_ns = host.monotonic_ns()
    after_ns = time.monotonic_ns() + machine.offset_ns
    bound_ns = host._files.clock.bound_ns()
    assert before_ns - bound_ns <= theirs_ns <= after_ns + bound_ns


def plain_tools_in_place_of_system_calls(machine, host):
    path = machine.home / "data"
    path.write_bytes(os.urandom(1 << 20))
    host.run(["cat", "/root/data"])
    found = host.syscalls.cachestat("/root/data")
    assert (found.cached * found.page_bytes, found.file_bytes) == (1 << 20, 1 << 20)
    assert host.syscalls.syncfs("/root") > 0
    host.syscalls.drop_file("/root/data")
    assert host.syscalls.cachestat("/root/data").cached < 256
    free, free_files = host.syscalls.space("/root")
    assert 0 < free <= 1
    assert 0 < free_files <= 1
    with pytest.raises(FileNotFoundError):
        host.syscalls.cachestat("/nowhere")
    with pytest.raises(OSError, match="needs the engine"):
        host.syscalls.spin()


def two_hosts_on_one_machine_are_one_machine(machine, host):
    with host_on(machine, "other") as other:
        assert host.machine() == other.machine()
    assert host.machine().boot == (machine.directory / "boot_id").read_text().strip()


def the_way_back_runs_in_its_order_and_what_was_struck_does_not(machine, host):
    for n, kind in enumerate(("mount", "throttle", "loop", "mount"), 1):
        host.note(n, kind, {}, f"echo {n} >> /root/undone")
    host.strike(4)
    host.close()
    assert (machine.home / "undone").read_text().split() == ["2", "3", "1"]
    assert machine.run("ls", "/run/assay").stdout == ""


def what_cannot_be_undone_is_left_for_the_next(machine, host):
    host.note(1, "mount", {"path": "/x"}, "exit 1")
    host.close()
    with host_on(machine) as later:
        (left,) = later.left()
        assert (left.n, left.kind, left.details) == (1, "mount", {"path": "/x"})
        assert (left.machine.serial, left.machine.boot) == (later.machine().serial, later.machine().boot)
        later.strike(1, left.file)
        assert later.left() == ()
    assert machine.run("ls", "/run/assay").stdout == ""


def notes_of_the_living_are_nobody_elses(machine, host):
    host.note(1, "mount", {}, "true")
    with host_on(machine) as other:
        assert other.left() == ()


CONTROLLER = """
    import sys
    from assay.hosts.addresses import parsed
    from assay.hosts.shell import ShellHost
    from assay.hosts.ssh import Door
    host = ShellHost("s", Door("s", parsed(sys.argv[1])))
    host.note(1, "mount", {}, "echo undone > /root/undone")
    host.spawn(["sh", "-c", "sleep 604; true"])
    print("ready", flush=True)
    host.run(["sh", "-c", "sleep 605; true"])
"""


def controller(machine):
    script = textwrap.dedent(CONTROLLER)
    process = subprocess.Popen([sys.executable, "-c", script, machine.address], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    wait_until(lambda: sleepers(machine) >= 2)
    return process


def sleepers(machine):
    return sum(command in ("sleep 604", "sleep 605") for command in machine.processes().values())


def undone(machine):
    return (machine.home / "undone").exists() and not sleepers(machine)


def a_killed_controller_leaves_no_load_and_nothing_to_undo(machine, host):
    process = controller(machine)
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until(lambda: undone(machine), SOON_S)


@pytest.mark.slow
def test_a_frozen_controller_is_given_up_within_the_lease(far):
    machine = far(1)[0]
    process = controller(machine)
    process.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: undone(machine), shell_notes.LEASE_S + SOON_S)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def a_killed_connection_undoes_and_is_named(machine, host):
    host.note(1, "mount", {}, "echo undone > /root/undone")
    process = host.spawn(["sleep", "604"])
    (pid,) = machine.connections()
    os.kill(pid, signal.SIGKILL)
    assert process.receive(SOON_S) is None
    with pytest.raises(LostHostError, match="host s is lost"):
        host.read("/proc/version")
    wait_until(lambda: undone(machine), SOON_S)


def a_host_that_is_cut_off_is_lost_after_the_lease(machine, host):
    host.note(1, "mount", {}, "echo undone > /root/undone")
    host.spawn(["sleep", "604"])
    machine.cut()
    wait_until(lambda: host.lost() is not None)
    with pytest.raises(LostHostError, match="host s is lost: no answer for 5 s"):
        host.run(["true"])
    wait_until(lambda: undone(machine))


SOUND = (
    files_as_a_local_host_gives_them,
    names_are_taken_literally_and_never_executed,
    commands,
    a_command_that_takes_too_long_is_ended,
    processes_are_spoken_to_line_by_line,
    a_killed_process_takes_its_children_with_it,
    the_second_look_is_one_exchange_and_finds_what_is_there_now,
    the_true_offset_lies_within_the_bound,
    plain_tools_in_place_of_system_calls,
    two_hosts_on_one_machine_are_one_machine,
    the_way_back_runs_in_its_order_and_what_was_struck_does_not,
    what_cannot_be_undone_is_left_for_the_next,
    notes_of_the_living_are_nobody_elses,
    a_killed_controller_leaves_no_load_and_nothing_to_undo,
    a_killed_connection_undoes_and_is_named,
)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_host_behind_any_shell(far, shell, subtests, monkeypatch):
    if not Path(shell).exists():
        pytest.skip(f"no {shell}")
    machine = far(1, shell=os.path.realpath(shell))[0]
    for part in SOUND:
        with subtests.test(part=part.__name__), host_on(machine) as host:
            part(machine, host)
        for path in machine.home.iterdir():
            path.unlink()
    for module, name, value in ((shell_notes, "LEASE_S", 8), (shell_notes, "RENEW_S", 0.5), (shell_notes, "ANSWER_S", 5.0)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(far_shell, "ANSWER_S", 5.0)
    with host_on(machine) as host:
        a_host_that_is_cut_off_is_lost_after_the_lease(machine, host)
