"""Asks which parts of the server's data files are in its host's memory, dirty or being written, and counts its answers.

Sources: cachestat(2) of each file that the target names as data of its server, or that lies below a directory it names; and
where the target names a command that prints how many requests the server has answered, the last number of what it prints.
Of more than 1,024 files nothing is said. All of it is asked at the edges of the phase and never between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer
from assay.errors import AssayError
from assay.evidence.snapshots import Origin, counter, gauge
from assay.machine.server import MOST_FILES, data_files
from assay.records import Series, ServerNode, Snapshot, Subject

PAGES = {"cached": "cached_bytes", "dirty": "dirty_bytes", "writeback": "writeback_bytes"}
SIZE = "file_bytes"
REQUESTS = "requests"
METRICS = (*PAGES.values(), SIZE, REQUESTS)
LONGEST_S = 5.0
"""A command that takes longer to say how many requests there were is given up."""


def available(host: Host) -> str | None:
    """None where Assay itself runs on the host."""
    return None if host.syscalls is not None else "cachestat(2) needs Assay on that host: no shell offers it"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Sums over the server's data files in pages and bytes, and how many requests it answered so far."""
    server = subject.server
    if server is None:
        return {}
    return {"pages": pages(host, server), "requests": requests(host, server) if server.requests else None}


def pages(host: Host, server: ServerNode) -> dict[str, object]:
    """Bytes of all data files together by kind; `error` where one cannot be asked."""
    found = dict.fromkeys((*PAGES.values(), SIZE), 0)
    if host.syscalls is None or not server.data:
        return {"error": "the target names no data of its server (server.data)"}
    files = data_files(host, server)
    if len(files) > MOST_FILES:
        return {"error": f"more than {MOST_FILES} data files: name those that clients change (server.data)"}
    for path in files:
        try:
            answer = host.syscalls.cachestat(path)
        except FileNotFoundError:
            continue  # removed since it was listed
        except OSError as error:
            return {"error": f"{path}: {error.strerror or error}"}
        for name, metric in PAGES.items():
            found[metric] += getattr(answer, name) * answer.page_bytes
        found[SIZE] += answer.file_bytes
    return {**found}


def requests(host: Host, server: ServerNode) -> object:
    """The last number that the server's own command prints; `{"error": reason}` where there is none."""
    try:
        said = host.run(server.requests, timeout_s=LONGEST_S).stdout
    except AssayError as error:
        return {"error": str(error)}
    numbers = re.findall(r"\d+", said)
    return int(numbers[-1]) if numbers else {"error": f"found {said.strip()[:60]!r}; expected a number of requests"}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Gauges in bytes over all data files, and requests since the first look."""
    if subject.server is None:
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source="server_data:cachestat(2)", layer="server")
    missing = {f"server.{metric}": reason for metric in (*PAGES.values(), SIZE) if (reason := refusal(snapshots, "pages"))}
    series: list[Series] = [] if missing else [*page_series(origin, snapshots)]
    reason = refusal(snapshots, "requests")
    if not subject.server.requests:
        missing[f"server.{REQUESTS}"] = "the target names no command that counts its server's answers (server.requests)"
    elif reason:
        missing[f"server.{REQUESTS}"] = reason
    else:
        counted = [(snapshot.at_ns, int(str(snapshot.raw["requests"]))) for snapshot in snapshots]
        series.append(counter(origin, "server", REQUESTS, "count", counted))
    return Evidence(series=tuple(series), missing=missing)


def refusal(snapshots: Sequence[Snapshot], part: str) -> str | None:
    """Why a part of a look could not be had, from the first look that lacks it."""
    for snapshot in snapshots:
        found = snapshot.raw.get(part)
        if found is None:
            return "not read"
        if isinstance(found, Mapping) and "error" in found:
            return str(found["error"])
    return None


def page_series(origin: Origin, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """One gauge a metric."""
    looks = [(snapshot.at_ns, found) for snapshot in snapshots if isinstance(found := snapshot.raw["pages"], Mapping)]
    for metric in (*PAGES.values(), SIZE):
        yield gauge(origin, "server", metric, "bytes", [(at, float(found[metric])) for at, found in looks])


OBSERVER = Observer(
    name="server_data",
    gives=tuple(f"server.{metric}" for metric in METRICS),
    cost="12 µs of CPU a look for each file (187 µs for 16), and the command that counts requests",
    available=available,
    read=read,
    parse=parse,
)
