"""The figures of an external command: those that its tool reports, else the bytes that its calls and storage moved. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from string import digits

from assay import catalogue
from assay.catalogue import Parser, console
from assay.errors import EvidenceError
from assay.evidence.words import commands, has_pipes, names_another, script_of
from assay.frozen import dataclass, field
from assay.records import Direction, OtherKinds, Rung, Tier, TreeAccount, Value, Watched
from assay.records.watched import Lived
from assay.units import UNITS, Unit
from assay.watch import invocations as several
from assay.watch.invocations import PROGRAM_WORDS

PHASE = "stat.command"
"""The one phase of a watched command."""
SIDES = {"read": Direction.READ, "write": Direction.WRITE}
GROW = "grow"
"""The operation of files that become longer without data."""
RECEIVE, SEND = "receive", "send"
SOCKETS = {RECEIVE: Direction.RECEIVE, SEND: Direction.SEND}
"""What goes through sockets."""
LEAST_BYTES = 4 << 20
"""Less than this is what any program reads of its libraries (limits.toml, T01) or prints."""
UNCOUNTED_SHARE = 0.1
"""Storage was made to read so much more than calls asked for: read-ahead, or calls that nobody counts (mmap, io_uring)."""


def observed(watched: Watched, *, fed: bool = False) -> dict[str, float]:
    """Return the bytes that were seen over the elapsed time, of each direction in which something worth a figure moved."""
    account, seconds = watched.account, watched.elapsed_ns / 1e9
    if account is None or account.lost or seconds <= 0:
        return dict(of_devices(watched, seconds))
    found: dict[str, float] = {}
    if grown_bytes(watched, account):
        found[f"{GROW}.elapsed_ns"] = float(watched.elapsed_ns)
    for side, seen in moved(watched, account, fed=fed).items():
        if seen >= LEAST_BYTES:
            found |= {
                f"{side}.bytes_per_s": seen / seconds,
                f"{side}.bytes": float(seen),
                f"{side}.elapsed_ns": float(watched.elapsed_ns),
            }
    return found


def moved(watched: Watched, account: TreeAccount, *, fed: bool = False) -> dict[str, int]:
    """Return the bytes of each side: of files, and through sockets where these were counted."""
    kinds = account.kinds or OtherKinds()
    return {
        "read": read_bytes(watched, account, fed=fed),
        "write": written_bytes(watched, account),
        RECEIVE: kinds.received_bytes or 0,
        SEND: kinds.sent_bytes or 0,
    }


def busiest(watched: Watched, unit: str, *, fed: bool) -> str:
    """Return the direction of a figure with this unit: that of which most moved; of requests where that was through sockets."""
    account = watched.account
    if account is None:
        return "read"
    sides = moved(watched, account, fed=fed)
    most = max(sides, key=lambda side: sides[side])
    if grown_bytes(watched, account) > sides[most]:
        return "write"
    if not sides[most]:
        return "write" if account.wchar > account.rchar else "read"
    return "request" if most in SOCKETS and unit not in UNITS[Unit.BYTES_PER_S] and unit not in UNITS[Unit.BYTES] else most


def read_bytes(watched: Watched, account: TreeAccount, *, fed: bool) -> int:
    """Return what was read of files: by counted calls, without what is of no file and the libraries of any program.

    A command that is `fed` has a pipe as standard input: what its calls moved beyond storage may have come from there.
    """
    shared = sum(one.shared_bytes for one in watched.grown)
    copied = shared if account.wchar >= shared else 0  # copy_file_range(2) counts what it shares as read and written
    calls, storage = max(0, account.rchar - copied), account.read_bytes
    if fed or (account.kinds is None and may_receive(watched)):
        calls = storage
    elif account.kinds is not None:
        unsure = account.kinds.unsure_bytes if may_receive(watched) else 0
        calls = max(storage, calls - account.kinds.read_bytes - unsure)
    elif has_pipes(watched.argv):
        calls = max(storage, calls - max(0, account.wchar - account.write_bytes))
    seen = storage if storage and calls - storage <= LEAST_BYTES else calls
    sure = storage - account.doubtful_read_bytes
    return sure if seen == storage and sure < LEAST_BYTES else seen


def written_bytes(watched: Watched, account: TreeAccount) -> int:
    """Return what was written to files: dirtied, and no more than the counted calls; pipes and terminals are none.

    Where nothing is charged as dirtied (memory file systems, some network ones) the files that were written tell, without what
    made them longer without data.
    """
    counted = account.wchar >= LEAST_BYTES
    empty = sum(one.empty_bytes for one in watched.grown)
    named = {one.path for one in watched.grown if one.linked_bytes}
    sizes = sum(one.size_bytes for one in watched.files if one.written and one.path not in named)
    uncounted = sizes if not empty else sum(one.bytes for one in watched.grown)
    hollow = empty - sum(one.empty_bytes for one in watched.grown if one.linked_bytes)
    storage = account.write_bytes or max(0, sizes - hollow if counted else uncounted - empty)
    return min(account.wchar, storage) if counted else storage


def grown_bytes(watched: Watched, account: TreeAccount) -> int:
    """Return how much longer files became without data, where that is most of what happened to files."""
    empty = sum(one.empty_bytes for one in watched.grown)
    return empty if empty >= LEAST_BYTES and empty > written_bytes(watched, account) else 0


COPIERS = frozenset({"dd", "hyperfine", "rsync", "scp_sftp", "tar", "time_output"})
"""Parsers of tools that move data rather than measure many small requests."""


HTTP = frozenset({"ab", "hey", "k6", "wrk"})
"""Parsers of tools that load a server of HTTP."""
NETWORK = HTTP | frozenset(
    {
        "warp",
        *("flent", "iperf2", "iperf3", "neper", "netperf", "ntttcp"),
        *("hammerdb", "memtier", "pgbench", "redis_benchmark", "ycsb"),
        *("ldapsearch", "ldclt", "searchrate"),
    }
)
"""Parsers of tools whose figures people take for those of a network or of a server behind one."""


def may_use_network(argv: Sequence[str]) -> bool:
    """Return whether it is worth to look where the command's sockets lead: it calls such a tool, or names another machine."""
    return is_of_network(argv) or names_another(argv)


