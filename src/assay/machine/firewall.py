"""The rules of a firewall that packets pass on their way through: as nft or iptables-restore take them.

The rules never match: each packet is held against all of them, as a list of blocked addresses is. With connection tracking the
packets of known connections pass first, as firewalls are usually set up, and only the first packet of each meets the list.
Sources: nft(8), iptables-restore(8), iptables-extensions(8) conntrack.
"""

from __future__ import annotations

import ipaddress

from assay.catalogue import Host
from assay.machine.external_commands import location

KINDS = AUTO, NFTABLES, IPTABLES, NONE = "auto", "nftables", "iptables", "none"
TOOLS = {NFTABLES: "nft", IPTABLES: "iptables-restore"}
BLOCKED = ipaddress.ip_address("198.19.0.0")
"""The first blocked address: nobody sends from these (RFC 2544)."""
MOST_RULES = 65_536


def chosen(host: Host, wanted: str, *, needed: bool) -> str:
    """Return which firewall is used: the wanted one, else the first that is there; none where no rule is needed."""
    if wanted != AUTO:
        return wanted
    return next((name for name, tool in TOOLS.items() if location(host, tool)), NONE) if needed else NONE


def command(kind: str) -> tuple[str, ...]:
    """Return the command that reads the rules from its standard input."""
    return ("nft", "-f", "-") if kind == NFTABLES else ("iptables-restore",)


def text(kind: str, rules: int, *, tracked: bool) -> str:
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
