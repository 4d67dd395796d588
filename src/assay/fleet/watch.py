"""The life of a foreign command, watched from before its exec to after the drain of what it wrote.

Behind its gate, quiet window, exec, its own time, the end of the last process, what is dirty then, fsync of the written files.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.catalogue import Host, Observer, find
from assay.fleet import forwarded, surroundings, touched, tree
from assay.fleet.hosts import spawned
from assay.fleet.sampler import Sampler, facts, roll_call
from assay.fleet.teed import Tee
from assay.records import (
    Direction,
    Edge,
    Observations,
    Place,
    Reading,
    Rung,
    Stream,
    Subject,
    Touched,
    TreeAccount,
    Watched,
    When,
)

PHASE = "stat.command"
OBSERVERS = ("block", "cgroup", "cpu", "environment", "memory", "network", "page_cache", "pressure")
"""All that do not look at one process: its account is read when it ends."""
QUIET_NS = 250_000_000
LINGER_NS = 5_000_000_000
TICK_S = 0.05
PAGE_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What is to be run and how it is to be watched."""

    argv: tuple[str, ...]
    directory: str = "."
    result_file: str | None = None
    """The file into which the tool writes its result; read after the command's end."""
    observers: tuple[Observer, ...] | None = None
    """None: those of OBSERVERS."""
    pass_through: bool = True
    """Whether its output goes on to our own standard output and standard error."""
    quiet_ns: int = QUIET_NS
    """How long others are watched before the exec, for the rate at which they use the same devices."""
    linger_ns: int = LINGER_NS
    """How long processes that outlive the command are waited for; then their account is incomplete."""


@dataclass
class _Live:
    """What comes to be known while the command runs."""

    tree: tree.Tree
    tees: tuple[Tee, Tee]
    pid: int = 0
    status: int | None = None
    hurried: bool = False
    ended_ns: int = 0
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Stage:
    host: Host
    ask: Ask
    directory: str
    was: tuple[touched.Before, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, kw_only=True)
class _Times:
    started_utc: str
    t0_ns: int
    ended_ns: int
    ended_utc: str


@dataclass(frozen=True, kw_only=True)
class _Drained:
    files: tuple[Touched, ...]
    drain: touched.Drain | None
    dirty_after: int


def watch(host: Host, ask: Ask) -> Watched:
    """Run a command to the end of its last process and drain what it wrote.

    Raises MissingError where there is no such command (127) and RefusedError where it cannot be executed (126).
    """
    began_cpu_ns = time.process_time_ns()
    directory = str(Path(ask.directory).absolute())
    paths = touched.named(ask.argv, directory)
    was = tuple(one for one in touched.before(host, paths))
    near = (directory, *(one.path for one in was if _reaches(one.path)))
    stage = _Stage(host=host, ask=ask, directory=directory, was=was, places=surroundings.places(host, near))
    observers, missing = roll_call(host, _observers(ask))
    live = _Live(tree=tree.Tree(before=frozenset(tree.alive())), tees=_tees(ask), missing=missing)
    with _reaping(), forwarded.Signals() as signals:
        return _run(stage, observers, (live, signals), began_cpu_ns)


def _observers(ask: Ask) -> tuple[Observer, ...]:
    return ask.observers if ask.observers is not None else tuple(find("observers", name) for name in OBSERVERS)


def _tees(ask: Ask) -> tuple[Tee, Tee]:
    return Tee(1 if ask.pass_through else None).open(), Tee(2 if ask.pass_through else None).open()


def _reaches(path: str) -> bool:
    """Whether a path, or the directory that it is to be made in, is there."""
    return Path(path).exists() or Path(path).parent.is_dir()


