"""A finished result of another tool: which tool wrote the text, and the run that it amounts to. Pure.

Nobody watched that run. So it has no evidence but its own figures, and its verdicts are UNVERIFIED.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from assay import catalogue
from assay.catalogue import Parser, console, printed
from assay.errors import EvidenceError
from assay.evidence.reports import reported_readings
from assay.evidence.sources import WATCH
from assay.frozen import dataclass
from assay.records import (
    CacheState,
    Claim,
    Client,
    HostClock,
    Measure,
    Missing,
    Observations,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    Role,
    Run,
    StopRule,
    Trial,
)
from assay.watch import repeated
from assay.watch.claims import FIGURES, WORKLOAD, claimed, default_claim, direction_of, fitting, operations
from assay.watch.reports import PHASE, Reported

ELSEWHERE = "elsewhere"
"""The host of a run that nobody watched."""
TIME = "time_output"
"""The parser of a time alone: another tool that reads the same time knows more of the command."""
FEWEST_RUNS = 2
KNOWN = {
    "iozone -b, which is a file of Excel,": r"\A\t\0\x04\0",
    "rsync -h, whose units have two sizes,": r"^sent [\d.,]+[kKMGT] bytes +received |^ *[\d.,]+[kKMGT] +\d+% +[\d.,]+[kMGT]B/s ",
    "filebench": r"IO Summary: +\d+ ops",
    "sockperf": r"^sockperf: ",
    "qperf": r"^(?:tcp|udp|rc|ud)_(?:bw|lat):$",
    "uperf": r"^Txn1\s.*\bop/s\b|^Netstat statistics for this run",
    "latte": r"^\s*Throughput\(Msg/s\)|^Latency\(usec\)\s",
    "SPECstorage": r"SPECstorage|SPEC SFS|Business_Metric",
    "the Phoronix Test Suite": r"<PhoronixTestSuite>|^\s*Phoronix Test Suite v?\d|^spawn phoronix-test-suite",
    "COSBench": r"^Op-Type,Op-Count,",
    "k6 with --out": r'"type":"Metric"',
    "k6 with --summary-export": r'"http_req_duration": ?\{\s*"(?:avg|type|med|p\(90\))"',
    "ab -e": r"^Percentage served,Time in ms",
    "ab -g": r"^starttime\tseconds\tctime\tdtime\tttime\twait",
    "ab -w": r"<table *><tr *><th colspan=2 *>Server Software:",
    "hey -o csv": r"^response-time,DNS\+dialup,",
    "vegeta": r"^Requests\s+\[total, rate(?:, throughput)?\]",
    "siege": r"^Transaction rate:\s+[\d.]+ trans/sec",
    "JMeter": r"^summary [+=]\s+\d+ in |^timeStamp,elapsed,label,",
    "Locust": r"^Type,Name,Request Count,Failure Count,",
    "oha": r"^\s*Success rate:\s+[\d.]+[\s\S]*^\s*Requests/sec:",
    "bombardier": r"^\s+Reqs/sec\s+[\d.]+\s+[\d.]+|\"numberOfConnections\":\d+,\"testType\"",
    "NetPIPE": r"^\s*\d+:\s+\d+ bytes\s+\d+ times -->",
    "ctsTraffic": r"^\s*TimeSlice\s+SendBps|^TimeSlice,SendBps,",
    "ncps or cps": r"^\s*T\(sec\)\s+N\s+Pend\s+Failed\s",
    "autocannon": r"^│ Req/Sec\s+│",
    "h2load": r"^finished in [\d.]+m?s, [\d.]+ req/s",
    "cassandra-stress": r"^[Oo]p rate\s+:\s+[\d,]+",
    "Kafka's producer or consumer test": r"^\d+ records sent, [\d.]+ records/sec|^start\.time, end\.time, data\.consumed\.in\.MB",
    "hyperfine --export-csv": r"^command,mean,stddev,median,user,system,min,max",
    "hyperfine --export-markdown": r"^\| Command \| Mean \[",
    "fio --minimal of terse version 2": r"^2;[^;]+;\d+;\d+;",
    "fio --write_bw_log and its like": r"\A(?:\d+, *\d+, *[012], *\d+(?:, *\S+)*\s*\n){2}|\A\d+, *[012], *\d+(?:, *\d+){99}",
    "IOR or mdtest for each rank": r"^(?:access,rank,runtime-with-openclose|rank,items,rate-)",
    "KDiskMark": r"KDiskMark \([\d.]+\):",
    "AS SSD": r"^AS SSD Benchmark ",
    "YABS": r"Yet-Another-Bench-Script",
    "bench.sh": r"^\s*I/O Speed\(1st run\)",
    "Geekbench": r"^Geekbench \d",
    "SPDK's perf": r"^Device Information\s+:\s+IOPS\s+MiB/s",
    "PostMark": r"^\s*\d+ transactions? \(?\d* ?per second\)?|^PostMark v",
    "Blogbench": r"^Final score for (?:writes|reads):",
    "tiobench": r"^Unit information\n=+",
    "STREAM": r"^Function\s+Best Rate MB/s\s+Avg time",
    "UnixBench": r"^System Benchmarks Index",
    "Iometer": r"^'Test Type,Test Description",
    "rsearch or ldaptest": r"^T\d*\s+[\d.]+ \(?ave search=",
    "stress-ng": r"^stress-ng: ",
    "compilebench": r"^intial create total runs|^create total runs",
    "IO500's find": r"^runtime: [\d.]+ rate: [\d.]+",
    "iozone without its table": r"^\s*iozone test complete",
    "s3-benchmark or hsbench": r"Hotsauce S3 Benchmark",
}
"""Other tools and forms, known by what they print."""
AMOUNTS = {"bytes": "bytes_per_s", "count": "ops_per_s"}


class UnknownTextError(EvidenceError):
    """No parser knows a text as its tool's."""


