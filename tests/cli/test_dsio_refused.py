"""Calls of `assay dsio` that are refused: every reason at once, each with its remedy; by the command where the machine allows."""

import os
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.cli import dsio as verb
from assay.errors import MissingError, RefusedError, UsageError
from assay.hosts.local import Local
from assay_process import Bench, as_nobody
from dsio_stage import WHY_NOT

ROOT = os.geteuid() == 0
TAIL = shutil.which("tail")


class Lacking(Local):
    """This machine without some of what it has."""

    def __init__(self, *, root=True, bpftrace=True, servers=()):
        super().__init__()
        self.root_user, self.has_bpftrace = root, bpftrace
        self.servers = {f"/proc/{pid}": name for pid, name in servers}

    def is_root(self):
        return self.root_user

    def exists(self, path):
        return self.has_bpftrace if path.endswith("/bpftrace") else super().exists(path)

    def list(self, path):
        return tuple(name.removeprefix("/proc/") for name in self.servers) if path == "/proc" else super().list(path)

    def read(self, path):
        folder, _, name = path.rpartition("/")
        if folder in self.servers and name in ("comm", "cmdline"):
            return {"comm": f"{self.servers[folder]}\n", "cmdline": f"/usr/sbin/{self.servers[folder]}\0-x\0"}[name]
        return super().read(path)


def refused(host, **words):
    with pytest.raises((UsageError, MissingError, RefusedError)) as caught:
        verb.resolved(host, verb.DsioRequest(**words))
    return caught.value


def test_no_server_two_servers_and_no_directory_server():
    none = refused(Lacking())
    assert (none.exit_status, "found no directory server" in str(none)) == (1, True)
    two = refused(Lacking(servers=((12, "slapd"), (34, "ns-slapd"))))
    assert (two.exit_status, "slapd (12), ns-slapd (34)" in str(two)) == (2, True)
    other = refused(Lacking(), pid=os.getpid())
    assert other.exit_status == 2
    assert re.search(rf"found process {os.getpid()} \(.+\); expected a directory server", str(other))
    assert "(not running)" in str(refused(Lacking(), pid=2**22 + 1))


def test_every_mistake_of_a_call_comes_at_once():
    error = refused(Lacking(root=False, bpftrace=False, servers=((12, "slapd"),)))
    assert isinstance(error, RefusedError)
    assert ("CAP_BPF" in str(error), "bpftrace" in str(error)) == (True, True)
    assert isinstance(refused(Lacking(bpftrace=False, servers=((12, "slapd"),))), MissingError)
    text = str(refused(Lacking(root=False), interval="1 ms", duration="soon", csv_to="-", json_to="-"))
    keys = ("--interval", "--duration", "--csv and --json", "CAP_BPF", "no directory server")
    assert [key for key in keys if key not in text] == []


# ------------------------------------------------------------------------------------------------ by the command


def test_a_process_that_is_no_directory_server(tmp_path):
    done = Bench(tmp_path).run("dsio", "-P", os.getpid(), "--interval", "often")
    assert done.returncode == 2
    assert f"found process {os.getpid()}" in done.stderr
    assert "--interval" in done.stderr


def in_namespaces(tmp_path, script, *kinds):
    """A bench whose calls see only the processes, or only the programs, that a script leaves them."""
    spaces = [f"--{kind}" for kind in kinds]
    return Bench(tmp_path, through=("unshare", *spaces, "--fork", "--kill-child", "sh", "-c", f'{script}\nexec "$@"', "sh"))


def likeness(folder, name):
    """A command that looks like a server that runs."""
    shutil.copy(TAIL, folder / name)
    return f"{shlex.quote(str(folder / name))} -f /dev/null & "


@pytest.mark.root
@pytest.mark.skipif(not ROOT, reason="namespaces need root")
def test_no_server_or_two_are_named_with_their_ids(tmp_path):
    done = in_namespaces(tmp_path, "", "pid", "mount-proc").run("dsio")
    assert (done.returncode, "found no directory server" in done.stderr) == (1, True)
    script = likeness(tmp_path, "slapd") + likeness(tmp_path, "ns-slapd") + "sleep 0.2"
    done = in_namespaces(tmp_path, script, "pid", "mount-proc").run("dsio", "--interval", "1 s")
    assert done.returncode == 2
    assert re.search(r"slapd \(\d+\), ns-slapd \(\d+\); .* -P PID", done.stderr)


HIDDEN = """set -e
mkdir {home}/bin
mount --bind /usr/bin {home}/bin
mount -t tmpfs none /usr/bin
{home}/bin/ln -s {home}/bin/* /usr/bin
rm -f /usr/bin/bpftrace"""


@contextmanager
def server_likeness(tmp_path):
    """The id of a process that looks like slapd."""
    shutil.copy(TAIL, tmp_path / "slapd")
    process = subprocess.Popen([tmp_path / "slapd", "-f", "/dev/null"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.mark.root
@pytest.mark.skipif(not ROOT, reason="mount namespaces need root")
def test_a_machine_without_bpftrace_is_told_the_package(tmp_path):
    if any(Path(folder, "bpftrace").exists() for folder in ("/usr/sbin", "/usr/local/bin")):
        pytest.skip("bpftrace is outside of /usr/bin")
    with server_likeness(tmp_path) as pid:
        bench = in_namespaces(tmp_path, HIDDEN.format(home=shlex.quote(str(tmp_path))), "mount")
        done = bench.run("dsio", "-P", pid)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("bpftrace: not found. Install the package bpftrace.")


@pytest.mark.root
@pytest.mark.skipif(not ROOT, reason="other users need root")
def test_missing_rights_are_named(tmp_path):
    with server_likeness(tmp_path) as pid, as_nobody() as bench:
        done = bench.run("dsio", "-P", pid)
    assert done.returncode == 1
    assert "tracepoints need root (CAP_BPF, CAP_PERFMON). Run as root." in done.stderr


@pytest.mark.root
@pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")
def test_a_server_without_a_marker_or_a_symbol_is_refused(tmp_path):
    with server_likeness(tmp_path) as pid:
        done = Bench(tmp_path).run("dsio", "-P", pid)
    assert done.returncode == 1
    assert "no marker and no symbol of an operation. Install the server's debug symbols." in done.stderr
