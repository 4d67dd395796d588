"""The line: payload at stated rates, idle round trips, losses, and a cut, between two engines in its namespaces.

Payload is what the server received in the last three quarters of a transfer of 6 s (cubic, 128 KiB messages, autotuned buffers),
the median of three; the theory is 1,448 of 1,538 bytes a segment. The queue is the rate times the round trip, at least 500 kB.
Round trips are 25 requests of 1 byte a second for 4 s, beyond the stated delay. Losses are stated for the way to the server, at
4 ms without a rate (reno, 6 s); "sent again" are the retransmissions that the kernel counts. The cut is silent and lasts 2 s,
2 s into 9 s of 100 requests a second in an open loop. One of two paths is cut 5 s into a transfer of 20 s by MPTCP; the figures
are those of the line's own count, headers included. Late are packets that came later than 5 % of the delay and than 0.2 ms.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from engine_process import EngineProcess

PROGRAM = Path(__file__).parent.parent / "src" / "assay" / "bin" / "assay-line"
MS = 1_000_000
SECOND = 1_000 * MS
TIMES = 3
STREAM = {"exchange": "stream", "message": 128 << 10, "congestion": "cubic"}
LOAD = {"rate": 100.0, "arrivals": "constant", "late_ns": MS}
ASK = {"exchange": "transaction", "load": LOAD}
RATES = (("100 Mbit/s", 12_500_000, 100_000), ("1 Gbit/s", 125_000_000, 100_000), ("2.5 Gbit/s", 312_500_000, 2 * MS))
"""Name, bytes/s, delay one way (ns)."""
LEAST_QUEUE = 500_000
CUT_S, MENDED_S = 5.0, 10.0
SPANS = {"before": (2.0, CUT_S), "away": (6.0, MENDED_S), "after": (15.0, 20.0)}
USED_MBIT_PER_S = 40.0
"""Of one of two paths: when it is cut and mended; times of the rates; from which rate on the cut one is used again."""
Way = Mapping[str, object]


@dataclass
class LineProcess:
    """A line that joins two namespaces by links that are alike."""

    up: Way
    down: Way
    offload: bool = True
    names: tuple[str, ...] = ("wan",)
    ready: dict[str, Any] = field(default_factory=dict)
    _process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen([str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()
        links = [{"name": name, "up": self.up, "down": self.down} for name in self.names]
        self.ready = self.ask({"type": "config", "links": links, "seed": 11, "offload": self.offload})
        if self.ready["type"] != "ready":
            raise RuntimeError(self.ready["message"])
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()

    def ask(self, message: Mapping[str, object]) -> dict[str, Any]:
        assert self._process
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self._process
        assert self._process.stdout
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def counts(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = self.ask({"type": "count"})["links"]["wan"]
        return found

    def under(self, end: str) -> tuple[str, ...]:
        return ("nsenter", f"--net={self.ready['ends'][end]['namespace']}", "--")

    def join_mptcp(self) -> None:
        for end in ("load", "server"):
            subprocess.run((*self.under(end), "ip", "mptcp", "limits", "set", "subflow", "8"), check=True)
        for name in self.names[1:]:
            at = self.ready["ends"]["load"]["interfaces"][name]
            for words in (
                f"route add 198.18.0.0/24 dev {at['name']} metric 1001",
                f"mptcp endpoint add {at['address']} dev {at['name']} subflow",
            ):
                subprocess.run((*self.under("load"), "ip", *words.split()), check=True)


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure); says so and no more without root."""
    if os.geteuid() or not Path("/dev/net/tun").exists():
        yield "line", "not measured: needs root and /dev/net/tun"
        return
    yield "load average of the machine", Path("/proc/loadavg").read_text(encoding="utf-8").split(" ")[0]
    yield from payloads()
    yield from round_trips()
    yield from losses()
    yield from cut()
    yield from one_of_two()


