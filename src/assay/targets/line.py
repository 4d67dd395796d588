"""Two network namespaces of this machine, joined by paths of stated rate, delay, queue and loss.

The line is a program of our own between two TUN devices, new for each trial. The load works in one namespace, its server in the
other. `through` names a table `[paths.NAME]`; `paths` names several, which connections by MPTCP use together.
`sysctls` are settings of both namespaces, for questions about the kernel's own ways of recovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import UsageError, refuse
from assay.machine import external_commands, line, net_namespaces, sockets
from assay.records import Endpoint, EndpointKind, Place, Server, ServerNode, Value
from assay.settings.knobs import names, texts

GUESS_S = 0.2


def used(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the names of the paths that these knobs name, in order."""
    through = knobs.get("through")
    return (*([str(through)] if through else []), *names(knobs, "paths"))


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the paths on this host."""
    wanted = used(setting.knobs)
    tools = (*(["ip"] if len(wanted) > 1 else []), *(["unshare", "mount"] if setting.knobs.get("sysctls") else []))
    settings = filter(None, (sockets.wrong_setting(host, one) for one in names(setting.knobs, "sysctls")))
    mistakes = (*_named(setting, wanted), *line.wrong_paths(setting, wanted), *settings)
    return (*mistakes, *lacks(host, setting.knobs), *external_commands.missing(host, tools))


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks for a line."""
    return (*line.lacks(host), *external_commands.missing(host, ("nsenter",)))


def _named(setting: Setting, wanted: tuple[str, ...]) -> Iterator[str]:
    if not wanted:
        yield 'found neither through nor paths; expected through = "NAME" of a table [paths.NAME]'
    if setting.knobs.get("through") and setting.knobs.get("paths"):
        yield "found through and paths; expected one of them"
    if len(set(wanted)) < len(wanted):
        yield f"found paths {', '.join(wanted)}; expected each path once"


def prepare(host: Host, setting: Setting) -> Place:
    """Make namespaces, interfaces and links. Raises UsageError with all mistakes of `check`, TrialError."""
    refuse(check(host, setting))
    wanted = used(setting.knobs)
    ends, private = line.through(host, setting, wanted, offload=bool(setting.knobs.get("offload", True)))
    values = dict(filter(None, map(sockets.setting, names(setting.knobs, "sysctls"))))
    try:
        for namespace in ends.namespaces.values() if values else ():
            net_namespaces.set_files(host, namespace, values)
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
        private=private,
    )


def attach(host: Host, _setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the server's address. Raises UsageError on another host: both ends are on one."""
    if host.name != place.host:
        raise UsageError(f"found load on host {host.name}; expected {place.host}: both ends of a line are on one host")
    return Endpoint(kind=place.kind, address=place.address)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the address, and what the line says of itself."""
    return (("address", place.address), *line.facts(host, place))


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
        texts("sysctls", "settings of TCP and IP in the namespaces of both ends: NAME=VALUE of sysctl"),
    ),
    endpoint=EndpointKind.SOCKET,
    check=check,
    lacks=lacks,
    prepare=prepare,
    attach=attach,
    drop_caches=lambda host, place: None,  # no storage
    facts=facts,
    teardown=teardown,
    seconds=lambda knobs: (0.0, GUESS_S),
    paths=used,
)
