"""What directory traffic says of a server: captures or an interface read in one pass, and shown, written, held against limits."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay import links, units
from assay.dissect import levels, profile, result, wording
from assay.dissect.levels import Kept, LevelResult, ServiceLevel
from assay.dissect.result import Dissection
from assay.errors import AssayError, RefusedError, UsageError
from assay.laboratory.gate import Gate
from assay.machine.engine_file import engine_path
from assay.plain import to_plain
from assay.terminal.output import Row, deliver, table
from assay.units import Refusal, Unit

STANDARD_INPUT = "-"
MOST_ARGUMENT = 100_000
"""The reader takes longer options from its standard input: Linux takes no argument of 128 KiB."""
DAMAGED, UNMET = 1, 4  # exit statuses
MOST_LINES, MOST_PORT = 40, 65_535  # on a terminal; of TCP


@dataclass(frozen=True, kw_only=True)
class CaptureWords:
    """What to read, and what to hold it against, as typed."""

    files: Sequence[str] | None = None
    interface: str | None = None
    duration: str | None = None
    ports: Sequence[int] | None = None
    link: str | None = None
    levels: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class CaptureOutputs:
    """Where the result goes beside the terminal."""

    json_to: str | None = None
    html: Path | None = None
    profile: Path | None = None
    attributes: bool = False
    """Whether attribute names may be in the profile."""
    lab: Path | None = None
    """The notebook that keeps it."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """What is asked for, as understood."""

    duration_ns: int | None
    link: tuple[str, float] | None
    """Name and bytes a second one way."""
    levels: tuple[ServiceLevel, ...]


def dissect(words: CaptureWords, outputs: CaptureOutputs, gate: Gate) -> int:
    """Read the captures and show what is in them.

    Gives 1 where a file was damaged or cut, 4 with a gate where a service level was not met. Raises UsageError with every
    mistake of the call, RefusedError where something cannot be read or written.
    """
    resolved = resolve(words, outputs)
    found = result.read(values_of(words, resolved))
    judged = levels.judged(resolved.levels, found)
    written = [*_written(outputs, resolved, found, judged)]
    deliver(
        outputs.json_to,
        "dissect",
        lambda: json_values(found, resolved, judged),
        lambda: text(found, resolved, judged, written),
    )
    if any(one.ended != "whole" for one in found.files):
        return DAMAGED
    unmet = (Kept.NOT_MET, Kept.UNKNOWN) if gate is Gate.STRICT else (Kept.NOT_MET,)
    return UNMET if gate is not Gate.OFF and any(one.state in unmet for one in judged) else 0


def resolve(words: CaptureWords, outputs: CaptureOutputs) -> Resolved:
    """Return what is asked for. Raises UsageError with every mistake."""
    mistakes = [*_sources(words), *_unwritable(outputs)]
    duration_ns: int | None = None
    if words.duration is not None:
        duration = units.attempt(words.duration, Unit.NANOSECONDS)
        if isinstance(duration, Refusal):
            mistakes.append(f"--duration: found {duration.found}; expected {duration.expected}")
        else:
            duration_ns = int(duration)
    link: tuple[str, float] | None = None
    if words.link is not None:
        capacity = links.counted(words.link)
        if isinstance(capacity, Refusal):
            mistakes.append(f"--link: found {capacity.found}; expected {capacity.expected}")
        else:
            link = (words.link, capacity)
    parsed = [levels.parse(one) for one in words.levels or ()]
    mistakes += [f"--sla: found {one.found}; expected {one.expected}" for one in parsed if isinstance(one, Refusal)]
    if mistakes:
        raise UsageError("\n".join(mistakes))
    return Resolved(duration_ns=duration_ns, link=link, levels=tuple(one for one in parsed if isinstance(one, ServiceLevel)))


def _sources(words: CaptureWords) -> Iterator[str]:
    files = words.files or ()
    if not files and words.interface is None:
        yield "found no capture; expected FILE... or -i INTERFACE"
    if files and words.interface is not None:
        yield f"found {files[0]} and -i {words.interface}; expected files or an interface"
    if words.duration is not None and words.interface is None:
        yield "found --duration without -i INTERFACE; expected both"
    if list(files).count(STANDARD_INPUT) > 1:
        yield "found - more than once; expected standard input once"
    if STANDARD_INPUT in files and sys.stdin is not None and sys.stdin.isatty():
        yield "found - with a terminal as standard input; expected a capture in a pipe or a file"
    for port in words.ports or ():
        if not 0 < port <= MOST_PORT:
            yield f"--port: found {port}; expected a number from 1 to {MOST_PORT}"


def _unwritable(outputs: CaptureOutputs) -> Iterator[str]:
    for path in (one for one in (outputs.html, outputs.profile) if one is not None):
        place = path.absolute()
        if not os.access(place if os.access(place, os.F_OK) else place.parent, os.W_OK) or path.is_dir():
            yield f"found {path}; expected a file in a writable directory"
    if outputs.lab is not None:
        there = next(one for one in (outputs.lab.absolute() / "captures" / "new").parents if os.access(one, os.F_OK))
        if not (os.access(there, os.W_OK) and there.is_dir()):
            yield f"--lab: found {outputs.lab}; expected a directory that can be written"
    if outputs.attributes and outputs.profile is None:
        yield "found --attributes without --profile FILE; expected both"


def values_of(words: CaptureWords, resolved: Resolved) -> Mapping[str, Any]:
    """Return the JSON of the reader. Raises RefusedError with every reason."""
    files = [f"/proc/{os.getpid()}/fd/0" if one == STANDARD_INPUT else one for one in words.files or ()]
    options = {
        "files": files,
        "interface": words.interface,
        "duration_ns": resolved.duration_ns,
        "ports": list(words.ports or ()),
        "limits": [
            {"operation": None if one.operation == levels.ALL else one.operation, "ns": one.limit_ns} for one in resolved.levels
        ],
    }
    line = _answer(json.dumps(options), live=words.interface is not None)
    values: dict[str, Any] = json.loads(line)
    if "refused" in values:
        raise RefusedError("\n".join(_refused(one) for one in values["refused"]))
    for one in values.get("files", ()):
        one["path"] = _shown(one["path"])
    return values


def _answer(options: str, *, live: bool) -> str:
    """Run the reader. An interrupt ends a live capture, which is then shown."""
    from assay.hosts.local import Local

    is_long = len(options.encode()) > MOST_ARGUMENT
    process = Local().spawn([str(engine_path()), "dissect", STANDARD_INPUT if is_long else options])
    if is_long:
        process.send(options)
    line: str | None = ""
    while line == "":
        try:
            line = process.receive(3600.0)
        except TimeoutError:
            continue
        except KeyboardInterrupt:
            if not live:
                process.kill()
                raise
            process.end_input()
        except BaseException:
            process.kill()
            raise
    status = process.wait()
    if line is None:
        raise AssayError(f"the reader of captures ended (status {status}). Report this with the capture, if it is not secret.")
    return line


def _shown(path: str) -> str:
    return "standard input" if path == f"/proc/{os.getpid()}/fd/0" else path


INSTEAD = {
    "empty": "an empty file",
    "text": "a text file",
    "json": "JSON text",
    "ldif": "LDIF text",
    "program": "a program",
    "directory": "a directory",
    "netmon": "a capture of Network Monitor: convert it with `editcap -F pcapng`",
    "erf": "a capture in ERF: convert it with `editcap -F pcapng`",
    **{name: f"data packed by {name}: unpack it first" for name in ("xz", "bzip2", "lz4", "zip")},
    **{name: f"data packed by {name} that are no capture" for name in ("gzip", "zstd")},
}
"""What a file is instead of a capture."""


def _refused(one: Mapping[str, Any]) -> str:
    match one["kind"]:
        case "no_capture":
            found = INSTEAD.get(one["found"], "a file of unknown format")
            return f"{_shown(one['path'])}: found {found}; expected a capture (pcap, pcapng or snoop)"
        case "unreadable":
            return f"{_shown(one['path'])}: not read ({one['reason']}). Check the name and the permissions."
        case "no_interface":
            return f"-i: found no interface {one['interface']!r}; expected one of: {', '.join(one['interfaces'])}"
        case "no_rights":
            return f"-i {one['interface']}: capturing needs the capability CAP_NET_RAW. Run as root."
        case "options":
            return f"reader of captures: {one['reason']}. {result.OTHER_READER}"
        case _:
            return f"{one.get('interface', 'reader')}: {one['reason']}."


def _written(outputs: CaptureOutputs, resolved: Resolved, found: Dissection, judged: tuple[LevelResult, ...]) -> Iterator[str]:
    """Write the files that were asked for; each path when it is there."""
    if outputs.html is not None:
        from assay.report import captured

        page = captured.CapturePage(found=found, levels=judged, link=resolved.link)
        yield _write(outputs.html, captured.render(page))
    if outputs.profile is not None:
        yield _write(outputs.profile, profile.toml(found, attributes=outputs.attributes))
    if outputs.lab is not None:
        from assay.notebook import captures

        yield str(captures.save(outputs.lab, json_values(found, resolved, judged), datetime.now(UTC)))


def _write(path: Path, content: str) -> str:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"{path}: not written ({error.strerror}). Check permissions and free space.") from error
    return str(path)


def json_values(found: Dissection, resolved: Resolved, judged: tuple[LevelResult, ...]) -> dict[str, object]:
    """Return the fields of docs/dissect-json.md."""
    return {
        "answer": wording.answer(found),
        **found.values,
        "filters": to_plain(found.filters),
        "clients": to_plain(found.clients),
        "complete": found.complete,
        "losses": list(found.losses()),
        "unindexed": [one.filter for one in result.unindexed(found)],
        "service_levels": [{**to_plain(one.level), **_level(one)} for one in judged],
        "link": None if resolved.link is None else {"name": resolved.link[0], "bytes_per_s": resolved.link[1]},
        "traffic": to_plain(result.traffic(found)),
        "remarks": list(wording.remarks(found)),
    }


def _level(one: LevelResult) -> dict[str, object]:
    return {
        "n": one.n,
        "slower": one.slower,
        "slower_share": one.slower_share,
        "value_ns": one.value_ns,
        "state": one.state.value,
    }


def text(found: Dissection, resolved: Resolved, judged: tuple[LevelResult, ...], written: Sequence[str] = ()) -> str:
    """For people: the answer, the tables, and what to know about them, in at most 40 lines."""
    lines = [wording.answer(found)]
    if found.operations:
        lines += ["", *_lines(wording.OPERATION_HEAD, wording.operation_rows(found), range(1, 8))]
        lines += ["", wording.counts(found)]
    lines += [*wording.level_lines(judged, wording.MOST_LEVELS), wording.total(found, resolved.link)]
    remarks = wording.remarks(found)
    rest = MOST_LINES - len(lines) - len(written) - min(len(remarks), 8) - 4
    if found.filters and rest > 3:
        rows = wording.filter_rows(found.filters[: min(wording.MOST_FILTERS, rest - 2)])
        lines += ["", *_lines(wording.FILTER_HEAD, rows, range(5))]
        rest -= len(rows) + 2
    if found.clients and found.operations and rest > 3:
        lines += ["", *_lines(wording.CLIENT_HEAD, wording.client_rows(found, wording.MOST_CLIENTS), range(1, 6))]
    room = max(1, MOST_LINES - len(lines) - len(written) - 2)
    if len(remarks) > room:
        remarks = (*remarks[: room - 1], f"{len(remarks) - room + 1} more remarks: --json.")
    lines += ["", *remarks] if remarks else []
    return "\n".join([*lines, *written])


def _lines(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: Sequence[int]) -> list[str]:
    return table(head, [Row(cells=row) for row in rows], right).split("\n")