@contextlib.contextmanager
def _reaping() -> Iterator[None]:
    """Be the one to whom orphans come, and wait for children ourselves even where whoever started us ignores them."""
    former = signal.getsignal(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    reaper = tree.subreaper(1)
    try:
        yield
    finally:
        tree.subreaper(reaper)
        signal.signal(signal.SIGCHLD, former)


def _run(stage: _Stage, observers: Sequence[Observer], running: tuple[_Live, forwarded.Signals], began_cpu_ns: int) -> Watched:
    live, signals = running
    subject = _subject(stage)
    chosen = [surroundings.by_stack(one, stage.places) if one.name == "block" else one for one in observers]
    sampler = Sampler(stage.host, chosen, subject)
    known_facts = [facts(stage.host, chosen, subject, When.BEFORE)]
    times = _live_through(stage, sampler, live, signals)
    drained = _drain(stage, sampler)
    known_facts.append(facts(stage.host, chosen, subject, When.AFTER))
    sampler.stop()
    seen = sampler.seen(PHASE, times.t0_ns)
    account = live.tree.account()
    evidence = seen.evidence
    missing = {**live.missing, **evidence.missing, **known_facts[0][1], **known_facts[1][1]}
    observations = Observations(
        readings=(*evidence.readings, *_readings(stage, live.pid, account, times)),
        series=evidence.series,
        facts=(*evidence.facts, *known_facts[0][0], *known_facts[1][0]),
        missing=missing,
        gaps=seen.gaps,
    )
    return _watched(stage, live, times, (drained, observations), began_cpu_ns)


def _subject(stage: _Stage) -> Subject:
    return Subject(
        paths=tuple(one.path for one in stage.was if one.identity is not None),
        backing_files=tuple(dict.fromkeys(image for place in stage.places for image in place.backing_files)),
        directory=stage.directory,
        devices=tuple(dict.fromkeys(device for place in stage.places for device in place.devices)),
    )


def _live_through(stage: _Stage, sampler: Sampler, live: _Live, signals: forwarded.Signals) -> _Times:
    """From the gate to the end of the last process."""
    streams = {1: live.tees[0].inside, 2: live.tees[1].inside}
    waiting = spawned.behind_gate(stage.ask.argv, stage.directory, streams)
    live.pid = waiting.pid
    for tee in live.tees:
        tee.start()
    sampler.edge(Edge.QUIET)
    time.sleep(stage.ask.quiet_ns / 1e9)
    live.tree.expect(waiting.pid)
    sampler.edge(Edge.ARMED)
    started, t0_ns = _utc(), time.monotonic_ns()
    waiting.go()
    sampler.start()
    try:
        _wait(stage, live, signals)
    finally:
        sampler.stop()
    return _Times(started_utc=started, t0_ns=t0_ns, ended_ns=live.ended_ns, ended_utc=_utc())


def _wait(stage: _Stage, live: _Live, signals: forwarded.Signals) -> None:
    """Until the last process of the tree has ended, or those that outlive the command have had their time."""
    left_ns = None
    while True:
        for ended in live.tree.collect():
            live.ended_ns = time.monotonic_ns()
            if ended.pid == live.pid:
                live.status, left_ns = ended.status, live.ended_ns
        others = set(tree.alive()) - live.tree.before if live.status is not None else {live.pid}
        if not others:
            return
        if left_ns is not None and (live.hurried or time.monotonic_ns() - left_ns > stage.ask.linger_ns):
            live.tree.miss("a process outlived the command and still runs", len(others))
            live.ended_ns = time.monotonic_ns()
            return
        _hear(live, signals.take(TICK_S))


def _hear(live: _Live, info: signal.struct_siginfo | None) -> None:
    if info is None or info.si_signo == signal.SIGCHLD:
        return
    if info.si_signo == signal.SIGWINCH:
        for tee in live.tees:
            tee.fit()
    if live.status is None:
        forwarded.pass_on(info, live.pid)
    elif info.si_signo in forwarded.ENDING:
        live.hurried = True


def _drain(stage: _Stage, sampler: Sampler) -> _Drained:
    """What is dirty right after the end, the last look, the flush of what was written, a look after it."""
    written = touched.changed(stage.was)
    opened = tuple(one.path for one in stage.was if touched.identity(one.path) is not None)
    files = touched.after(stage.host, stage.was, written, opened)
    sampler.edge(Edge.LAST)
    drain = touched.drain(written)
    sampler.edge(Edge.DRAINED)
    after = [found for path in written if (found := touched.pages(stage.host, path)) is not None]
    return _Drained(files=files, drain=drain, dirty_after=sum((one.dirty + one.writeback) * one.page_bytes for one in after))


def _readings(stage: _Stage, pid: int, account: TreeAccount, times: _Times) -> Iterator[Reading]:
    """L1 and L2 from the account of the tree."""
    wanted = (
        (Rung.SYSCALL, Direction.READ, account.rchar, account.syscr, 0),
        (Rung.SYSCALL, Direction.WRITE, account.wchar, account.syscw, 0),
        (Rung.CLIENT_CACHE, Direction.READ, account.read_bytes, None, PAGE_BYTES),
        (Rung.CLIENT_CACHE, Direction.WRITE, account.write_bytes, None, PAGE_BYTES),
    )
    for rung, direction, moved, calls, uncertainty in wanted:
        yield Reading(
            phase=PHASE,
            rung=rung,
            source=tree.SOURCE,
            host=stage.host.name,
            subject=f"pid:{pid}",
            direction=direction,
            bytes=moved,
            operations=calls,
            from_ns=0,
            to_ns=times.ended_ns - times.t0_ns,
            uncertainty_bytes=uncertainty,
        )


def _watched(stage: _Stage, live: _Live, times: _Times, found: tuple[_Drained, Observations], began_cpu_ns: int) -> Watched:
    drained, observations = found
    status = live.status if live.status is not None else 0
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    dirty = [one.dirty_bytes for one in drained.files if one.written and one.dirty_bytes is not None]
    return Watched(
        argv=stage.ask.argv,
        directory=stage.directory,
        status=None if killed is not None else os.WEXITSTATUS(status),
        signal=killed,
        started_utc=times.started_utc,
        ended_utc=times.ended_utc,
        t0_mono_ns=times.t0_ns,
        elapsed_ns=times.ended_ns - times.t0_ns,
        stdout=_said(live.tees[0]),
        stderr=_said(live.tees[1]),
        result=_result(stage),
        account=live.tree.account(),
        account_missing=None,
        files=drained.files,
        files_missing="only files that arguments name are known",
        drain_ns=drained.drain.took_ns if drained.drain else None,
        drained_bytes=max(0, sum(dirty) - drained.dirty_after) if drained.drain else None,
        places=stage.places,
        observations=observations,
        own_cpu_ns=time.process_time_ns() - began_cpu_ns,
    )


def _said(tee: Tee) -> Stream:
    return tee.finish(1.0)


def _result(stage: _Stage) -> str | None:
    if stage.ask.result_file is None:
        return None
    with contextlib.suppress(OSError):
        return stage.host.read(str(Path(stage.directory, stage.ask.result_file)))
    return None


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
