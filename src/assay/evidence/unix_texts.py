"""What commands of several Unix systems print: sysctl, netstat, vmstat. Pure functions over their texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.errors import EvidenceError
from assay.evidence.snapshots import Counters, number

COLUMNS = {
    "Ipkts": "rx_packets",
    "Ierrs": "rx_errors",
    "Ifail": "rx_errors",
    "Idrop": "rx_drops",
    "Ibytes": "rx_bytes",
    "Opkts": "tx_packets",
    "Oerrs": "tx_errors",
    "Ofail": "tx_errors",
    "Obytes": "tx_bytes",
    "Drop": "tx_drops",
    "Odrop": "tx_drops",
}
"""Columns of `netstat -i` by what is in them; OpenBSD calls errors failures."""
TCP = {
    "tcp_sent_segments": re.compile(r"^\s+(\d+) packets? sent$", re.MULTILINE),
    "tcp_retransmitted_segments": re.compile(r"^\s+(\d+) data packets? \(\d+ bytes?\) retransmitted$", re.MULTILINE),
    "tcp_active_opens": re.compile(r"^\s+(\d+) connection requests?$", re.MULTILINE),
}
NAMED = re.compile(r"^([A-Za-z0-9_.%]+)(?:: ?| = |=)(.*)$")


def sysctls(text: str) -> dict[str, str]:
    """Return name -> value of lines `name: value`, `name = value` or `name=value`."""
    return {match[1]: match[2].strip() for line in text.splitlines() if (match := NAMED.match(line))}


def numbers(values: Mapping[str, str], names: Mapping[str, str], times: int = 1) -> dict[str, int]:
    """Return metric -> number of those sysctls (metric -> name) that there are, each multiplied. Raises EvidenceError."""
    return {metric: number(values[name], name) * times for metric, name in names.items() if values.get(name)}


def frequency(values: Mapping[str, str], where: str) -> int:
    """Return how often a second CPU time is counted (kern.clockrate, stathz). Raises EvidenceError."""
    match = re.search(r"\bstathz = (\d+)", values.get("kern.clockrate", ""))
    if match is None or int(match[1]) == 0:
        raise EvidenceError(f"found no stathz in kern.clockrate of {where}; expected the rate at which CPU time is counted")
    return int(match[1])


def load_average(values: Mapping[str, str]) -> float | None:
    """Return the load average of the last minute (vm.loadavg)."""
    match = re.search(r"\d+\.\d+", values.get("vm.loadavg", ""))
    return float(match[0]) if match else None


def interfaces(text: str, where: str) -> dict[str, Counters]:
    """Parse the rows of links in `netstat -i` by the names of its columns; the loopback is left out. Raises EvidenceError.

    The columns are counted from the right: a link without an address leaves that column empty.
    """
    found: dict[str, Counters] = {}
    heads = [line.split() for line in text.splitlines() if line.startswith("Name")]
    if not heads:
        raise EvidenceError(f"found {text[:40]!r} in {where}; expected a line that begins with Name")
    for words, line in ((line.split(), line) for line in text.splitlines()):
        if "<Link" not in line or words[0].startswith("lo"):
            continue
        columns = list(zip(reversed(heads[0]), reversed(words), strict=False))
        counters = {COLUMNS[head]: word for head, word in columns if head in COLUMNS and word != "-"}
        found[words[0].rstrip("*")] = {metric: number(word, where) for metric, word in counters.items()}
    return found


def tcp(text: str) -> Counters:
    """Parse `netstat -s -p tcp`: what is in it of segments sent, sent again, and connections begun."""
    return {metric: int(match[1]) for metric, pattern in TCP.items() if (match := pattern.search(text))}


def mbufs(text: str) -> Counters:
    """Parse `netstat -m` of FreeBSD or OpenBSD: buffers in use, their limits, and requests that were denied or delayed."""
    return dict(_mbufs(text))


def _mbufs(text: str) -> Iterator[tuple[str, int]]:
    for pattern, metrics in MBUFS.items():
        if match := re.search(pattern, text, re.MULTILINE):
            scale = 1024 if "bytes" in metrics[0] else 1
            yield from ((metric, int(group) * scale) for metric, group in zip(metrics, match.groups(), strict=True))
    for word in ("denied", "delayed"):
        counts = re.findall(rf"^\s*(\d+(?:/\d+)*) requests for (?:mbufs|jumbo clusters|memory) {word}", text, re.MULTILINE)
        if counts:
            yield f"mbuf_requests_{word}", sum(int(part) for count in counts for part in count.split("/"))


MBUFS = {
    r"^\s*(\d+)/\d+/\d+ mbufs in use": ("mbufs_in_use",),
    r"^\s*(\d+)/\d+/\d+/(\d+) mbuf clusters in use": ("mbuf_clusters_in_use", "mbuf_clusters_limit"),
    r"^\s*(\d+) mbufs in use:": ("mbufs_in_use",),
    r"^\s*(\d+)/\d+/(\d+) mbuf (?:2048 byte clusters|cluster pages) in use": ("mbuf_clusters_in_use", "mbuf_clusters_limit"),
    r"^\s*(\d+)/\d+/(\d+) Kbytes allocated to network": ("mbuf_bytes_in_use", "mbuf_bytes_limit"),
    r"^\s*(\d+)K/\d+K/\d+K bytes allocated to network": ("mbuf_bytes_in_use",),
}
"""Lines of `netstat -m` (current/cache/total/max on FreeBSD, current/peak/max on OpenBSD) by the metrics in them."""


def paging(text: str) -> dict[str, int]:
    """Parse `vmstat -s` of a BSD: what each line counts -> the number."""
    rows = (line.split(None, 1) for line in text.splitlines())
    return {words[1].strip(): int(words[0]) for words in rows if len(words) == 2 and words[0].isdecimal()}
