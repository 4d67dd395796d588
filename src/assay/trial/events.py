"""Timed events of a phase: at T + at something is done to a host, while the clients run.

What was done, when and with which status is kept as facts, so that a curve with a dip says why.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.catalogue import Host
from assay.errors import AssayError, UsageError
from assay.machine import line
from assay.machine.external_commands import substitute
from assay.machine.net_namespaces import NETWORK, inside
from assay.records import Action, Event, Fact, FactClass, Place, Value, When
from assay.records.layers import line_of
from assay.settings.paths import WAYS, way
from assay.trial.deeds import Deed, Layer, deeds

SS_S = 2.0
LONGEST_S = 60.0
"""An event that takes longer than this is ended and has failed."""
PATIENCE_NS = 12_000_000_000
"""After the end of a phase's time a path that is still cut is mended: more than the engines wait for what is under way."""


@dataclass(frozen=True, kw_only=True, order=True)
class TimedCommand:
    """A command that is due so many ns after T on a host."""

    at_ns: int
    argv: tuple[str, ...]
    on: str = "local"
    words: str = ""
    """What it does; empty = the command."""
    deed: Deed | None = field(default=None, compare=False)
    """What is done instead of a command."""
    namespaces: tuple[str, ...] = ()
    """The network namespaces whose connections are asked for their retransmission timeouts just before."""
    is_late: bool = False
    """It is due when the phase's time has long been over, or at the end of the phase, whichever comes first."""

    def __str__(self) -> str:
        return self.words or " ".join(self.argv)


@dataclass
class Events:
    """The events of one phase. `start` when T is known, `finish` when the phase is over."""

    hosts: Mapping[str, Host]
    phase: str
    commands: Sequence[TimedCommand]
    facts: list[Fact] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _begun: int = 0
    """How many of them, by time, have been started."""
    _over: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _mender: threading.Thread | None = None

    def start(self, start_ns: int) -> None:
        """Wait for each event's time in a thread of its own, and in another one to mend what these leave cut."""
        timed, late = (self._numbered(is_late=is_late) for is_late in (False, True))
        if timed:
            self._thread = self._begin(start_ns, timed)
        if late:
            self._mender = self._begin(start_ns, late)

    def finish(self) -> None:
        """What is not due yet does not happen any more, and each such event is a failure; what has begun is waited for."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(2 * LONGEST_S)
            self._thread = None
        self.mend()
        timed = self._numbered(is_late=False)
        for _, due in timed[self._begun :]:
            self.failures.append(f"phase {self.phase} ended before its event {str(due)!r} at {due.at_ns / 1e9:g} s")
        self._begun = len(timed)

    def mend(self) -> None:
        """The load has ended: what is cut until then is mended now, so that what it left can be flushed and taken down."""
        self._ended.set()
        if self._mender is not None:
            self._mender.join(2 * LONGEST_S)
            self._mender = None

    def _numbered(self, *, is_late: bool) -> list[tuple[int, TimedCommand]]:
        return [(number, due) for number, due in enumerate(sorted(self.commands)) if due.is_late is is_late]

    def _begin(self, start_ns: int, commands: Sequence[tuple[int, TimedCommand]]) -> threading.Thread:
        thread = threading.Thread(target=self._run, args=(start_ns, commands), name="events", daemon=True)
        thread.start()
        return thread

    def _run(self, start_ns: int, commands: Sequence[tuple[int, TimedCommand]]) -> None:
        for number, due in commands:
            rest_s = max(0.0, (start_ns + due.at_ns - time.monotonic_ns()) / 1e9)
            if due.is_late:
                self._ended.wait(rest_s)
            elif self._over.wait(rest_s):
                return
            else:
                self._begun += 1
            waits = timeouts(self.hosts[due.on], due.namespaces)
            began_ns = time.monotonic_ns() - start_ns
            status = self._do(self.hosts[due.on], due)
            took = f", done at {(time.monotonic_ns() - start_ns) / 1e9:.3f} s" if due.deed is not None else ""
            value = f"at {began_ns / 1e9:.3f} s: {due}: {status}{took}{waits}"
            key = f"event.{self.phase}.{number}"
            self.facts.append(Fact(host=due.on, when=When.AFTER, key=key, value=value, fact_class=FactClass.NOISE))

    def _do(self, host: Host, due: TimedCommand) -> str:
        try:
            if due.deed is not None:
                due.deed()
                return "done"
            done = host.run(due.argv, check=False, timeout_s=LONGEST_S)
        except (AssayError, OSError) as error:
            self.failures.append(f"event {str(due)!r}: {error}")
            return str(error)
        if done.status != 0:
            self.failures.append(
                f"event {str(due)!r}: " + ": ".join(filter(None, (f"exit status {done.status}", done.stderr.strip())))
            )
        return f"exit status {done.status}"


def timeouts(host: Host, namespaces: Iterable[str]) -> str:
    """The longest retransmission timeout of the connections at both ends, in words: so much later a client may notice.

    TCP_INFO as ss(8) shows it; empty where nothing is asked, and where there is no ss or no connection.
    """
    found: list[int] = []
    for namespace in namespaces:
        with contextlib.suppress(AssayError, OSError):
            done = host.run([*inside(namespace), "ss", "-Htin"], check=False, timeout_s=SS_S)
            found += [int(word) for word in re.findall(r"\brto:(\d+)", done.stdout)]
    return f"; longest retransmission timeout {max(found) / 1e3:g} s (TCP_INFO)" if found else ""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What events on paths need: the line, the host that it is on, and the rates that its paths have by themselves."""

    line: int | None = None
    host: str = "local"
    rates: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    """Path -> direction -> bytes/s."""
    namespaces: tuple[str, ...] = ()
    """Those of both ends of the line."""


