"""The life of an external command, watched from before its exec to after the drain of what it wrote.

It waits behind a gate through the idle baseline; then its exec, its time, the end of its last process, and the aftermath: what is
dirty, the flush of the written files. It stays where it is: in our control groups, our session, our terminal's foreground.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.catalogue import Evidence, Host, Observer, Watch, find, watching
from assay.hosts import spawn
from assay.records import Edge, Fact, FactClass, Place, Reading, Server, Snapshot, Subject, Watched, When
from assay.sampler import Often, Sampler, facts, roll_call
from assay.watch import files, growth, own_files, process_tree, traces, trees
from assay.watch import relay as forwarded
from assay.watch.execution import Execution, Preparation, WatchRequest, concluded, settle
from assay.watch.groups import Groups
from assay.watch.relay import StreamCopy
from assay.watch.reports import PHASE

if TYPE_CHECKING:
    from assay.watch.http import AnswerLooks

__all__ = ["PHASE", "WatchRequest", "watch"]

CGROUP = "cgroup"
PROCESSES, MOST_PROCESSES = "processes", 400
"""The observer of all processes, and of how many it is affordable for a single command: 15 µs of CPU for each and look."""
MOST_POLLS = 20
"""However long the command runs: most of what is judged is known from the edges."""
OFTEN = {"network": Often(every_s=0.05, most_polls=40)}
"""How the rate of a tool went over time is known from the interfaces alone: 24 µs of CPU for each look."""


class Unnoted:
    """No ledger: what runs beside a watched command ends with us, by the kernel (PR_SET_PDEATHSIG)."""

    def add(self, kind: str, **details: str) -> None:
        """Nothing has to be written down."""

    def undo(self, kind: str, **details: str) -> None:
        """Nothing is left to be undone."""


def watch(host: Host, ask: WatchRequest) -> Watched:
    """Run a command to the end of its last process and drain what it wrote.

    Raises MissingError where there is no such command (127) and RefusedError where it cannot be executed (126).
    """
    began_cpu_ns = time.process_time_ns()
    stage, missing = _stage(host, ask)
    sampler = Sampler(host, stage.observers, _subject(stage), most_polls=MOST_POLLS, often=OFTEN)
    with _reaping(), contextlib.ExitStack() as listening:
        listening.callback(sampler.stop)
        with forwarded.Signals() as signals:
            begun = _facts(stage, When.BEFORE)
            life = _lived(stage, sampler, signals, listening)
            found = files.merged(stage.was, {**life.tracker.opened_files(), **_still_open(stage)}, stage.own.holds)
            after = settle(host, sampler, stage.was, found, _of_pages(stage))
            since_ns = time.time_ns() - (time.monotonic_ns() - life.t0_ns)
            longer = growth.grown(stage.was, after.files, since_ns)
            after = dataclasses.replace(after, grown=(*longer, *trees.linked(stage.named, since_ns)))
        ended = _facts(stage, When.AFTER)
    seen = (sampler.seen(PHASE, life.t0_ns), (Evidence(missing=missing), begun, ended))
    return concluded(stage, life, after, seen, began_cpu_ns)


# --------------------------------------------------------------------------------------------- before the exec


def _stage(host: Host, ask: WatchRequest) -> tuple[Preparation, dict[str, str]]:
    directory = str(Path(ask.directory).absolute())
    inherited = files.inherited()
    named = files.named(ask.argv, directory)
    was = files.before(host, dict.fromkeys((*named, *inherited)))
    places = files.places(host, (directory, *(one.path for one in was)), ask.server)
    present, missing = roll_call(host, (find("observers", name) for name in _names(ask)))
    missing |= _too_many(ask)
    groups = Groups(host)
    ways = {"block": lambda one: _by_stack(one, places), CGROUP: groups.seen_by}
    observers = tuple(ways[one.name](one) if one.name in ways else one for one in present)
    out, err = (StreamCopy(number if ask.pass_through else None) for number in (1, 2))
    return (
        Preparation(
            host=host,
            ask=ask,
            directory=directory,
            was=was,
            places=places,
            observers=observers,
            tees=(out, err),
            groups=groups,
            tree=process_tree.Tree(before=frozenset(process_tree.Tree().others())),
            inherited=inherited,
            named=trees.known(named),
            own=own_files.before(host, ask.argv, directory),
            result_was=files.identity(str(Path(directory, ask.result_file))) if ask.result_file is not None else None,
        ),
        missing,
    )


def _names(ask: WatchRequest) -> tuple[str, ...]:
    """Return the observers that look, those asked for by name last: what answers slowly stands behind what is quick."""
    when = (Watch.ALWAYS, Watch.KEPT if ask.kept else Watch.PASSING)
    usual = (*(ask.observers or watching(*when)), *(watching(Watch.SERVER) if ask.server else ()))
    left_out = {PROCESSES} if _are_too_many(ask) else set()
    return tuple(name for name in dict.fromkeys((*usual, *ask.more)) if name not in left_out)


def _are_too_many(ask: WatchRequest) -> bool:
    """Return whether there are more processes than a single command may have read, where nobody asked for it."""
    return PROCESSES not in ask.more and sum(name.isdigit() for name in os.listdir("/proc")) > MOST_PROCESSES  # noqa: PTH208


def _too_many(ask: WatchRequest) -> dict[str, str]:
    """Return why nothing is known of others, where there are too many of them."""
    why = f"more than {MOST_PROCESSES} processes: to read them all costs more than one command may (--observe {PROCESSES})"
    return dict.fromkeys(find("observers", PROCESSES).gives, why) if _are_too_many(ask) else {}


def _subject(stage: Preparation) -> Subject:
    return Subject(
        paths=tuple(one.path for one in stage.was if one.identity is not None and files.regular(one.path)),
        backing_files=tuple(dict.fromkeys(image for place in stage.places for image in place.backing_files)),
        directory=stage.directory,
        devices=tuple(dict.fromkeys(device for place in stage.places for device in place.devices)),
        tapes=tuple(place.tape for place in stage.places if place.tape),
        server=stage.ask.server.on(stage.host.name) if stage.ask.server else (),
        reaches=stage.ask.server.addresses if stage.ask.server else (),
    )


@contextlib.contextmanager
def _reaping() -> Iterator[None]:
    """Be the one to whom orphans come, and wait for children ourselves even where whoever started us ignores them.

    The command then finds SIGCHLD at its default too: ignored, nobody would have its children's account.
    """
    former = signal.getsignal(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    reaper = process_tree.subreaper(1)
    try:
        yield
    finally:
        process_tree.subreaper(reaper)
        signal.signal(signal.SIGCHLD, former)


def _facts(stage: Preparation, when: When) -> Evidence:
    found, missing = facts(stage.host, stage.observers, _subject(stage), when)
    if when is When.BEFORE and stage.ask.server is not None:
        found = (*found, *_of_server(stage.host, stage.ask.server))
    return Evidence(facts=found, missing=missing)


def _of_server(host: Host, server: Server | None) -> Iterator[Fact]:
    """Yield how its clients reach the server, as a target of an experiment tells it."""
    from assay.machine.server import facts as server_facts  # few commands are clients

    for key, value in server_facts(host, server):
        yield Fact(host=host.name, when=When.BEFORE, key=f"target.{key}", value=value, fact_class=FactClass.PERFORMANCE)


def _stacks(known: Sequence[Place]) -> tuple[tuple[str, ...], ...]:
    """Return the different device stacks, each upper first."""
    return tuple(dict.fromkeys(place.devices for place in known if place.devices))


def _by_stack(observer: Observer, known: Sequence[Place]) -> Observer:
    """Return an observer of block devices that tells the lowest device of each of several stacks, not of one."""

    def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
        made = [
            observer.parse(host_name, phase, snapshots, dataclasses.replace(subject, devices=devices))
            for devices in _stacks(known) or ((),)
        ]
        readings = {_step(reading): reading for evidence in made for reading in evidence.readings}
        series = {(one.subject, one.metric): one for evidence in made for one in evidence.series}
        return Evidence(
            readings=tuple(readings.values()),
            series=tuple(series.values()),
            facts=tuple(fact for evidence in made for fact in evidence.facts),
            missing={key: reason for evidence in made for key, reason in evidence.missing.items()},
        )

    return dataclasses.replace(observer, parse=parse)


def _step(reading: Reading) -> tuple[str, ...]:
    return (reading.rung, reading.subject, reading.direction, reading.span)


def _of_pages(stage: Preparation) -> tuple[Observer, ...]:
    return tuple(one for one in stage.observers if one.name == "page_cache")


# ------------------------------------------------------------------------------------ from the gate to the end


def _lived(stage: Preparation, sampler: Sampler, signals: forwarded.Signals, listening: contextlib.ExitStack) -> Execution:
    """Run the command, from the gate to the end of its last process."""
    for tee in stage.tees:
        tee.open()
    waiting = spawn.behind_gate(
        stage.ask.argv, stage.directory, {1: stage.tees[0].inside, 2: stage.tees[1].inside}, signals.former
    )
    try:
        for tee in stage.tees:
            tee.start()
        tracker = traces.follow(stage.host, stage.tree, stage.ask.programs, sockets=stage.ask.sockets)
        life = Execution(pid=waiting.pid, tracker=tracker)
        listening.callback(life.tracker.close)
        listening.callback(stage.tree.close)
        sampler.begin(Unnoted(), (waiting.pid,))
        stage.tree.before |= {*sampler.beside()}
        sampler.edge(Edge.QUIET)
        time.sleep(stage.ask.quiet_ns / 1e9)
        stage.tree.expect(waiting.pid)
        sampler.edge(Edge.ARMED)
        life.tracker.forget()
    except BaseException:
        waiting.abandon()
        raise
    life.started_utc, life.t0_ns = _utc(), waiting.go()
    life.looks = _looks(stage.ask)
    sampler.start()
    try:
        _wait(stage, life, sampler, signals)
    finally:
        sampler.rest()
    life.ended_utc = _utc()
    life.tracker.tick()
    return life


def _looks(ask: WatchRequest) -> AnswerLooks | None:
    """Begin to look at the answers of a server of HTTP; None where nobody asks for it, or no word names one."""
    if not ask.http:
        return None
    from assay.watch import http  # few commands are clients

    port = http.port_of(ask.argv)
    return None if port is None else http.AnswerLooks(port)


def _wait(stage: Preparation, life: Execution, sampler: Sampler, signals: forwarded.Signals) -> None:
    """Until the last process of the tree has ended, or those that outlive the command have had their time."""
    until_ns, child_ended = None, False
    while True:
        if stage.groups.look(lambda: process_tree.below(stage.tree.others()), at_end=child_ended):
            sampler.look_again(CGROUP)
        for ended in stage.tree.collect():
            life.ended_ns = ended.at_ns
            if ended.pid == life.pid:
                life.status, until_ns = ended.status, life.ended_ns + stage.ask.linger_ns
        if until_ns is not None and _over(stage, life, until_ns):
            return
        life.tracker.tick()
        rest_s = math.inf if until_ns is None else max(0.0, (until_ns - time.monotonic_ns()) / 1e9)
        info = signals.take(min(life.tracker.patience_s(), stage.groups.patience_s(), rest_s))
        child_ended = info is not None and info.si_signo == signal.SIGCHLD
        _hear(stage, life, info)


def _over(stage: Preparation, life: Execution, until_ns: int) -> bool:
    """Return whether nothing of the tree is left, or not for long enough to be waited for: then what it used so far is taken."""
    left = stage.tree.others()
    if left and not life.hurried and time.monotonic_ns() < until_ns:
        return False
    if left:
        _leave(stage, life, left)
    return True


def _leave(stage: Preparation, life: Execution, left: Sequence[int]) -> None:
    life.ended_ns = time.monotonic_ns()
    for name, value in stage.tree.so_far(left).items():
        stage.tree.io[name] = max(stage.tree.io[name], value)
    for pid in left:
        stage.tree.add_lost(process_tree.STILL_RUNS, pid)


def _hear(stage: Preparation, life: Execution, info: signal.struct_siginfo | None) -> None:
    if info is None or info.si_signo == signal.SIGCHLD:
        return
    if info.si_signo == signal.SIGWINCH:
        for tee in stage.tees:
            tee.fit()
    if life.status is None:
        forwarded.pass_on(info, life.pid)
    elif info.si_signo in forwarded.ENDING:
        life.hurried = True


def _still_open(stage: Preparation) -> dict[str, bool]:
    return {path: written and path in files.changed(stage.was) for path, written in stage.inherited.items()}


def _utc() -> str:
    seconds, rest_ns = divmod(time.time_ns(), 10**9)  # the library of dates costs more than all that is done here
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest_ns // 10**6:03}+00:00"
