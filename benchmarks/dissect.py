"""`assay dissect`: CPU time for a million LDAP messages and for each further million, and memory.

Captures are made in memory: a search with two branches and its answer, a frame each, over eight connections whose message ids
come round. They go through files below /dev/shm (one and two million messages) or through a pipe (ten million). CPU time is that
of the command and of all it starts; memory is the largest resident size of the executable that reads, up to the last byte of the
capture. Mutated inputs are those of benchmarks/mutations.py: captures of all kinds whose file, conversation or segments were
changed; the slowest is given.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mutations
import numpy as np

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "src" / "assay" / "bin" / "assay-engine"
COMMAND = (sys.executable, "-c", "from assay.cli.main import main; main()", "dissect")
PAIRS = 50_000
CONNECTIONS = 8
MILLION = 1_000_000
HALF_OPEN = 200_000
ROUNDS = 5


def _frame(payload: bytes, *, client: bool, syn: bool = False) -> bytes:
    ends = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    source, target = ends if client else ends[::-1]
    ports = struct.pack(">HH", *((40_000, 389) if client else (389, 40_000)))
    tcp = ports + struct.pack(">IIBBHHH", 0, 0, 0x50, 2 if syn else 0x18, 64_000, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 1, 0, 64, 6, 0) + source + target
    return struct.pack("<IIII", 0, 0, 54 + len(payload), 54 + len(payload)) + bytes(12) + b"\x08\0" + ip + tcp + payload


def _tlv(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return bytes([tag, len(content)]) + content


def _search() -> bytes:
    part = [_tlv(0xA3, _tlv(4, name), _tlv(4, b"value")) for name in (b"objectClass", b"uid")]
    head = (_tlv(4, b"ou=people,dc=example,dc=com"), b"\x0a\1\2\x0a\1\0\2\1\0\2\1\0\1\1\0")
    return _tlv(0x30, b"\2\4\0\0\0\0", _tlv(0x63, *head, _tlv(0xA0, *part), _tlv(0x30, _tlv(4, b"cn"))))


def _done() -> bytes:
    return _tlv(0x30, b"\2\4\0\0\0\0", _tlv(0x65, b"\x0a\1\0\4\0\4\0"))


HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
AT_TIME, AT_PORTS, AT_NUMBERS, AT_ID = 0, 16 + 34, 16 + 38, 16 + 54 + 4
"""Places in a record: time stamp, ports, sequence numbers; and the id of a message with a header of two bytes."""


def capture(messages: int) -> Iterator[bytes]:
    """Yield a capture of so many messages: searches and their answers in turn."""
    yield HEADER
    shapes = [np.frombuffer(_frame(body, client=side == 0), dtype=np.uint8) for side, body in enumerate((_search(), _done()))]
    sizes = (len(_search()), len(_done()))
    for first in range(0, messages // 2, PAIRS):
        count = min(PAIRS, messages // 2 - first)
        number = np.arange(first, first + count, dtype=np.uint64)
        row = np.concatenate(shapes)[None, :].repeat(count, axis=0)
        for side, start in enumerate((0, len(shapes[0]))):
            ns = number * 20_000 + side * 9_000
            _put(row, start + AT_TIME, ns // 10**9 + 1_700_000_000, "<u4")
            _put(row, start + AT_TIME + 4, ns % 10**9, "<u4")
            _put(row, start + AT_PORTS + (0 if side == 0 else 2), 40_000 + number % CONNECTIONS, ">u2")
            turn = number // CONNECTIONS
            seqs = (1 + turn * sizes[0], 1 + (turn + side) * sizes[1])
            mine, theirs = (seqs[0], seqs[1]) if side == 0 else (1 + turn * sizes[1], 1 + (turn + 1) * sizes[0])
            _put(row, start + AT_NUMBERS, mine % 2**32, ">u4")
            _put(row, start + AT_NUMBERS + 4, theirs % 2**32, ">u4")
            _put(row, start + AT_ID, 1 + turn % 1024, ">u4")
        yield row.tobytes()


def _put(row: np.ndarray, at: int, values: np.ndarray, kind: str) -> None:
    width = np.dtype(kind).itemsize
    row[:, at : at + width] = np.broadcast_to(values.astype(kind)[:, None], (len(row), 1)).copy().view(np.uint8)


def half_open(count: int) -> Iterator[bytes]:
    """Yield a capture of connections of which only the SYN was seen."""
    yield HEADER
    shape = np.frombuffer(_frame(b"", client=True, syn=True), dtype=np.uint8)
    row = shape[None, :].repeat(count, axis=0)
    number = np.arange(count, dtype=np.uint64)
    _put(row, AT_TIME, number // 10**5 + 1_700_000_000, "<u4")
    _put(row, 16 + 28, 1 + number // 60_000, ">u2")
    _put(row, AT_PORTS, 1_024 + number % 60_000, ">u2")
    yield row.tobytes()


def engine(pieces: Iterator[bytes]) -> tuple[dict, int, float]:
    """Give a capture to the executable: its result, its largest resident size in bytes, its CPU seconds."""
    with tempfile.TemporaryFile() as out:
        argv = [str(ENGINE), "dissect", json.dumps({"files": ["-"]})]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=out)
        assert process.stdin is not None
        for piece in pieces:
            process.stdin.write(piece)
        peak_bytes = resident(process.pid)
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        out.seek(0)
        return json.loads(out.read()), peak_bytes, usage.ru_utime + usage.ru_stime


def resident(pid: int) -> int:
    """The largest resident size of a process so far; what wait4(2) gives begins with that of the program which started it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def command(path: Path) -> float:
    """Call `assay dissect` on a file: CPU seconds of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*COMMAND, str(path)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure() -> Iterator[tuple[str, str]]:
    """Yield each figure with its words."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        paths = [Path(directory) / f"{millions}.pcap" for millions in (1, 2)]
        for millions, path in enumerate(paths, 1):
            with path.open("wb") as file:
                file.writelines(capture(millions * MILLION))
        rounds = [[command(path) for path in paths] for _ in range(ROUNDS)]
    first = sorted(one for one, _ in rounds)
    yield "CPU time of `assay dissect`, 1,000,000 messages, min / median / max", " / ".join(_seconds(first))
    further = sorted(two - one for one, two in rounds)
    yield "each further million, pairs, min / median / max", " / ".join(_seconds(further))
    for messages in (100_000, 10 * MILLION):
        found, peak_bytes, cpu_s = engine(capture(messages))
        assert found["messages"] == messages
        assert found["operations"][0]["answered"] == messages // 2
        yield f"memory at {messages:,} messages", f"{peak_bytes / 2**20:.1f} MiB ({cpu_s:.2f} CPU-s)"
    found, peak_bytes, _ = engine(half_open(HALF_OPEN))
    assert found["connections"] == HALF_OPEN
    yield f"memory with {HALF_OPEN:,} half-open connections", f"{peak_bytes / 2**20:.1f} MiB"
    yield "mutated inputs, at most 1 s a MB wanted", mutations.figure()
    yield "crafted inputs, at most 1 s a MB wanted", crafted()


def _seconds(values: list[float]) -> list[str]:
    return [f"{values[at]:.2f} s" for at in (0, len(values) // 2, -1)]


def crafted() -> str:
    """Run the test of inputs that are made to be slow; its last line."""
    argv = ["cargo", "test", "--release", "--quiet", "-p", "assay-dissect", "--test", "captures", "no_input", "--", "--nocapture"]
    done = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True)
    return next(line for line in done.stdout.splitlines() if "the slowest" in line)


if __name__ == "__main__":
    for what, figure in measure():
        print(what, "|", figure)
