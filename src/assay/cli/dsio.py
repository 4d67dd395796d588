"""I/O of each kind of operation of a live directory server, until it is interrupted or the time is over."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from assay import sampler
from assay.catalogue import Beside, Host
from assay.cli import dsio_output as output
from assay.cli.dsio_output import DsioInterval, DsioShow, DsioWatch
from assay.errors import AssayError, EvidenceError, MissingError, RefusedError, UsageError
from assay.hosts.local import Local
from assay.laboratory.session import own_ledger
from assay.machine import bpftrace, dsio_program, dsio_server, dsio_trace
from assay.machine.dsio_server import TracedServer
from assay.machine.dsio_trace import DirectoryIo
from assay.records import Subject
from assay.terminal.output import STANDARD_OUTPUT, say
from assay.units import Refusal, Unit, attempt

LEAST_NS = 100_000_000
"""A shorter interval would measure the asking."""
LOOK_S = 1.0
"""How often the server is looked for."""
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class DsioRequest:
    """The words of the call."""

    pid: int | None = None
    codes: bool = False
    reads: bool = False
    writes: bool = False
    interval: str | None = None
    duration: str | None = None
    csv_to: str | None = None
    json_to: str | None = None


@dataclass(frozen=True, kw_only=True)
class DsioTimes:
    """How long, and how often a result is shown; None without an end, or at the end alone."""

    interval_ns: int | None
    duration_ns: int | None


def dsio(request: DsioRequest) -> int:
    """Watch and show. Gives 0, also after an interrupt. Raises UsageError, MissingError and RefusedError with every reason."""
    host = Local()
    times, server = resolved(host, request)
    show = DsioShow(codes=request.codes, reads=request.reads or not request.writes, writes=request.writes or not request.reads)
    with output.printer(show, request.csv_to, request.json_to) as printer:
        printer.end(watch(host, server, times, show, printer.interval))
    return 0


def resolved(host: Host, request: DsioRequest) -> tuple[DsioTimes, TracedServer]:
    """Return times and server. Raises everything that speaks against the call at once."""
    found = {key: nanoseconds(key, text) for key, text in (("interval", request.interval), ("duration", request.duration))}
    usage = [str(value) for value in found.values() if isinstance(value, UsageError)]
    if request.csv_to == request.json_to == STANDARD_OUTPUT:
        usage.append("found --csv and --json for standard output; expected one of them with =FILE")
    obstacles = [*bpftrace.obstacles(host)]
    pid, reason = chosen(host, request.pid)
    usage += [reason] if reason and (request.pid is not None or pid) else []
    lacking = [reason] if reason and not (request.pid is not None or pid) else []
    if usage or obstacles or lacking:
        kind = UsageError if usage else MissingError if lacking or host.is_root() else RefusedError
        raise kind("\n".join((*usage, *lacking, *obstacles)))
    times = DsioTimes(**{f"{key}_ns": value for key, value in found.items()})  # type: ignore[arg-type]
    try:
        return times, dsio_server.server(host, pid)
    except EvidenceError as error:
        raise MissingError(str(error)) from error


def nanoseconds(key: str, text: str | None) -> int | UsageError | None:
    """Return a time of the call, or what is wrong with it."""
    if text is None:
        return None
    value = attempt(text, Unit.NANOSECONDS)
    if isinstance(value, Refusal):
        return UsageError(f"--{key}: found {value.found}; expected {value.expected}")
    return int(value) if value >= LEAST_NS else UsageError(f"--{key}: found {text!r}; expected at least 100 ms")


def chosen(host: Host, pid: int | None) -> tuple[int, str | None]:
    """Return the process to watch; 0 without any. Else why there is none, or with the first of several why none is chosen."""
    if pid is not None:
        if dsio_server.software_of(host, pid):
            return pid, None
        return 0, f"found process {pid} ({dsio_server.name_of(host, pid)}); expected a directory server: slapd or ns-slapd"
    running = dsio_server.running(host)
    if len(running) == 1:
        return running[0][0], None
    if not running:
        return 0, "found no directory server; expected slapd or ns-slapd on this machine. Start it, or name it with -P PID."
    named = ", ".join(f"{software} ({number})" for number, software in running)
    return running[0][0], f"found {len(running)} directory servers: {named}; expected one. Choose it with -P PID."


def watch(host: Host, server: TracedServer, times: DsioTimes, show: DsioShow, each: Callable[[DsioInterval], None]) -> DsioWatch:
    """Trace the server, hand on each interval, and return the whole."""
    program = dsio_program.program(host, server, codes=show.codes)
    beside = Beside(argv=lambda _host, _subject: bpftrace.argv(program), read=bpftrace.counts)
    started = datetime.now(UTC)
    with own_ledger() as ledger, ended_by_signal() as over:
        try:
            companion = sampler.companion(host, ledger, beside, Subject(pids=(server.pid,)))
        except EvidenceError as error:
            raise AssayError(f"the server cannot be traced: {error}") from error
        try:
            intervals, why = followed(DsioFollow(host=host, server=server, times=times, over=over, companion=companion), each)
        finally:
            companion.end()
    return DsioWatch(server=server, started=started, intervals=tuple(intervals), why=why)


@dataclass(frozen=True, kw_only=True)
class DsioFollow:
    """A server that is traced."""

    host: Host
    server: TracedServer
    times: DsioTimes
    over: threading.Event
    companion: sampler.Companion

    def look(self) -> tuple[int, DirectoryIo]:
        """Return the time, and what was counted until then."""
        counts = dsio_trace.counted(self.companion.read())
        return self.host.monotonic_ns(), counts

    def pause(self, until_ns: int | None) -> str:
        """Wait until a time, or without end; return why the watch is over before, else nothing."""
        while until_ns is None or self.host.monotonic_ns() < until_ns:
            left_s = LOOK_S if until_ns is None else min(LOOK_S, (until_ns - self.host.monotonic_ns()) / 1e9)
            if self.over.wait(max(0.0, left_s)):
                return "interrupted"
            if dsio_server.software_of(self.host, self.server.pid) != self.server.software:
                return "the server ended"
        return ""


def followed(follow: DsioFollow, each: Callable[[DsioInterval], None]) -> tuple[list[DsioInterval], str]:
    """Return the intervals, and why there are no more; without an interval there is one, which is not handed on."""
    at_ns, before = follow.look()
    say(f"assay: {output.beginning(follow.server)}", sys.stderr)  # what is done from here on is counted
    began_ns, next_ns, times = at_ns, at_ns, follow.times
    end_ns = None if times.duration_ns is None else began_ns + times.duration_ns
    intervals, why = list[DsioInterval](), ""
    while not why:
        next_ns += times.interval_ns or 0
        until_ns = min((one for one in (end_ns, next_ns if times.interval_ns else None) if one is not None), default=None)
        why = follow.pause(until_ns) or ("the time is over" if until_ns == end_ns and end_ns is not None else "")
        now_ns, now = follow.look()
        interval = DsioInterval(from_ns=at_ns - began_ns, to_ns=now_ns - began_ns, counts=now.since(before))
        intervals.append(interval)
        if times.interval_ns:
            each(interval)
        at_ns, before = now_ns, now
    return intervals, why


@contextmanager
def ended_by_signal() -> Iterator[threading.Event]:
    """Let the first signal end the watch and nothing else; the second interrupts."""
    over, before = threading.Event(), {number: signal.getsignal(number) for number in ENDS}

    def end(number: int, frame: object) -> None:  # noqa: ARG001 - as signal.signal wants it
        if over.is_set():
            raise KeyboardInterrupt
        over.set()

    for number in ENDS:
        signal.signal(number, end)
    try:
        yield over
    finally:
        for number, handler in before.items():
            with suppress(TypeError):
                signal.signal(number, handler)
