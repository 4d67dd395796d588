"""Lets the observers look at the edges of a phase and between them, and knows what that itself cost.

`edge` looks with every observer at once; one thread polls those that ask for it at absolute times, so that a late sample
does not shift the next. Nothing is interpreted before the phase is over. An observer that fails becomes missing evidence.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from assay.catalogue import FAMILY, LINUX, OWN_CPU_NS, Beside, Evidence, Host, Observer, ObserverScope, Process, Undo, system_of
from assay.errors import AssayError, EvidenceError, LostHostError
from assay.evidence.snapshots import Origin, gauge
from assay.frozen import dataclass, field
from assay.hosts.local import spent_by_commands_ns
from assay.records import ABSOLUTE, Edge, Fact, Reading, Series, Snapshot, Subject, When

UNDER_THE_CLOCK = (Edge.ARMED, Edge.POLL, Edge.LAST)
SOURCE = "sampler"
DUE_TOGETHER_NS = 20_000_000
"""On a host that is far looks that are due so close share an exchange."""
Raw = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the observers made of one phase."""

    evidence: Evidence
    gaps: Mapping[str, int] = field(default_factory=dict)
    """Observer -> longest gap between two of its samples in thousandths of its interval."""


def roll_call(host: Host, observers: Iterable[Observer]) -> tuple[tuple[Observer, ...], dict[str, str]]:
    """The observers that can look at this host, and for each piece of evidence that nobody gives the reason.

    What observers of other systems could give on those is not missing on Linux. A host that is far is asked in one exchange.
    """
    present: list[Observer] = []
    missing: dict[str, str] = {}
    system, look = system_of(host), host.look("roll call")
    for observer in observers:
        if observer.systems and system not in observer.systems:
            if LINUX in observer.systems:
                missing |= dict.fromkeys(observer.gives, f"{system} does not report it")
            continue
        reason = observer.available(look.host)
        if reason is None:
            present.append(observer)
        else:
            missing |= dict.fromkeys(observer.gives, reason)
    look.end()
    given = {key for observer in present for key in observer.gives}
    return tuple(present), {key: reason for key, reason in missing.items() if key not in given}


def looking(observers: tuple[Observer, ...], every_ns: int | None) -> tuple[Observer, ...]:
    """The observers, those that look again and again at another interval where one is asked for; commands keep their own."""
    if every_ns is None:
        return observers
    return tuple(one if one.every_s is None or one.alone else replace(one, every_s=every_ns / 1e9) for one in observers)


@dataclass(frozen=True, kw_only=True)
class Often:
    """How an observer looks that is to look sooner than its own interval, and after how many polls half as often."""

    every_s: float
    most_polls: int


@dataclass(frozen=True, kw_only=True)
class Companion:
    """A program that runs beside a phase for an observer: noted in the ledger first, asked at the edges, ended for certain."""

    host: Host
    undo: Undo
    beside: Beside
    process: Process
    token: str

    def read(self) -> Mapping[str, object]:
        """What it has counted until now. Raises what the observer's own `beside.read` raises."""
        return self.beside.read(self.host, self.process)

    def cpu_ns(self) -> int:
        """CPU time that it has used, its threads included; 0 where the kernel does not tell."""
        tasks = f"/proc/{self.process.pid}/task"
        spent = 0
        for task in self.host.list(tasks):
            try:
                spent += int(self.host.read(f"{tasks}/{task}/schedstat").split()[0])
            except (OSError, IndexError, ValueError):
                continue
        return spent

    def end(self) -> None:
        """End it and all that it started, and strike it out of the ledger."""
        self.process.kill()
        self.undo.undo("family", token=self.token)


def companion(host: Host, undo: Undo, beside: Beside, subject: Subject) -> Companion:
    """Start the program and wait for its first answer. Raises what its start raises; then nothing of it is left."""
    token = os.urandom(8).hex()
    argv = beside.argv(host, subject)
    undo.add("family", token=token, what="command of an observer")
    process: Process | None = None
    try:
        process = host.spawn(argv, env={FAMILY: token})
        made = Companion(host=host, undo=undo, beside=beside, process=process, token=token)
        made.read()
    except Exception:
        if process is not None:
            process.kill()
        undo.undo("family", token=token)
        raise
    return made


