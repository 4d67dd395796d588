"""Captures of the loopback: each begins when the kernel hands frames on, and ends when all that was sent before lies in it.

A program that captures is told to end by a signal, and then leaves unread what the kernel still holds. So nothing here sleeps:
the end waits for datagrams that were sent behind all other frames.
"""

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from stage.assay_process import wait_until

TAIL_BYTES = 1 << 20
"""Where in the file the last datagram is looked for."""


@contextlib.contextmanager
def captured(path, port):
    """Let tcpdump write the frames of a TCP port on the loopback to a file; skips the test where the kernel dropped some."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mark:
        mark.bind(("127.0.0.1", 0))
        which = f"tcp port {port} or udp port {mark.getsockname()[1]}"
        argv = ["tcpdump", "-i", "lo", "-s", "0", "-B", "65536", "-U", "-Z", "root", "-w", path, which]
        process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
        try:
            first = process.stderr.readline()
            while first and "listening on lo" not in first:
                first = process.stderr.readline()
            assert first, "tcpdump ended before it began"
            yield
            sent = []
            wait_until(lambda: reached(path, mark, sent), every_s=0.2)
        finally:
            process.send_signal(signal.SIGINT)
            words = process.stderr.read()
            process.wait()
            process.stderr.close()
    dropped = re.search(r"(\d+) packets? dropped by kernel", words)
    if dropped and int(dropped[1]):
        pytest.skip(f"tcpdump lost {dropped[1]} frames on this busy machine")


def reached(path, mark, sent):
    """Whether a datagram that was sent behind all other frames is in the file; sends another one, for one may be dropped."""
    sent.append(sent_and_passed(mark))
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        last = file.read()
    return any(words in last for words in sent)


def passed():
    """Return when what this process, and who answered it, sent over the loopback lies in the rings of all captures."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mark:
        mark.bind(("127.0.0.1", 0))
        sent_and_passed(mark)


def sent_and_passed(mark):
    """Send a datagram from each CPU to the same socket, and return the last one when all have come.

    Each CPU keeps a queue of the frames that it sent over the loopback, and a capture sees a frame when it leaves that queue.
    """
    allowed = os.sched_getaffinity(0)
    try:
        for cpu in sorted(allowed):
            os.sched_setaffinity(0, {cpu})
            words = secrets.token_bytes(16)
            mark.sendto(words, mark.getsockname())
            assert mark.recv(64) == words
    finally:
        os.sched_setaffinity(0, allowed)
    return words


def reads_frames(*pids):
    """Return when one of these processes has a packet socket that frames come to (the column R of /proc/net/packet)."""
    wait_until(lambda: sockets_of(pids) & receiving())


def receiving():
    rows = [line.split() for line in Path("/proc/net/packet").read_text().splitlines()[1:]]
    return {row[8] for row in rows if row[5] == "1"}


def sockets_of(pids):
    """The inodes of their sockets."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    found.add(str(path.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found