def is_of_http(argv: Sequence[str]) -> bool:
    """Return whether the command calls a tool that loads a server of HTTP."""
    return any(parser.name in HTTP for parser, _ in tools(argv))


def is_of_network(argv: Sequence[str]) -> bool:
    """Return whether the command calls a tool that measures a network or a server."""
    return any(parser.name in NETWORK for parser, _ in tools(argv))


def counts_sockets(argv: Sequence[str]) -> bool:
    """Return whether bytes of sockets are to be counted: not for tools that count their own requests, which the count slows."""
    return all(parser.name in COPIERS for parser, _ in tools(argv))


def may_receive(watched: Watched) -> bool:
    """Return whether bytes may have come through a socket: by one that was seen, or an address in the words."""
    return watched.holds_socket or names_another(watched.argv)


def are_counted(watched: Watched, *, fed: bool = False) -> bool:
    """Return whether the calls tell how much of files was read: not by mmap, and not where pipes cannot be told from nowhere."""
    account = watched.account
    if account is None or account.rchar < (1 - UNCOUNTED_SHARE) * account.read_bytes:
        return False
    if fed and account.rchar - account.read_bytes > LEAST_BYTES:
        return False
    if account.kinds is None and may_receive(watched) and account.rchar - account.read_bytes > LEAST_BYTES:
        return False
    if account.kinds is not None and account.kinds.unsure_bytes > LEAST_BYTES and may_receive(watched):
        return False
    unknown = account.kinds is None and has_pipes(watched.argv)
    return not (unknown and "/dev/null" in (script_of(watched.argv) or ""))


def of_devices(watched: Watched, seconds: float) -> Iterator[tuple[str, float]]:
    """Yield the same from the devices, where the processes could not be counted; empty where nothing was seen there either."""
    for side, direction in SIDES.items():
        lowest = watched.observations.rung(PHASE, Rung.LOWEST_DEVICE, direction)
        amount = sum(reading.bytes or 0 for reading in lowest)
        if amount >= LEAST_BYTES and seconds > 0:
            yield f"{side}.bytes_per_s", amount / seconds


WRAPPERS = frozenset(
    (
        *("sudo", "env", "nice", "ionice", "chrt", "timeout", "taskset", "numactl", "stdbuf", "time", "strace", "eatmydata"),
        *("mpirun", "mpiexec", "srun", "python3", "python"),
    )
)
"""Programs that run another one behind options of their own."""
REDIRECTIONS = frozenset({">", ">>", "&>", "&>>", ">|", ">&"})
EXPANDED = frozenset("$`*?<>&")
"""What stands in a word that is a name only after the shell has read it."""
REGEX = "regex"
AND = re.compile(r"(?<![&>])&(?![&>])")


