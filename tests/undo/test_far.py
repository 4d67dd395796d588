"""A real far end undoes what its controller leaves: killed at any moment, frozen, or with the far end itself killed."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost
from assay.machine.engine_file import engine_path
from assay.undo.ledger import Ledger
from stage.assay_process import wait_until
from stage.processes import wait_ended
from stage.sizes import few_and_many
from stage.targets_host import HOST, leftovers

PATIENCE_S = 120.0
"""A busy machine is slow; how quick it is on an idle one is in benchmarks."""
LEASE_S = 2.0
FAR_ENDS = """
from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost
from assay.hosts.shell import ShellHost

class Session(LocalChannel):
    def end_input(self):
        self.close()

class Door:
    def __init__(self):
        self.pids = []
    def open(self, command):
        session = Session(["sh", "-c", command])
        self.pids.append(session.pid)
        return session
    def close(self):
        pass

def far_end(kind, engine, lease_s=30.0):
    if kind == "agent":
        host = FarHost("s", LocalChannel([engine, "agent"]), address="filer", lease_s=lease_s)
        return host, host.hello["pid"]
    door = Door()
    host = ShellHost("s", door, address="filer")
    return host, door.pids[0]
"""
"""An agent, or one shell, as a child of the controller; the process that undoes."""
CONTROLLER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from pathlib import Path
from stage.targets_host import MIB, setting
from assay import catalogue
from assay.undo.ledger import Ledger
{FAR_ENDS}
engine, ledger, scratch, lease_s = sys.argv[1], Ledger(sys.argv[2]), sys.argv[3], float(sys.argv[4])
host, pid = far_end(sys.argv[5], engine, lease_s)
undo = ledger.on(host)
print(pid, flush=True)
"""
MOUNTED = """
point = f"{scratch}/it's $(touch CANARY)"
host.run(["mkdir", point])
undo.add("mount", path=point, device="assay far")
host.run(["mount", "-t", "tmpfs", "assay far", point])
undo.add("command", argv='["sh", "-c", "echo x >> $0", "' + scratch + '.ran"]')
token = "f" + str(pid)
undo.add("family", token=token)
host.spawn(["sh", "-c", "setsid sleep 600 & sleep 600"], env={"ASSAY_FAMILY": token})
print("done", flush=True)
sys.stdin.read()
"""
BUSY = """
target = catalogue.find("targets", "loopfs")
while True:
    given = setting(undo, scratch, filesystem="ext4", size=24 * MIB)
    place = target.prepare(host, given)
    token = str(time.monotonic_ns()).encode().hex()
    undo.add("family", token=token)
    host.spawn(["sh", "-c", "setsid sleep 600 & sleep 600"], env={"ASSAY_FAMILY": token})
    host.write(f"{place.address}/data", "x" * MIB)
    target.drop_caches(host, place)
    undo.undo("family", token=token)
    target.teardown(host, given, place)
    target.remove(host, given)
"""
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounts need root"),
    pytest.mark.skipif(not engine_path().exists(), reason="no engine"),
]


