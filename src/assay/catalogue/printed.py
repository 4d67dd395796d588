"""Numbers as external tools print them: a value and half a unit of its last digit, and the parts of a parser.

A parser imports this module by its name and only defines a function that yields figures in base units. `reads` turns it into
`Parser.read`, which returns finite, non-negative figures or raises EvidenceError; `prints` makes `Parser.recognises` from what
the tool prints. At the end is what the two parsers of fio share: the names of job groups.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypedDict, TypeVar

from assay.catalogue import console, plugs
from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.records import Tier

LONGEST = 1 << 26
"""Characters of output that are parsed, from its end."""
LONGEST_LINE = 1 << 14
"""Longest line of text that is held against a form: regular expressions match single lines only, which bounds their time."""
LONGEST_WORD = 1 << 20
"""Characters of an argument in which programs are looked for."""
LONGEST_NUMBER = 40
"""Characters of the longest number that a tool prints."""
SECOND = 1e9
KIB, MIB = 2**10, 2**20
TIMES = {"ns": 1.0, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
"""Units of time as tools print them, in ns."""
_NUMBER = re.compile(r"\d+(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?", re.ASCII)
_WORD_ENDS = re.compile(r"[\s;|&()]+")
_REMOTE = re.compile(r"(?:[\w.-]{1,64}@)?(?:[\w.-]{1,255}|\[[0-9A-Fa-f:.]{2,40}\])::?[^:]{0,4096}|rsync://.{1,4096}", re.DOTALL)
_CLOCK = r"(\d{1,9}(?::\d\d){0,2}[.,]?\d{0,9})"
_REAL = re.compile(
    r"(?:real|réel)\s+(\d{1,9}m ?\d{1,2}[.,]\d{1,9})s"
    r"|real\s+(\d{1,12}[.,]\d{1,9})s?"
    r"|\s*(\d{1,12}[.,]\d{1,9}) real\s.{1,200}"
    rf"|[\d.]{{1,20}}user [\d.]{{1,20}}system {_CLOCK}elapsed .{{1,200}}"
    rf"|\s*Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): (?:{_CLOCK}|((?:\d{{1,9}}h )?\d{{1,9}}m \d{{1,2}}(?:\.\d{{1,9}})?)s)"
    rf"|[\d.]{{1,20}}u [\d.]{{1,20}}s {_CLOCK} [\d.]{{1,12}}%.{{0,200}}"
    r"|\s*(\d{1,9}m\d{1,2}[.,]\d{1,9})s real\s.{1,200}"
    r"|[\d.]{1,20}u [\d.]{1,20}s (\d{1,12}\.\d{1,9})r(?:\s.{0,400})?"
    r"|TotalSeconds {1,10}: (\d{1,12}[.,]\d{1,20})"
    rf"|.{{0,400}}\d[.,]\d\ds user \d{{1,9}}[.,]\d\ds system \d{{1,9}}% cpu {_CLOCK} total"
)
_COLONS = str.maketrans({"h": ":", "m": ":", " ": ""})
_EXECUTED = re.compile(r"Executed in\s+([\d.]{1,20}) (secs|millis|mins|hours|micros)\s.{0,200}")
_FISH = {"micros": 1e3, "millis": 1e6, "secs": SECOND, "mins": 60 * SECOND, "hours": 3600 * SECOND}
Group = TypeVar("Group", bound=Hashable)
Parsed = TypeVar("Parsed")
_STRANGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError)


ParsedNumber = plugs.ParsedNumber
TIMED = (".bytes_per_s", ".elapsed_ns")
Figure = tuple[str, ParsedNumber]
"""OPERATION.FIGURE and its number."""
Figures = Callable[[str], Iterable[Figure]]
"""Text in, figures out; the last figure of a name counts. May raise the exceptions in `_STRANGE`."""


def number(text: str, size: float = 1) -> ParsedNumber:
    """Parse a number and multiply it by the unit's size in base units. Raises ValueError if it is not a number.

    `0.0731825` is known to half of 1e-7. A comma is a decimal point, as in some locales. Measured values have no sign.
    """
    match = _NUMBER.fullmatch(text.strip().replace(",", ".")) if len(text) <= LONGEST_NUMBER else None
    if match is None:
        raise ValueError(f"{text[:LONGEST_NUMBER]!r} as a number")
    half = 0.5 * 10.0 ** (int(match[2] or 0) - len(match[1] or ""))
    return ParsedNumber(value=float(match[0]), half=half).times(size)


def power(prefix: str, base: float = KIB) -> float:
    """Return the factor of a unit's prefix in any case: `k` once the base, `M` its square, ...; 1 without a prefix."""
    return float(base) ** " kmgtpezyrq".index(prefix.lower() or " ")