@dataclass(frozen=True, kw_only=True)
class Reported:
    """The figures of a tool in base units."""

    tool: str
    """The parser that read it; `regex` where the caller said how."""
    values: Mapping[str, float]
    """OPERATION.FIGURE -> value."""
    resolution: Mapping[str, float] = field(default_factory=dict)
    """The same names -> half a unit of the last digit that was printed."""
    timed: Mapping[str, float] = field(default_factory=dict)
    """Count and time behind each rate, by the arguments and the clock of the tool."""
    tier: Tier | None = None
    """What the tool says it measures with these arguments; None where it says nothing."""
    parts: tuple[several.CallReport, ...] = ()
    """Of several calls of the tool in one script each with its time; `values` is then of the time in which all ran."""
    are_observed: bool = False
    """Whether it is known when each of several calls ran; else each has the whole time of the command."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """The sums of several calls' own rates."""


def reported(watched: Watched, knobs: Mapping[str, Value] | None = None) -> tuple[Reported | None, str | None]:
    """Return what the tool says, and why it could not be read where one was recognised; (None, None) where no tool is known.

    `knobs` are those of the workload `command` with parse = regex, where the caller says how the figure is found.
    """
    try:
        return (by_pattern(watched, knobs), None) if knobs is not None else (by_parser(watched), None)
    except EvidenceError as error:
        return None, str(error)


def by_pattern(watched: Watched, knobs: Mapping[str, Value]) -> Reported:
    """Return the last match of the caller's pattern, in standard output or else in standard error. Raises EvidenceError."""
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
    parsers = [catalogue.find("parsers", name) for name in likely(watched.argv)] if texts else []
    refusal = None
    for readings in as_notes(texts):
        for parser, text in product(parsers, readings):
            mine = [argv for argv in possible if parser.recognises(argv, text)]
            if not mine:
                continue
            if (said := broken(parser, texts)) is not None:
                raise EvidenceError(f"{parser.name}: {said!r} beside its figures: they are not of work that was done")
            try:
                return read(parser, mine, (text, watched))
            except EvidenceError as error:
                refusal = refusal or error
                break
    if refusal is not None:
        raise refusal
    return None


