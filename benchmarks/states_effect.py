"""What looks at threads do to the load that is looked at: its rate with them over its rate without, in pairs of slices.

A load counts its operations into a mapped file. `assay-engine states` looks at it all the time, and is stopped (SIGSTOP) for one
slice of each pair, by chance the first or the second. Slices are short, so that other work on the machine is alike in both. Given
is the trimmed mean (a fifth at each end) of the logarithms of the ratios with its 95 % interval (Yuen), and the CPU time of the
program as a share of one CPU. Words choose the loads; `--pairs N` says how many pairs, `--ordinary` takes
the priority of the program away.
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
ORDINARY = "--ordinary"
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


LOADS = {"cached": cached, "fsync": fsync, "connections": connections, "threads": threads}


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
        if ORDINARY in sys.argv:
            subprocess.run(["chrt", "--other", "--pid", "0", str(looks.pid)], check=True)
        time.sleep(3.0)  # the first CPU time is spent faster
        chance, ratios, spent_s, began = random.Random(1), [], 0.0, 0.0

        def rate(*, is_on: bool) -> float:
            nonlocal spent_s, began
            os.kill(looks.pid, signal.SIGCONT if is_on else signal.SIGSTOP)
            time.sleep(SETTLE_S)
            before, at, cpu = struct.unpack("q", counter[:8])[0], time.monotonic(), cpu_s(looks.pid)
            time.sleep(SLICE_S)
            done, took = struct.unpack("q", counter[:8])[0] - before, time.monotonic() - at
            if is_on:
                spent_s, began = spent_s + cpu_s(looks.pid) - cpu, began + took
            return done / took

        for _ in range(pairs):
            order = chance.sample([True, False], 2)
            found = {is_on: rate(is_on=is_on) for is_on in order}
            if all(found.values()):  # a disk may stand still for that long
                ratios.append(math.log(found[True] / found[False]))
        os.kill(looks.pid, signal.SIGCONT)
        mean, error = trimmed(ratios)
        low, middle, high = (math.exp(mean + times * error) for times in (-2.0, 0.0, 2.0))
        return f"{name}: {middle:.4f} ({low:.4f} to {high:.4f}), {len(ratios)} pairs; {spent_s / began:.2%} of a CPU"


def trimmed(values: list[float]) -> tuple[float, float]:
    """The trimmed mean and its standard error, from the values whose ends are drawn in."""
    ordered, cut = sorted(values), int(TRIMMED * len(values))
    inner = ordered[cut : len(values) - cut]
    drawn_in = [inner[0]] * cut + inner + [inner[-1]] * cut
    return statistics.fmean(inner), statistics.stdev(drawn_in) / ((1 - 2 * TRIMMED) * math.sqrt(len(values)))


def cpu_s(pid: int) -> float:
    """CPU time of the program that looks."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def main(words: list[str]) -> None:
    """Measure all loads, or those that are named."""
    if words[:1] == ["--be"]:
        loaded(words[1], words[2])
    pairs = int(words[words.index("--pairs") + 1]) if "--pairs" in words else PAIRS
    for name in [one for one in words if one in LOADS] or LOADS:
        print(measured(name, pairs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
