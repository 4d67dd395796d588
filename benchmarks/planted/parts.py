"""A program of known parts: `parts.py TRUTH SECONDS THREADS KIND:SECONDS...`, the parts one after the other, again and again.

It times each part by itself and writes the share of each kind into TRUTH; what it needs to start counts as `burn`. Other threads
sleep. `pipe` reads from standard input and `socket` from 127.0.0.1:PORT (environment), whose writers are no part of it.
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
ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])  # noqa: SIM115
began = ticks / os.sysconf("SC_CLK_TCK")
spent = {"burn": time.clock_gettime(time.CLOCK_BOOTTIME) - began}
ends = time.monotonic() + float(seconds)
at = time.monotonic()
while at < ends:
    for name, length in parts:
        kinds[name](length)
        now = time.monotonic()
        spent[name] = spent.get(name, 0.0) + now - at
        at = now
with open(truth, "w") as out:
    json.dump({name: length / sum(spent.values()) for name, length in spent.items()}, out)
os._exit(0)