def truncated(text: str, size: float = 1) -> ParsedNumber:
    """Return a truncated whole number: the true value is up to one unit higher."""
    return ParsedNumber(value=number(text, size).value, half=float(size))


def exact(value: float) -> ParsedNumber:
    """Return an exact number, such as a count."""
    return ParsedNumber(value=float(value), half=0.0)


def total(parts: Iterable[ParsedNumber]) -> ParsedNumber:
    """Return the sum; the rounding errors add up."""
    held = tuple(parts)
    return ParsedNumber(value=math.fsum(part.value for part in held), half=math.fsum(part.half for part in held))


def combined_rate(parts: Iterable[tuple[float, ParsedNumber]]) -> ParsedNumber:
    """Return the rate of several parts in sequence, each an amount and its rate: all amounts over all times."""
    held = tuple(parts)
    if len(held) == 1:
        return held[0][1]
    amount = math.fsum(part for part, _ in held)
    seconds = math.fsum(part / rate.value for part, rate in held)
    slack = max(rate.half / rate.value for _, rate in held)
    return ParsedNumber(value=amount / seconds, half=amount / seconds * slack)


def both_sides(**figures: ParsedNumber) -> Iterator[Figure]:
    """Yield the figures of a copy, which reads and writes the same."""
    yield from ((f"{side}.{name}", figure) for side in ("read", "write") for name, figure in figures.items())


