"""Two network namespaces of this machine, joined by paths of stated rate, delay, queue and loss.

The line is a program of our own between two TUN devices, new for each trial. The load works in one namespace, its server in the
other. `through` names a table `[paths.NAME]`; `paths` names several, which connections by MPTCP use together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import UsageError, refuse
from assay.machine import external_commands, line, net_namespaces
from assay.machine.net_namespaces import NETWORK
from assay.records import Endpoint, EndpointKind, Place, Server, ServerNode, Value
from assay.settings import paths
from assay.settings.knobs import names

GUESS_S = 0.2


def used(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the names of the paths that these knobs name, in order."""
    through = knobs.get("through")
    return (*([str(through)] if through else []), *names(knobs, "paths"))


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the paths on this host."""
    wanted = used(setting.knobs)
    tools = ("nsenter", "ip") if len(wanted) > 1 else ("nsenter",)
    return (*_named(setting, wanted), *_wrong(setting, wanted), *_machine(host), *external_commands.missing(host, tools))


def _named(setting: Setting, wanted: tuple[str, ...]) -> Iterator[str]:
    if not wanted:
        yield 'found neither through nor paths; expected through = "NAME" of a table [paths.NAME]'
    if setting.knobs.get("through") and setting.knobs.get("paths"):
        yield "found through and paths; expected one of them"
    if len(set(wanted)) < len(wanted):
        yield f"found paths {', '.join(wanted)}; expected each path once"
    known = ", ".join(setting.paths) or "none"
    for name in wanted:
        if name not in setting.paths:
            yield f"found path {name!r}; expected one of the file's: {known}"


def _wrong(setting: Setting, wanted: tuple[str, ...]) -> Iterator[str]:
    for name in wanted:
        for one in paths.mistakes(setting.paths.get(name, {})):
            yield f"path {name}: found {one.found}; expected {one.expected}"


def _machine(host: Host) -> Iterator[str]:
    if host.far:
        yield f"the line is made on the machine of the lab alone, not on host {host.name}. Remove `host`."
        return
    if not host.is_root():
        yield 'a line needs root (network namespaces). Run as root, or use kind = "socket" on the loopback.'
    if not host.exists(line.DEVICE):
        yield f'{line.DEVICE} does not exist: no TUN devices (modprobe tun). Load it, or use kind = "socket" on the loopback.'
    if not host.exists(str(line.PROGRAM)):
        yield f"the line: not found at {line.PROGRAM}. Run `make build`."


def prepare(host: Host, setting: Setting) -> Place:
    """Make namespaces, interfaces and links. Raises UsageError with all mistakes of `check`, TrialError."""
    refuse(check(host, setting))
    wanted = used(setting.knobs)
    seed = setting.trial.seed if setting.trial else 0
    ways = {name: {one: paths.way(setting.paths[name], one) for one in paths.WAYS} for name in wanted}
    links = [{"name": name, **{one: found.settings() for one, found in both.items()}} for name, both in ways.items()]
    message = line.config(links, seed, offload=bool(setting.knobs.get("offload", True)))
    ends = line.begin(host, setting.undo, message)
    try:
        if len(wanted) > 1:
            line.join_mptcp(host, ends)
    except BaseException:
        line.finish(host, setting.undo, ends.pid, ends.token)
        raise
    address = ends.addresses["server"][wanted[0]]
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.SOCKET,
        address=address,
        server=Server(nodes=(ServerNode(host=host.name, address=address),)),
        private={
            "line": str(ends.pid),
            "token": ends.token,
            "realtime": ends.realtime,
            "paths": wanted,
            **{f"{NETWORK}{name}": namespace for name, namespace in ends.namespaces.items()},
            **{f"path.{name}.{one}": found.words() for name, both in ways.items() for one, found in both.items()},
            **{f"path.{name}.{one}.{key}": value for name, one, key, value in _numbers(ways)},
        },
    )


def _numbers(ways: Mapping[str, Mapping[str, paths.PathWay]]) -> Iterator[tuple[str, str, str, float]]:
    """Yield the numbers of each direction that rules hold the line's counts against: path, direction, name, number."""
    for name, both in ways.items():
        for one, found in both.items():
            yield name, one, "loss", found.loss_share
            yield name, one, "frame_bytes", found.frame_bytes
            if found.rate_bytes_per_s is not None:
                yield name, one, "bytes_per_s", found.rate_bytes_per_s


def attach(host: Host, _setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the server's address. Raises UsageError on another host: both ends are on one."""
    if host.name != place.host:
        raise UsageError(f"found load on host {host.name}; expected {place.host}: both ends of a line are on one host")
    return Endpoint(kind=place.kind, address=place.address)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the paths in words, whether the line has the real-time class, and the settings of TCP in the load's namespace."""
    own = {key: str(value) for key, value in place.private.items() if key.startswith("path.")}
    wanted = place.private["paths"]
    found = [
        ("address", place.address),
        ("line", ", ".join(map(str, wanted)) if isinstance(wanted, tuple) else str(wanted)),
        ("line.realtime", str(int(bool(place.private["realtime"])))),
    ]
    settings = net_namespaces.tcp_settings(host, str(place.private[f"{NETWORK}load"]))
    return (*found, *own.items(), *((f"line.{name}", value) for name, value in settings))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """End the line; its namespaces and interfaces go with it."""
    pid, token = place.private["line"], place.private["token"]
    line.finish(host, setting.undo, int(str(pid)), str(token))


TARGET = Target(
    name="line",
    knobs=(
        Knob(name="through", kind=KnobKind.TEXT, help="the path between load and server: NAME of a table [paths.NAME]"),
        Knob(name="paths", kind=KnobKind.TEXTS, default=(), help="several paths beside each other, for MPTCP"),
        Knob(name="offload", kind=KnobKind.SWITCH, default=True, help="ends may send super packets, as with a network card"),
    ),
    endpoint=EndpointKind.SOCKET,
    check=check,
    prepare=prepare,
    attach=attach,
    drop_caches=lambda host, place: None,  # no storage
    facts=facts,
    teardown=teardown,
    seconds=lambda knobs: (0.0, GUESS_S),
    paths=used,
)