NO_LINE = Ways()


def commands_of(
    events: Iterable[Event], phase: str, values: Mapping[str, str], ways: Ways = NO_LINE, layers: Sequence[Layer] = ()
) -> list[TimedCommand]:
    """The events of one phase with their placeholders filled in; what is done to a path is said to the line of the target.

    `layers` are the targets of the trial, the measured one first. Raises UsageError for a placeholder nobody knows.
    """
    found: list[TimedCommand] = []
    for event in events:
        if event.phase != phase:
            continue
        if event.action is Action.RUN:
            argv = tuple(substitute(word, values) for word in event.argv)
            found.append(TimedCommand(at_ns=event.at_ns, argv=argv, on=event.on))
        elif event.action.of_target:
            found += [
                TimedCommand(at_ns=one.at_ns, argv=(), on=one.on, words=one.words, deed=one.deed) for one in deeds(event, layers)
            ]
        else:
            found += _on_path(event, ways)
    return found


def mending(events: Iterable[Event], phase: str, ends_ns: int, ways: Ways = NO_LINE) -> list[TimedCommand]:
    """What mends the paths that these events leave cut, after a phase whose time ends then."""
    cuts: dict[str, Event] = {}
    for event in sorted((one for one in events if one.phase == phase), key=lambda one: one.at_ns):
        if event.action is Action.CUT and event.for_ns is None:
            cuts[event.on] = event
        elif event.action is Action.MEND:
            cuts.pop(event.on, None)
    late = (replace(one, action=Action.MEND, at_ns=ends_ns + PATIENCE_NS) for one in cuts.values())
    return [replace(command, is_late=True, words=f"{command} after the end") for one in late for command in _on_path(one, ways)]


def ways_of(place: Place, paths: Mapping[str, Mapping[str, Value]]) -> Ways:
    """The line of a place, and the rates of paths with these knobs."""
    rates = {name: {one: way(knobs, one).rate_bytes_per_s for one in WAYS} for name, knobs in paths.items()}
    both = tuple(str(place.private[name]) for end in line.ENDS if (name := f"{NETWORK}{end}") in place.private)
    return Ways(line=line_of(place), host=place.host, rates=rates, namespaces=both)


def _on_path(event: Event, ways: Ways) -> Iterator[TimedCommand]:
    """What happens to a path, and what undoes it after its time. Raises UsageError on a target without a line."""
    if ways.line is None:
        raise UsageError(f"found {event.action} of path {event.on!r}; expected a target of kind line")
    own = ways.rates.get(event.on, {})
    new: Mapping[str, int | None] = dict.fromkeys(WAYS, event.rate_bytes_per_s)
    lasts = "" if event.for_ns is None else f" for {event.for_ns / 1e9:g} s"
    rate = "no limit" if event.rate_bytes_per_s is None else f"{event.rate_bytes_per_s * 8 / 1e6:g} Mbit/s"
    done = {Action.CUT: "cut", Action.MEND: "mend", Action.RATE: f"rate {rate}"}[event.action]
    undone = "mend" if event.action is Action.CUT else "own rate"
    steps = [(event.at_ns, event.action, new, f"{done} path {event.on}{lasts}")]
    if event.for_ns is not None:
        back = Action.MEND if event.action is Action.CUT else Action.RATE
        steps.append((event.at_ns + event.for_ns, back, own, f"{undone} path {event.on}"))
    for at_ns, action, rates, words in steps:
        more = {f"{name}_bytes_per_s": rates.get(name) for name in WAYS} if action is Action.RATE else {}
        message = json.dumps({"type": action.value, "link": event.on, **more})
        asked = ways.namespaces if action is Action.MEND else ()
        yield TimedCommand(at_ns=at_ns, argv=line.asking(ways.line, message), on=ways.host, words=words, namespaces=asked)


def values_of(place: Place, knobs: Mapping[str, Value], pids: Sequence[int]) -> dict[str, str]:
    """What `{...}` may stand for in an event of a workload with these knobs.

    The place's address, what the target keeps for itself, the workload's {variables.NAME}, and the client processes:
    `{client.pid}` is the first, `{client.0.pid}` each of them.
    """
    own = {str(key): str(value) for key, value in place.private.items()}
    prefixed = {f"{place.target}.{key}": value for key, value in own.items()}
    variables = {key: str(value) for key, value in knobs.items() if key.startswith("variables.")}
    clients = {f"client.{index}.pid": str(pid) for index, pid in enumerate(pids)}
    first = {"client.pid": str(pids[0])} if pids else {}
    return {**own, **prefixed, **variables, **clients, **first, "directory": place.address}