def json_report(text: str) -> Mapping[str, Any]:
    """Return the JSON object in an output; the text around it is ignored. Raises ValueError."""
    import json  # most tools print none, and `assay stat` starts without it

    report: Mapping[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return report


def json_documents(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield each JSON object that begins a line of an output, in order; the text around them is ignored."""
    import json

    decoder, end = json.JSONDecoder(), 0
    for match in re.finditer(r"^[ \t]*(?=\{)", text, re.MULTILINE):
        if match.end() >= end:
            try:
                found, end = decoder.raw_decode(text, match.end())
            except (ValueError, RecursionError):
                continue
            yield found


def json_number(value: object) -> float:
    """Return a number of a JSON report. Raises ValueError for anything else, a boolean too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} as a number")
    return float(value)


def lines(text: str) -> list[str]:
    """Return the lines, also one without a line end. A carriage return alone begins a new line, as on a terminal."""
    whole = re.split(r"\r\n|\r|\n", text)
    return [line for line in (whole if whole[-1] else whole[:-1]) if len(line) <= LONGEST_LINE]


def last_run(rows: Sequence[str], begins: re.Pattern[str]) -> int:
    """Return the first line of the last run in an output, found by the line that begins each run; 0 without one."""
    return next((index for index in reversed(range(len(rows))) if begins.fullmatch(rows[index])), 0)


def table(rows: Iterable[str], heading: re.Pattern[str]) -> Iterator[tuple[dict[str, str], bool]]:
    """Yield the cells of each row under a heading by the names of its columns, and whether there is a cell for each name.

    `Max (MiB)`, `Std Dev` and `Avg. Latency` are names without their space; the second column of a name is `StdDev#2`.
    A blank line ends a table.
    """
    names: list[str] = []
    for row in rows:
        if heading.fullmatch(row):
            seen = Counter[str]()
            names = []
            for name in re.sub(r"(?<=[\w.]) (?=\(|Dev\b|Latency\b)", "", row).split():
                seen[name] += 1
                names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
            continue
        cells = row.split()
        if names and len(cells) > 1:
            yield dict(zip(names, cells, strict=False)), len(cells) == len(names)
        elif not cells:
            names = []


def ruled(rows: Sequence[str], sign: str) -> Iterator[dict[str, str]]:
    """Yield the cells of each row under a line that rules off columns (`==== ====`), by the names of the columns.

    A name is what stands above a column, over one or several lines. A row has a cell for each column; a blank line ends a table.
    """
    rule = re.compile(rf"\s*{sign}{{3,}}(?: +{sign}{{3,}})+\s*")
    for at in (index for index, row in enumerate(rows) if rule.fullmatch(row)):
        spans = [match.span() for match in re.finditer(rf"{sign}+", rows[at])]
        above: list[str] = []
        while len(above) < at and rows[at - 1 - len(above)].strip() and not re.search(r"\d\s", rows[at - 1 - len(above)]):
            above.insert(0, rows[at - 1 - len(above)])
        names = [" ".join(part for line in above if (part := line[start:end].strip())) for start, end in spans]
        for cells in (row.split() for row in rows[at + 1 :]):
            if not cells:
                break
            if len(cells) == len(names):
                yield dict(zip(names, cells, strict=True))


def named(rows: Iterable[str]) -> dict[str, str]:
    """Return what follows the first colon of each line by the name before it; the last line of a name counts."""
    found = {}
    for row in rows:
        name, colon, value = row.partition(":")
        if colon and value.strip():
            found[name.strip()] = value.strip()
    return found


def latencies(names: Mapping[str, str], found: Mapping[str, str], unit: float) -> Iterator[tuple[str, ParsedNumber]]:
    """Yield the figures of latency among values by the tool's names for them; 0 is below what the tool tells."""
    read = ((figure, number(found[name], unit)) for name, figure in names.items() if name in found)
    yield from ((figure, latency) for figure, latency in read if latency.value)


def open_digits(resolution: Mapping[str, float]) -> dict[str, float]:
    """Return what the last digits of rates and times leave open, for those who hold them against each other (E05)."""
    return {f"{name}_half": half for name, half in resolution.items() if name.endswith(TIMED) and half}


def first_match(rows: Iterable[str], form: re.Pattern[str]) -> re.Match[str] | None:
    """Return the first line of a form; None without one."""
    return next((match for row in rows if (match := form.fullmatch(row))), None)


def damaged_line(rows: Sequence[str], index: int) -> ValueError:
    """Return the error for a line that should be part of a result but cannot be parsed: its number and text."""
    return ValueError(f"line {index + 1}, {rows[index].strip()[:80]!r}")


def real_time(rows: Iterable[str]) -> ParsedNumber | None:
    """Return the last elapsed time printed by a shell's or a system's `time`. None if missing or 0.

    The forms: bash.1 (TIMEFORMAT), busybox ash, POSIX `time -p`, time.1 of BSD and macOS, of GNU time 1.9 (default format, -v),
    tcsh.1 (time), zshparam (TIMEFMT), fish's time, mksh, rc of Plan 9, Measure-Command of PowerShell.
    """
    found = [time for row in rows if (time := _printed_time(row)) is not None]
    return found[-1] if found and found[-1].value else None


def _printed_time(row: str) -> ParsedNumber | None:
    if match := _EXECUTED.fullmatch(row):
        return number(match[1], _FISH[match[2]])
    match = _REAL.fullmatch(row)
    if match is None:
        return None
    *larger, seconds = next(text for text in match.groups() if text).translate(_COLONS).split(":")
    rest = number(seconds, SECOND)
    whole = sum(int(part) * 60.0 ** (power + 1) for power, part in enumerate(reversed(larger)))
    return ParsedNumber(value=rest.value + whole * SECOND, half=rest.half)


def copy_operations(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the operation of a copy on this host: `read` to a remote destination (`host:path`), `write` from one; else empty."""
    words = [word for word in argv if not word.startswith("-")]
    if words and _REMOTE.fullmatch(words[-1]):
        return ("read",)
    return ("write",) if any(_REMOTE.fullmatch(word) for word in words[:-1]) else ()


class Reads(TypedDict):
    """Three parts of a parser."""

    read: Callable[[str], Mapping[str, ParsedNumber]]
    runs: Callable[[str], Sequence[str]]
    broken: str


def reads(
    figures: Figures,
    expected: str,
    *,
    begins: re.Pattern[str] | None = None,
    ends: re.Pattern[str] | None = None,
    runs: Callable[[str], Sequence[str]] | None = None,
    broken: re.Pattern[str] | None = None,
) -> Reads:
    """Return `Parser.read`, `Parser.runs` and `Parser.broken`; `expected` describes the required output.

    A run begins with a line that `begins` describes, or ends with one of `ends`; JSON documents are runs too. `runs` is for what
    no single line tells. The last run has no figures where a line of it is `broken`: its work was not done.
    """

    def unbroken(text: str) -> Iterable[Figure]:
        rows = lines((runs(text) or [text])[-1] if runs else text) if broken is not None else []
        if said := first_match(rows[last_run(rows, begins) if begins else 0 :], broken) if broken is not None else None:
            raise ValueError(f"run that did its work ({said[0].strip()[:120]!r})")
        return figures(text)

    return Reads(
        read=lambda text: first_read(text, lambda reading: _figures_of(unbroken, expected, reading)),
        runs=runs or (lambda text: runs_in(text, begins, ends)),
        broken=f"(?m)^(?:{broken.pattern})$" if broken is not None else "",
    )


def runs_in(text: str, begins: re.Pattern[str] | None = None, ends: re.Pattern[str] | None = None) -> list[str]:
    """Return the texts of the runs in an output, in order; what stands before the first and after the last belongs to these.

    None where no line tells of runs.
    """
    rows = text.splitlines(keepends=True)
    heads = [at for at, row in enumerate(rows) if begins and begins.fullmatch(row.rstrip("\r\n"))]
    heads += [at + 1 for at, row in enumerate(rows) if ends and ends.fullmatch(row.rstrip("\r\n"))]
    if not heads and text.lstrip().startswith(("{", "[{", "[\n", "[\r\n")):
        starts = [match.start() for match in re.finditer(r"^[\[{]", text, re.MULTILINE)]
        return [text[start:end] for start, end in pairwise([*starts, len(text)])] or [text]
    if not heads:
        return []
    cuts = [0, *(heads[1:] if begins else heads[:-1]), len(rows)]
    return [part for start, end in pairwise(cuts) if (part := "".join(rows[start:end])).strip()]


def runs_by_key(text: str, form: re.Pattern[str]) -> list[str]:
    """Return the texts of the runs in an output: one begins with the first line whose key its run before has already.

    The key of a line is the groups of `form`; lines of another form have none.
    """
    rows, starts, seen = text.splitlines(keepends=True), [0], set[tuple[str | None, ...]]()
    for at, key in ((at, match.groups()) for at, row in enumerate(rows) if (match := form.fullmatch(row.rstrip("\r\n")))):
        if key in seen:
            starts.append(at)
            seen.clear()
        seen.add(key)
    return ["".join(rows[start:end]) for start, end in pairwise([*starts, len(rows)])]


def first_read(text: str, parse: Callable[[str], Parsed]) -> Parsed:
    """Return what is parsed of the text, or else of the text without what a log put before each line. Raises EvidenceError."""
    refusal = None
    for reading in console.readings(text[-LONGEST:]):
        try:
            return parse(reading)
        except EvidenceError as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def _figures_of(figures: Figures, expected: str, text: str) -> Mapping[str, ParsedNumber]:
    try:
        found = dict(figures(text))
    except _STRANGE as error:
        raise EvidenceError(f"found an invalid or missing {error} in the output; expected {expected}") from error
    if not found:
        raise EvidenceError(f"found {len(text)} characters of output without a complete result; expected {expected}")
    for key, number in found.items():
        if not (math.isfinite(number.value) and math.isfinite(number.half) and number.value >= 0):
            raise EvidenceError(f"found {number.value} as {key}; expected {expected}")
    return found


def of_device(_argv: Sequence[str]) -> Tier:
    """Return the tier of a benchmark of storage (`Parser.tier`), whatever its arguments."""
    return Tier.DEVICE


def calls(argv: Sequence[str], *names: str) -> bool:
    """Return True if the command calls one of these programs, also behind `sudo`, `mpirun` or in a shell command."""
    return any(word.rpartition("/")[2] in names for argument in argv for word in _WORD_ENDS.split(argument[:LONGEST_WORD]))


def prints(programs: Sequence[str], *signs: str | re.Pattern[str]) -> Callable[[Sequence[str], str], bool]:
    """Return `Parser.recognises` of a tool that prints one of these signs: a text anywhere, or a whole line of a form."""
    texts = [sign for sign in signs if isinstance(sign, str)]
    forms = [sign for sign in signs if isinstance(sign, re.Pattern)]

    def is_printed(output: str) -> bool:
        return any(text in output for text in texts) or any(form.fullmatch(line) for line in lines(output) for form in forms)

    def recognises(argv: Sequence[str], output: str) -> bool:
        return calls(argv, *programs) and any(is_printed(reading) for reading in console.readings(output))

    return recognises


def option(argv: Sequence[str], *names: str) -> str | None:
    """Return the value of the last of these options (`--output=F`, `--output F`, `-o F`); None if absent."""
    found = None
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else (argv[index + 1] if index + 1 < len(argv) else None)
    return found


OWN_HOST = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|::1", re.IGNORECASE)


def to_itself(argv: Sequence[str]) -> str | None:
    """Return what a client of a network test measures whose server (`-c HOST`) is this very machine; `Parser.trap`."""
    host = option(argv, "-c", "--client")
    if host is None or OWN_HOST.fullmatch(host) is None:
        return None
    return f"Client and server are one machine: {host} leads over its loopback, and over no network. Use another machine."


def file_option(tool: str, *names: str) -> Callable[[Sequence[str]], str | None]:
    """Return `Parser.result_file` of a tool that writes its result to the file of one of these options."""
    return lambda argv: option(argv, *names) if calls(argv, tool) else None


FIO_PERCENTILES = {50.0: "p50", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
"""The percentiles of fio that are figures."""
FIO_OBJECTS: Mapping[str, str] = {
    "filecreate": "create",
    "filestat": "stat",
    "filedelete": "unlink",
    "dircreate": "mkdir",
    "dirstat": "stat",
    "dirdelete": "rmdir",
}
"""fio's engines of files and directories (HOWTO, `ioengine`) -> the operation, as in the workload metadata.

They move no data: the bytes that fio 3.33 prints for them are the block size times the number of files.
"""
OF_DATA = frozenset({"bytes", "bytes_per_s"})


@dataclass(frozen=True, kw_only=True)
class Manner:
    """Options of the jobs of one of fio's groups; empty if the report does not contain them."""

    pattern: str = ""
    """Access pattern, such as `randread`."""
    engine: str = ""
    runtime: str = ""
    """How long the jobs may go on, as it is written."""

    @property
    def is_idle(self) -> bool:
        """Whether the engine does nothing."""
        return self.engine == "null"

    def has(self, figure: str) -> bool:
        """Return True if a figure is valid: engines that move no data have no bytes."""
        return self.engine not in FIO_OBJECTS or figure not in OF_DATA


def fio_groups(side: str, manners: Mapping[Group, Manner]) -> dict[Group, str]:
    """Return the operation of each of fio's job groups, in order: `read` for a single group, `create` for one that creates files.

    Several groups are `read` and `random_read` by their pattern; a second one of the same name is `read_2`.
    """
    names, used = {}, Counter[str]()
    for group, manner in manners.items():
        several = len(manners) > 1 and manner.pattern.startswith("rand")
        name = FIO_OBJECTS.get(manner.engine, f"random_{side}" if several else side)
        used[name] += 1
        names[group] = name if used[name] == 1 else f"{name}_{used[name]}"
    return names
