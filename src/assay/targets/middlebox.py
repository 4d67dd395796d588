"""A router or firewall between the two ends of a workload: three network namespaces of this machine, the box in the middle.

The load, the box and the server each have a namespace, with a veth pair on either side of the box. The box forwards; with
`rules` or `conntrack` each packet passes nftables or iptables on its way, with `rate` a shaper (tbf) on either side.
Packets are those of a wire: the sender cuts them to the MTU. The box works in kernel threads of its own (threaded NAPI), so its
CPU time is its own. With `offload` super packets pass uncut, and the box works in the time of those that send.
"""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Target, Unit
from assay.errors import AssayError, UsageError, refuse
from assay.machine import external_commands, sockets
from assay.machine.net_namespaces import NETWORK, configure, file_of, inside, keep, release, set_files, tcp_settings
from assay.machine.server import facts as way_facts
from assay.records import Box, Endpoint, EndpointKind, Place, Server, ServerNode, Value
from assay.settings.knobs import choice, in_bytes, integer, names, number, quantity, switch, text, texts

KINDS = AUTO, NFTABLES, IPTABLES, NONE = "auto", "nftables", "iptables", "none"
LOADERS = {NFTABLES: "nft", IPTABLES: "iptables-restore"}
BLOCKED = ipaddress.ip_address("198.19.0.0")
"""The first blocked address: nobody sends from these (RFC 2544)."""
MOST_RULES = 65_536
LOAD, LOAD_SIDE = "198.18.1.1", "198.18.1.2"
SERVER, SERVER_SIDE = "198.18.2.1", "198.18.2.2"
"""Addresses for tests of network devices (RFC 2544); each namespace is alone with them."""
TOOLS = ("ip", "nsenter", "unshare", "cat", "mount")
QUEUE_BYTES = 1 << 20
LEAST_BURST, BURST_S = 16 << 10, 0.002
"""Bytes that a shaper lets pass at once: at least as many, and what its rate gives in this time."""
LEAST_MTU, MOST_MTU = 576, 65_535
NAME = "/proc/{}/comm"
JOINED = "none: with offload the box works in the time of those that send"


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with these knobs on this host."""
    knobs, kind = setting.knobs, _firewall(host, setting)
    tools = [
        *(["tc"] if knobs["rate"] else []),
        *([] if knobs["offload"] else ["ethtool"]),
        *([LOADERS[kind]] if kind in LOADERS else []),
    ]
    found = [*lacks(host, knobs), *external_commands.missing(host, tools)]
    if kind == NONE and _filters(setting):
        wanted = "nft or iptables-restore: not found. Install nftables." if knobs["firewall"] == AUTO else ""
        found.append(wanted or "found firewall none with rules or conntrack; expected nftables, iptables or auto")
    found += filter(None, (sockets.wrong_setting(host, one) for one in names(knobs, "sysctls")))
    if control := text(knobs, "congestion"):
        found += filter(None, (sockets.no_congestion(host, control),))
    if knobs["queue"] is not None and not knobs["rate"]:
        found.append("found queue without rate; expected both: only a shaper has this queue")
    if integer(knobs, "queue", QUEUE_BYTES) < integer(knobs, "mtu"):
        queue, packet = in_bytes(integer(knobs, "queue")), in_bytes(integer(knobs, "mtu"))
        found.append(f"found queue {queue}; expected at least one packet, {packet}")
    return tuple(found)


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what this host lacks for a box."""
    found = external_commands.missing(host, TOOLS)
    if host.far:
        return (*found, f"found host {host.name}; expected this machine: the box and both ends are namespaces beside the lab")
    if not host.is_root():
        return (*found, "network namespaces need root. Run as root, or use kind = socket (the loopback).")
    return found


def _filters(setting: Setting) -> bool:
    return bool(setting.knobs["rules"] or setting.knobs["conntrack"])


def _firewall(host: Host, setting: Setting) -> str:
    return _chosen(host, str(setting.knobs["firewall"]), needed=_filters(setting))


def prepare(host: Host, setting: Setting) -> Place:
    """Make the namespaces, the links, the rules and the shapers; what was made is undone where a step fails."""
    refuse(check(host, setting))
    pids: list[int] = []
    try:
        while len(pids) < len(("load", "box", "server")):
            pids.append(keep(host, setting.undo))
        return _furnished(host, setting, *pids)
    except BaseException:
        for pid in reversed(pids):
            with contextlib.suppress(AssayError):
                release(host, setting.undo, pid)
        raise