@dataclass(frozen=True, kw_only=True)
class ImportedResult:
    """A file with the result of a tool."""

    path: str
    """As the caller names it."""
    arm: str
    """What it is called among the results."""
    written_utc: str
    """When the file was last written: the run ended before."""
    reported: Reported
    file: str = ""
    """The file without the number of the result in it."""
    left_out: tuple[str, ...] = ()
    """What of its file is in no result, in words."""


def recognised(text: str, form: str | None = None) -> Reported:
    """Return what a tool's text tells, by its content or by the parser that the caller names.

    Raises EvidenceError for an unknown text, for a result that cannot be read, and for one that several parsers read alike.
    """
    try:
        readings = told_of(text, form)
    except EvidenceError as error:
        return of_hosts(text, form, error)[0][-1]
    found, ties = [], []
    for _, each, _ in readings:
        try:
            found.append(best_of(each))
        except EvidenceError as error:
            ties.append(error)
    if not found:
        raise ties[0]
    return max(found, key=lambda one: len(one.values))


def told_of(text: str, form: str | None) -> list[tuple[str, list[Reported], list[str]]]:
    """Return the readings of a text of which a parser reads something, with that and with what other parsers refuse.

    What is a note is read as such only where else there is nothing. Raises EvidenceError.
    """
    refusals: list[EvidenceError] = []
    for readings in (console.readings(text), console.notes(text)):
        found = []
        for reading in readings:
            try:
                found.append((reading, *told(reading, form)))
            except EvidenceError as error:
                refusals.append(error)
        if found:
            return found
    raise telling(refusals)


def told(text: str, form: str | None) -> tuple[list[Reported], list[str]]:
    """Return what each parser reads of a text as it stands, at least one, and the refusals. Raises EvidenceError."""
    names = catalogue.names("parsers") if form is None else (form,)
    parsers = [catalogue.find("parsers", name) for name in names]
    likely = [one for one in parsers if form is not None or one.recognises(called(one), text)]
    found, refusals = [], dict[str, str]()
    for parser in likely:
        try:
            found.append(read_by(parser, text))
        except EvidenceError as error:
            if (last := last_of_several(parser, text)) is not None:
                found.append(last)
            else:
                refusals[parser.name] = f"{parser.name}: {error}"
    if not found and refusals:
        raise EvidenceError("; ".join(refusals.values()))
    if not found:
        raise UnknownTextError(f"found {kind_of(text)}; expected the output of one of: {', '.join(names)}")
    families = {one.tool.partition("_")[0] for one in found} | {TIME.partition("_")[0]}
    return found, [refusal for name, refusal in refusals.items() if name.partition("_")[0] not in families]


def telling(refusals: Sequence[EvidenceError]) -> EvidenceError:
    """Return the first refusal of a parser that knows the text in one of its readings; else that of the text as it stands."""
    return next((one for one in refusals if not isinstance(one, UnknownTextError)), refusals[0])


def last_of_several(parser: Parser, text: str) -> Reported | None:
    """Return the last run in a text of several that a parser can read one by one; None where one of them cannot be read."""
    parts = parser.runs(text)
    runs = [read_or_none(parser, part) for part in parts] if len(parts) >= FEWEST_RUNS else []
    return runs[-1] if runs and all(runs) else None


def read_by(parser: Parser, text: str) -> Reported:
    """Return what a parser reads of a text. Raises EvidenceError."""
    found = parser.read(text)
    return Reported(
        tool=parser.name,
        values={key: number.value for key, number in found.items()},
        resolution={key: number.half for key, number in found.items()},
        tier=parser.tier(called(parser)),
    )


