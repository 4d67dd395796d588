"""A server that a target starts: readiness, its own words, limits, ports, and nothing left after a kill at any point."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from assay.catalogue import FAMILY
from assay.errors import RefusedError, TrialError
from assay.machine import cgroups, server, service
from assay.machine.service import Program
from assay.records import ServerNode
from assay.undo.ledger import Ledger
from stage.assay_process import wait_until
from stage.processes import ended
from stage.targets_host import HOST

SERVES = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"
needs_namespaces = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger")
    yield made
    assert [one for one in made.unwind() if one.state == "left"] == []
    made.close()


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "a server's own"
    path.mkdir()
    return path


def program(directory, *argv, **settings):
    return Program(name="server", argv=argv, directory=str(directory), **settings)


def answers(port):
    def ready():
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    return ready


def runs(made, name):
    def ready():
        with contextlib.suppress(OSError, ValueError):
            return Path(f"/proc/{int(Path(made.pid_file).read_text())}/comm").read_text() == f"{name}\n"
        return False

    return ready


def test_a_server_is_started_found_stopped_and_started_again(ledger, directory):
    port = service.free_port(HOST, 1)
    made = service.install(HOST, ledger, program(directory, sys.executable, "-c", SERVES, str(port)), "t")
    for _ in range(2):
        service.start(HOST, str(directory), "server", answers(port))
        pid = int(Path(made.pid_file).read_text())
        assert f"{FAMILY}={made.token}" in Path(f"/proc/{pid}/environ").read_text().split("\0")
        assert os.getsid(pid) == pid, "it survives the command that started it"
        assert port in service.listening(HOST)
        assert service.port_mistakes(HOST, port)[0].startswith(f"port {port} is in use")
        assert service.free_port(HOST, port - service.PORTS.start) != port
        service.stop(HOST, str(directory), "server")
        assert not service.is_running(HOST, str(directory))
    service.remove(ledger, made)


def test_a_server_that_was_stopped_by_a_signal_ends_all_the_same(ledger, directory):
    """An event stopped it, and the trial failed before it could go on: nobody waits for what it cannot hear."""
    for sealed in [False, True][: 1 + (os.geteuid() == 0)]:
        made = service.install(HOST, ledger, program(directory, "sleep", "600", sealed=sealed), "t")
        service.start(HOST, str(directory), "server", lambda: True)
        for pid in server.pids(HOST, (ServerNode(pid_file=made.pid_file),)):
            os.kill(pid, signal.SIGSTOP)
        service.stop(HOST, str(directory), "server")
        assert not service.is_running(HOST, str(directory))
        service.remove(ledger, made)


@pytest.mark.root
@needs_namespaces
def test_a_sealed_server_is_up_no_sooner_than_it_can_be_stopped(ledger, directory):
    """What is to be done before it takes its time: a SIGTERM now would end that, and the server would come all the same."""
    made = service.install(HOST, ledger, program(directory, "sleep", "600", sealed=True, setup="sleep 1 || :"), "t")
    for _ in range(2):
        service.start(HOST, str(directory), "server", lambda: True)
        service.stop(HOST, str(directory), "server")
        assert not service.is_running(HOST, str(directory))
    service.remove(ledger, made)


def test_a_server_that_ends_says_why(ledger, directory):
    made = service.install(HOST, ledger, program(directory, "sh", "-c", "echo no such option >&2; exit 3"), "t")
    with pytest.raises(TrialError, match="has ended instead of starting: no such option"):
        service.start(HOST, str(directory), "server", lambda: False)
    service.remove(ledger, made)


def test_a_server_that_prints_nothing_is_quoted_from_its_own_log(ledger, directory):
    script = "mkdir logs; echo no such schema > logs/errors; exit 1"
    made = service.install(HOST, ledger, program(directory, "sh", "-c", script), "t")
    with pytest.raises(TrialError, match="has ended instead of starting: no such schema"):
        service.start(HOST, str(directory), "server", lambda: False)
    service.remove(ledger, made)


def test_a_server_that_never_answers_is_given_up(ledger, directory):
    made = service.install(HOST, ledger, program(directory, "sleep", "600"), "t")
    with pytest.raises(TrialError, match=r"does not answer 0\.3 s after its start: it wrote nothing"):
        service.start(HOST, str(directory), "server", lambda: False, patience_s=0.3)
    service.remove(ledger, made)
    assert not service.is_running(HOST, str(directory))


def test_only_the_words_since_the_last_start_are_shown(ledger, directory):
    (directory / "log").write_text("an old complaint\n")
    made = service.install(HOST, ledger, program(directory, "sh", "-c", "echo new; exit 1"), "t")
    with pytest.raises(TrialError) as failed:
        service.start(HOST, str(directory), "server", lambda: False)
    assert "new" in str(failed.value)
    assert "old" not in str(failed.value)
    service.remove(ledger, made)


def test_environment_and_words_with_blanks_arrive(ledger, directory):
    argv = ("sh", "-c", 'printf "%s|%s|" "$WORD" "$1" >&2; sleep 600', "sh", "it's two words")
    made = service.install(HOST, ledger, program(directory, *argv, env={"WORD": "a 'b' $c"}), "t")
    service.start(HOST, str(directory), "server", lambda: "|" in (directory / "log").read_text())
    assert (directory / "log").read_text() == "a 'b' $c|it's two words|"
    service.remove(ledger, made)


def test_its_cpus_are_read_back(ledger, directory):
    first = min(os.sched_getaffinity(0))
    wanted = program(directory, "sleep", "600", cpus=(first,))
    made = service.install(HOST, ledger, wanted, "t")
    service.start(HOST, str(directory), "server", runs(made, "sleep"))
    assert service.in_force(HOST, made, wanted) == (("server.cpus", str(first)),)
    os.sched_setaffinity(int(Path(made.pid_file).read_text()), os.sched_getaffinity(0))
    if len(os.sched_getaffinity(0)) > 1:
        with pytest.raises(TrialError, match=f"server.cpus: set to {first}, and the running server has"):
            service.in_force(HOST, made, wanted)
    service.remove(ledger, made)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="a memory limit needs root")
def test_its_memory_is_limited_by_a_group_that_goes_away(ledger, directory):
    if cgroups.hierarchy(HOST, "memory") is None:
        pytest.skip("no memory control group")
    wanted = program(directory, "sleep", "600", memory_bytes=64 << 20)
    made = service.install(HOST, ledger, wanted, "t")
    service.start(HOST, str(directory), "server", lambda: True)
    (group,) = made.groups
    assert Path(made.pid_file).read_text().strip() in Path(group, "cgroup.procs").read_text().split()
    assert service.in_force(HOST, made, wanted) == (("server.memory", str(64 << 20)),)
    service.remove(ledger, made)
    assert not Path(group).exists()


def test_a_setting_that_is_not_in_force_fails():
    service.require("server.cache", "64", "64")
    with pytest.raises(TrialError, match=r"server\.cache: set to 64, and the running server has 32"):
        service.require("server.cache", "64", "32")


KILLED = """
import sys, os, signal
sys.path.insert(0, {tests!r})
from assay.machine import service
from assay.undo.ledger import Ledger
from stage.targets_host import HOST
from assay.machine.service import Program
from assay.records import ServerNode
ledger = Ledger({ledger!r})
made = service.install(HOST, ledger, Program(name="s", argv=("sh", "-c", "sleep 600 & sleep 600"), directory={directory!r}), "t")
service.start(HOST, {directory!r}, "s", lambda: True)
print("up", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_lab_leaves_nothing_after_the_clean_up(tmp_path, directory):
    code = KILLED.format(tests=str(Path(__file__).parent.parent), ledger=str(tmp_path / "ledger"), directory=str(directory))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "up\n"), done.stderr
    assert service.is_running(HOST, str(directory)), "it outlives the lab, which is why the ledger has it"
    cleaned = Ledger(tmp_path / "ledger").clean(HOST)
    assert [(one.entry.kind, one.state) for one in cleaned] == [("family", "undone")]
    wait_until(lambda: not service.is_running(HOST, str(directory)))


