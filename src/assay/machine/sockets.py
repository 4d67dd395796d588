"""What a host allows its sockets: congestion controls, the largest buffers, MPTCP, and ports that are taken.

Sources: tcp(7), socket(7), /proc/sys/net/ipv4/tcp_available_congestion_control, tcp_allowed_congestion_control,
/proc/sys/net/core/rmem_max and wmem_max, /proc/sys/net/mptcp/enabled; /proc/net/tcp, tcp6, udp and udp6 of the lab's namespace.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from assay.catalogue import Host

CONTROLS = "/proc/sys/net/ipv4/tcp_{}_congestion_control"
LIMITS = ("rmem_max", "wmem_max")
MPTCP = "/proc/sys/net/mptcp/enabled"
LISTENING, UNCONNECTED = "0A", "07"
"""States of sockets in /proc/net/tcp and /proc/net/udp (net/tcp_states.h)."""
ROW = re.compile(r"\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) ")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def text_of(host: Host, path: str) -> str:
    """Return the text of a file; empty where it is not there."""
    try:
        return host.read(path).strip()
    except OSError:
        return ""


def no_congestion(host: Host, name: str) -> str | None:
    """Return why a congestion control cannot be used; None where it can, or where the host does not tell.

    Root gets a control whose module is not loaded yet; an ordinary user only those that are allowed.
    """
    available = text_of(host, CONTROLS.format("available")).split()
    if not available:
        return None
    if not host.is_root():
        allowed = text_of(host, CONTROLS.format("allowed")).split() or available
        found = f"found congestion {name!r}; expected one of those allowed on {host.name}: {', '.join(allowed)}"
        return None if name in allowed else found
    if name in available or _has_module(host, f"tcp_{name}"):
        return None
    return f"found congestion {name!r}; expected one of those of {host.name}: {', '.join(available)}"


def _has_module(host: Host, name: str) -> bool:
    return bool(re.fullmatch(r"\w+", name)) and host.run(["sh", "-c", f"modprobe -n -q {name}"], check=False).status == 0


def small_buffers(host: Host, window: int) -> Iterator[str]:
    """Yield each limit of a host that is below a window, with both numbers and the command that raises it."""
    for name in LIMITS:
        limit = text_of(host, f"/proc/sys/net/core/{name}")
        if limit.isdigit() and int(limit) < window:
            yield (
                f"found window {window:,} bytes; expected at most {int(limit):,}, net.core.{name} of {host.name}. "
                f"Raise it: sysctl -w net.core.{name}={window}"
            )


def setting(text: str) -> tuple[str, str] | None:
    """Return file and value of a setting as sysctl takes it, `net.ipv4.tcp_rmem=4096 131072 6291456`; None if it is none."""
    match = re.fullmatch(r"\s*(net(?:\.\w+)+)\s*=\s*(\S.*?)\s*", text)
    return None if match is None else (f"/proc/sys/{match[1].replace('.', '/')}", match[2])


def wrong_setting(host: Host, text: str) -> str | None:
    """Return why a setting cannot be made in a namespace of this host; None where it can."""
    found = setting(text)
    if found is None or not host.exists(found[0]):
        return f"found sysctl {text!r}; expected NAME=VALUE of a name below net on {host.name}, as sysctl -a prints it"
    if not found[0].endswith("/tcp_congestion_control"):
        return None
    allowed = text_of(host, CONTROLS.format("allowed")).split()
    if not allowed or found[1] in allowed:
        return None
    return f"found congestion {found[1]!r} in sysctls; expected one of those allowed for namespaces: {', '.join(allowed)}"


def no_mptcp(host: Host, *, new_space: bool = False) -> str | None:
    """Return why MPTCP cannot be used; None where it can. In a new network namespace it is on wherever the kernel has it."""
    enabled = text_of(host, MPTCP)
    if not enabled:
        return f"the kernel of {host.name} has no MPTCP (CONFIG_MPTCP). Remove mptcp."
    return None if enabled != "0" or new_space else f"MPTCP is off on {host.name}. Turn it on: sysctl -w net.mptcp.enabled=1"


def taken(host: Host, address: str, port: int, *, datagrams: bool) -> str | None:
    """Return who listens on a port of an address already, `[::]:5201`; None where it is free."""
    wanted = ipaddress.ip_address(address)
    tables = [("tcp", LISTENING), ("tcp6", LISTENING), *((("udp", UNCONNECTED), ("udp6", UNCONNECTED)) if datagrams else ())]
    for table, state in tables:
        for own, at in _bound(text_of(host, f"/proc/net/{table}"), state):
            if at == port and (own == wanted or own.is_unspecified):
                return f"[{own}]:{at}" if own.version == 6 else f"{own}:{at}"
    return None


def _bound(table: str, state: str) -> Iterator[tuple[Address, int]]:
    """Yield address and port of the sockets in this state; the kernel prints words of 32 bits, lowest byte first."""
    for line in table.splitlines():
        match = ROW.match(line)
        if match is None or match[3] != state:
            continue
        words = [bytes.fromhex(match[1][at : at + 8])[::-1] for at in range(0, len(match[1]), 8)]
        found = ipaddress.ip_address(b"".join(words))
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        yield mapped or found, int(match[2], 16)
