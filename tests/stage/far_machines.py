"""Far machines on this one: namespaces with an sshd, a boot id, a machine id, a /run, a home and a monotonic clock of their own.

    with far_machines(3) as fleet:         # or the fixture `far`: fleet = far(3)
        fleet[0].address                   # 10.91.0.11: reached over a bridge that belongs to the fleet
        fleet[0].offset_ns                 # the truth: its CLOCK_MONOTONIC less ours
        fleet[0].cut(); fleet[0].mend()    # its network goes and comes back, unannounced
        fleet[0].off(); fleet[0].on()      # the plug is pulled; a reboot with another boot id

`fleet.home` is a home with the client's key and with known_hosts: give it to `assay` as $HOME. Wall clocks cannot differ.

Every fleet holds a lock as long as its process lives, and its number is in the name of all that it makes. So fleets of several
processes live beside each other, and what a killed test left is removed by the next fleet: namespaces, bridge, directory. Its
machines have ended before: they die with the process that began them. A machine lets go of file systems on loop devices, else the
tests beside it could not detach them.
"""

import contextlib
import fcntl
import itertools
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from assay.records import HostSpec
from assay.undo.owners import LASTING_DIRECTORY

SSHD = Path(__file__).parents[2] / ".build" / "sshd" / "usr" / "sbin" / "sshd"
PREFIX = "asyfar"
LOCKS = Path("/tmp/assay-far-machines")
MOST = 60
"""Fleets at once; each has the two networks 10.91.N.0/24 and 10.92.N.0/24."""
NEEDED = ("ip", "unshare", "nsenter", "setpriv", "ssh-keygen", "mount", "hostname")
READY_S = 120.0
FIRST = 11
"""The last number of the first machine's address."""
SSHD_USER = "sshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n"
BOOT = """
set -e
hostname "$1"
mount --make-rslave /
while read -r device point rest; do
  case $device in /dev/loop* | /dev/zram*) umount -l -- "$point" || :;; esac
done < /proc/self/mounts
mount -t proc proc /proc
mount --rbind /sys/fs/cgroup "$2/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$2/cgroup" /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd
mount --bind "$2/boot_id" /proc/sys/kernel/random/boot_id
[ ! -e /etc/machine-id ] || mount --bind "$2/machine-id" /etc/machine-id
mount --bind "$2/passwd" /etc/passwd
mount --bind "$2/home" /root
mount --bind "$4" "$(readlink -f /bin/sh)"
exec "$3" -D -e -f "$2/sshd_config"
"""


