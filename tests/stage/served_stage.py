"""What the tests of targets with a server share: trials of one target on this machine, and what may not be left of it."""

import contextlib
import ctypes
import fcntl
import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from assay import catalogue, measures
from assay.catalogue import FAMILY
from assay.machine import mounted, nfs_clients
from assay.records import CacheState, Experiment, Measure, Outcome, PathSpec
from assay.targets import s3_versitygw
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger
from stage.assay_process import LET_GO, MARK
from stage.targets_host import HOST, MIB, leftovers, needs_root  # noqa: F401 - of all who have a server
from stage.trial_stage import bulk, engine, trial

CLONE_NEWNS = 0x20000
SBIN = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
OBSERVERS = ("block", "process_io", "page_cache", "server_process", "server_data", "server_network", "processes", "line", "cpu")
WAN = PathSpec(name="wan", knobs={"rate": 12_500_000, "delay": 2_000_000, "queue": 500_000, "framing": "ethernet"})
BUILT_SSHD = Path(__file__).parents[2] / ".build" / "sshd" / "usr" / "sbin" / "sshd"
needs_fuse = pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="no FUSE in this kernel")
needs_client = pytest.mark.skipif(
    not nfs_clients.CLIENT.exists() and not mounted.in_kernel(HOST, "nfs"),
    reason="no NFS client: make clients (libnfs-dev, libfuse3-dev)",
)


def needs(*programs):
    """Skip where a program is missing, and say which."""
    missing = [name for name in programs if shutil.which(name, path=SBIN) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}")


@contextlib.contextmanager
def alone(name):
    """Keep other tests of a server that can run once a machine waiting, in whatever process they are."""
    with Path(tempfile.gettempdir(), f"assay-tests-{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def own_mounts():
    """A mount namespace of this test alone: what it mounts is in no copy that others make of theirs, so nobody holds it."""
    kernel, here, home = ctypes.CDLL(None, use_errno=True), Path.cwd(), os.open("/proc/self/ns/mnt", os.O_RDONLY)
    assert kernel.unshare(CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
    try:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["sh", "-c", LET_GO], check=True)
        yield
    finally:
        assert kernel.setns(home, CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
        os.close(home)
        os.chdir(here)


def sshd():
    """The knob that names an sshd, where the installed one does not do; skips without one."""
    if shutil.which("sshd", path=SBIN):
        return {}
    if BUILT_SSHD.exists():
        return {"server.program": str(BUILT_SSHD)}
    pytest.skip("no sshd: scripts/tools.sh unpacks Debian's openssh-server below .build")


def versitygw():
    """No knob: versitygw is found where `make servers` leaves it, or on the PATH; skips without it."""
    if shutil.which("versitygw", path=SBIN) or s3_versitygw.BUILT.exists():
        return {}
    pytest.skip("no versitygw: make servers")


class ServedBench:
    """One scratch directory and one ledger; trials of targets with a server, one after the other."""

    def __init__(self, tmp_path):
        self.scratch, self.notes = tmp_path / "scratch", tmp_path / "ledger"
        self.scratch.mkdir()
        self.ledger = Ledger(self.notes)
        self.mark = marked()

    def conduct(self, *targets, workloads=(), paths=(), observers=OBSERVERS, **levels):
        """Run one trial of the first target that no other stands on."""
        asked = Experiment(
            title="t", question="q", targets=targets, workloads=workloads or (bulk(),), factors=(), measures=(), paths=paths
        )
        runner = TrialRunner(
            experiment=asked,
            host=HOST,
            ledger=self.ledger,
            scratch=str(self.scratch),
            engine=engine(),
            observers=tuple(catalogue.find("observers", name) for name in observers),
        )
        runner.install()
        try:
            return runner.run(trial(**levels), 1)
        finally:
            runner.remove()

    def left(self):
        """Mounts, loop devices, files, processes of ours, and entries of the ledger."""
        return (*leftovers(self.scratch), family(self.mark), self.ledger.unwind())


NOTHING = ([], [], [], [], ())


def trial_from_storage(bench, spec, clients=2, size=8 * MIB):
    """Run one trial that writes and reads cold, hold what every target with a server must show, and return run and evidence."""
    run, seen = bench.conduct(spec, workloads=(bulk(clients=clients, size=size),))
    assert run.outcome is Outcome.FINISHED, run.error
    write, read = run.phases
    (host,) = write.hosts
    assert host.drain_ns >= max(host.clients_drain_ns, host.server_drain_ns)
    assert read.cache_proved is CacheState.COLD
    asked = sum(one.bytes for client in read.clients for one in client.operations)
    delivered = sum(
        one.bytes or 0
        for one in seen.readings
        if (one.phase, one.rung.value, one.direction.value) == (read.name, "L6", "read") and one.span.value == "clock"
    )
    assert asked == clients * size
    assert delivered >= 0.95 * asked, "the server's storage delivered it"
    assert (fact(seen, "target.server.route"), fact(seen, "target.server.route_kind")) == ("load0", "virtual")
    assert bench.left() == NOTHING
    return run, seen


def marked():
    """Give all that this process starts from now on a mark in its environment."""
    os.environ[MARK] = secrets.token_hex(8)
    return os.environ[MARK]


def family(mark):
    """The processes that carry a token of a ledger and this mark of a bench in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            given = path.read_bytes()
            if f"{FAMILY}=".encode() in given and f"{MARK}={mark}".encode() in given.split(b"\0"):
                found.append((path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def fact(seen, key):
    """The first value of a fact."""
    return next((one.value for one in seen.facts if one.key == key), None)


def carried_cold(run, seen, size):
    """Files of a transfer `t` came back from the server's storage, compared there and here, and the server's CPU is known."""
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    assert [phase.name for phase in run.phases] == ["t.make", "t.put", "t.compare", "t.get", "t.compare_got"]
    assert run.phases[3].cache_proved is CacheState.COLD
    delivered = sum(
        one.bytes or 0
        for one in seen.readings
        if (one.phase, one.rung.value, one.direction.value, one.span.value) == ("t.get", "L6", "read", "clock")
    )
    assert delivered >= 0.95 * size, "the server's storage delivered it"
    share = measures.value(run, seen, Measure(workload="t", operation="put", figure="@local.server_cpu_share"))
    assert 0 < share.value < 8
