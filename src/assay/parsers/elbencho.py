"""elbencho: results of each phase from text, CSV or JSON, in the column of the last thread done.

`MiB/s` is 2^20 bytes/s, `MB/s` (--base10) 10^6, latencies are whole microseconds; all truncated, not rounded (elbencho 3.1-10,
source/Statistics.cpp). Times of a table are milliseconds under `Elapsed ms` (up to 2.2.5), later `12ms`, `5.240s`, `2m5.755s`
or `1h2m3s` under `Elapsed time` (source/toolkits/UnitTk.cpp). The column FIRST DONE is the result while all threads still worked;
LAST DONE is the whole phase.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.catalogue import Parser, printed

EXPECTED = "elbencho's table with FIRST DONE and LAST DONE, or the content of its --csvfile or --jsonfile"
PHASES = {"WRITE": "write", "READ": "read", "STAT": "stat", "STATDIRS": "stat_dir", "MKDIRS": "mkdir", "RMFILES": "unlink"} | {
    "RMDIRS": "rmdir",
    "SYNC": "sync",
}
HEADER = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*")
ROW = re.compile(r"(\S{1,20})?\s+([A-Za-z][A-Za-z/ ]{2,30}?)\s*:\s+(?:[\d.hms]{1,24})\s+([\d.hms]{1,24})\s*")
TIME = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,4})m)?(?:(\d{1,12})(?:\.(\d{1,3}))?s)?")
LATENCY = re.compile(r"\s*(?:IO|Ent|File|Files|Dirs) latency\s+: \[ min=(\d+)us avg=(\d+)us max=(\d+)us .{0,200}\]\s*")
SIZES = {"MiB/s": printed.MIB, "MB/s": 10**6}
ENTRIES = {"write": "create"}
"""Operation of the files per second of a phase, if it is not the phase itself."""


def result_file(argv: Sequence[str]) -> str | None:
    """Return the result file with the most digits."""
    if not printed.calls(argv, "elbencho"):
        return None
    return next((path for name in ("--jsonfile", "--csvfile", "--resfile") if (path := printed.option(argv, name))), None)


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last call (result files grow with each call), and of each operation's last phase."""
    rows = printed.lines(text)
    found: dict[str, Mapping[str, printed.ParsedNumber]] = {}
    found.update((*_table(rows[printed.last_run(rows, HEADER) :]), *_json(rows), *_csv(rows)))
    for operation, figures in found.items():
        yield from ((f"{operation}.{name}", figure) for name, figure in figures.items())


def _table(rows: Sequence[str]) -> Iterator[tuple[str, Mapping[str, printed.ParsedNumber]]]:
    phase, cells, inside = "", dict[str, str](), False
    for row in rows:
        if HEADER.fullmatch(row):
            inside = True
        elif inside and row.startswith("---"):
            yield from _phase(phase, cells)
            phase, cells = "", {}
        elif inside and "Elapsed time" in row and not ROW.fullmatch(row):
            raise ValueError(f"{row.strip()!r} as a time")  # else the next lines would count for the previous phase
        elif match := ROW.fullmatch(row):
            phase = match[1] or phase
            cells[match[2]] = str(milliseconds(match[3])) if match[2] == "Elapsed time" else match[3]
        elif match := LATENCY.fullmatch(row):
            cells["avg us"], cells["max us"] = match[2], match[3]
    if cells:
        raise ValueError(f"end of the phase {phase}")  # else an earlier phase would replace it


def milliseconds(text: str) -> int:
    """Return a time of a table. Raises ValueError for what is no time."""
    if text.endswith("ms"):
        return int(text[:-2])
    match = TIME.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} as a time")
    hours, minutes, seconds, rest = (part or "0" for part in match.groups())
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(rest.ljust(3, "0"))


