"""The line: a program of our own that joins two network namespaces by paths of stated rate, delay, queue and loss.

It makes the namespaces and their interfaces itself, so that all of it is gone with its process, and it ends when the lab ends.
The entry in the ledger comes first; whoever finds it ends every process that carries its token.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.catalogue import FAMILY, Host, Setting, Undo
from assay.errors import AssayError, MissingError, TrialError
from assay.machine.net_namespaces import NETWORK, inside, tcp_settings
from assay.records import Place, Value
from assay.settings import paths

PROGRAM = Path(__file__).parent.parent / "bin" / "assay-line"
DEVICE = "/dev/net/tun"
ENDS = ("load", "server")
PATIENCE_S = 10.0
COUNT = '{"type":"count"}'


@dataclass(frozen=True, kw_only=True)
class LineEnds:
    """A line at work."""

    pid: int
    token: str
    namespaces: Mapping[str, str]
    """`load` and `server` -> the path of its network namespace."""
    addresses: Mapping[str, Mapping[str, str]]
    """End -> link -> address."""
    interfaces: Mapping[str, str]
    """Link -> the interface, which has the same name at both ends."""
    realtime: bool


def config(links: Sequence[Mapping[str, object]], seed: int, *, offload: bool) -> str:
    """The first message: the links in order, each with its name, `up` and `down`."""
    return json.dumps({"type": "config", "links": [*links], "seed": seed, "offload": offload})


def begin(host: Host, undo: Undo, message: str) -> LineEnds:
    """Start a line. Raises MissingError and TrialError; then nothing of it is left."""
    if not host.exists(str(PROGRAM)):
        raise MissingError(f"the line: not found at {PROGRAM}. Run `make build`.")
    token = secrets.token_hex(8)
    undo.add("family", token=token, what="line between clients and server")
    try:
        done = host.run(
            [str(PROGRAM), "detached"], input_text=f"{message}\n", env={FAMILY: token}, timeout_s=PATIENCE_S, check=False
        )
        return _ends(token, done.stdout.splitlines(), done.stderr)
    except BaseException:
        undo.undo("family", token=token)
        raise


def _ends(token: str, lines: list[str], stderr: str) -> LineEnds:
    last = json.loads(lines[-1]) if lines else {}
    if last.get("type") != "ready":
        reason = last.get("message") or stderr.strip() or "no answer"
        raise TrialError(f"the line cannot be made: {reason}")
    ends = last["ends"]
    return LineEnds(
        pid=last["pid"],
        token=token,
        namespaces={name: ends[name]["namespace"] for name in ENDS},
        addresses={name: {link: at["address"] for link, at in ends[name]["interfaces"].items()} for name in ENDS},
        interfaces={link: at["name"] for link, at in ends["load"]["interfaces"].items()},
        realtime=bool(last["realtime"]),
    )


def asking(pid: int, message: str = "") -> tuple[str, ...]:
    """The command that hands a message to a line; without one the words before it."""
    return (str(PROGRAM), "ask", str(pid), *([message] if message else []))


def answer(host: Host, pid: int, message: str) -> str:
    """Return what a line answers, without a command: a look in each second must cost the load nothing. Raises OSError."""
    return "" if host.syscalls is None else host.syscalls.answer(f"assay-line-{pid}", message)


def finish(host: Host, undo: Undo, pid: int, token: str) -> None:
    """End a line, and whatever lives in its namespaces; strike it out of the ledger."""
    with contextlib.suppress(AssayError, OSError):  # it has ended already, or is killed now
        host.run(asking(pid, '{"type":"end"}'), check=False, timeout_s=PATIENCE_S)
    undo.undo("family", token=token)


def join_mptcp(host: Host, ends: LineEnds) -> None:
    """Let connections by MPTCP use every link: the load opens a subflow from each further address to the server's first one.

    The server listens at that address alone, so a further one that it announces would refuse. Raises what Host.run raises.
    """
    (first, _), *further = ends.interfaces.items()
    network = ipaddress.ip_network(f"{ends.addresses['server'][first]}/24", strict=False)
    for name in ENDS:
        host.run([*inside(ends.namespaces[name]), "ip", "mptcp", "limits", "set", "subflow", "8"])
    at = inside(ends.namespaces["load"])
    for number, (link, interface) in enumerate(further, 1):
        host.run([*at, "ip", "route", "add", str(network), "dev", interface, "metric", str(1000 + number)])
        host.run([*at, "ip", "mptcp", "endpoint", "add", ends.addresses["load"][link], "dev", interface, "subflow"])


def mistakes(host: Host, setting: Setting, wanted: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the paths of these names, and with this machine for a line."""
    yield from wrong_paths(setting, wanted)
    yield from lacks(host)


