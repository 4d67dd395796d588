"""What events do to a server of ours: its processes are killed and started again, or stopped and let go on."""

from __future__ import annotations

import time
from collections.abc import Mapping

from assay.catalogue import Host, Setting, TargetEvent
from assay.errors import TrialError
from assay.machine import server, service
from assay.machine.process_stat import stat_fields
from assay.records import Action, Place

PATIENCE_S, STEP_S = 5.0, 0.005
MEMORY = "the memory of the server's machine: its page cache stays. Only a crash disk loses power"


def events(name: str, ports: tuple[int, ...]) -> Mapping[Action, TargetEvent]:
    """Return what may be done to a server of this name, which listens on these ports when it is up."""

    def again(host: Host, _setting: Setting, place: Place) -> None:
        restart(host, place, name, ports)

    return {
        Action.KILL: TargetEvent(do=_kill, back=again, untested=MEMORY),
        Action.STOP: TargetEvent(do=_stop, back=_continue, untested=f"a lost process, and {MEMORY}"),
    }


def restart(host: Host, place: Place, name: str, ports: tuple[int, ...]) -> None:
    """Start a server that was killed, and wait until it listens. Raises TrialError."""
    directory = str(place.private["directory"])
    service.start(host, directory, name, lambda: service.listens(host, directory, ports))


def _pids(host: Host, place: Place) -> tuple[int, ...]:
    """Return its processes, without those of a server that it stands on. Raises TrialError where it has none."""
    own = place.server.nodes[:1] if place.server else ()  # the nodes of what it stands on come after its own
    found = server.pids(host, own)
    if not found:
        raise TrialError(f"the server of {place.target} has no process any more")
    return found


def _kill(host: Host, _setting: Setting, place: Place) -> None:
    pids = _pids(host, place)
    _signal(host, "KILL", pids)
    _await(host, pids, "ZX", "SIGKILL")


def _stop(host: Host, _setting: Setting, place: Place) -> None:
    pids = _pids(host, place)
    _signal(host, "STOP", pids)
    _await(host, pids, "TtZX", "SIGSTOP")


def _continue(host: Host, _setting: Setting, place: Place) -> None:
    _signal(host, "CONT", _pids(host, place))


def _signal(host: Host, signal: str, pids: tuple[int, ...]) -> None:
    host.run(["kill", f"-{signal}", "--", *map(str, pids)], check=False)  # some may have ended by themselves


def _await(host: Host, pids: tuple[int, ...], states: str, sent: str) -> None:
    """Wait until every process is in one of these states, or gone. Raises TrialError."""
    deadline = time.monotonic() + PATIENCE_S
    while waiting := [pid for pid in pids if (state := _state(host, pid)) and state not in states]:
        if time.monotonic() > deadline:
            raise TrialError(f"process {waiting[0]} does not react to {sent} within {PATIENCE_S:g} s")
        time.sleep(STEP_S)


def _state(host: Host, pid: int) -> str:
    try:
        return stat_fields(host, pid)[0]
    except OSError:
        return ""