def best_of(found: Sequence[Reported]) -> Reported:
    """Return what the parser that reads most tells. Raises EvidenceError where two read as much."""
    most = max(len(one.values) for one in found)
    best = [one for one in found if len(one.values) == most]
    best = [one for one in best if one.tool != TIME] or best
    if len(best) > 1:
        raise EvidenceError(f"found a result that may be of {' or '.join(one.tool for one in best)}; expected --format with one")
    return best[0]


def all_runs(text: str, form: str | None = None) -> tuple[tuple[Reported, ...], tuple[str, ...]]:
    """Return the runs in a text, and what of the text is not among them, in words. Raises EvidenceError.

    The runs of one tool are in their order, the tools by how much each tells.
    """
    try:
        readings = told_of(text, form)
    except EvidenceError as error:
        return of_hosts(text, form, error)
    readings.reverse()  # of equals the barest: what stands before each line hides where a run begins
    reading, found, refused = max(readings, key=lambda one: max(len(each.values) for each in one[1]))
    each = [runs_of(reading, one) for one in tools(found)]
    return tuple(run for runs, _ in each for run in runs), (*(words for _, left in each for words in left), *refused)


def of_hosts(text: str, form: str | None, refusal: EvidenceError) -> tuple[tuple[Reported, ...], tuple[str, ...]]:
    """Return the runs of several hosts in one text, as `pdsh` prints them. Raises EvidenceError where there are none."""
    found, left = list[Reported](), list[str]()
    for host, part in console.by_host(text).items():
        try:
            runs, words = all_runs(part, form)
        except EvidenceError as error:
            left.append(f"{host}: {error}")
        else:
            found += runs
            left += [f"{host}: {one}" for one in words]
    if not found:
        raise refusal
    return tuple(found), tuple(left)


def tools(found: Sequence[Reported]) -> list[Reported]:
    """Return what different tools tell, the most first: two that tell a number in common read the same result.

    A time around a tool and another form of its report are no other result. Raises EvidenceError where two read one alike.
    """
    kept: list[Reported] = []
    for one in sorted(found, key=lambda one: (one.tool == TIME, -len(one.values))):
        same = [other for other in kept if set(other.values.values()) & set(one.values.values()) - {0.0}]
        if same or one.tool == TIME or any(other.tool.partition("_")[0] == one.tool.partition("_")[0] for other in kept):
            if not kept:
                kept.append(one)
            elif same and len(same[0].values) == len(one.values) and one.tool != TIME:
                best_of([same[0], one])
        else:
            kept.append(one)
    return kept


def runs_of(text: str, last: Reported) -> tuple[Sequence[Reported], Sequence[str]]:
    """Return the runs of a tool in a text whose last run it told, and what is not among them, in words.

    Reports of one call that grow (fio --status-interval) are one run.
    """
    parser = catalogue.find("parsers", last.tool)
    parts = parts_of(parser, text)
    each = [read_or_none(parser, part) for part in parts]
    runs = [run for run in each if run is not None]
    if runs and runs[-1].values != last.values:
        parts = repeated.joined([(part, one.values if one else {}) for part, one in zip(parts, each, strict=True)])
        runs = [run for part in parts if (run := read_or_none(parser, part)) is not None]
    if len(runs) < FEWEST_RUNS or runs[-1].values != last.values:
        return (last,), ()
    lost = len(parts) - len(runs)
    unread = (f"{lost} of {len(parts)} parts of {last.tool} without a result that can be read",) if lost else ()
    if last.tool.startswith("fio_") and do_grow(runs):
        return (last,), (f"{len(runs) - 1} earlier reports of the same call", *unread)
    return runs, unread


def parts_of(parser: Parser, text: str) -> Sequence[str]:
    """Return the texts of the runs, by what the parser tells of their begin or end, or else by a heading that comes again."""
    told = parser.runs(text)
    if told:
        return told
    return repeated.parts(text, lambda part: one.values if (one := read_or_none(parser, part)) else None) or [text]


def read_or_none(parser: Parser, text: str) -> Reported | None:
    """Return what a parser reads of a text; None where it reads nothing."""
    try:
        return read_by(parser, text)
    except EvidenceError:
        return None


def do_grow(runs: Sequence[Reported]) -> bool:
    """Return whether each report has all that the one before has, over a longer time, and no less in any amount."""
    return all(
        elapsed(before.values) < elapsed(after.values)
        and all(
            after.values.get(name, -1.0) >= value for name, value in before.values.items() if name.endswith((".bytes", ".count"))
        )
        for before, after in pairwise(runs)
    )


def called(parser: Parser) -> tuple[str, ...]:
    """Return the words of a call of the parser's tool."""
    return (parser.programs or (parser.name.partition("_")[0],))[:1]


