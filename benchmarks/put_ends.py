"""When a put ends by the lab's word, and when the server had its last byte, by a ruler beside: clients in user space, 12.5 MB/s.

Two files of 32 MiB go to a server behind an emulated path of 100 Mbit/s and 1 ms each way, through a mount or by the client's
own program. A program apart looks every 2 ms at the size, the blocks and the dirty pages (cachestat) of each file in the
server's own directory. The content is complete at the first look at which every file has all its bytes, and stored at the
first one after it at which none has a page that is dirty or being written. "T of the clients" ends where the slowest client
had nothing left, and is held against the first; T, which `put.synced_bytes_per_s` divides by, also has the flush of the
server, and is held against the later one. T leaves out what the lab's own last look takes between the last operation and that
flush, some 0.1 s where no client was still sending; the ruler does not. All are counted from the start of the first program
on.

    python benchmarks/put_ends.py [NAME...]
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.audit import judge
from assay.measures import whole_window
from assay.notebook import read

ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
FILES, SIZE = 2, 32 * (1 << 20)
LOOK_S, SEARCH_S = 0.002, 0.05
SCRATCH = ".assay-*"
HIDDEN = (".glusterfs",)
COMPLETE, STORED = "complete", "stored"
LIBC, CACHESTAT = ctypes.CDLL(None, use_errno=True), 451
"""The number of the call is the same on every architecture."""
EXPERIMENT = """
title = "The end of a put"
question = "When does the server have every byte?"
repeats = 1
[paths.wan]
rate = "100 Mbit/s"
delay = "1 ms"
queue = "200 kB"
[targets.t]
kind = "{kind}"
through = "wan"
{knobs}
[workloads.w]
kind = "transfer"
quiesce = "0 s"
files = {files}
file_size = "{mib} MiB"
operations = ["put"]
[measures]
"w.put.synced_bytes_per_s" = {{}}
"""
SMBCLIENT = 'put = ["smbclient", "//{server.address}/data", "-N", "-m", "SMB3", "-c", "put {source} {name}"]'
SCP = 'put = ["scp", "-q", "-F", "{instance}/ssh_config", "{source}", "{server.address}:{data}/{name}"]'
CURL = 'put = ["curl", "-fsS", "-T", "{source}", "http://{server.address}/{name}"]'


@dataclass(frozen=True, kw_only=True)
class Case:
    """A target with its client, and how many copies of each file its server keeps."""

    kind: str
    knobs: str = ""
    needs: tuple[str, ...]
    copies: int = 1


CASES: Mapping[str, Case] = {
    "webdav by rclone": Case(kind="webdav", needs=("apache2", "rclone")),
    "webdav by curl": Case(kind="webdav", knobs=CURL, needs=("apache2", "curl")),
    "smb_samba by rclone": Case(kind="smb_samba", needs=("smbd", "rclone")),
    "smb_samba by smbclient": Case(kind="smb_samba", knobs=SMBCLIENT, needs=("smbd", "smbclient")),
    "sftp_openssh by sshfs": Case(kind="sftp_openssh", needs=("sshd", "sshfs")),
    "sftp_openssh by scp": Case(kind="sftp_openssh", knobs=SCP, needs=("sshd", "scp")),
    "s3_versitygw by rclone": Case(kind="s3_versitygw", needs=("versitygw", "rclone")),
    "nfs_ganesha by libnfs": Case(kind="nfs_ganesha", needs=("ganesha.nfsd", "rpcbind", "assay-nfs")),
    "gluster, one copy": Case(kind="gluster", knobs="bricks = 1\ncopies = 1", needs=("glusterd", "glusterfs")),
    "gluster, three copies": Case(kind="gluster", needs=("glusterd", "glusterfs"), copies=3),
}


@dataclass(frozen=True, kw_only=True)
class Ends:
    """What was told and what was seen, in seconds from the start of the first program on."""

    clients_s: float
    whole_s: float
    complete_s: float | None
    look_s: float
    """The look before was so much earlier."""
    stored_s: float | None
    rate: float
    state: str


def measure(names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    for name, case in CASES.items():
        if names and not any(word in name for word in names):
            continue
        lacking = [one for one in case.needs if not there(one)]
        yield name, f"not run: no {', '.join(lacking)}" if lacking else told(of(case), case.copies)


def there(program: str) -> bool:
    """Whether a program is on the PATH, or where `make` leaves it."""
    own = Path(__file__).parents[1] / ".build"
    path = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin:{own}/servers:{own}/sshd/usr/sbin:{own.parent}/src/assay/bin"
    return shutil.which(program, path=path) is not None


def told(ends: Ends, copies: int) -> str:
    """One row of the table."""
    if ends.complete_s is None:
        return f"T {ends.whole_s:.3f} s; the ruler saw no end"
    stored_s = ends.stored_s or ends.complete_s
    clients, whole = (
        f"{found:.3f} s ({found / seen - 1:+.1%})"
        for found, seen in ((ends.clients_s, ends.complete_s), (ends.whole_s, stored_s))
    )
    path_s = FILES * SIZE * copies / 12.5e6
    return (
        f"complete after {ends.complete_s:.3f} s (looked {ends.look_s * 1e3:.0f} ms before; {path_s:.2f} s by the path alone),"
        f" stored after {stored_s:.3f} s; T of the clients {clients}; T {whole},"
        f" {ends.rate / 1e6:.2f} MB/s {ends.state}"
    )


def of(case: Case) -> Ends:
    """Run the experiment of a case beside the ruler, and hold one against the other."""
    with tempfile.TemporaryDirectory(prefix="assay-put-ends-", dir="/var/tmp") as folder:
        knobs = case.knobs
        if case.kind == "sftp_openssh" and not shutil.which("sshd", path="/usr/sbin:/sbin"):
            knobs += f'\nserver.program = "{Path(__file__).parents[1] / ".build/sshd/usr/sbin/sshd"}"'
        text = EXPERIMENT.format(kind=case.kind, knobs=knobs, files=FILES, mib=SIZE >> 20)
        Path(folder, "put.toml").write_text(text)
        ruler = subprocess.Popen(
            [sys.executable, __file__, "--ruler", folder, str(FILES * case.copies), str(SIZE)], stdout=subprocess.PIPE, text=True
        )
        done = subprocess.run(
            [*ASSAY, "run", "put.toml", "--lab", "lab", "--progress", "none"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        ruler.terminate()
        said = [Moment(*line.split()) for line in ruler.communicate()[0].splitlines()]
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        (plan,) = Path(folder, "lab").glob("*/plan.json")
        results = read.results(plan.parent, judge.ruleset())
    (judged,) = results.runs[-1:]
    phase = next(one for one in judged.run.phases if one.name == "w.put")
    window = whole_window(phase, "put")
    assert window is not None, phase
    assert phase.drain_ns is not None, phase
    from_ns = judged.run.hosts[0].t0_mono_ns + window.from_ns
    # an attempt that noise spoiled had files of its own: what became complete within this one counts
    until_ns = from_ns + window.seconds * 1e9 + phase.drain_ns + 1e10
    within = [one for one in said if from_ns <= int(one.at_ns) <= until_ns]
    complete = next((one for one in reversed(within) if one.what == COMPLETE), None)
    stored = next((one for one in within if complete and one.what == STORED and int(one.at_ns) >= int(complete.at_ns)), None)
    clients_ns = max((one.clients_drain_ns or 0 for one in phase.hosts), default=0)
    (verdict,) = judged.verdicts.values()
    return Ends(
        clients_s=window.seconds + clients_ns / 1e9,
        whole_s=window.seconds + phase.drain_ns / 1e9,
        complete_s=(int(complete.at_ns) - from_ns) / 1e9 if complete else None,
        look_s=int(complete.gap_ns) / 1e9 if complete else 0.0,
        stored_s=(int(stored.at_ns) - from_ns) / 1e9 if stored else None,
        rate=verdict.value or 0.0,
        state=str(verdict.state),
    )


class Moment(NamedTuple):
    """What the ruler saw, when (ns of the monotonic clock), and how long after its last look."""

    what: str
    at_ns: str
    gap_ns: str


def look(roots: Sequence[Path], size: int) -> list[str]:
    """The files of this size below these directories that have all their blocks."""
    found = list[str]()
    for root in roots:
        for directory, names, files in os.walk(root):
            names[:] = [name for name in names if name not in HIDDEN]
            for path in (os.path.join(directory, name) for name in files):
                try:
                    one = os.lstat(path)
                except FileNotFoundError:
                    continue
                if one.st_size == size and one.st_blocks * 512 >= size:
                    found.append(path)
    return found


def is_stored(path: str) -> bool:
    """Whether no page of a file is dirty or being written (cachestat(2))."""
    whole, pages = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return LIBC.syscall(CACHESTAT, file, whole, pages, 0) == 0 and pages[1] + pages[2] == 0
    finally:
        os.close(file)


def rule(folder: Path, wanted: int, size: int) -> None:
    """Print the moments at which the content became complete, and stored, until this is ended."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # a look that waits for a CPU is late
    was, roots, searched, last_ns = "", list[Path](), 0.0, 0
    while True:
        now = time.monotonic()
        if now > searched + SEARCH_S:
            roots, searched = data_of(folder), now
        at_ns, whole = time.monotonic_ns(), look(roots, size)
        state = "" if len(whole) < wanted else STORED if all(map(is_stored, whole)) else COMPLETE
        if state != was and not (was == STORED and state == COMPLETE):
            for what in (COMPLETE, STORED) if state == STORED and was == "" else (state,):
                if what:
                    print(what, at_ns, at_ns - last_ns, flush=True)
            was = state
        last_ns = at_ns
        time.sleep(LOOK_S)


def data_of(folder: Path) -> list[Path]:
    """The data directories of servers that were made for runs below a folder."""
    return [place for place in folder.glob(f"lab/{SCRATCH}/{SCRATCH}/data") if place.is_dir()]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ruler"]:
        rule(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    for what, figure in measure(sys.argv[1:]):
        print(f"| {what} | {figure} |", flush=True)
