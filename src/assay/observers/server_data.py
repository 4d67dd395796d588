"""Reads cached, dirty and writeback pages of the server's data files, and counts its answered requests.

Sources: cachestat(2) of each file in the target's `server.data`, or below a directory in it; and the last number that the command
`server.requests` prints. With more than 1,024 files there is no evidence of pages. Both are read at the edges of the phase only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_assay
from assay.errors import AssayError
from assay.evidence.snapshots import Origin, counter, gauge
from assay.evidence.sources import SERVER
from assay.machine.server import MOST_FILES, data_files
from assay.records import Series, ServerNode, Snapshot, Subject

PAGES = {"cached": "cached_bytes", "dirty": "dirty_bytes", "writeback": "writeback_bytes"}
SIZE = "file_bytes"
REQUESTS = "requests"
METRICS = (*PAGES.values(), SIZE, REQUESTS)
UNTOLD = "the host tells resident pages alone. Install util-linux 2.40 there, or allow the engine."
LONGEST_S = 5.0
"""Time limit of the command `server.requests`."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return sums over the server's data files in bytes, and the number of requests answered."""
    nodes = subject.server
    return {"pages": pages(host, nodes), "requests": requests(host, nodes)} if nodes else {}


def pages(host: Host, nodes: Sequence[ServerNode]) -> dict[str, object]:
    """Return the bytes of all data files by kind; `error` if one cannot be read."""
    found = dict.fromkeys((*PAGES.values(), SIZE), 0)
    untold: set[str] = set()
    if host.syscalls is None or not any(node.data for node in nodes):
        return {"error": "the target names no server data. Set server.data."}
    files = data_files(host, nodes)
    if len(files) > MOST_FILES:
        return {"error": f"more than {MOST_FILES} data files. Set server.data to the files that clients change."}
    try:
        answers = host.syscalls.cachestats(files)
    except OSError as error:
        return {"error": f"{error.filename or 'server.data'}: {error.strerror or error}"}
    for answer in answers:
        for name, metric in PAGES.items():
            if getattr(answer, name) is None:
                untold.add(metric)
            else:
                found[metric] += getattr(answer, name) * answer.page_bytes
        found[SIZE] += answer.content_bytes
    return {metric: found[metric] for metric in found if metric not in untold}


def requests(host: Host, nodes: Sequence[ServerNode]) -> object:
    """Return the sum of the last numbers that the nodes' commands print; None without commands, `{"error": reason}` for none."""
    total = None
    for command in dict.fromkeys(node.requests for node in nodes if node.requests):
        try:
            output = host.run(command, timeout_s=LONGEST_S).stdout
        except AssayError as error:
            return {"error": str(error)}
        numbers = re.findall(r"\d+", output)
        if not numbers:
            return {"error": f"server.requests printed {output.strip()[:60]!r}, not a number of requests"}
        total = (total or 0) + int(numbers[-1])
    return total


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return gauges in bytes over all data files, and requests since the first look."""
    if not subject.server:
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source="server_data:cachestat(2)", layer="server")
    missing = {f"server.{metric}": reason for metric in (*PAGES.values(), SIZE) if (reason := refusal(snapshots, "pages"))}
    series: list[Series] = [] if missing else [*page_series(origin, snapshots)]
    missing |= {f"server.{metric}": UNTOLD for metric in _untold(snapshots)}
    reason = refusal(snapshots, "requests")
    if not any(node.requests for node in subject.server):
        missing[f"server.{REQUESTS}"] = "the target names no command that counts the server's requests. Set server.requests."
    elif reason:
        missing[f"server.{REQUESTS}"] = reason
    else:
        counted = [(snapshot.at_ns, int(str(snapshot.raw["requests"]))) for snapshot in snapshots]
        series.append(counter(origin, "server", REQUESTS, "count", counted))
    return Evidence(series=tuple(series), missing=missing)


def refusal(snapshots: Sequence[Snapshot], part: str) -> str | None:
    """Return why a part of the evidence is missing, from the first look without it."""
    for snapshot in snapshots:
        found = snapshot.raw.get(part)
        if found is None:
            return "not read"
        if isinstance(found, Mapping) and "error" in found:
            return str(found["error"])
    return None


def page_series(origin: Origin, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield one gauge per metric."""
    looks = [(snapshot.at_ns, found) for snapshot in snapshots if isinstance(found := snapshot.raw["pages"], Mapping)]
    for metric in (*PAGES.values(), SIZE):
        points = [(at, float(found[metric])) for at, found in looks if metric in found]
        if points:
            yield gauge(origin, "server", metric, "bytes", points)


def _untold(snapshots: Sequence[Snapshot]) -> set[str]:
    """Return the metrics that some look lacks because the host does not tell them."""
    looks = [pages for snapshot in snapshots if isinstance(pages := snapshot.raw.get("pages"), Mapping) and "error" not in pages]
    return {metric for metric in PAGES.values() for found in looks if metric not in found}


OBSERVER = Observer(
    name="server_data",
    gives=tuple(f"server.{metric}" for metric in METRICS),
    sources=(
        Source(
            keys="server.*_bytes",
            words="cachestat: pages of the server's data files in memory, dirty or in write-back",
            way=SERVER,
        ),
        Source(keys="server.requests", words="the server's own count of requests", way=SERVER),
    ),
    watch=Watch.SERVER,
    cost="9.2 µs CPU per look (one file), plus the command server.requests",
    available=needs_assay("cachestat(2) needs Assay"),
    read=read,
    parse=parse,
    alone=True,
)