class FarMachine:
    """One machine of a fleet; on as soon as it is made."""

    def __init__(self, fleet, number, offset_s):
        self.fleet, self.number = fleet, number
        self.name = f"far{number}"
        self.address = f"10.91.{fleet.number}.{FIRST + number}"
        self.control = f"10.92.{fleet.number}.{FIRST + number}" if fleet.control else None
        self.offset_ns = offset_s * 10**9
        self.namespace = f"{PREFIX}{fleet.number}-{number}"
        self.links = [f"{PREFIX}{fleet.number}m{number}{side}" for side in ("a", "b")[: 2 if fleet.control else 1]]
        self.directory = fleet.directory / self.name
        self.home = self.directory / "home"
        self._process = None
        self._write()

    def spec(self, name=None, **more):
        """Return the line of an experiment's [hosts] as a record."""
        return HostSpec(name=name or self.name, via="ssh", address=self.address, control=self.control, **more)

    def on(self):
        """Boot it: another boot id each time."""
        self.begin()
        self.wait()

    def begin(self):
        """Begin to boot. From a thread that lives on: its machines die with it (PR_SET_PDEATHSIG)."""
        (self.directory / "boot_id").write_text(f"{uuid.uuid4()}\n")
        self._wire()
        begun = ("setpriv", "--pdeathsig", "KILL", "nsenter", f"--net=/run/netns/{self.namespace}")
        clocks = ("--monotonic", str(self.offset_ns // 10**9), "--boottime", str(self.offset_ns // 10**9))
        spaces = ("unshare", "--uts", "--mount", "--pid", "--time", *clocks, "--fork", "--kill-child")
        shell = ("sh", "-c", BOOT, "sh", self.name, str(self.directory), str(SSHD), self.fleet.shell)
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen((*begun, *spaces, *shell), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def off(self):
        """Pull the plug: all its processes end, and its links go."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        for pid in _netns_pids(self.namespace):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for link in self.links:
            _ip("link", "del", link, check=False)
        _ip("netns", "del", self.namespace, check=False)

    def cut(self):
        """Take it from the network: nothing arrives any more, and nobody is told."""
        for link in self.links:
            _ip("link", "set", link, "nomaster")

    def mend(self):
        """Put it on the network again."""
        for link, bridge in zip(self.links, self.fleet.bridges, strict=True):
            _ip("link", "set", link, "master", bridge)

    def shape(self, rate="8mbit", limit_bytes=1_000_000):
        """Shape its first link in both directions, with a long queue."""
        words = ("qdisc", "replace", "root", "tbf", "rate", rate, "burst", "16kb", "limit", str(limit_bytes))
        _run("tc", *words[:2], "dev", self.links[0], *words[2:])
        _run("tc", "-n", self.namespace, *words[:2], "dev", "eth0", *words[2:])

    def run(self, *argv, **more):
        """Run a command in it, as if on its console."""
        given = {"capture_output": True, "text": True, **more}
        return subprocess.run((*self._inside(), *map(str, argv)), check=given.pop("check", True), **given)

    def start(self, *argv, **more):
        """Start a command in it and go on."""
        return subprocess.Popen((*self._inside(), *map(str, argv)), **more)

    def processes(self):
        """Return pid (of ours) -> command line of all that runs in it, sshd's own processes included."""
        found = {}
        for pid in _netns_pids(self.namespace):
            with contextlib.suppress(OSError):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return found

    def cpu_s(self):
        """CPU time that its living processes and their ended children have used."""
        ticks = 0
        for pid in _netns_pids(self.namespace):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def connections(self):
        """Return the pids (of ours) of sshd's processes that serve a connection: one each."""
        return [pid for pid, command in self.processes().items() if re.match(r"sshd: \S+@notty", command)]

    def _inside(self):
        return ("nsenter", "-t", str(self._init()), "--uts", "--mount", "--pid", "--time", "--net", "--")

    def _init(self):
        """The first process of its pid namespace: the only child of unshare."""
        task = f"/proc/{self._process.pid}/task/{self._process.pid}/children"
        return int(Path(task).read_text().split()[0])

    def _write(self):
        self.home.mkdir(parents=True)
        (self.directory / "cgroup").mkdir()
        key = self.directory / "host_key"
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        self.host_key = " ".join((self.directory / "host_key.pub").read_text().split()[:2])
        (self.directory / "machine-id").write_text(secrets.token_hex(16) + "\n")
        passwd = Path("/etc/passwd").read_text()
        (self.directory / "passwd").write_text(passwd if "\nsshd:" in passwd else passwd + SSHD_USER)
        options = {
            "HostKey": key,
            "AuthorizedKeysFile": self.fleet.directory / "authorized_keys",
            "PasswordAuthentication": "no",
            "UsePAM": "no",
            "StrictModes": "no",
            "PidFile": "none",
            "UseDNS": "no",
            "Subsystem": "sftp internal-sftp",
            **self.fleet.options,
        }
        (self.directory / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in options.items()))

    def _wire(self):
        _ip("netns", "add", self.namespace)
        _run("ip", "netns", "exec", self.namespace, "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
        _ip("-n", self.namespace, "link", "set", "lo", "up")
        addresses = (self.address, self.control)
        for number, (link, bridge) in enumerate(zip(self.links, self.fleet.bridges, strict=True)):
            _ip("link", "add", link, "type", "veth", "peer", "name", f"eth{number}", "netns", self.namespace)
            _ip("-n", self.namespace, "addr", "add", f"{addresses[number]}/24", "dev", f"eth{number}")
            _ip("-n", self.namespace, "link", "set", f"eth{number}", "up")
            _ip("link", "set", link, "master", bridge, "up")
            _ip("neigh", "flush", "dev", bridge)  # else a former owner of the address is spoken to for some seconds

    def wait(self):
        """Wait until sshd listens."""
        deadline = time.monotonic() + READY_S
        log = self.directory / "log"
        while b"Server listening" not in log.read_bytes().rpartition(b"\0")[2]:
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        with log.open("ab") as file:
            file.write(b"\0")  # what was before this belongs to an earlier boot


class Fleet:
    """Machines with one client key; `fleet[0]` is the first."""

    def __init__(self, directory, number, *, control=False, options=None, shell=None):
        self.directory, self.number, self.control = directory, number, control
        self.shell = shell or os.path.realpath("/bin/sh")
        self.options = options or {}
        self.bridges = [f"{PREFIX}{number}{side}" for side in ("a", "b")[: 2 if control else 1]]
        self.home = directory / "home"
        self.machines = []

    def __getitem__(self, number):
        return self.machines[number]

    def __iter__(self):
        return iter(self.machines)

    def __len__(self):
        return len(self.machines)

    def raise_(self, count):
        ssh = self.home / ".ssh"
        ssh.mkdir(parents=True, mode=0o700)
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / "id_ed25519"))
        shutil.copy(ssh / "id_ed25519.pub", self.directory / "authorized_keys")
        for bridge, network in zip(self.bridges, (91, 92), strict=False):
            _ip("link", "add", bridge, "type", "bridge")
            _ip("addr", "add", f"10.{network}.{self.number}.1/24", "dev", bridge)
            _ip("link", "set", bridge, "up")
        self.machines = [FarMachine(self, index, 1000 * (index + 1)) for index in range(count)]
        self.know(*self.machines)
        for machine in self.machines:
            machine.begin()
        for machine in self.machines:
            machine.wait()

    def know(self, *machines):
        """Write known_hosts anew, with these machines."""
        lines = [f"{where} {one.host_key}\n" for one in machines for where in (one.address, one.control) if where]
        (self.home / ".ssh" / "known_hosts").write_text("".join(lines))

    def lower(self):
        for machine in self.machines:
            machine.off()
        for bridge in self.bridges:
            _ip("link", "del", bridge, check=False)


@contextlib.contextmanager
def far_machines(count=1, *, control=False, options=None, shell=None):
    """Give a fleet of so many machines, with a second address each where `control`, further options of sshd, another /bin/sh."""
    skip_without_parts()
    with own_number() as number:
        directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{number}-", dir="/var/tmp"))
        fleet = Fleet(directory, number, control=control, options=options, shell=shell)
        try:
            fleet.raise_(count)
            yield fleet
        finally:
            fleet.lower()
            _forget(number)
            shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def far(monkeypatch):
    """Makes fleets that live as long as the test, whose home is the home of the test."""
    with contextlib.ExitStack() as stack:

        def start(count=1, **options):
            fleet = stack.enter_context(far_machines(count, **options))
            monkeypatch.setenv("HOME", str(fleet.home))
            monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
            return fleet

        yield start


def skip_without_parts():
    """Skip the test, with the reason, where there can be no far machines."""
    if os.geteuid():
        pytest.skip("far machines need root: namespaces and a bridge")
    lacking = [tool for tool in NEEDED if not shutil.which(tool)]
    if lacking:
        pytest.skip(f"far machines need {', '.join(lacking)}")
    if not SSHD.exists():
        pytest.skip("no sshd below .build: scripts/tools.sh unpacks Debian's openssh-server there")
    if subprocess.run(("unshare", "--time", "--monotonic", "1", "--fork", "true"), capture_output=True, check=False).returncode:
        pytest.skip("this kernel makes no time namespaces")


@contextlib.contextmanager
def own_number():
    """The number of a fleet or an agent: nobody else's as long as this process lives. What a dead owner of it left is removed."""
    LOCKS.mkdir(mode=0o700, exist_ok=True)
    with contextlib.ExitStack() as stack:
        for number in itertools.count():
            assert number < MOST, "too many fleets at once"
            file = stack.enter_context((LOCKS / str(number)).open("w"))
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
        for stale in _stale(number):
            _remove(stale)
        yield number


def _stale(ours):
    """Numbers whose owners are gone, ours among them."""
    yield ours
    for path in LOCKS.iterdir():
        if int(path.name) == ours:
            continue
        with path.open("w") as file, contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield int(path.name)  # locked until it is cleaned


def _forget(number):
    """Remove the notes of labs on what must be undone on machines of this fleet: they will never be there again."""
    for path in LASTING_DIRECTORY.glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):
            if re.search(rf"\b10\.9[12]\.{number}\.", path.read_text()):
                path.unlink()


def _remove(number):
    _forget(number)
    for path in Path("/run/netns").glob(f"{PREFIX}{number}-*"):
        for pid in _netns_pids(path.name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _ip("netns", "del", path.name, check=False)
    for link in Path("/sys/class/net").glob(f"{PREFIX}{number}[abm]*"):
        _ip("link", "del", link.name, check=False)
    for path in Path("/var/tmp").glob(f"{PREFIX}{number}-*"):
        shutil.rmtree(path, ignore_errors=True)


def _netns_pids(name):
    done = subprocess.run(("ip", "netns", "pids", name), capture_output=True, text=True, check=False)
    return [int(pid) for pid in done.stdout.split()]


def _ip(*words, check=True):
    _run("ip", *words, check=check)


def _run(*words, check=True):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