def payloads() -> Iterator[tuple[str, str]]:
    for name, rate, delay in RATES:
        way = {"rate_bytes_per_s": rate, "delay_ns": delay, "frame_bytes": 38, "late_ns": max(MS // 5, delay // 20)}
        way["queue_bytes"] = max(LEAST_QUEUE, rate * 2 * delay // SECOND)
        found = [payload(way) for _ in range(TIMES)]
        got, late, busy = (statistics.median(column) for column in zip(*found, strict=True))
        each = ", ".join(f"{one[0]:.1f}" for one in found)
        theory = rate * 8 / 1e6 * 1_448 / 1_538
        figure = f"{got:.1f} Mbit/s of {theory:.1f} ({each}); late packets {late:.1%}; CPU of the direction {busy:.0%}"
        yield f"payload at {name}, {2 * delay / MS:g} ms", figure


def payload(way: Way) -> tuple[float, float, float]:
    """Mbit/s, share of late packets, and CPU time a second of the way to the server."""
    with LineProcess(way, way) as line:
        _, received = talk(line, {**STREAM, "duration_ns": 6 * SECOND})
        up = line.counts()["up"]
    marks = received["operations"]["receive"]["checkpoints"]
    from_ns, until_ns = received["started_ns"] + 3 * SECOND // 2, received["started_ns"] + 6 * SECOND
    inside = [(at, moved) for at, moved in zip(marks["at_ns"], marks["bytes"], strict=True) if from_ns <= at <= until_ns]
    (first_ns, first), (last_ns, last) = inside[0], inside[-1]
    late = up["late_packets"] / max(1, up["delivered_packets"])
    return (last - first) * 8e3 / (last_ns - first_ns), late, up["cpu_ns"] / (6 * SECOND)


def round_trips() -> Iterator[tuple[str, str]]:
    for delay in (2 * MS, 10 * MS):
        with LineProcess({"delay_ns": delay}, {"delay_ns": delay}) as line:
            sent, _ = talk(line, {**ASK, "load": {**LOAD, "rate": 25.0}, "duration_ns": 4 * SECOND})
        found = sent["operations"]["transaction"]
        above = [(percentile(found, share) - 2 * delay) / MS for share in (0.5, 0.99)]
        yield f"idle round trip above {2 * delay / MS:g} ms", f"p50 {above[0]:.3f} ms, p99 {above[1]:.3f} ms"


def percentile(found: Mapping[str, Any], share: float) -> int:
    """The latency (ns) below which a share of the operations was."""
    left = share * sum(found["histogram"]["count"])
    for upper, count in zip(found["histogram"]["upper_ns"], found["histogram"]["count"], strict=True):
        left -= count
        if left <= 0:
            return int(upper)
    return int(found["max_ns"])


def losses() -> Iterator[tuple[str, str]]:
    for loss in (0.001, 0.01):
        rates = {}
        for offload in (True, False):
            with LineProcess({"delay_ns": 2 * MS, "loss": loss}, {"delay_ns": 2 * MS}, offload=offload) as line:
                sent, received = talk(line, {**STREAM, "congestion": "reno", "duration_ns": 6 * SECOND})
                up = line.counts()["up"]
            rates[offload] = received["operations"]["receive"]["bytes"] / 6e6
            again = sum(one["tcp"]["retransmits"] for one in sent["net"]["connections"])
            lost, all_of_them = up["lost_segments"], up["delivered_segments"] + up["lost_segments"]
            off = (lost - loss * all_of_them) / math.sqrt(loss * (1 - loss) * all_of_them)
            figure = f"{lost / all_of_them:.4%} ({off:+.1f} standard errors); lost {lost:,}, sent again {again:,}"
            yield f"loss of {loss:.1%}, offload {'on' if offload else 'off'}", f"{figure}; {rates[offload]:.1f} MB/s"
        yield f"loss of {loss:.1%}, rate with offload over without", f"{rates[True] / rates[False]:.2f}"


def cut() -> Iterator[tuple[str, str]]:
    with LineProcess({"delay_ns": 2 * MS}, {"delay_ns": 2 * MS}) as line:

        def away() -> None:
            time.sleep(2)
            line.ask({"type": "cut", "link": "wan"})
            time.sleep(2)
            line.ask({"type": "mend", "link": "wan"})

        other = threading.Thread(target=away)
        other.start()
        sent, _ = talk(line, {**ASK, "duration_ns": 9 * SECOND})
        other.join()
    found, load = sent["operations"]["transaction"], sent["load"]
    due = 9 * 100
    figure = f"{found['count']} of {due} requests answered, {found['errors']} errors, {load['unstarted']} never begun"
    yield "cut of 2 s under 100 requests a second", f"{figure}; worst latency {found['max_ns'] / 1e9:.2f} s"


def one_of_two() -> Iterator[tuple[str, str]]:
    way = {"rate_bytes_per_s": 6_250_000, "delay_ns": 2 * MS, "queue_bytes": 100_000, "frame_bytes": 38}
    rows: list[tuple[float, int, int]] = []
    with LineProcess(way, way, names=("a", "b")) as line:
        line.join_mptcp()
        over = threading.Event()
        other = threading.Thread(target=follow, args=(line, over, rows))
        other.start()
        talk(line, {**STREAM, "mptcp": True, "duration_ns": 20 * SECOND})
        over.set()
        other.join()
    figure = ", ".join(f"{name} {both(rows, *span):.1f}" for name, span in SPANS.items())
    again = next((at for at, *_ in rows if at >= MENDED_S and rate(rows, 2, at, at + 0.5) > USED_MBIT_PER_S), math.nan)
    figure += f"; the second one used again {again - MENDED_S:.1f} s after its mending"
    yield "MPTCP, two paths of 50 Mbit/s, one cut after 5 s for 5 s, Mbit/s of both", figure


def follow(line: LineProcess, over: threading.Event, rows: list[tuple[float, int, int]]) -> None:
    """Cut the second path and mend it; note ten times a second what both carried: time in s, bytes of either."""
    began, left = time.monotonic(), [(CUT_S, "cut"), (MENDED_S, "mend")]
    while not over.wait(0.1):
        now = time.monotonic() - began
        if left and now >= left[0][0]:
            line.ask({"type": left.pop(0)[1], "link": "b"})
        links = line.ask({"type": "count"})["links"]
        rows.append((now, links["a"]["up"]["delivered_bytes"], links["b"]["up"]["delivered_bytes"]))


def rate(rows: list[tuple[float, int, int]], column: int, from_s: float, to_s: float) -> float:
    """Mbit/s that a path carried in this time."""
    inside = [row for row in rows if from_s <= row[0] <= to_s]
    took_s = inside[-1][0] - inside[0][0] if len(inside) > 1 else math.inf
    return (inside[-1][column] - inside[0][column]) * 8 / 1e6 / took_s if inside else 0.0


def both(rows: list[tuple[float, int, int]], from_s: float, to_s: float) -> float:
    return rate(rows, 1, from_s, to_s) + rate(rows, 2, from_s, to_s)


def talk(line: LineProcess, settings: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a load and its server: both results."""
    both = {"token": "benchmark", **{name: value for name, value in settings.items() if name not in ("load", "duration_ns")}}
    lead = {name: value for name, value in settings.items() if name in ("load", "duration_ns")}
    address = line.ready["ends"]["server"]["interfaces"][line.names[0]]["address"]
    with EngineProcess(line.under("server")) as server, EngineProcess(line.under("load")) as load:
        armed = server.arm("net", {"role": "server", "address": f"{address}:0", **both})
        load.arm("net", {"role": "load", "address": armed["address"], **both, **lead})
        at_ns = time.monotonic_ns() + 5 * MS
        for one in (server, load):
            one.say({"type": "go", "at_ns": at_ns})
        return load.until("result"), server.until("result")