def wrong_paths(setting: Setting, wanted: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the paths of these names."""
    known = ", ".join(setting.paths) or "none"
    for name in wanted:
        if name not in setting.paths:
            yield f"found path {name!r}; expected one of the file's: {known}"
        for one in paths.mistakes(setting.paths.get(name, {})):
            yield f"path {name}: found {one.found}; expected {one.expected}"


def lacks(host: Host) -> Iterator[str]:
    """Yield what a host lacks for a line."""
    if host.far:
        yield f"the line is made on the machine of the lab alone, not on host {host.name}. Remove `host`."
        return
    if not host.is_root():
        yield 'a line needs root (network namespaces). Run as root, or use kind = "socket" on the loopback.'
    if not host.exists(DEVICE):
        yield f'{DEVICE} does not exist: no TUN devices (modprobe tun). Load it, or use kind = "socket" on the loopback.'
    if not host.exists(str(PROGRAM)):
        yield f"the line: not found at {PROGRAM}. Run `make build`."


def through(host: Host, setting: Setting, wanted: Sequence[str], *, offload: bool) -> tuple[LineEnds, dict[str, Value]]:
    """Start the line of the paths of these names; return it, and what a place keeps of it. Raises MissingError and TrialError."""
    ways = {name: {one: paths.way(setting.paths[name], one) for one in paths.WAYS} for name in wanted}
    links = [{"name": name, **{one: found.settings() for one, found in both.items()}} for name, both in ways.items()]
    ends = begin(host, setting.undo, config(links, setting.trial.seed if setting.trial else 0, offload=offload))
    return ends, {
        "line": str(ends.pid),
        "token": ends.token,
        "realtime": ends.realtime,
        "paths": tuple(wanted),
        **{f"{NETWORK}{name}": namespace for name, namespace in ends.namespaces.items()},
        **{f"path.{name}.{one}": found.words() for name, both in ways.items() for one, found in both.items()},
        **{f"path.{name}.{one}.{key}": value for name, one, key, value in _numbers(ways)},
    }


def _numbers(ways: Mapping[str, Mapping[str, paths.PathWay]]) -> Iterator[tuple[str, str, str, float]]:
    """Yield the numbers of each direction that rules hold the line's counts against: path, direction, name, number."""
    for name, both in ways.items():
        for one, found in both.items():
            yield name, one, "loss", found.loss_share
            yield name, one, "frame_bytes", found.frame_bytes
            if found.rate_bytes_per_s is not None:
                yield name, one, "bytes_per_s", found.rate_bytes_per_s


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the paths in words, whether the line has the real-time class, and the settings of TCP in the load's namespace."""
    own = {key: str(value) for key, value in place.private.items() if key.startswith("path.")}
    wanted = place.private["paths"]
    found = [
        ("line", ", ".join(map(str, wanted)) if isinstance(wanted, tuple) else str(wanted)),
        ("line.realtime", str(int(bool(place.private["realtime"])))),
    ]
    settings = tcp_settings(host, str(place.private[f"{NETWORK}load"]))
    return (*found, *own.items(), *((f"line.{name}", value) for name, value in settings))
