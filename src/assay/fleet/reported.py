"""What a foreign tool says that it measured: found by its arguments and its output, read by its parser. Pure.

A tool may stand in a script (`sh -c 'dd ... | ...'`): every simple command that a shell is given may be the tool.
"""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence

from assay import catalogue
from assay.catalogue import Parser
from assay.errors import EvidenceError
from assay.frozen import dataclass, field
from assay.records import Tier, Value, Watched

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "busybox"})
SEPARATORS = frozenset(";&|()")
REGEX = "regex"
MANY = 2
MOST_LINES = 400
"""Lines of the output of several tools that are looked at: the last."""
ALSO: Mapping[str, tuple[str, ...]] = {"scp": ("sftp",)}
"""Tools that a parser reads and is not named by."""
ADDED = (".bytes", ".count", ".errors")
RATES = {"bytes": "bytes_per_s", "count": "ops_per_s"}


@dataclass(frozen=True, kw_only=True)
class Reported:
    """The figures of a tool in base units."""

    tool: str
    """The parser that read it; `regex` where the caller said how."""
    values: Mapping[str, float]
    """OPERATION.FIGURE -> value."""
    resolution: Mapping[str, float] = field(default_factory=dict)
    """The same names -> half a unit of the last digit that was printed."""
    tier: Tier | None = None
    """What the tool says it measures with these arguments; None where it says nothing."""
    tools: int = 1
    """How many simple commands of one script are this tool."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Of several tools the sums of their own rates; `values` has all their bytes over the whole time instead."""


def reported(watched: Watched, knobs: Mapping[str, Value] | None = None) -> tuple[Reported | None, str | None]:
    """What the tool says, and why it could not be read where one was recognised; (None, None) where no tool is known.

    `knobs` are those of the workload `command` with parse = regex, where the caller says how the figure is found.
    """
    try:
        return (by_pattern(watched, knobs), None) if knobs is not None else (by_parser(watched), None)
    except EvidenceError as error:
        return None, str(error)


def by_pattern(watched: Watched, knobs: Mapping[str, Value]) -> Reported:
    """The last match of the caller's pattern, in standard output or else in standard error. Raises EvidenceError."""
    parse = catalogue.find("workloads", "command").parse
    assert parse is not None
    try:
        values = parse(knobs, watched.stdout.text, watched.elapsed_ns)
    except EvidenceError:
        values = parse(knobs, watched.stderr.text, watched.elapsed_ns)
    return Reported(tool=REGEX, values=values)


def by_parser(watched: Watched) -> Reported | None:
    """By the first parser that knows the tool; None where none does. Raises EvidenceError for output that it cannot read."""
    texts = [text for text in (watched.result, watched.stdout.text, watched.stderr.text) if text]
    possible = tuple(commands(watched.argv))
    for name in likely(watched.argv) if texts else ():
        parser = catalogue.find("parsers", name)
        for text in texts:
            mine = [argv for argv in possible if parser.recognises(argv, text)]
            if mine:
                return read(parser, mine, (text, watched.elapsed_ns))
    return None


def read(parser: Parser, mine: Sequence[tuple[str, ...]], told: tuple[str, int]) -> Reported:
    """The figures, of those operations alone that the arguments are about. Raises EvidenceError."""
    text, elapsed_ns = told
    wanted = {operation for argv in mine for operation in parser.operations(argv)}
    each = parts(parser, text) if len(mine) > 1 else []
    if len(mine) > 1 and len(each) != len(mine):
        raise EvidenceError(
            f"found the figures of {len(each)} of {len(mine)} calls of {parser.name} in the output; expected of all"
        )
    values = parser.parse(text) if len(each) < MANY else summed(each, elapsed_ns)
    resolution = parser.resolution(text) if len(each) < MANY else {}
    tiers = {tier for argv in mine if (tier := parser.tier(argv)) is not None}
    return Reported(
        tool=parser.name,
        values=kept(values, wanted),
        resolution=kept(resolution, wanted),
        tier=next(iter(tiers)) if len(tiers) == 1 else None,
        tools=len(mine),
        rates=kept(rates(each), wanted),
    )


def kept(figures: Mapping[str, float], wanted: Collection[str]) -> dict[str, float]:
    """The figures of these operations; all where none are named."""
    return {name: figure for name, figure in figures.items() if not wanted or name.rpartition(".")[0] in wanted}


def parts(parser: Parser, text: str) -> list[Mapping[str, float]]:
    """What each of several tools says in one output, in which a parser reads the last: the output is read as it grew."""
    found: list[Mapping[str, float]] = []
    lines = text.splitlines(keepends=True)[-MOST_LINES:]
    for end in range(1, len(lines) + 1):
        with contextlib.suppress(EvidenceError):
            figures = parser.parse("".join(lines[:end]))
            if not found or figures != found[-1]:
                found.append(figures)
    return found


def summed(each: Sequence[Mapping[str, float]], elapsed_ns: int) -> dict[str, float]:
    """The bytes and operations of all, over the whole time of the command: when each began nobody knows."""
    added: dict[str, float] = {}
    for figures in each:
        for name, figure in figures.items():
            if name.endswith(ADDED):
                added[name] = added.get(name, 0.0) + figure
    for name, figure in tuple(added.items()):
        operation, _, kind = name.rpartition(".")
        if kind in RATES and elapsed_ns > 0:
            added[f"{operation}.{RATES[kind]}"] = figure * 1e9 / elapsed_ns
            added[f"{operation}.elapsed_ns"] = float(elapsed_ns)
    return added


def rates(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The sum of the rates that each says: more than all together can have done."""
    if len(each) < MANY:
        return {}
    names = {name for figures in each for name in figures if name.endswith("_per_s")}
    return {name: sum(figures.get(name, 0.0) for figures in each) for name in sorted(names)}


def result_file(argv: Sequence[str]) -> str | None:
    """The file into which a known tool has its result written by these words; None where none has."""
    for one in commands(argv):
        for name in likely(argv):
            found = catalogue.find("parsers", name).result_file(one)
            if found is not None:
                return found
    return None


def likely(argv: Sequence[str]) -> tuple[str, ...]:
    """The parsers whose name begins like a word of the command: only these are worth their import."""
    said = " ".join(argv).lower()
    return tuple(name for name in catalogue.names("parsers") if any(stem in said for stem in stems(name)))


def stems(name: str) -> tuple[str, ...]:
    """What a parser's tool is called: its name up to the form of the output, and what else it is called."""
    return (name.partition("_")[0], *ALSO.get(name, ()))


def commands(argv: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The words themselves, or where they give a script to a shell, the simple commands of the script."""
    script = script_of(argv)
    if script is None:
        yield tuple(argv)
        return
    import shlex

    lexer = shlex.shlex(script.replace("\\\n", " ").replace("\n", ";"), posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    words: list[str] = []
    with contextlib.suppress(ValueError):  # a quote that is never closed: the shell will say so
        for word in lexer:
            if set(word) <= SEPARATORS and words:
                yield tuple(words)
            words = [] if set(word) <= SEPARATORS else [*words, word]
    if words:
        yield tuple(words)


def script_of(argv: Sequence[str]) -> str | None:
    """What stands behind `sh -c` (also `bash -ec`); None where no shell is given a script."""
    for at, word in enumerate(argv[:-1]):
        shell = at > 0 and any(posixpath.basename(before) in SHELLS for before in argv[:at])
        if shell and word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return argv[at + 1]
    return None
