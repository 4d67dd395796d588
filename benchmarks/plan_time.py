"""How long experiments take against what `assay plan` says before: without history, and after the first of them.

Each experiment is planned and run in a notebook of its own, so that nothing is known of this machine; then it is planned
again with another seed, which makes it another experiment of the same kind. Within a factor of 1.5 is wanted. Far hosts are
namespaces of this machine with an sshd, so they share its CPUs.

    python benchmarks/plan_time.py [NAME...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hosts_runs import far_machines

ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
HEAD = """
title = "A plan against its run"
question = "How long does it take?"
repeats = 3
seed = {seed}
"""
DIRECTORY = """
[targets.here]
kind = "directory"
path = "{folder}"
"""
LOOP = """
[targets.disk]
kind = "loopfs"
filesystem = "{filesystem}"
size = "512 MiB"
{limit}
"""
STREAM = """
[workloads.stream]
kind = "bulk_io"
operations = ["write", "read"]
size = "128 MiB"
record_size = "1 MiB"
flush = "end"
cache = "cold"
[measures]
"stream.read.bytes_per_s" = {}
"""
COMMITS = """
[workloads.commit]
kind = "bulk_io"
operations = ["random_write"]
size = "32 MiB"
record_size = "4 KiB"
flush = "each"
overwrite = true
ops = 2000
[measures]
"commit.random_write.ops_per_s" = {}
"""
READS = """
[workloads.reads]
kind = "bulk_io"
operations = ["random_read"]
size = "128 MiB"
record_size = "4 KiB"
direct = true
ops = 8000
[measures]
"reads.random_read.ops_per_s" = {}
"""
FILES = """
[workloads.files]
kind = "metadata"
object = "file"
count = 10000
operations = ["create", "list", "stat", "unlink"]
[measures]
"files.create.ops_per_s" = {}
"""
DURABLE = FILES.replace('"create", ', '"create", "fsync", ').replace("10000", "2000")
TIMED = READS.replace("ops = 8000", 'duration = "3 s"')
SLOW = 'limit = { read_bytes_per_s = "40 MB/s", write_bytes_per_s = "40 MB/s" }'
PATH = """
[paths.wan]
rate = "100 Mbit/s"
delay = "1 ms"
queue = "200 kB"
"""
LINE = """
[targets.line]
kind = "line"
through = "wan"
[workloads.send]
kind = "net_stream"
duration = "2 s"
[measures]
"send.send.bytes_per_s" = {}
"""
DISK = """
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "256 MiB"
[targets.server]
kind = "{kind}"
on = "disk"
through = "wan"
{knobs}
[factors]
target = ["server"]
"""
SSHD = Path(__file__).parents[1] / ".build/sshd/usr/sbin/sshd"
SFTP = f'server.program = "{SSHD}"' if SSHD.exists() else ""
SERVED_FILES = FILES.replace("10000", "500")
SERVED_STREAM = STREAM.replace("128 MiB", "16 MiB")
TRANSFER = """
[workloads.files]
kind = "transfer"
files = 4
file_size = "4 MiB"
[measures]
"files.put.bytes_per_s" = {}
"""
SCP = """
put = ["scp", "-q", "-F", "{instance}/ssh_config", "{source}", "{server.address}:{data}/{name}"]
get = ["scp", "-q", "-F", "{instance}/ssh_config", "{server.address}:{data}/{name}", "{destination}"]
"""
DIRECTORY_SERVER = """
[targets.people]
kind = "{kind}"
entries = 5000
"""
SEARCHES = """
[workloads.ask]
kind = "ldap_load"
mix = ["search 1"]
duration = "2 s"
[measures]
"ask.search.ops_per_s" = {}
"""
HOSTS = """
[hosts]
{hosts}
[targets.export]
kind = "commands"
host = "filer"
prepare = ["sh", "-c", "mkdir {{scratch}}/{{name}} && echo {{scratch}}/{{name}}"]
attach = ["sh", "-c", "mkdir -p {{scratch}}/{{client}} && echo {{scratch}}/{{client}}"]
detach = ["sh", "-c", "rmdir {{scratch}}/{{client}}"]
teardown = ["rm", "-rf", "{{scratch}}/{{name}}"]
[workloads.spool]
kind = "metadata"
count = 100
file_bytes = "4 KiB"
[measures]
"spool.create.ops_per_s" = {{}}
"""
CASES = {
    "streams, a directory": DIRECTORY + STREAM,
    "commits, a directory": DIRECTORY + COMMITS,
    "random reads, a directory": DIRECTORY + READS,
    "random reads for 3 s, a directory": DIRECTORY + TIMED,
    "files, a directory": DIRECTORY + FILES,
    "files with fsync, xfs on a loop disk": LOOP.format(filesystem="xfs", limit="") + DURABLE,
    "files, ext4 on a loop disk": LOOP.format(filesystem="ext4", limit="") + FILES,
    "streams, a loop disk of 40 MB/s": LOOP.format(filesystem="ext4", limit=SLOW) + STREAM,
    "a network stream, the line": PATH + LINE,
    "files, sftp over a path": PATH + DISK.format(kind="sftp_openssh", knobs=SFTP) + SERVED_FILES,
    "streams, sftp over a path": PATH + DISK.format(kind="sftp_openssh", knobs=SFTP) + SERVED_STREAM,
    "files, smb over a path": PATH + DISK.format(kind="smb_samba", knobs="") + SERVED_FILES,
    "whole files by scp over a path": PATH + DISK.format(kind="sftp_openssh", knobs=SFTP + SCP) + TRANSFER,
    "searches, openldap": DIRECTORY_SERVER.format(kind="ldap_openldap") + SEARCHES,
    "searches, 389ds": DIRECTORY_SERVER.format(kind="ldap_389ds") + SEARCHES,
}
FLEETS = (2, 8, 30)
"""Load hosts beside the one of the target."""


def measure(names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    for what, text in CASES.items():
        if not names or any(name in what for name in names):
            yield what, held(text, os.environ)
    for count in FLEETS:
        what = f"files, {count} far hosts"
        if names and not any(name in what for name in names):
            continue
        with far_machines(count + 1) as fleet:
            filer, *stations = (machine.address for machine in fleet)
            hosts = f'filer = {{ via = "ssh", address = "{filer}" }}\nws = {{ via = "ssh", addresses = {stations}, load = true }}'
            home = {**os.environ, "HOME": str(fleet.home)}
            home.pop("SSH_AUTH_SOCK", None)
            yield what, held(HOSTS.format(hosts=hosts.replace("'", '"')), home)


def held(text: str, env: Mapping[str, str]) -> str:
    """Plan and run one experiment in a notebook of its own."""
    with tempfile.TemporaryDirectory(prefix="plan-time-", dir=Path.cwd()) as scratch:
        return figure(Path(scratch), text, env)


def figure(folder: Path, text: str, env: Mapping[str, str]) -> str:
    (folder / "data").mkdir()
    first, second = (written(folder, text, seed) for seed in (1, 2))
    before = planned(folder, first, env)
    began = time.monotonic()
    done = subprocess.run(
        [*ASSAY, "run", first, "--lab", "lab", "--progress", "none"],
        cwd=folder,
        env=env,
        check=False,
        capture_output=True,
        text=True,
    )
    took = time.monotonic() - began
    after = planned(folder, second, env)
    again = attempts(folder)
    by_trials = f"by another one's trials {after:.0f} s ({after / took:.2f})"
    failed = f"; failed: {done.stderr.strip()[-200:]}" if done.returncode not in (0, 4) else ""
    return f"took {took:.0f} s{again}; planned {before:.0f} s ({before / took:.2f}), {by_trials}{failed}"


def attempts(folder: Path) -> str:
    """How often noise had a trial repeated."""
    repeated = sum(one.name != "attempt-1" for one in folder.glob("lab/*/trials/*/attempt-*"))
    return f" with {repeated} repeats for noise" if repeated else ""


def written(folder: Path, text: str, seed: int) -> Path:
    file = folder / f"experiment{seed}.toml"
    file.write_text(HEAD.format(seed=seed) + text.replace("{folder}", str(folder / "data")))
    return file


def planned(folder: Path, file: Path, env: Mapping[str, str]) -> float:
    """Seconds by `assay plan`."""
    done = subprocess.run(
        [*ASSAY, "plan", file, "--lab", "lab", "--json"], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)["outlook"]["duration_ns"] / 1e9


def main() -> int:
    for what, words in measure(sys.argv[1:]):
        print(f"| {what} | {words} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
