"""Machines of other systems: their commands answer from recorded texts, so that the real shell of a far host runs them."""

import contextlib
import os
import subprocess
import threading
import time

from assay.hosts.shell import ShellHost
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import HOSTS, PHASE_EDGES, SECOND_NS

DISPATCH = {
    "uname": r"""
read -r s r m <{d}/uname
case ${{1--s}} in -s) echo $s;; -r) echo $r;; -m) echo $m;; -v) echo "$s $r";; *) echo $s $r $m;; esac""",
    "sysctl": r"""
only=; ignoring=; bad=
while :; do case $1 in -n) only=1; shift;; -i) ignoring=1; shift;; *) break;; esac; done
for n; do
  line=$(grep -E "^$n(: |=)" {d}/sysctl) || {{ bad=1; continue; }}
  if [ -n "$only" ]; then printf '%s\n' "$line" | sed -E "s/^$n(: |=)//"; else printf '%s\n' "$line"; fi
done
[ -n "$ignoring" ] || [ -z "$bad" ]""",
    "netstat": 'cat "{d}/netstat$(printf %s "$*" | tr -d " " | sed s/-ptcp/-p-tcp/)"',
    "iostat": 'cat "{d}/iostat$1"',
    "vmstat": 'cat "{d}/vmstat$1"',
    "ifconfig": "cat {d}/ifconfig",
    "kstat": 'case "$*" in "-p -c disk") cat {d}/kstat-disk;; *) cat {d}/kstat;; esac',
    "pagesize": "cat {d}/pagesize",
    "ipadm": "cat {d}/ipadm",
    "dladm": "cat {d}/dladm",
    "hostid": "echo 4d5e6f70",
    "esxcli": r"""
case "$*" in
  "network nic list") cat {d}/nic-list;; "network nic stats get"*) cat {d}/nic-stats;;
  "storage core device stats get") cat {d}/device-stats;; "hardware memory get") cat {d}/memory;;
  "system version get") cat {d}/version;; "system uuid get") echo 5f0c0a30-1b2c-3d4e-5f60-001b21aabbcc;;
esac""",
}


def recorded_system(tmp_path, name):
    """Copy the recorded texts of a system, with commands that print them; the directory of the commands."""
    texts, commands = tmp_path / name, tmp_path / f"{name}-commands"
    texts.mkdir()
    commands.mkdir()
    for file in (HOSTS / name).iterdir():
        (texts / file.name).write_text(file.read_text())
    for command, script in DISPATCH.items():
        path = commands / command
        path.write_text("#!/bin/sh\n" + script.format(d=texts).lstrip("\n") + "\n")
        path.chmod(0o755)
    return texts, commands


def change(path, before, after):
    """Replace a text that is there once."""
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


class Pipes:
    """A session over a local process, as ssh gives one: enough to run the far shell's commands against recorded texts."""

    def __init__(self, argv, env):
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, start_new_session=True
        )

    def send(self, line):
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def listen(self, heard):
        def pump():
            with self._process.stdout as lines:
                for raw in lines:
                    heard(raw.decode().removesuffix("\n"), time.monotonic_ns())
            heard(None, time.monotonic_ns())

        self._pump = threading.Thread(target=pump, daemon=True)
        self._pump.start()

    def end_input(self):
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def close(self):
        self.end_input()
        self._process.wait(300)
        self._pump.join(10)

    def complaint(self):
        return ""


class LocalDoor:
    """Opens shells of this machine."""

    def __init__(self, env):
        self._env, self._opened = env, []

    def open(self, command):
        self._opened.append(Pipes(["/bin/sh", "-c", command], self._env))
        return self._opened[-1]

    def close(self):
        for session in self._opened:
            session.close()


@contextlib.contextmanager
def unix_host(name, commands):
    """Give the real ShellHost on a local /bin/sh whose commands answer as that system does."""
    door = LocalDoor({**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"})
    with contextlib.closing(door), ShellHost(name, door) as host:
        yield host


def phase(observer, host, *changes, subject=None):
    """Look at each edge, 1 s apart, with a change of the texts before the second look and each later one."""
    snapshots = []
    for index, edge in enumerate(PHASE_EDGES):
        if 0 < index <= len(changes):
            changes[index - 1]()
        raw = dict(observer.read(host, subject or Subject()))
        snapshots.append(Snapshot(edge=edge, at_ns=(index - 1) * SECOND_NS, took_ns=1000, raw=raw))
    return observer.parse("s", "p", snapshots, subject or Subject())


def trial(observer, host):
    """The facts before a trial, by key."""
    look = Snapshot(edge=Edge.TRIAL_START, at_ns=0, took_ns=1, raw=dict(observer.read(host, Subject())))
    return {fact.key: fact for fact in observer.parse("s", "", [look], Subject()).facts}
