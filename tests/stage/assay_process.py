"""What the tests of the whole line share: the command as a process of its own, and the traces it must not leave."""

import contextlib
import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import assay
from stage import warm_process
from stage.targets_host import leftovers

COMMAND = (sys.executable, "-c", "from assay.cli.main import main; main()")
MARK = "ASSAY_TEST_MARK"
LEDGER = Path("/run/assay")
LASTING = Path("/var/lib/assay")


@dataclass
class Bench:
    """A directory in which `assay` is called; all processes that come of it carry its mark."""

    home: Path
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    through: tuple[str, ...] = ()
    """What the command is called through: as another user."""

    def environment(self, **more):
        return {**os.environ, MARK: self.mark, "HOME": str(self.home), "XDG_CONFIG_HOME": "", "LC_ALL": "C.UTF-8", **more}

    def run(self, *words, timeout=1800, cwd=None, env=None, **more):
        """Call `assay` and wait: in a fork of a warm process, where that tells no difference."""
        words = [str(word) for word in words]
        given = {"capture_output": True, "text": True, **more}
        cwd, env = cwd or self.home, env or self.environment()
        if not self.through and given.keys() <= {"capture_output", "text", "stdin"} and given["capture_output"]:
            warm = warm_process.started()
            if warm.serves(env):
                plain = {"text": given["text"], "stdin": given.get("stdin")}
                return warm_process.completed(warm, words, cwd=cwd, env=env, timeout=timeout, **plain)
        return subprocess.run([*self.through, *COMMAND, *words], cwd=cwd, env=env, timeout=timeout, check=False, **given)

    def start(self, *words, **more):
        """Call `assay` and go on."""
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "process_group": 0, **more}
        return subprocess.Popen([*COMMAND, *(str(word) for word in words)], cwd=self.home, env=self.environment(), **given)

    def processes(self):
        """Every living process that came of a call, with its command line."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def engines(self):
        """Those that make a load: not those that look at its threads."""
        found = {pid: command.split(" ") for pid, command in self.processes().items()}
        return [pid for pid, words in found.items() if "assay-engine" in words[0] and "states" not in words]

    def traces(self):
        """All that may not be there when no lab works: mounts, loop devices, private directories, processes."""
        mounts, loops, _ = leftovers(self.home)
        hidden = [str(path) for path in self.home.rglob(".assay-*")]
        return [*mounts, *loops, *hidden, *self.processes().values()]

    def may_have_left(self):
        """Whether the doctor may have work: there is a ledger of an owner that is gone. An ordinary user's may lie elsewhere."""
        if os.geteuid() != 0:
            return True
        files = (path for folder in (LEDGER, LASTING) for path in folder.glob("*.jsonl"))
        return any(not Path("/proc", path.name.partition("-")[0]).exists() for path in files)

    def ends(self, process, within_s):
        """Wait for a process that was told to end; seconds it took."""
        since = time.monotonic()
        process.wait(within_s)
        return time.monotonic() - since


@contextlib.contextmanager
def running(*argv, **more):
    """A process whose output can be read, ended at the end."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def announced(pid):
    """What the ledger of a lab says that must be undone, as (kind, details)."""
    found = {}
    for path in LEDGER.glob(f"{pid}-*.jsonl"):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if "struck" in entry:
                found.pop(entry["struck"], None)
            else:
                found[entry["n"]] = (entry["kind"], entry["details"])
    return list(found.values())


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


PATIENCE_S = 120.0
"""How long a test waits for what must come: longer than it takes on a slow and busy machine, for the wait ends with it."""


def wait_until(true, within_s=PATIENCE_S, every_s=0.02):
    """What the function gives as soon as it is something; fails when it stays nothing."""
    deadline = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(every_s)
    return found


def seconds_until(true, bench, *words):
    """How long a lab takes here and now until something is there, given the lab; it is killed then, and undone."""
    began = time.monotonic()
    lab = bench.start(*words)
    wait_until(lambda: true(lab) or lab.poll() is not None)
    took = time.monotonic() - began
    kill(lab.pid)
    lab.communicate()
    assert bench.run("doctor").returncode == 0
    wait_until(lambda: not bench.processes())
    return took


def listens(port):
    """Whether a server takes connections there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


LET_GO = (
    'while read -r from at rest; do case $from in /dev/loop*|/dev/zram*) umount -l -- "$at" || :;; esac; done < /proc/self/mounts'
)
"""A new mount namespace keeps every file system that is mounted at that moment; a test beside it could not detach its image."""


def rebooted(bench, hostname="elsewhere"):
    """A bench on the same files whose calls find another machine, or this one after a reboot.

    Another host name, machine id and boot id, and a clock that began later, in namespaces of their own. Skips where the
    kernel has no time namespaces, or lets us make none.
    """
    ids = {"/etc/machine-id": secrets.token_hex(16), "/proc/sys/kernel/random/boot_id": str(uuid.uuid4())}
    lines = ["set -e", LET_GO, f"hostname {hostname}"]
    for number, (path, text) in enumerate(ids.items()):
        if Path(path).exists():
            file = bench.home / f"identity-{number}"
            file.write_text(f"{text}\n")
            lines.append(f"mount --bind {shlex.quote(str(file))} {path}")
    lines.append('exec "$@"')
    sooner = -int(float(Path("/proc/uptime").read_text().split()[0]) / 2)
    spaces = ("--mount", "--propagation", "private", "--uts", "--time", "--monotonic", str(sooner), "--boottime", str(sooner))
    through = ("unshare", *spaces, "--fork", "--kill-child", "sh", "-c", "\n".join(lines), "sh")
    if subprocess.run([*through, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user and kernel cannot make mount, host name and time namespaces")
    return replace(bench, through=through)


NOBODY = 65534


@contextlib.contextmanager
def as_nobody(*needed, hidden=False):
    """A bench in a directory of its own whose calls run as an ordinary user, with `needed` and this Python in reach.

    Where `hidden`, its /proc shows no process of others (hidepid=2: since Linux 5.8 each mount of it has options of its own).
    Where the way to Python or Assay is closed to others, the calls see it open in a mount namespace of their own.
    """
    home = Path(tempfile.mkdtemp(prefix="assay-user-", dir="/tmp"))
    os.chown(home, NOBODY, NOBODY)
    paths = [Path(sys.prefix), Path(sys.base_prefix), Path(assay.__file__).parent.parent, *map(Path, needed)]
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    hide = ["mount -t proc -o hidepid=2 proc /proc"] if hidden else []
    script = "\n".join(["set -e", LET_GO, *hide, *opened(paths), f'exec {shlex.join(become)} "$@"'])
    through = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    try:
        yield Bench(home, through=through)
    finally:
        shutil.rmtree(home)


def opened(paths):
    """Commands that show these paths, and nothing else, below every directory that others may not enter."""
    closed = {}
    for path in paths:
        if (gate := next((above for above in reversed(path.parents) if not above.stat().st_mode & 1), None)) is not None:
            closed.setdefault(gate, set()).add(path)
    for gate, inside in closed.items():
        yield "mount -t tmpfs -o mode=755 none /mnt"
        for number, path in enumerate(sorted(inside)):
            yield f"mkdir /mnt/{number} && mount --bind {shlex.quote(str(path))} /mnt/{number}"
        yield f"mount -t tmpfs -o mode=755 none {shlex.quote(str(gate))}"
        for number, path in enumerate(sorted(inside)):
            yield f"mkdir -p {shlex.quote(str(path))} && mount --bind /mnt/{number} {shlex.quote(str(path))}"