def kind_of(text: str) -> str:
    """Return what a text is that no tool prints."""
    if not text.strip():
        return "an empty file"
    readings = tuple(console.readings(text))
    if known := next((name for name, sign in KNOWN.items() for one in readings if re.search(sign, one, re.MULTILINE)), None):
        return f"a result of {known}, which is not read yet"
    if "\0" in text:
        return "binary data"
    return f"{len(text.splitlines()):,} lines of no known tool, the first {text.split(maxsplit=0)[0].splitlines()[0][:60]!r}"


def measures_of(each: Sequence[Reported], claim: Claim | None) -> tuple[Measure, ...]:
    """Return one measure for each operation that all results tell, of all operations where they tell none in common.

    Of the usual figures it is the first that all results with that operation tell; where they tell none in common, each has its
    own. The claim is the caller's, or what such a number is taken for.
    """
    found: dict[tuple[str, str], Measure] = {}
    every = tuple(dict.fromkeys(name for one in each for name in operations(one.values)))
    common = tuple(name for name in every if all(name in operations(one.values) for one in each))
    for operation in common or every:
        tellers = [one for one in each if operation in operations(one.values)]
        direction = direction_of(operation)
        tier = next((one.tier for one in tellers if one.tier is not None), None)
        is_judged = operation in claimed({operation: direction}, claim) and (claim is not None or tier is not None)
        wanted = fitting(claim or default_claim(direction, tier), direction) if is_judged else Claim()
        for figure in figures_of(operation, tellers):
            found[operation, figure] = Measure(workload=WORKLOAD, operation=operation, figure=figure, claim=wanted)
    return tuple(found.values())


def figures_of(operation: str, tellers: Sequence[Reported]) -> tuple[str, ...]:
    """Return the figures of an operation that are compared."""
    common = next((name for name in FIGURES if all(f"{operation}.{name}" in one.values for one in tellers)), None)
    if common is not None:
        return (common,)
    own = (next((name for name in FIGURES if f"{operation}.{name}" in one.values), None) for one in tellers)
    return tuple(dict.fromkeys(name for name in own if name is not None))


def run(result: ImportedResult, trial: Trial) -> Run:
    """Return the run of a result: one phase with the tool's figures."""
    values = result.reported.values
    elapsed_ns = round(elapsed(values))
    directions = {name: direction_of(name) for name in operations(values)}
    phase = Phase(
        name=PHASE,
        workload=WORKLOAD,
        measured=True,
        operations=tuple(directions),
        directions=directions,
        cache_asked=CacheState.UNCHANGED,
        hosts=(PhaseHost(host=ELSEWHERE, cached_share_before=None, drain_ns=None),),
        start_ns=0,
        end_ns=elapsed_ns,
        stop=StopRule.WORK,
        flush_in_clock=False,
        clients=(client(elapsed_ns),),
        values=figures(result.reported),
    )
    return Run(
        trial=trial,
        attempt=1,
        outcome=Outcome.FINISHED,
        started_utc=result.written_utc,
        ended_utc=result.written_utc,
        hosts=(HostClock(host=ELSEWHERE, offset_ns=0, error_ns=0, t0_mono_ns=0),),
        places=(),
        phases=(phase,),
        error=None,
    )


def figures(reported: Reported) -> dict[str, float]:
    """Return the figures, with what their last digits leave open."""
    return {**reported.values, **printed.open_digits(reported.resolution)}


def client(elapsed_ns: int) -> Client:
    """Return the tool as the one client."""
    whole = OperationTotal(operation="command", count=1, bytes=0, errors=0, busy_ns=elapsed_ns, first_ns=0, last_ns=elapsed_ns)
    return Client(
        index=0,
        host=ELSEWHERE,
        pid=0,
        role=Role.LOAD,
        workers=1,
        armed_ns=0,
        started_ns=0,
        first_ns=0,
        last_ns=elapsed_ns,
        stopped_by="exit",
        operations=(whole,),
        cost=None,
    )


def observations(result: ImportedResult, of: Run) -> Observations:
    """Return the evidence of a result: what the tool tells of its bytes, and that nobody watched."""
    (phase,) = of.phases
    reason = f"the figures were imported from {result.path}"
    return Observations(
        readings=reported_readings(phase, ELSEWHERE),
        missing=(Missing(host=ELSEWHERE, phase=phase.name, key=WATCH, reason=reason),),
    )


def elapsed(values: Mapping[str, float]) -> float:
    """Return how long the work took: the longest time that is told, or that follows from an amount and its rate."""
    return max((*times_of(values), 1.0))


def times_of(values: Mapping[str, float]) -> Iterator[float]:
    """Yield the times of the operations."""
    for operation in operations(values):
        if f"{operation}.elapsed_ns" in values:
            yield values[f"{operation}.elapsed_ns"]
        for amount, rate in AMOUNTS.items():
            if values.get(f"{operation}.{rate}") and f"{operation}.{amount}" in values:
                yield 1e9 * values[f"{operation}.{amount}"] / values[f"{operation}.{rate}"]