def as_notes(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts, then without what a note puts around their lines."""
    yield texts
    yield from zip(*(console.notes(text) for text in texts), strict=True)


def broken(parser: Parser, texts: Sequence[str]) -> str | None:
    """Return what the tool says of failures in any of its outputs; None where it says nothing."""
    found = (re.search(parser.broken, text) for text in texts) if parser.broken else ()
    return next((match[0].strip()[:120] for match in found if match), None)


def read(parser: Parser, mine: Sequence[tuple[str, ...]], output: tuple[str, Watched]) -> Reported:
    """Return the figures, of those operations alone that the arguments are about. Raises EvidenceError."""
    text, watched = output
    lived = [one for one in watched.lived if parser.recognises(one.argv, text)]
    each = several.reports_in(parser, text) if max(len(mine), len(lived)) > 1 else []
    if len(each) > 1 or len(mine) > 1:
        return of_several(parser, mine, (each, lived, watched))
    wanted = frozenset(parser.operations(mine[0]))
    numbers = parser.read(text)
    values = several.chosen({key: number.value for key, number in numbers.items()}, wanted)
    return Reported(
        tool=parser.name,
        values=values,
        resolution=several.chosen({key: number.half for key, number in numbers.items()}, wanted),
        timed=timed(parser, mine[0], values),
        tier=parser.tier(mine[0]),
    )


def timed(parser: Parser, argv: Sequence[str], values: Mapping[str, float]) -> dict[str, float]:
    """Return count and time that each rate of a tool with a coarse clock rests on, and half a step of that clock.

    A tool that tells a rate alone was told how many operations to do; a printed time may have fewer digits than the clock.
    """
    found: dict[str, float] = {}
    for operation in dict.fromkeys(name.rpartition(".")[0] for name in values) if parser.clock_ns else ():
        rate, elapsed = (values.get(f"{operation}.{name}") for name in ("ops_per_s", "elapsed_ns"))
        count = values.get(f"{operation}.count", parser.count(argv))
        if count and (rate or elapsed is not None):
            found |= {
                f"{operation}.count": count,
                f"{operation}.elapsed_ns": count * 1e9 / rate if rate else elapsed or 0.0,
                f"{operation}.elapsed_ns_half": parser.clock_ns / 2,
            }
    return found


def of_several(
    parser: Parser, mine: Sequence[tuple[str, ...]], found: tuple[Sequence[several.Figures], Sequence[Lived], Watched]
) -> Reported:
    """Return the figures of several calls. Raises EvidenceError where some are missing, or nobody can tell whose they are."""
    each, lived, watched = found
    calls = max(len(mine), len(lived))
    if len(each) != calls:
        raise EvidenceError(f"the output has the figures of {len(each)} of {calls} calls of {parser.name}: all are needed")
    are_observed = len(lived) == calls and several.are_distinguishable(lived)
    kinds = [frozenset(parser.operations(argv)) for argv in ([one.argv for one in lived] if len(lived) == calls else mine)]
    if not are_observed and len(set(kinds)) > 1 and at_once(watched.argv):
        raise EvidenceError(f"{calls} calls of {parser.name} too short to observe: their figures cannot be assigned")
    parts = several.parts(each, kinds, lived) if are_observed else several.untracked(each, kinds, watched.elapsed_ns)
    tiers = {tier for argv in mine if (tier := parser.tier(argv)) is not None}
    return Reported(
        tool=parser.name,
        values=several.summed(parts),
        tier=next(iter(tiers)) if len(tiers) == 1 else None,
        rates=several.own_rates([part.values for part in parts]),
        parts=parts,
        are_observed=are_observed,
    )


def at_once(argv: Sequence[str]) -> bool:
    """Return whether a script starts something and does not wait for it (`&`, neither `&&` nor `2>&1`)."""
    return AND.search(script_of(argv) or "") is not None


def result_file(argv: Sequence[str]) -> str | None:
    """The file into which a known tool has its result written by these words, or a shell its output; None where none has."""
    for one in commands(argv):
        for name in likely(argv):
            found = catalogue.find("parsers", name).result_file(one)
            if found is not None:
                return found
    tools = programs(argv)
    redirected = (
        sent_to(one) for one in commands(argv) if any(posixpath.basename(word) in tools for word in one[:PROGRAM_WORDS])
    )
    return next((path for path in redirected if path is not None), None)


def sent_to(command: Sequence[str]) -> str | None:
    """Return the file to which a shell sends the output of a simple command: of its two streams the last that goes to a file."""
    files = (after for word, after in pairwise(command) if word in REDIRECTIONS and not after.startswith("/dev/"))
    return next(reversed([path for path in files if not path.isdigit() and not set(path) & EXPANDED]), None)


def likely(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the parsers of whose name a part, or one of whose programs, stands in the words: only these are worth their import.

    A number at the end is a version of the tool, which its program need not name: `iperf` of iperf2.
    """
    words = " ".join(argv).lower()
    return tuple(
        name
        for name in catalogue.names("parsers")
        if any(part.rstrip(digits) in words for part in name.split("_"))
        or any(program.lower() in words for program in catalogue.programs_of(name))
    )


def tools(argv: Sequence[str]) -> Iterator[tuple[Parser, tuple[str, ...]]]:
    """Yield the parsers of the tools that the words call, each with its own words.

    A program is the first or second word, or comes behind one that runs another.
    """
    for one in commands(argv):
        for name in likely(argv):
            parser = catalogue.find("parsers", name)
            names = parser.programs or (name.partition("_")[0],)
            at = next((at for at, word in enumerate(one) if posixpath.basename(word) in names), len(one))
            if at < min(PROGRAM_WORDS, len(one)) or (at < len(one) and posixpath.basename(one[0]) in WRAPPERS):
                yield parser, one


def uses(argv: Sequence[str], words: str) -> bool:
    """Return whether a command has an argument, also as two words or as one of several values."""
    name, equals, value = words.partition("=")
    at = [place for place, word in enumerate(argv) if word.partition("=")[0] == name]
    if not equals:
        return bool(at)
    given = (argv[place].partition("=")[2] or (argv[place + 1] if place + 1 < len(argv) else "") for place in at)
    return any(value in one.split(",") for one in given)


def asks_direct(argv: Sequence[str]) -> bool:
    """Return whether the tools were told to read past the page cache."""
    found = [(parser.direct, one) for parser, one in tools(argv) if parser.direct]
    return bool(found) and all(uses(one, words) for words, one in found)


def presumed(argv: Sequence[str]) -> tuple[str, Tier] | None:
    """Return the first tool whose figures are taken for the speed of a layer, and that layer; None where there is none."""
    found = ((parser.name.partition("_")[0], parser.tier(one)) for parser, one in tools(argv))
    return next(((name, tier) for name, tier in found if tier is not None), None)


def programs(argv: Sequence[str]) -> frozenset[str]:
    """Return what the tools are called whose calls in a script may be several; none where there is no script."""
    if script_of(argv) is None:
        return frozenset()
    found = ((name, catalogue.find("parsers", name).programs) for name in likely(argv))
    return frozenset(word for name, words in found for word in words or (name.partition("_")[0],))
