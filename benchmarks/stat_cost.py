"""What `assay stat` adds to the machine that it measures, and what it adds to the command itself.

Processor time is user and system time of whole processes with all their children (wait4), in pairs of a command with and
without `assay stat` whose order alternates; the difference of each pair is what was added, start of the interpreter included. The
wanted bound is 0.25 s plus 0.3 % of the duration. What a second of watching costs is the difference of a long and a short
`sleep` in the same way; as root the kernel tells of every file that anybody opens and of every task that ends, so that
others' work costs, too: it is measured again beside a program that opens 1,250 files and ends 125 tasks a second. Whoever
else works on the machine adds to that. The command's own cycles need hardware counters; without them it is the processor time
that a shell tells of itself and its children (`times`), in pairs with and without `assay stat`.
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ASSAY = str(Path(sys.executable).parent / "assay")
PAIRS = 15
OWN_PAIRS = 40
FILE_BYTES = 128 << 20
SHORT_S, LONG_S = 1, 31
FIXED_S, SHARE = 0.25, 0.003
NOBODY = ("setpriv", "--reuid", "65534", "--clear-groups")
NEIGHBOUR = """
import os, sys, time
paths, begun, made = sys.argv[1:], time.monotonic(), 0
while True:
    if os.fork() == 0:
        for path in (paths * 10)[:10]:
            os.close(os.open(path, os.O_RDONLY))
        os._exit(0)
    os.wait()
    made += 1
    time.sleep(max(0, begun + made / 125 - time.monotonic()))
"""
"""Each of 125 tasks a second opens ten files."""
TIME = re.compile(r"(\d+)m([\d.]+)s")
BUSY = "i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done"


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as name:
        folder = Path(name)
        filled(folder / "data")
        read = ("dd", f"if={folder}/data", "of=/dev/null", "bs=1M")
        write = ("dd", "if=/dev/zero", f"of={folder}/new", "bs=1M", "count=128", "conv=fsync")
        tree = ("sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done")
        for what, argv in (
            ("true", ("true",)),
            ("dd, 128 MiB from memory", read),
            ("dd, 128 MiB written and flushed", write),
            ("sh, 200 processes one after the other", tree),
        ):
            yield f"added to `{what}` (0.25 CPU-s + 0.3 % wanted)", added(argv)
        yield "added for each second that is watched (0.3 % wanted)", per_second()
        if os.geteuid() == 0:
            yield "... for an ordinary user, who looks where root is told", per_second(NOBODY)
        with neighbour(folder):
            yield "... while others open 1,250 files and end 125 tasks a second", per_second()
        many = f"dd if={folder}/data of=/dev/null bs=512 2> /dev/null"
        for what, work in (("a loop of a shell, user mode", BUSY), ("dd, 512 B reads from memory", many)):
            yield f"the command's own processor time, {what} (1 % wanted)", own(work)


@contextlib.contextmanager
def neighbour(folder: Path) -> Iterator[None]:
    """Somebody else at work."""
    paths = [folder / f"opened-{number}" for number in range(10)]
    for path in paths:
        path.touch()
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", NEIGHBOUR, *map(str, paths)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def filled(data: Path) -> None:
    """A file of random bytes, in the page cache and on the disk."""
    with data.open("wb") as file:
        for _ in range(FILE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())


def cpu_s(argv: Sequence[str]) -> float:
    """User and system time of a process and all its children."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(argv)} ended with status {process.returncode}")
    return used.ru_utime + used.ru_stime


def stat(argv: Sequence[str], *options: str) -> list[str]:
    """The command under `assay stat`."""
    return [ASSAY, "stat", *options, "--", *argv]


def added(argv: Sequence[str]) -> str:
    """The difference of pairs."""
    found = []
    for number in range(PAIRS):
        commands = (stat(argv), list(argv))
        got = [cpu_s(one) for one in (commands if number % 2 else reversed(commands))]
        found.append((got[0] - got[1]) * (1 if number % 2 else -1))
    return f"{statistics.median(found):.3f} CPU-s, least {min(found):.3f}, most {max(found):.3f} of {PAIRS} pairs"


def per_second(who: Sequence[str] = ()) -> str:
    """Processor time by the length of the run, and of a long run in all."""
    long, short = ([*who, *stat(("sleep", str(seconds)))] for seconds in (LONG_S, SHORT_S))
    runs = [(cpu_s(long), cpu_s(short)) for _ in range(3)]
    found = sorted((whole - start) / (LONG_S - SHORT_S) for whole, start in runs)
    whole = statistics.median(whole for whole, _ in runs)
    wanted = FIXED_S + SHARE * LONG_S
    spread = f"{found[0]:.2%} to {found[-1]:.2%} of 3"
    return f"{found[1]:.2%} of the duration ({spread}); `sleep {LONG_S}` in all {whole:.3f} CPU-s, {wanted:.3f} wanted"


def own(work: str) -> str:
    """The command's own time under `assay stat` over that without, pair by pair."""
    argv = ("sh", "-c", f"{work}; times")
    ratios = []
    for number in range(OWN_PAIRS):
        runs = (stat(argv), list(argv))
        got = [times_s(one) for one in (runs if number % 2 else reversed(runs))]
        ratios.append(got[0] / got[1] if number % 2 else got[1] / got[0])
    ratios.sort()
    fifth = len(ratios) // 5
    middle = f"{ratios[fifth] - 1:+.1%} to {ratios[-1 - fifth] - 1:+.1%} in the middle three fifths of {len(ratios)} pairs"
    return f"{statistics.median(ratios) - 1:+.2%} ({middle})"


def times_s(argv: Sequence[str]) -> float:
    """User and system time of the shell and its children, as its `times` tells them."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in TIME.findall(done.stdout))