def test_no_free_port(monkeypatch):
    monkeypatch.setattr(service, "listening", lambda host: frozenset(service.PORTS))
    with pytest.raises(RefusedError, match=r"Set server\.port"):
        service.free_port(HOST, 0)


@pytest.mark.root
@needs_namespaces
def test_a_sealed_server_takes_all_that_it_started_with_it(ledger, directory):
    """sshd and smbd overwrite their environment, so a token in it does not find their sessions."""
    argv = ("sh", "-c", "env -i setsid sh -c 'echo $$; exec sleep 600' >&2 & exec sleep 600")
    made = service.install(HOST, ledger, program(directory, *argv, sealed=True), "t")
    log = directory / "log"
    service.start(HOST, str(directory), "server", lambda: log.exists() and bool(log.read_text().split()))
    mine = [int(path.name) for path in Path("/proc").glob("[0-9]*") if is_below(path, int(Path(made.pid_file).read_text()))]
    assert len(mine) >= 4, "unshare, its shell, the server, what it started"
    service.remove(ledger, made)
    assert [pid for pid in mine if not ended(pid)] == []


def is_below(path, top):
    """Whether a process is the first one or one of its descendants."""
    pid = int(path.name)
    while pid > 1:
        if pid == top:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


@pytest.mark.root
@needs_namespaces
def test_a_sealed_server_is_stopped_like_any_other_and_has_mounts_of_its_own(ledger, directory):
    argv = (sys.executable, "-c", SERVES, "17")
    setup = "mount -t tmpfs tmpfs /mnt && touch /mnt/seen-here-alone"
    made = service.install(HOST, ledger, program(directory, *argv, sealed=True, setup=setup), "t")
    service.start(HOST, str(directory), "server", lambda: service.listens(HOST, str(directory), (17,)))
    pid = Path(made.pid_file).read_text().strip()
    assert not Path("/mnt/seen-here-alone").exists()
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert Path(f"/proc/{child}/root/mnt/seen-here-alone").exists()
    service.stop(HOST, str(directory), "server", patience_s=10.0)
    assert not service.is_running(HOST, str(directory))
    service.remove(ledger, made)
