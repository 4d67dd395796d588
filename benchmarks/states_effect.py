"""What looks at threads do to the load that is looked at: its rate with them over its rate without, in pairs of slices.

A load counts its operations into a mapped file. `assay-engine states` looks at it all the time, and is stopped (SIGSTOP) for one
slice of each pair, by chance the first or the second. Slices are short, so that other work on the machine is alike in both. Given
is the trimmed mean (a fifth at each end) of the logarithms of the ratios with its 95 % interval (Yuen): of operations by the
clock, which other programs disturb, and of operations by the CPU time of the load and its server, which shows what looks cost
the load itself. The CPU time of the program that looks is given as a share of one CPU. Words choose the loads; `--pairs N` says
how many pairs.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import random
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ENGINE = str(Path(__file__).parents[1] / "src/assay/bin/assay-engine")
SLICE_S = 0.1
SETTLE_S = 0.002
PAIRS = 400
TRIMMED = 0.2
CONNECTIONS = 64


def cached(count: Callable[[], None], home: str) -> None:
    """Read 4 KiB from memory, again and again."""
    with Path(f"{home}/data").open("w+b") as file:
        file.write(bytes(1 << 20))
        file.flush()
        while True:
            os.pread(file.fileno(), 4096, 0)
            count()


def fsync(count: Callable[[], None], home: str) -> None:
    """Write 4 KiB and flush."""
    with Path(f"{home}/flushed").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
            os.fsync(file)
            count()


def connections(count: Callable[[], None], _home: str) -> None:
    """One request in flight on each of 64 connections, to a server in a process of its own."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)
    if os.fork() == 0:
        answer([listener.accept()[0] for _ in range(CONNECTIONS)], lambda: None, first=False)
    ours = [socket.create_connection(listener.getsockname()) for _ in range(CONNECTIONS)]
    answer(ours, count, first=True)


def answer(connected: list[socket.socket], count: Callable[[], None], *, first: bool) -> None:
    """Send a byte back for each that comes."""
    waiting = select.epoll()
    by_number = {one.fileno(): one for one in connected}
    for one in connected:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting.register(one, select.EPOLLIN)
        if first:
            one.send(b"x")
    while True:
        for number, _ in waiting.poll():
            one = by_number[number]
            if not one.recv(1):
                os._exit(0)
            one.send(b"x")
            count()


def threads(count: Callable[[], None], home: str) -> None:
    """The same reads by 200 threads that take turns."""
    for _ in range(199):
        threading.Thread(target=cached_slowly, args=(count, home), daemon=True).start()
    cached_slowly(count, home)


def cached_slowly(count: Callable[[], None], _home: str) -> None:
    """Read a page, then sleep for 10 ms."""
    with Path("/proc/self/exe").open("rb") as file:
        while True:
            os.pread(file.fileno(), 4096, 0)
            count()
            time.sleep(0.01)


def slapd(count: Callable[[], None], home: str) -> None:
    """One search of the root entry in flight on each of 8 connections, to a slapd."""
    Path(f"{home}/slapd.conf").write_text("include /etc/ldap/schema/core.schema\nmodulepath /usr/lib/ldap\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    subprocess.Popen(["slapd", "-d", "0", "-h", f"ldap://127.0.0.1:{port}", "-f", f"{home}/slapd.conf"])
    ours = [connected(port) for _ in range(8)]
    size = len(asked(ours[0]))
    waiting = select.epoll()
    by_number = {one.fileno(): [one, size] for one in ours}
    for one in ours:
        waiting.register(one, select.EPOLLIN)
        one.send(SEARCH)
    while True:
        for number, _ in waiting.poll():
            found = by_number[number]
            found[1] -= len(found[0].recv(found[1]))
            if not found[1]:
                found[1] = size
                found[0].send(SEARCH)
                count()


def connected(port: int) -> socket.socket:
    """A connection, as soon as the server is there."""
    while True:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.05)


def asked(one: socket.socket) -> bytes:
    """The whole answer to a search: nothing more comes for a fifth of a second."""
    one.send(SEARCH)
    found = one.recv(65536)
    one.settimeout(0.2)
    with contextlib.suppress(TimeoutError):
        found += one.recv(65536)
    one.settimeout(None)
    return found