def _json(rows: Sequence[str]) -> Iterator[tuple[str, Mapping[str, printed.ParsedNumber]]]:
    phases: list[Mapping[str, Any]] = [json.loads(row) for row in rows if row.startswith('{"phase_type"')]
    for record in phases:
        if record["config"]["command"] == phases[-1]["config"]["command"]:
            cells = {str(key): str(value) for key, value in record["last_done"].items()}
            yield from _phase(str(record["phase_type"]), cells)


def _csv(rows: Sequence[str]) -> Iterator[tuple[str, Mapping[str, printed.ParsedNumber]]]:
    names: list[str] = []
    phases: list[Mapping[str, str]] = []
    for cells in csv.reader(row for row in rows if row.startswith("ISO date,") or re.match(r"\d{4}-\d\d-\d\dT", row)):
        if cells[0] == "ISO date":
            names = cells
        elif len(cells) == len(names):
            phases.append(dict(zip(names, cells, strict=True)))
    for line in phases:
        if line["command"] == phases[-1]["command"]:
            last = {name.removesuffix(" [last]"): cell for name, cell in line.items() if name.endswith("[last]") and cell}
            mix = {f"{name.removeprefix('rwmix read ')} read": cell for name, cell in last.items() if name.startswith("rwmix")}
            latency = {name[-4:-1]: cell for name, cell in line.items() if name.startswith("IO lat us [") and cell}
            yield from _phase(line["operation"], {**last, **mix, **{f"{name} us": cell for name, cell in latency.items()}})


def _phase(phase: str, cells: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, printed.ParsedNumber]]]:
    """Yield the figures of one phase, from any of the three formats."""
    operation = "write" if phase.startswith("RWMIX") else PHASES.get(phase)
    time = next((cells[name] for name in ("Elapsed time", "Elapsed ms", "time ms", "elapsed_time_ms") if name in cells), None)
    if operation is None or time is None:
        return
    elapsed = {"elapsed_ns": printed.truncated(time, 1e6)} if int(time) else {}
    data = dict(_data_figures(cells, " write" if "MiB/s write" in cells or "MB/s write" in cells else ""))
    if data or operation in ("write", "read"):
        yield operation, {**elapsed, **data}
    if phase.startswith("RWMIX"):
        yield "read", {**elapsed, **dict(_data_figures(cells, " read"))}
    entries = next((cells[name] for name in ("Files/s", "Dirs/s", "entries/s") if name in cells), None)
    count = next(
        (cells[name] for name in ("Files total", "Dirs total", "Total files", "Total dirs", "entries") if name in cells), None
    )
    if entries is not None and count is not None and operation != "read":
        yield (
            ENTRIES.get(operation, operation),
            {**elapsed, "ops_per_s": printed.truncated(entries), "count": printed.exact(int(count))},
        )


def _data_figures(cells: Mapping[str, str], side: str) -> Iterator[printed.Figure]:
    """Yield the data figures of one direction of a phase."""
    for key, name, size in (
        *((f"Throughput {unit}", "bytes_per_s", factor) for unit, factor in SIZES.items()),
        *((f"{unit}{side}", "bytes_per_s", factor) for unit, factor in SIZES.items()),
        *(("bytes/s", "bytes_per_s", 1), ("bytes", "bytes", 1), ("iops", "ops_per_s", 1), (f"IOPS{side}", "ops_per_s", 1)),
        *(("Total MiB", "bytes", printed.MIB), (f"MiB{side}", "bytes", printed.MIB), ("avg us", "latency_mean_ns", 1e3)),
        ("max us", "latency_max_ns", 1e3),
    ):
        if key in cells:
            yield name, printed.exact(int(cells[key])) if key == "bytes" else printed.truncated(cells[key], size)


PARSER = Parser(
    name="elbencho",
    recognises=printed.prints(("elbencho",), "LAST DONE", '"last_done"', "time ms [last]"),
    **printed.reads(_figures, EXPECTED, begins=HEADER),
    result_file=result_file,
    tier=printed.of_device,
    direct="--direct",
)