class Controller:
    """A process with a ledger and one far host, whose agent is a child of it."""

    def __init__(self, tmp_path, code, lease_s=30.0, kind="agent"):
        self.scratch, self.ledger = tmp_path / "scratch", tmp_path / "ledger"
        self.scratch.mkdir(parents=True)
        words = (engine_path(), self.ledger, self.scratch, lease_s, kind)
        command = [sys.executable, "-c", "import time\n" + CONTROLLER + code, *map(str, words)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.agent = int(self.process.stdout.readline())

    def done(self):
        assert self.process.stdout.readline() == "done\n"

    def traces(self):
        """What may not be there when the agent has ended: mounts, loop devices, files, processes."""
        mounts, loops, files = leftovers(self.scratch)
        return [*mounts, *loops, *(name for name in files if name.startswith(".assay-"))]

    def close(self):
        for pid in (self.process.pid, self.agent):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def controller(tmp_path):
    made = []

    def make(code, **more):
        made.append(Controller(tmp_path / str(len(made)), code, **more))
        return made[-1]

    yield make
    with agent() as host:
        for one in made:
            one.close()
            Ledger(one.ledger).clean(host)


@contextlib.contextmanager
def agent(name="s"):
    """Another agent of this machine."""
    with FarHost(name, LocalChannel([str(engine_path()), "agent"]), address="filer") as host:
        yield host


def sleepers(token):
    """Processes that inherited a token."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"ASSAY_FAMILY={token}".encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


def test_the_far_end_undoes_what_a_controller_leaves_that_is_killed_or_frozen(subtests, controller):
    for kind, end in [("agent", "kill"), ("agent", "freeze"), ("shell", "kill")]:
        with subtests.test(kind=kind, end=end):
            lab = controller(MOUNTED, lease_s=LEASE_S if end == "freeze" else 30.0, kind=kind)
            lab.done()
            token = f"f{lab.agent}"
            assert len(lab.traces()) == 1
            wait_until(lambda token=token: len(sleepers(token)) >= 3)
            lab.process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGSTOP)
            wait_ended(lab.agent)
            assert lab.traces() == []
            assert sleepers(token) == []
            assert Path(f"{lab.scratch}.ran").read_text() == "x\n"
            assert not (lab.scratch.parent / "CANARY").exists()
            lab.process.kill()
            lab.process.wait()
            with agent() as host:
                (orphan,) = Ledger(lab.ledger).elsewhere(HOST)
                assert [(entry.kind, entry.host, entry.address) for entry in orphan.entries] == [
                    ("mount", "s", "filer"),
                    ("command", "s", "filer"),
                    ("family", "s", "filer"),
                ]
                assert {one.state for one in Ledger(lab.ledger).clean(host)} == {"gone"}
                assert host.left() == ()
            assert Path(f"{lab.scratch}.ran").read_text() == "x\n", "the command was run once"
            assert list(lab.ledger.iterdir()) == []


def test_what_a_killed_agent_leaves_is_undone_from_its_notes_and_once(controller):
    lab = controller(MOUNTED)
    lab.done()
    wait_until(lambda: len(sleepers(f"f{lab.agent}")) >= 3)
    os.kill(lab.agent, signal.SIGKILL)
    lab.process.kill()
    lab.process.wait()
    wait_ended(lab.agent)
    assert len(lab.traces()) == 1
    with agent() as host:
        assert {note.kind for note in host.left()} == {"mount", "command", "family"}
        cleaned = Ledger(lab.ledger).clean(host)
        assert [(one.entry.kind, one.state) for one in cleaned][:3] == [
            ("family", "undone"),
            ("command", "undone"),
            ("mount", "undone"),
        ]
        assert {one.state for one in cleaned[3:]} == {"gone"}
        assert host.left() == ()
        assert Ledger(lab.ledger).clean(host) == ()
    assert lab.traces() == []
    assert Path(f"{lab.scratch}.ran").read_text() == "x\n"


@few_and_many("points", 10, 400)
def test_nothing_is_left_after_a_kill_at_random_moments(subtests, controller, points):
    """Of the controller, and at every fourth moment of its agent as well."""
    for kind in ["agent", "shell"]:
        with subtests.test(kind=kind):
            chance, found = random.Random(), 0
            for point in range(points):
                both = kind == "agent" and point % 4 == 3
                lab = controller(BUSY, kind=kind)
                wait_until(lambda lab=lab: any(path.stat().st_size for path in lab.ledger.glob("*.jsonl")))
                time.sleep(chance.uniform(0, 1.0))
                lab.process.kill()
                if both:
                    os.kill(lab.agent, signal.SIGKILL)
                lab.process.wait()
                wait_ended(lab.agent)
                if kind == "shell":  # what sleeps beside it may be the one that undoes
                    wait_until(lambda lab=lab: lab.traces() == [], PATIENCE_S)
                elif not both:
                    assert lab.traces() == [], "the far end undid all by itself"
                with agent() as host:
                    cleaned = Ledger(lab.ledger).clean(host)
                    assert [one for one in cleaned if one.state == "left"] == []
                    # A child that the agent was about to start holds the lock of its notes a moment longer.
                    wait_until(lambda lab=lab, host=host: Ledger(lab.ledger).clean(host) == () and host.left() == ())
                found += len(cleaned)
                assert lab.traces() == []
                assert list(lab.ledger.iterdir()) == []
                lab.close()
            assert found >= points // 2, "the moments hit labs that had something"
