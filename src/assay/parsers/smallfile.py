"""smallfile: files per second of its operation, and bytes/s if it moves data, from text or JSON.

`files/sec` is the sum of its threads' rates, each over its own time; `MiB/sec` counts 2^20 bytes (smallfile 3.2,
output_results.py: BYTES_PER_KiB and KiB_PER_MiB), as does the `MB/sec` of version 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "smallfile's report with its operation and files/sec, or the JSON of --output-json"
BEGUN = re.compile(r"\s*version : .{1,40}|smallfile version .{1,40}")
ROW_2 = re.compile(r"(\d[\d.e+-]{0,30}) (files/sec|MB/sec|sec elapsed time)")
NAMES_2 = {"files/sec": "files/sec", "MB/sec": "MiB/sec", "sec elapsed time": "elapsed time"}
"""The lines of version 2, and what they are called since."""
ROW = re.compile(r"([A-Za-z][A-Za-z/ -]{2,60}) [:=]\s{1,8}([a-z-]{3,20}|\d[\d.e+-]{0,30})")
RENAMED = {"delete": "unlink", "delete-renamed": "unlink_renamed", "swift-get": "swift_get", "swift-put": "swift_put"}
OPERATIONS = (
    *("create", "delete", "append", "overwrite", "read", "readdir", "rename", "delete-renamed", "cleanup", "symlink", "mkdir"),
    *("rmdir", "stat", "chmod", "setxattr", "getxattr", "swift-get", "swift-put", "ls-l", "await-create", "truncate-overwrite"),
)


def _figures(text: str) -> Iterator[printed.Figure]:
    if '"filesPerSec"' in text:
        yield from _json(text)
        return
    rows = printed.lines(text)
    rows = [row.strip() for row in rows[printed.last_run(rows, BEGUN) :]]
    found = {match[1]: match[2] for row in rows if (match := ROW.fullmatch(row))}
    found |= {NAMES_2[match[2]]: match[1] for row in rows if (match := ROW_2.fullmatch(row))}
    if "files/sec" not in found:
        return
    name = _name(found["operation"])
    yield f"{name}.ops_per_s", printed.number(found["files/sec"])
    yield f"{name}.count", printed.exact(int(found["total files"]))
    yield f"{name}.elapsed_ns", printed.number(found["elapsed time"], printed.SECOND)
    if "MiB/sec" in found:
        yield f"{name}.bytes_per_s", printed.number(found["MiB/sec"], printed.MIB)


def _json(text: str) -> Iterator[printed.Figure]:
    report = printed.json_report(text)
    name, row = _name(report["params"]["operation"]), report["results"]
    yield f"{name}.ops_per_s", printed.exact(printed.json_number(row["filesPerSec"]))
    yield f"{name}.count", printed.exact(printed.json_number(row["files"]))
    yield f"{name}.elapsed_ns", printed.exact(printed.json_number(row["elapsed"])).times(printed.SECOND)
    if "MiBps" in row:
        yield f"{name}.bytes_per_s", printed.exact(printed.json_number(row["MiBps"])).times(printed.MIB)


def _name(operation: str) -> str:
    if operation not in OPERATIONS:
        raise ValueError(f"operation {operation!r:.60}")
    return RENAMED.get(operation, operation.replace("-", "_"))


PARSER = Parser(
    name="smallfile",
    programs=("smallfile_cli.py", "smallfile"),
    recognises=printed.prints(("smallfile_cli.py", "smallfile"), "files/sec", "filesPerSec"),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    result_file=printed.file_option("smallfile_cli.py", "--output-json"),
    tier=printed.of_device,
)