class Sampler:
    """The observers of phase scope during one phase."""

    def __init__(
        self,
        host: Host,
        observers: Iterable[Observer],
        subject: Subject,
        *,
        most_polls: int | None = None,
        often: Mapping[str, Often] | None = None,
    ) -> None:
        """`most_polls`: an observer that has polled so often drops every other poll and looks half as often from then on.

        `often`: observers that begin sooner and may poll more.
        """
        self._host = host
        self._most_polls = most_polls
        self._often = often or {}
        self._subject = subject
        self._observers = tuple(observer for observer in observers if observer.scope is ObserverScope.PHASE)
        self._snapshots: dict[str, list[Snapshot]] = {observer.name: [] for observer in self._observers}
        self._every_ns = {one.name: round(one.every_s * 1e9) for one in self._observers if one.every_s is not None}
        self._own_ns = dict(self._every_ns)
        self._every_ns |= {name: round(self._often[name].every_s * 1e9) for name in self._every_ns if name in self._often}
        self._missing: dict[str, str] = {}
        self._beside: dict[str, Companion] = {}
        self._cpu: dict[str, list[tuple[int, int]]] = {ABSOLUTE: []}
        self._spent_ns = 0
        self._mutex = threading.Lock()
        self._looking = threading.RLock()
        """Held during a look: of two that overlap, the one that began first may have read a counter last."""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, undo: Undo | None, pids: tuple[int, ...] = ()) -> None:
        """Start what has to run beside the phase for some observers, before the first edge; nothing where it cannot be noted.

        `pids` are processes of the load that are not named by the subject.
        """
        subject = replace(self._subject, pids=(*self._subject.pids, *pids))
        for observer in self._observers:
            if observer.beside is None or undo is None:
                continue
            try:
                self._beside[observer.name] = companion(self._host, undo, observer.beside, subject)
            except Exception as error:  # as in _look
                self._fail(observer, error)

    def edge(self, edge: Edge) -> None:
        """Every observer looks now, after a poll that has begun."""
        if self._host.far:
            self._look_far(self._observers, edge)
            return
        for observer in self._observers:
            self._look(observer, edge)

    def look_again(self, name: str) -> None:
        """One observer looks now, between two polls; nothing where it does not look at this phase."""
        for observer in self._observers:
            if observer.name == name:
                self._look(observer, Edge.POLL)

    def start(self) -> None:
        """Begin to poll, first one interval from now."""
        polled = [observer for observer in self._observers if observer.every_s is not None]
        if polled and self._thread is None:
            self._thread = threading.Thread(target=self._poll, args=(polled,), name="sampler", daemon=True)
            self._thread.start()

    def spare(self, span_ns: int) -> None:
        """Have what runs beside the phase do nothing for so long: the clock is about to start."""
        for running in self._beside.values():
            if running.beside.spare is not None:
                with contextlib.suppress(AssayError, OSError):  # one that has ended says so at the next edge
                    running.beside.spare(running.process, span_ns)

    def beside(self) -> tuple[int, ...]:
        """The processes that run beside the phase."""
        return tuple(running.process.pid for running in self._beside.values())

    def rest(self) -> None:
        """End the polling; edges can still be looked at."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End the polling and what ran beside the phase; may be called twice."""
        self.rest()
        while self._beside:
            _, running = self._beside.popitem()
            with contextlib.suppress(LostHostError):  # its far end ends it
                running.end()

    def seen(self, phase: str, t0_ns: int) -> Seen:
        """What it all means, with times relative to T0 (this host's clock). Looks at nothing any more."""
        readings: list[Reading] = []
        series: list[Series] = []
        facts: list[Fact] = []
        for observer in self._observers:
            snapshots = rebased(self._snapshots[observer.name], t0_ns)
            try:
                made = observer.parse(self._host.name, phase, snapshots, self._subject)
                readings += made.readings
                series += made.series
                facts += made.facts
                self._missing = {**made.missing, **self._missing}
            except Exception as error:  # one observer's mistake must not cost the run: its evidence is missing then
                self._fail(observer, error)
        series += self._costs(phase, t0_ns)
        evidence = Evidence(readings=tuple(readings), series=tuple(series), facts=tuple(facts), missing=dict(self._missing))
        return Seen(evidence=evidence, gaps=self._gaps())

    def _look(self, observer: Observer, edge: Edge) -> None:
        with self._looking:
            self._look_alone(observer, edge)

    def _look_alone(self, observer: Observer, edge: Edge) -> None:
        cpu_ns = used_ns()
        try:
            at_ns = self._host.monotonic_ns()
            raw = {**observer.read(self._host, self._subject), **self._counted(observer)}
            spent_ns = used_ns() - cpu_ns
            took_ns = self._host.monotonic_ns() - at_ns
        except Exception as error:  # as above
            self._fail(observer, error)
            if not self._host.far:
                self._keep({}, edge, (self._host.monotonic_ns(), 0), used_ns() - cpu_ns)
            return
        self._keep({observer.name: raw}, edge, (at_ns, took_ns), spent_ns)

    def _look_far(self, observers: Sequence[Observer], edge: Edge) -> None:
        with self._looking:
            self._look_together([one for one in observers if not one.alone], edge)
            for observer in observers:
                if observer.alone:
                    self._look_together([observer], edge)

    def _look_together(self, observers: Sequence[Observer], edge: Edge) -> None:
        """On a host that is far the observers share a look: what they read is then asked in one exchange."""
        look, cpu_ns, found = self._host.look(" ".join(one.name for one in observers)), used_ns(), dict[str, Raw]()
        for observer in observers:
            try:
                found[observer.name] = {**observer.read(look.host, self._subject), **self._counted(observer)}
            except Exception as error:  # as above
                self._fail(observer, error)
        try:
            span = look.end()
        except Exception as error:  # the host was lost under it
            for observer in observers:
                self._fail(observer, error)
            return
        self._keep(found, edge, span, used_ns() - cpu_ns)

    def _keep(self, found: Mapping[str, Raw], edge: Edge, span: tuple[int, int], spent_ns: int) -> None:
        at_ns, took_ns = span
        with self._mutex:
            for name, raw in found.items():
                self._snapshots[name].append(Snapshot(edge=edge, at_ns=at_ns, took_ns=took_ns, raw=raw))
            self._spent_ns += spent_ns
            self._cpu[ABSOLUTE].append((at_ns + took_ns, self._spent_ns))

    def _counted(self, observer: Observer) -> Mapping[str, object]:
        """What runs beside the phase for this observer has counted, and what that cost; nothing where nothing has to run."""
        if observer.beside is None:
            return {}
        if observer.name not in self._beside:
            raise EvidenceError("its program was not started")
        beside, spent = self._beside[observer.name], self._cpu.setdefault(f"observer:{observer.name}", [])
        spent.append((self._host.monotonic_ns(), beside.cpu_ns()))  # before and after: answering is no cost to the clock
        counted = beside.read()
        told = counted.get(OWN_CPU_NS)  # the kernel's account of one that runs is as old as the last tick
        spent.append((self._host.monotonic_ns(), told if isinstance(told, int) else beside.cpu_ns()))
        return counted

    def _poll(self, observers: Sequence[Observer]) -> None:
        """Look when it is due by our clock; on a host that is far, with all that are due within DUE_TOGETHER_NS."""
        try:
            began, first_ns = time.monotonic_ns(), self._host.monotonic_ns()
        except LostHostError:
            return
        due = [(began + self._every_ns[observer.name], index) for index, observer in enumerate(observers)]
        heapq.heapify(due)
        while True:
            if self._over.wait(max(0.0, (due[0][0] - time.monotonic_ns()) / 1e9)):
                return
            together = [heapq.heappop(due)]
            while self._host.far and due and due[0][0] - together[0][0] <= DUE_TOGETHER_NS:
                together.append(heapq.heappop(due))
            if self._host.far:
                self._look_far([observers[index] for _, index in sorted(together, key=itemgetter(1))], Edge.POLL)
            else:
                self._look(observers[together[0][1]], Edge.POLL)
            for at_ns, index in together:
                self._thin(observers[index].name, first_ns)
                every_ns = self._every_ns[observers[index].name]
                heapq.heappush(due, (following(at_ns, every_ns, time.monotonic_ns()), index))

    def _thin(self, name: str, began: int) -> None:
        """Where an observer has polled often enough, keep the polls on every other beat and the beat between them."""
        seen, every_ns = self._snapshots[name], self._every_ns[name]
        most = self._often[name].most_polls if name in self._often else self._most_polls
        if most is None or len(seen) < most:
            return
        polls = [snapshot for snapshot in seen if snapshot.edge is Edge.POLL]
        if len(polls) < most:
            return
        dropped = {snapshot.at_ns for snapshot in polls if (snapshot.at_ns - began) // every_ns % 2}
        with self._mutex:
            self._snapshots[name] = [one for one in seen if one.edge is not Edge.POLL or one.at_ns not in dropped]
        self._every_ns[name] = every_ns * 2

    def _fail(self, observer: Observer, error: Exception) -> None:
        reason = f"observer {observer.name} failed: {error or type(error).__name__}"
        with self._mutex:
            self._missing |= {key: reason for key in observer.gives if key not in self._missing}

    def _costs(self, phase: str, t0_ns: int) -> Iterator[Series]:
        """CPU time of looking, and of what runs beside the phase (`observer:NAME`)."""
        origin = Origin(host=self._host.name, phase=phase, source=SOURCE, layer="lab")
        for subject, points in self._cpu.items():
            points.sort()
            yield gauge(origin, subject, "cpu_ns", "ns", [(at - t0_ns, spent) for at, spent in points])

    def _gaps(self) -> dict[str, int]:
        """What begins sooner than its own interval is no worse for a gap within that."""
        least = self._own_ns
        return {name: longest_gap(self._snapshots[name], max(every, least[name]) / 1e9) for name, every in self._every_ns.items()}


def used_ns() -> int:
    """CPU time of this thread and of the commands that it ran: both are what a look takes from the load."""
    return time.thread_time_ns() + spent_by_commands_ns()


def following(due_ns: int, every_ns: int, now_ns: int) -> int:
    """The next multiple of the interval after a sample that was due and after now: what was missed is left out."""
    return due_ns + max(1, -(-(now_ns - due_ns) // every_ns)) * every_ns


def rebased(snapshots: Iterable[Snapshot], t0_ns: int) -> tuple[Snapshot, ...]:
    """The snapshots in order of time, relative to T0."""
    found = (replace(snapshot, at_ns=snapshot.at_ns - t0_ns) for snapshot in snapshots)
    return tuple(sorted(found, key=lambda snapshot: snapshot.at_ns))


def longest_gap(snapshots: Iterable[Snapshot], every_s: float) -> int:
    """The longest time without a sample under the clock, in thousandths of the interval (E02)."""
    at = sorted(snapshot.at_ns for snapshot in snapshots if snapshot.edge in UNDER_THE_CLOCK)
    longest = max((after - before for before, after in itertools.pairwise(at)), default=0)
    return round(longest / (every_s * 1e9) * 1000)


def facts(host: Host, observers: Iterable[Observer], subject: Subject, when: When) -> tuple[tuple[Fact, ...], dict[str, str]]:
    """What the observers of trial scope say before or after the trial, and the evidence that they could not have."""
    edge = Edge.TRIAL_START if when is When.BEFORE else Edge.TRIAL_END
    found: list[Fact] = []
    missing: dict[str, str] = {}
    for observer in observers:
        if observer.scope is not ObserverScope.TRIAL:
            continue
        try:
            look = host.look(f"facts-{observer.name}")
            raw = observer.read(look.host, subject)
            at_ns, took_ns = look.end()
            snapshot = Snapshot(edge=edge, at_ns=at_ns, took_ns=took_ns, raw=raw)
            made = observer.parse(host.name, "", (snapshot,), subject)
        except Exception as error:  # as in Sampler
            missing |= dict.fromkeys(observer.gives, f"observer {observer.name} failed: {error or type(error).__name__}")
            continue
        found += made.facts
        missing |= made.missing
    return tuple(found), missing
