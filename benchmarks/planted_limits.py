"""How often `assay stat` names the limit of a program where that limit was planted, and does not name it of a twin without it.

Each program is run once, from its start to its end, as root: control groups, a loop disk and network namespaces of its own are
made and undone. A limit is named if the sentence behind `limit:` matches, without `likely` or with it. On a busy machine the
CPUs that other programs have may be the limit; then the plant has to be named for the rest of the time, and is counted apart.
A twin is the same program without the plant: what it says must not match. Words choose: `planted_limits.py quota window`.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

BIN = Path(sys.executable).parent
HERE = Path(__file__).parent / "planted"
PYTHON = sys.executable
MIB = 1 << 20
GROUPS = Path("/sys/fs/cgroup")
SECONDS = "2.5"
LINE = Path(__file__).parents[1] / "src/assay/bin/assay-line"
LIMIT = re.compile(r"limit: (.*)")
NONE = "none"


def program(*words: object) -> tuple[str, ...]:
    """One of the small programs."""
    return (PYTHON, str(HERE / "programs.py"), *map(str, words))


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A program with a limit, or its twin without."""

    name: str
    argv: tuple[str, ...]
    named: str
    """What the sentence has to match; of a twin what it may not match."""
    twin: bool = False
    server: tuple[str, ...] = ()
    """Its words behind the port."""
    port: int = 0
    strict: bool = False
    """Whether the disk may have little dirty data."""
    line: dict[str, object] = field(default_factory=dict)
    """Both directions of a line between load and server."""
    neighbours: int = 0
    """So many other programs that compute on CPU 0."""
    tc: str = ""
    unnamed: bool = False
    """Whether Assay is not told which process the server is."""


def shell(text: str) -> tuple[str, ...]:
    """Words of a shell."""
    return ("sh", "-c", text)


def fio(place: Path, *words: str) -> tuple[str, ...]:
    """Random reads past the page cache."""
    file = f"--filename={place}/data"
    return ("fio", "--name=r", file, "--rw=randread", "--direct=1", "--time_based", f"--runtime={SECONDS}", *words)