def _furnished(host: Host, setting: Setting, load: int, box: int, server: int) -> Place:
    mark = secrets.token_hex(2)
    sides = (f"mb{mark}a", f"mb{mark}b")
    mtu, control = integer(setting.knobs, "mtu"), text(setting.knobs, "congestion")
    for pid, name, address, side, gate in (
        (load, "load0", LOAD, sides[0], LOAD_SIDE),
        (server, "server0", SERVER, sides[1], SERVER_SIDE),
    ):
        configure(host, pid, f"link set lo up\nlink add {name} mtu {mtu} type veth peer name {side} mtu {mtu} netns {box}\n")
        configure(host, pid, f"address add {address}/24 dev {name}\nlink set {name} up\n")
        configure(host, box, f"address add {gate}/24 dev {side}\nlink set {side} up\n")
        configure(host, pid, f"route add default via {gate}{f' congctl {control}' if control else ''}\n")
    configure(host, box, "link set lo up\n")
    settings = dict(filter(None, map(sockets.setting, names(setting.knobs, "sysctls"))))
    for pid in (load, server) if settings else ():
        set_files(host, file_of(pid), settings)
    set_files(host, file_of(box), {"/proc/sys/net/ipv4/ip_forward": "1"})
    kind = _firewall(host, setting)
    if kind != NONE:
        rules = rules_of(kind, integer(setting.knobs, "rules"), tracked=bool(setting.knobs["conntrack"]))
        host.run([*inside(file_of(box)), *_loader(kind)], input_text=rules)
    for side in sides if setting.knobs["rate"] else ():
        _shape(host, setting, box, side)
    links = ((load, "load0"), (server, "server0"), *((box, side) for side in sides))
    threads, reason = ((), JOINED) if setting.knobs["offload"] else _threads(host, links, sides)
    private: dict[str, Value] = {"firewall": kind, "threads": reason or "of its own", "kept": (str(load), str(box), str(server))}
    private["rate"] = setting.knobs["rate"]
    private |= {f"{NETWORK}load": file_of(load), f"{NETWORK}server": file_of(server)}
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.SOCKET,
        address=SERVER,
        server=Server(nodes=(ServerNode(host=host.name, address=SERVER),)),
        private=private,
        box=Box(pid=box, interfaces=sides, threads=threads, shaped=bool(setting.knobs["rate"])),
    )


def _chosen(host: Host, wanted: str, *, needed: bool) -> str:
    """Return which firewall is used: the wanted one, else the first that is there; none where no rule is needed."""
    if wanted != AUTO:
        return wanted
    return next((name for name, tool in LOADERS.items() if external_commands.location(host, tool)), NONE) if needed else NONE


def _loader(kind: str) -> tuple[str, ...]:
    """Return the command that reads the rules from its standard input."""
    return ("nft", "-f", "-") if kind == NFTABLES else ("iptables-restore",)


def rules_of(kind: str, rules: int, *, tracked: bool) -> str:
    """Return the rules as that command reads them."""
    blocked = (str(BLOCKED + number) for number in range(rules))
    if kind == NFTABLES:
        known = ("ct state established,related accept", "ct state invalid drop") if tracked else ()
        lines = "\n".join((*known, *(f"ip saddr {address} drop" for address in blocked)))
        return f"table ip assay {{\nchain forward {{\ntype filter hook forward priority 0; policy accept;\n{lines}\n}}\n}}\n"
    head = "-A FORWARD -m conntrack --ctstate"
    known = (f"{head} ESTABLISHED,RELATED -j ACCEPT", f"{head} INVALID -j DROP") if tracked else ()
    lines = "\n".join((*known, *(f"-A FORWARD -s {address}/32 -j DROP" for address in blocked)))
    return f"*filter\n:FORWARD ACCEPT [0:0]\n{lines}\nCOMMIT\n"


def _shape(host: Host, setting: Setting, box: int, side: str) -> None:
    rate = integer(setting.knobs, "rate")
    burst, queue = max(LEAST_BURST, int(rate * BURST_S)), integer(setting.knobs, "queue", QUEUE_BYTES)
    words = ("rate", f"{rate * 8}bit", "burst", str(burst), "limit", str(queue))
    host.run([*inside(file_of(box)), "tc", "qdisc", "replace", "dev", side, "root", "tbf", *words])


