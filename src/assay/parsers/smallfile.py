"""smallfile: files per second of its operation, and bytes/s if it moves data, from text or JSON.

`files/sec` is the sum of its threads' rates, each over its own time; `MiB/sec` counts 2^20 bytes (smallfile 3.2,
output_results.py: BYTES_PER_KiB and KiB_PER_MiB).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser
from assay.catalogue.printed import (
    MIB,
    SECOND,
    ParsedNumber,
    exact,
    file_option,
    json_number,
    json_report,
    last_run,
    lines,
    of_device,
    printed,
    prints,
    reads,
)

EXPECTED = "smallfile's report with its operation and files/sec, or the JSON of --output-json"
BEGUN = re.compile(r"\s*version : .{1,40}")
ROW = re.compile(r"([A-Za-z][A-Za-z/ -]{2,60}) [:=]\s{1,8}([a-z-]{3,20}|\d[\d.e+-]{0,30})")
RENAMED = {"delete": "unlink", "delete-renamed": "unlink_renamed", "swift-get": "swift_get", "swift-put": "swift_put"}
OPERATIONS = (
    *("create", "delete", "append", "overwrite", "read", "readdir", "rename", "delete-renamed", "cleanup", "symlink", "mkdir"),
    *("rmdir", "stat", "chmod", "setxattr", "getxattr", "swift-get", "swift-put", "ls-l", "await-create", "truncate-overwrite"),
)


def _figures(text: str) -> Iterator[tuple[str, ParsedNumber]]:
    if '"filesPerSec"' in text:
        yield from _json(text)
        return
    rows = lines(text)
    found = {match[1]: match[2] for row in rows[last_run(rows, BEGUN) :] if (match := ROW.fullmatch(row.strip()))}
    if "files/sec" not in found:
        return
    name = _name(found["operation"])
    yield f"{name}.ops_per_s", printed(found["files/sec"])
    yield f"{name}.count", exact(int(found["total files"]))
    yield f"{name}.elapsed_ns", printed(found["elapsed time"], SECOND)
    if "MiB/sec" in found:
        yield f"{name}.bytes_per_s", printed(found["MiB/sec"], MIB)


def _json(text: str) -> Iterator[tuple[str, ParsedNumber]]:
    report = json_report(text)
    name, row = _name(report["params"]["operation"]), report["results"]
    yield f"{name}.ops_per_s", exact(json_number(row["filesPerSec"]))
    yield f"{name}.count", exact(json_number(row["files"]))
    yield f"{name}.elapsed_ns", exact(json_number(row["elapsed"])).times(SECOND)
    if "MiBps" in row:
        yield f"{name}.bytes_per_s", exact(json_number(row["MiBps"])).times(MIB)


def _name(operation: str) -> str:
    if operation not in OPERATIONS:
        raise ValueError(f"operation {operation!r:.60}")
    return RENAMED.get(operation, operation.replace("-", "_"))


PARSER = Parser(
    name="smallfile",
    programs=("smallfile_cli.py", "smallfile"),
    recognises=prints(("smallfile_cli.py", "smallfile"), "files/sec", "filesPerSec"),
    **reads(_figures, EXPECTED),
    result_file=file_option("smallfile_cli.py", "--output-json"),
    tier=of_device,
)
