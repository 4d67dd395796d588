"""How right the shares of the time are that `assay stat` tells: programs of known parts, 1 to 64 threads.

A program times its own parts; the sampled share of each has to be within three points of that, or within its own told error.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ASSAY = str(Path(sys.executable).parent / "assay")
PARTS = str(Path(__file__).parent / "planted" / "parts.py")
SECONDS = "6"
POINTS = 0.03
STATES = {
    "burn": ("running", "ready"),
    "sleep": ("sleep",),
    "fsync": ("flush",),
    "futex": ("other_thread", "idle", "lock"),
    "pipe": ("read_pipe",),
    "socket": ("read_socket",),
}
PROGRAMS = (
    (1, "burn:1"),
    (1, "sleep:0.02"),
    (1, "burn:0.002", "sleep:0.008"),
    (1, "burn:0.05", "sleep:0.05"),
    (1, "burn:0.8", "sleep:0.2"),
    (1, "burn:0.2", "sleep:0.8"),
    (1, "burn:2", "sleep:2"),
    (1, "burn:0.03", "sleep:0.97"),
    (1, "fsync:1"),
    (1, "burn:0.05", "fsync:0.05"),
    (1, "burn:0.02", "fsync:0.02", "sleep:0.02"),
    (1, "fsync:0.5", "sleep:1.5"),
    (1, "burn:0.03", "futex:0.07"),
    (1, "burn:0.02", "pipe:0"),
    (1, "burn:0.02", "socket:0"),
    (2, "burn:0.03", "sleep:0.07"),
    (4, "burn:0.3", "sleep:0.7"),
    (8, "burn:0.01", "fsync:0.01"),
    (16, "burn:0.04", "sleep:0.06"),
    (64, "burn:0.05", "sleep:0.15"),
)


def feed(stop: threading.Event, write: int, listener: socket.socket) -> None:
    """Give a byte every 50 ms, to a pipe and to whoever connects."""
    connections: list[socket.socket] = []
    listener.setblocking(False)
    while not stop.wait(0.05):
        with contextlib.suppress(BlockingIOError):
            connections.append(listener.accept()[0])
        for one in connections:
            with contextlib.suppress(OSError):
                one.send(b"x")
        os.write(write, b"x")


def measured(home: Path, threads: int, parts: tuple[str, ...]) -> Iterator[tuple[str, float, float, float]]:
    """Yield each kind with its true share, the sampled one, and its told error."""
    truth, told = home / "truth", home / "told"
    read, write = os.pipe()
    listener, stop = socket.create_server(("127.0.0.1", 0)), threading.Event()
    thread = threading.Thread(target=feed, args=(stop, write, listener))
    thread.start()
    words = [sys.executable, PARTS, str(truth), SECONDS, str(threads), *parts]
    environment = {**os.environ, "PORT": str(listener.getsockname()[1])}
    subprocess.run([ASSAY, "stat", f"--json={told}", "--", *words], stdin=read, capture_output=True, check=True, env=environment)
    stop.set()
    thread.join()
    listener.close()
    os.close(read)
    os.close(write)
    known, found = json.loads(truth.read_text()), json.loads(told.read_text())["time"]["load"]["parts"]
    for kind, share in known.items():
        mine = [part for part in found if part["state"] in STATES[kind]]
        yield kind, share, sum(part["share"] for part in mine), sum(part["error"] for part in mine)


def main() -> None:
    """Print each program with its shares, and how many are right."""
    right = 0
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as name:
        for threads, *parts in PROGRAMS:
            found = list(measured(Path(name), threads, tuple(parts)))
            good = all(abs(share - seen) <= max(POINTS, error) for _, share, seen, error in found)
            right += good
            each = "; ".join(f"{kind} {share:.1%}: {seen:.1%} ±{error:.1%}" for kind, share, seen, error in found)
            print(f"{'ok   ' if good else 'WRONG'} {threads} threads {' '.join(parts)}: {each}", flush=True)
            time.sleep(0.2)
    print(f"{right} of {len(PROGRAMS)}")


if __name__ == "__main__":
    main()