def in_group(group: Path, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command in a control group."""
    return ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *argv)


def plants(disk: Path, groups: dict[str, Path], workers: str) -> Iterator[Plant]:  # noqa: PLR0915 - a table
    """Yield all plants, each with its twin where there is one."""
    one = "127.0.0.1:{port}"
    computes = r"^the CPU time of|^CPUs:"

    def plant(name: str, argv: tuple[str, ...], named: str, **more: object) -> Plant:
        return Plant(name=name, argv=argv, named=named, **more)  # type: ignore[arg-type]

    def twin(name: str, argv: tuple[str, ...], named: str, **more: object) -> Plant:
        return Plant(name=f"{name}, twin", argv=argv, named=named, twin=True, **more)  # type: ignore[arg-type]

    # CPUs
    yield plant("CPU of the generator", program("burn"), computes)
    yield plant(
        "random numbers", shell(f"dd if=/dev/urandom of={disk}/r bs=1M count=500 conv=fsync"), f"{computes}.* dd|^CPUs: dd"
    )
    yield plant("CPU quota", in_group(groups["cpu"], program("burn")), "quota")
    yield twin("CPU quota", program("burn"), "quota")
    confined = ("taskset", "-c", "0", *program("burn"))
    yield plant("CPUs that others have", confined, "^CPUs: .* was ready", neighbours=3)
    yield plant(
        "child processes", shell("end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do /bin/true; done"), "^starts of"
    )
    yield twin("child processes", program("burn"), "^starts of")
    # storage
    yield plant("flush", program("flush", disk), "^the flushes of")
    yield twin("flush", program("sleep"), "flush")
    yield plant("device", fio(disk, "--bs=1m", "--ioengine=libaio", "--iodepth=16"), "^the device")
    yield plant("depth 1", fio(disk, "--bs=64k", "--ioengine=psync", "--iodepth=16"), "^one request in flight")
    yield twin("depth 1", fio(disk, "--bs=1m", "--ioengine=libaio", "--iodepth=16"), "^one request")
    four = fio(disk, "--bs=64k", "--ioengine=libaio", "--iodepth=4")
    yield plant("device throttle", in_group(groups["blkio"], four), "^a throttle rule")
    yield twin("device throttle", four, "throttle")
    yield plant("page faults", program("faults", f"{disk}/data"), "^pages of memory")
    dirty = shell(f"timeout {SECONDS} dd if=/dev/zero of={disk}/dirty bs=1M count=3000; true")
    yield plant("write-back throttle", dirty, "^dirty pages", strict=True)
    # programs among themselves
    yield plant("pipe, producer that computes", shell(" ".join((*program("produce", "cpu"), "| cat > /dev/null"))), computes)
    yield plant("pipe, producer that sleeps", shell(" ".join((*program("produce", "time"), "| cat > /dev/null"))), "which sleeps")
    yield plant("sleep in the client", program("sleep"), "which sleeps")
    yield plant("nothing", program("nothing"), "^nothing")
    yield plant("mutex of workers", (workers, SECONDS, "one"), "^a lock in")
    yield twin("mutex of workers", (workers, SECONDS, "apart"), "lock|turns")
    yield plant("file lock of workers", program("file-locks", disk, "one"), "^a lock in")
    yield twin("file lock of workers", program("file-locks", disk, "apart"), "lock|turns")
    yield twin("three parts", program("mixed", disk), f"^(?!{NONE})")
    # servers
    yield plant("server CPU", program("requests", one, 2), "CPU.*the server", server=("serve", "cpu"))
    yield twin("server CPU", program("requests", one, 2), "CPU time of the server", server=("serve", "sleep"))
    yield plant("server lock", program("requests", one, 8), r"(a lock in|threads of) the server", server=("serve", "lock"))
    yield twin("server lock", program("requests", one, 8), "lock|turns", server=("serve", "sleep"))
    yield plant("server disk", program("requests", one, 1), "flushes of the server", server=("serve", "disk", str(disk)))
    yield plant("server that sleeps", program("requests", one, 2), "the server .*sleeps", server=("serve", "sleep"))
    yield plant("think time", program("requests", one, 1, 0.02), "^python.* which sleeps", server=("serve", "at once"))
    yield plant("pool", program("pool", one, 2, 16), "^a pool of connections", server=("serve", "sleep"))
    yield twin("pool", program("pool", one, 16, 16), "pool", server=("serve", "sleep"))
    yield plant("foreign server", program("requests", one, 1), "^the other end", server=("serve", "sleep"), unnamed=True)
    # connections
    yield plant(
        "delayed acknowledgement", program("small-writes", one, "nagle"), "^acknowledgements", server=("serve", "at once")
    )
    yield twin("delayed acknowledgement", program("small-writes", one, "nodelay"), "acknowledg", server=("serve", "at once"))
    yield plant("connections not accepted", program("connect", one), "^connections that", server=("refuse",))
    yield plant("name server", program("names"), "^answers of a name server", server=("silent",), port=53)
    yield plant("slow reader", program("send", one), "does not read", server=("take", "0", "0.1"), unnamed=True)
    shaped = "rate 20mbit burst 64kb latency 100ms"
    yield plant("link, by tc", program("send", one), "^the rate of the path", server=("take", "0", "0"), tc=shaped)
    delay = {"delay_ns": 10_000_000}
    yield plant("window", program("send", "{server}:{port}"), "^the receive window", server=("take", "32768", "0"), line=delay)
    narrow = {"delay_ns": 2_000_000, "rate_bytes_per_s": 2_500_000, "queue_bytes": 200_000}
    yield plant(
        "link, by a line", program("send", "{server}:{port}"), "^the rate of the path", server=("take", "0", "0"), line=narrow
    )
    yield twin("window", program("send", "{server}:{port}"), "window", server=("take", "0", "0"), line=narrow)
    yield plant(
        "delay of the path", program("requests", "{server}:{port}", 1), "^the delay of", server=("serve", "at once"), line=delay
    )


# ---------------------------------------------------------------------------------------------------------- the stage


@contextlib.contextmanager
def stage() -> Iterator[tuple[Path, dict[str, Path], str]]:
    """A loop disk with a cold file, control groups with a CPU quota and a throttle, and the program of the mutexes."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="planted-") as name, contextlib.ExitStack() as undo:
        home = Path(name)
        image, disk = home / "image", home / "disk"
        disk.mkdir()
        quietly("fallocate", "-l", str(4096 * MIB), str(image))
        loop = quietly("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
        undo.callback(quietly, "losetup", "--detach", loop)
        quietly("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", loop)
        quietly("mount", loop, str(disk))
        undo.callback(quietly, "umount", str(disk))
        quietly("dd", "if=/dev/urandom", f"of={disk}/data", "bs=1M", "count=512", "conv=fsync")
        quietly("dd", f"if={disk}/data", "iflag=nocache", "count=0")
        number = quietly("lsblk", "-ndo", "MAJ:MIN", loop).strip()
        groups = {}
        for kind, settings in (
            ("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "25000"}),
            ("blkio", {"blkio.throttle.read_iops_device": f"{number} 100"}),
        ):
            groups[kind] = GROUPS / kind / f"planted-{home.name}"
            groups[kind].mkdir()
            undo.callback(groups[kind].rmdir)
            for file, text in settings.items():
                (groups[kind] / file).write_text(text)
        workers = home / "workers"
        quietly("cc", "-O1", "-pthread", "-o", str(workers), str(HERE / "workers.c"))
        yield disk, groups, str(workers)


def quietly(*argv: str) -> str:
    """What a command prints; an error ends it all."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def strict(disk: Path) -> Iterator[None]:
    """Let a disk have little dirty data of its own, and write it slowly."""
    number = quietly("findmnt", "-no", "MAJ:MIN", str(disk)).strip()
    place = Path("/sys/class/bdi", number)
    before = {name: (place / name).read_text() for name in ("max_bytes", "max_ratio", "strict_limit")}
    (place / "strict_limit").write_text("1")
    (place / "max_bytes").write_text(str(16 * MIB))
    slow = GROUPS / "blkio" / "blkio.throttle.write_bps_device"  # write-back belongs to the root group
    slow.write_text(f"{number} {40 * MIB}")
    try:
        yield
    finally:
        slow.write_text(f"{number} 0")
        (place / "max_ratio").write_text(before["max_ratio"])
        (place / "strict_limit").write_text(before["strict_limit"])


@contextlib.contextmanager
def way(one: Plant) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """How load and server are called, and the server's address: in namespaces of their own where the network is the plant."""
    if one.line:
        with subprocess.Popen([LINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as line:
            assert line.stdin
            assert line.stdout
            told = {"type": "config", "links": [{"name": "wan", "up": one.line, "down": one.line}], "seed": 1, "offload": False}
            line.stdin.write(f"{json.dumps(told)}\n")
            line.stdin.flush()
            ready: dict[str, object] = {}
            while ready.get("type") != "ready":
                ready = json.loads(line.stdout.readline())
            ends: dict[str, dict] = ready["ends"]  # type: ignore[assignment]
            load, server = (("nsenter", f"--net={ends[name]['namespace']}") for name in ("load", "server"))
            try:
                yield load, server, ends["server"]["interfaces"]["wan"]["address"].partition("/")[0]
            finally:
                line.stdin.close()
                line.wait()
    elif one.tc or one.port:
        name = f"planted-{one.name[:4].strip()}-{time.monotonic_ns() % 10**6}"
        quietly("ip", "netns", "add", name)
        try:
            inside = ("nsenter", f"--net=/run/netns/{name}")
            quietly(*inside, "ip", "link", "set", "lo", "mtu", "1500", "up")
            if one.tc:
                quietly(*inside, "tc", "qdisc", "add", "dev", "lo", "root", "tbf", *one.tc.split())
            own = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf; exec "$@"', str(resolver()))
            yield (*inside, *(own if one.port else ())), inside, "127.0.0.1"
        finally:
            quietly("ip", "netns", "del", name)
    else:
        yield (), (), "127.0.0.1"


def resolver() -> Path:
    """A file that names a name server of the own namespace."""
    path = Path(tempfile.gettempdir(), "planted-resolv.conf")
    path.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    return path


def said(one: Plant, home: Path, port: int) -> str:
    """What `assay stat` names as the limit of a plant; all that it says where it names nothing."""
    port = one.port or port
    with contextlib.ExitStack() as undo:
        load, inside, address = undo.enter_context(way(one))
        words: list[str] = []
        if one.server:
            argv = [*inside, *program(one.server[0], port, *one.server[1:])]
            server = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
            undo.callback(lambda: (server.kill(), server.wait()))
            (home / "server.pid").write_text(str(server.pid))
            time.sleep(0.5)
            words = [] if one.unnamed or one.server[0] in ("silent", "refuse") else ["--server", f"pid_file={home}/server.pid"]
        for _ in range(one.neighbours):
            other = subprocess.Popen(["taskset", "-c", "0", *program("burn")], env={"PLANTED_S": "8"})
            undo.callback(lambda other=other: (other.kill(), other.wait()))
        if one.strict:
            undo.enter_context(strict(home / "disk"))
        argv = [part.format(port=port, server=address) if "{" in part else part for part in one.argv]
        call = [*load, str(BIN / "assay"), "stat", *words, "--", *argv]
        done = subprocess.run(
            call, check=False, capture_output=True, text=True, env={**ENVIRONMENT, "PLANTED_S": SECONDS}, errors="replace"
        )
        found = LIMIT.search(done.stderr)
        spent = next((line for line in done.stderr.splitlines() if line.startswith("  spent")), done.stderr)
        return f"{found[1].removeprefix('likely ') if found else '?'}\t{spent.strip()}"


def main(wanted: list[str]) -> int:
    """Run all plants, or those whose name has one of the words; print what was said and how many were right."""
    right: dict[bool, list[bool]] = {False: [], True: []}
    behind = 0
    with stage() as (disk, groups, workers):
        for number, one in enumerate(plants(disk, groups, workers)):
            if wanted and not any(word in one.name for word in wanted):
                continue
            limit, _, spent = said(one, disk.parent, 20_000 + number).partition("\t")
            named = re.search(one.named, limit) is not None
            rest = limit.partition("; in the rest of the time ")[2].removeprefix("likely ")
            if not named and rest and re.search(one.named, rest) is not None:
                named, behind = True, behind + (not one.twin)
            good = limit != "?" and named is not one.twin
            right[one.twin].append(good)
            print(f"{'ok   ' if good else 'WRONG'} {one.name}: {limit}", flush=True)
            if not good:
                print(f"      {spent}", flush=True)
    for is_twin, found in right.items():
        print(f"{'twins' if is_twin else 'plants'}: {sum(found)} of {len(found)}")
    print(f"plants named behind a wait for CPUs that other programs had: {behind}")
    return 0


ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

if __name__ == "__main__":
    missing = [name for name in ("fio", "cc", "tc", "losetup") if shutil.which(name) is None]
    sys.exit(f"planted_limits: not here: {', '.join(missing)}" if missing else main(sys.argv[1:]))
