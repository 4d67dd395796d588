"""The network namespaces of this machine that packets pass between two ends: those of routers that are here, too."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from assay.catalogue import Host
from assay.errors import AssayError
from assay.machine.server import is_own_address, network_of

MOST_HOPS = 8
NAMED = "/run/netns"
"""Where `ip netns` keeps namespaces that may have no process."""


def hops(host: Host, start: str, address: str) -> Iterator[str]:
    """Yield the namespace of each router of this machine on the way from a namespace (its file) to an address.

    The kernel is asked in each of them. What is not on this machine is not followed.
    """
    here, seen = start, {start}
    while len(seen) <= MOST_HOPS:
        router = _router(host, here, address)
        found = _holding(host, router) if router is not None else None
        if found is None or found in seen:
            return
        seen.add(found)
        here = found
        yield found


def _router(host: Host, namespace: str, address: str) -> str | None:
    match = re.search(r"\bvia (?:inet6? )?(\S+)", _output(host, [*inside(namespace), "ip", "route", "get", address]))
    return match[1] if match else None


def source_of(host: Host, namespace: str, address: str) -> str | None:
    """Return the address from which a namespace sends to another address: the other end's way back leads there."""
    match = re.search(r"\bsrc (\S+)", _output(host, [*inside(namespace), "ip", "route", "get", address]))
    return match[1] if match else None


def inside(namespace: str) -> list[str]:
    """Return what comes before a command so that it runs in a namespace; nothing for the lab's own."""
    return ["nsenter", f"--net={namespace}", "--"] if namespace else []


def _holding(host: Host, address: str) -> str | None:
    """Return the file of the namespace that has an address: of a process that we see, else one with a name."""
    tables = {network_of(host, pid): pid for pid in host.list("/proc") if pid.isdigit()}
    found = next((pid for name, pid in tables.items() if name and is_own_address(host, pid, address)), None)
    if found is not None:
        return f"/proc/{found}/ns/net" if network_of(host, found) != network_of(host, "self") else ""
    for name in host.list(NAMED):
        shown = _output(host, [*inside(f"{NAMED}/{name}"), "ip", "-o", "address", "show"])
        if re.search(rf"\binet6? {re.escape(address)}/", shown):
            return f"{NAMED}/{name}"
    return None


def _output(host: Host, argv: list[str]) -> str:
    with contextlib.suppress(AssayError, OSError):
        return host.run(argv, check=False).stdout
    return ""