SEARCH = bytes.fromhex("3025020101632004000a01000a0100020100020100010100870b") + b"objectClass" + b"\x30\x00"
"""Of the root entry, by its presence (RFC 4511)."""
LOADS = {"cached": cached, "fsync": fsync, "connections": connections, "threads": threads, "slapd": slapd}


def loaded(name: str, home: str) -> None:
    """Be a load."""
    with Path(f"{home}/count").open("r+b") as file:
        counter, number = mmap.mmap(file.fileno(), 8), [0]

        def count() -> None:
            number[0] += 1
            counter[:8] = struct.pack("q", number[0])

        LOADS[name](count, home)


def measured(name: str, pairs: int) -> str:
    """The ratio of a load with its interval."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as home, contextlib.ExitStack() as undo:
        counter_file = undo.enter_context(Path(f"{home}/count").open("w+b"))
        counter_file.write(bytes(8))
        counter_file.flush()
        counter = mmap.mmap(counter_file.fileno(), 8)
        load = subprocess.Popen([sys.executable, __file__, "--be", name, home], start_new_session=True)
        undo.callback(lambda: (os.killpg(load.pid, signal.SIGKILL), load.wait()))
        time.sleep(1.0)
        options = json.dumps({"roots": {"load": [load.pid]}})
        looks = subprocess.Popen([ENGINE, "states", options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        undo.callback(lambda: (looks.kill(), looks.wait()))
        time.sleep(3.0)  # the first CPU time is spent faster
        chance, ratios, spent_s, began = random.Random(1), [], 0.0, 0.0
        working = [load.pid, *map(int, Path(f"/proc/{load.pid}/task/{load.pid}/children").read_text().split())]

        def now() -> tuple[float, float, float]:
            return struct.unpack("q", counter[:8])[0], time.monotonic(), sum(map(cpu_s, working))

        def rates(*, is_on: bool) -> tuple[float, float]:
            nonlocal spent_s, began
            os.kill(looks.pid, signal.SIGCONT if is_on else signal.SIGSTOP)
            time.sleep(SETTLE_S)
            before, cpu = now(), cpu_s(looks.pid)
            time.sleep(SLICE_S)
            done, took, worked = (late - early for early, late in zip(before, now(), strict=True))
            if is_on:
                spent_s, began = spent_s + cpu_s(looks.pid) - cpu, began + took
            return done / took, done / worked if worked else 0.0

        for _ in range(pairs):
            order = chance.sample([True, False], 2)
            found = {is_on: rates(is_on=is_on) for is_on in order}
            if all(found[True]) and all(found[False]):  # a disk may stand still for that long
                ratios.append([math.log(with_ / without) for with_, without in zip(found[True], found[False], strict=True)])
        os.kill(looks.pid, signal.SIGCONT)
        told = [f"{ratio([each[at] for each in ratios])} {by}" for at, by in enumerate(("by the clock", "by CPU time"))]
        return f"{name}: {', '.join(told)}, {len(ratios)} pairs; {spent_s / began:.2%} of a CPU"


def ratio(logarithms: list[float]) -> str:
    """The ratio with its interval."""
    mean, error = trimmed(logarithms)
    low, middle, high = (math.exp(mean + times * error) for times in (-2.0, 0.0, 2.0))
    return f"{middle:.4f} ({low:.4f} to {high:.4f})"


def trimmed(values: list[float]) -> tuple[float, float]:
    """The trimmed mean and its standard error, from the values whose ends are drawn in."""
    ordered, cut = sorted(values), int(TRIMMED * len(values))
    inner = ordered[cut : len(values) - cut]
    drawn_in = [inner[0]] * cut + inner + [inner[-1]] * cut
    return statistics.fmean(inner), statistics.stdev(drawn_in) / ((1 - 2 * TRIMMED) * math.sqrt(len(values)))


def cpu_s(pid: int) -> float:
    """CPU time of a process with all its threads, by its clock (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def main(words: list[str]) -> None:
    """Measure all loads, or those that are named."""
    if words[:1] == ["--be"]:
        loaded(words[1], words[2])
    pairs = int(words[words.index("--pairs") + 1]) if "--pairs" in words else PAIRS
    for name in [one for one in words if one in LOADS] or LOADS:
        print(measured(name, pairs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
