"""A program of known parts: `parts.py TRUTH SECONDS THREADS KIND:SECONDS...`, the parts one after the other, again and again.

It times each part by itself and writes the share of each kind into TRUTH. All that it computes, and waits for a CPU, is `burn`,
by its clock and the kernel's account (schedstat); the other kinds share what is left. Other threads sleep. `pipe` reads from
standard input and `socket` from 127.0.0.1:PORT (environment), whose writers are no part of it.
"""

import json
import os
import socket
import sys
import threading
import time


def burn(seconds):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass


def fsync(seconds):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        file.write(b"x" * 4096)
        os.fsync(file)


def futex(seconds):
    threading.Event().wait(seconds)


def pipe(_seconds):
    os.read(0, 1)


def answer(_seconds):
    connection.recv(1)


truth, seconds, threads, *words = sys.argv[1:]
kinds = {"burn": burn, "sleep": time.sleep, "fsync": fsync, "futex": futex, "pipe": pipe, "socket": answer}
parts = [(name, float(length)) for name, _, length in (word.partition(":") for word in words)]
if any(name == "socket" for name, _ in parts):
    connection = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
if any(name == "fsync" for name, _ in parts):
    file = open(f"{truth}.data", "wb", buffering=0)  # noqa: SIM115 - to the end
for _ in range(int(threads) - 1):
    threading.Thread(target=time.sleep, args=(float(seconds),), daemon=True).start()
counted = open("/proc/thread-self/schedstat")  # noqa: SIM115 - to the end


def ran():
    """Time on a CPU and ready for one, of this thread; the first one of its clock: schedstat is as old as the last tick."""
    counted.seek(0)
    return time.thread_time() + int(counted.read().split()[1]) / 1e9


spent = {}
ends = time.monotonic() + float(seconds)
at, had = time.monotonic(), ran()
began, at_first = at, had
while at < ends:
    for name, length in parts:
        kinds[name](length)
        now, has = time.monotonic(), ran()
        computed = min(now - at, has - had)
        if name != "burn":
            spent[name] = spent.get(name, 0.0) + now - at - computed
        at, had = now, has
waited = (at - began) - (had - at_first)  # a part may lose the CPU between its two clocks, all of them do not
scale = waited / sum(spent.values()) if spent else 0.0
spent = {"burn": had, **{name: length * scale for name, length in spent.items()}}
with open(truth, "w") as out:
    json.dump({name: length / sum(spent.values()) for name, length in spent.items()}, out)
os._exit(0)
