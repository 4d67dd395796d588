"""A network address of the target's host: workloads between two ends put their server there.

`address` is the IP address by which the load reaches that host, by default the loopback.
Nothing is created, and only the workloads open ports.
An address with a port belongs to a server that runs there already, for the workload `command`.
"""

from __future__ import annotations

import ipaddress

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import refuse
from assay.machine import external_commands, server
from assay.records import EndpointKind, Place, Server, ServerNode
from assay.settings.network import split

LOOPBACK = "127.0.0.1"


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the address on this host."""
    written = str(setting.knobs["address"])
    name, port = parts(written)
    if name is None:
        return (f"found address {written!r}; expected an IP address, or one with a port (192.0.2.10:5201, [2001:db8::1]:5201)",)
    own = tuple(one for one in addresses(host) if not ipaddress.ip_address(one).is_link_local)
    advice = f" Use one of: {', '.join(own)}." if own else ""
    if port is None and ipaddress.ip_address(name).is_link_local and ":" in name:
        return (f"address {name} is link-local: both ends of Assay need an address without an interface.{advice}",)
    if port is None and own and name not in own:
        return (f"address {name} is not an address of host {host.name}.{advice}",)
    return ()


def parts(written: str) -> tuple[str | None, int | None]:
    """Return address and port, None for a port that is not there; no address where the text has none."""
    name, port = split(written)
    try:
        found = str(ipaddress.ip_address(name))
        number = int(port) if port else None
    except ValueError:
        return None, None
    return (found, number) if number is None or 0 < number < 1 << 16 else (None, None)


def addresses(host: Host) -> tuple[str, ...]:
    """Return the IP addresses of a host; none where `ip` does not tell or is missing."""
    if external_commands.location(host, "ip") is None:
        return ()
    done = host.run(["ip", "-brief", "address", "show"], check=False)
    words = (word.partition("/")[0] for line in done.stdout.splitlines() for word in line.split()[2:] if "/" in word)
    return tuple(dict.fromkeys(words)) if done.status == 0 else ()


def prepare(host: Host, setting: Setting) -> Place:
    """Describe the address. Raises UsageError with all mistakes of `check`."""
    refuse(check(host, setting))
    address = str(setting.knobs["address"])
    node = ServerNode(host=host.name, address=parts(address)[0])
    return Place(target=setting.name, host=host.name, kind=EndpointKind.SOCKET, address=address, server=Server(nodes=(node,)))


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the address, and the way to it from its own host."""
    return (("address", place.address), *server.facts(host, place.server))


TARGET = Target(
    name="socket",
    knobs=(
        Knob(
            name="address",
            kind=KnobKind.TEXT,
            default=LOOPBACK,
            help="IP address of the target's host for the load; with a port: a server that runs there",
        ),
    ),
    endpoint=EndpointKind.SOCKET,
    check=check,
    prepare=prepare,
    drop_caches=lambda host, place: None,  # no storage
    facts=facts,
    teardown=lambda host, setting, place: None,  # nothing was created
    side_by_side=True,
)