def _threads(host: Host, links: tuple[tuple[int, str], ...], sides: tuple[str, str]) -> tuple[tuple[int, ...], str]:
    """Let every interface be served by a thread of its own; return those of the box, or why there are none.

    veth has threads only with GRO, and gives them no packets that a peer with TSO sends. So the sender cuts segments, as a link
    without offload wants them, and the receiver joins them. The ends have threads too: else their work would count as the box's.
    """
    try:
        for pid, name in links:
            host.run([*inside(file_of(pid)), "ethtool", "-K", name, "tso", "off", "gro", "on"])
            set_files(host, file_of(pid), {f"/sys/class/net/{name}/threaded": "1"})
    except AssayError as error:
        return (), f"none: {error}"
    names = tuple(f"napi/{side}-" for side in sides)
    found = [int(pid) for pid in host.list("/proc") if pid.isdigit() and _name(host, pid).startswith(names)]
    return (tuple(found), "") if len(found) == len(sides) else ((), f"found {len(found)} threads of {', '.join(sides)}")


def _name(host: Host, pid: str) -> str:
    try:
        return host.read(NAME.format(pid))
    except OSError:
        return ""


def attach(host: Host, _setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the server's address. Raises UsageError on another host: both ends are on one."""
    if host.name != place.host:
        raise UsageError(f"found load on host {host.name}; expected {place.host}: both ends are namespaces of one host")
    return Endpoint(kind=place.kind, address=place.address)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the firewall and its version, who does the work of the box, the way to the server, and TCP's settings."""
    kind = str(place.private["firewall"])
    tool = {NFTABLES: "nft", IPTABLES: "iptables"}.get(kind)
    version = host.run([tool, "--version"], check=False).stdout.strip() if tool else "plain forwarding"
    found = (("address", place.address), ("box.firewall", kind), ("box.version", version))
    load = str(place.private[f"{NETWORK}load"])
    settings, way = tcp_settings(host, load), (*way_facts(host, place.server, load), *_shaper(place))
    return (*found, ("box.threads", str(place.private["threads"])), *way, *((f"ends.{name}", value) for name, value in settings))


def _shaper(place: Place) -> tuple[tuple[str, str], ...]:
    """Return the rate of the shapers, as the lowest on the way."""
    rate = place.private["rate"]
    if not isinstance(rate, int):
        return ()
    return (("server.limit_bytes_per_s", str(rate)), ("server.limit", f"tbf of the box, {rate * 8 / 1e6:g} Mbit/s"))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """End the namespaces; their interfaces, rules and shapers go with them."""
    kept = place.private["kept"]
    for pid in reversed(kept if isinstance(kept, tuple) else ()):
        release(host, setting.undo, int(str(pid)))


TARGET = Target(
    name="middlebox",
    knobs=(
        number("rules", "rules that each packet is held against before it passes", 0, (0, MOST_RULES)),
        switch("conntrack", "follow connections: packets of known ones pass before the rules"),
        choice("firewall", "what holds the rules; auto: nftables if it is there, else iptables", *KINDS),
        quantity("rate", "rate of the shaper on either side of the box; default: none", Unit.BYTES_PER_S),
        quantity("queue", f"bytes that wait at the shaper; default {in_bytes(QUEUE_BYTES)}", Unit.BYTES),
        Knob(name="congestion", kind=KnobKind.TEXT, help="usual congestion control of both ends; default: that of the kernel"),
        texts("sysctls", "settings of TCP and IP in the namespaces of both ends: NAME=VALUE of sysctl"),
        switch("offload", "segments pass joined, up to 64 KiB, as between virtual machines; the box's CPU time is then unknown"),
        quantity("mtu", "largest packet of the links", Unit.BYTES, 1500, (LEAST_MTU, MOST_MTU)),
    ),
    endpoint=EndpointKind.SOCKET,
    check=check,
    lacks=lacks,
    prepare=prepare,
    attach=attach,
    drop_caches=lambda host, place: None,  # no storage
    facts=facts,
    teardown=teardown,
    seconds=lambda knobs: (0.0, 1.0),
)
