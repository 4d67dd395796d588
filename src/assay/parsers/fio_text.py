"""fio's text report since 2.1: bytes, rates, operations and latencies, from `Run status group` and the jobs.

Rates are printed with their unit: `MiB/s` is 2^20 (in brackets MB/s, 10^6), with unit_base=1 bits (fio 3.33, lib/num2str.c and
HOWTO, "Interpreting the output"); in fio 2 `KB` is 1,024 bytes (2.21, kb_base). `k` of IOPS and latencies is 1,000.
`run=A-Bmsec` (fio 2: mint, maxt) are the shortest and longest job. Of several clients of servers the block `All clients` counts,
which has no status group (client.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from assay.catalogue import Parser, printed

EXPECTED = "fio's report with its lines READ: or WRITE: of each status group (or --output-format=json)"
NUMBER = r"(\d[\d.]{0,30})([KMGTPEkmgtpe]?i?)"
GROUP = re.compile(r"Run status group (\d{1,6}) \(all jobs\):")
SUM = re.compile(
    rf"\s*(?P<side>READ|WRITE|TRIM|MIXED): bw={NUMBER}(B|bit)/s \(.{{1,400}}\bio={NUMBER}B \(.{{1,40}}\), "
    r"run=\d+-(\d{1,18})msec"
)
SUM_2 = re.compile(
    rf"\s*(?P<side>READ|WRITE|TRIM|MIXED): io={NUMBER}B, aggrb={NUMBER}(B|bit)/s, .{{1,200}}, maxt=(\d{{1,18}})msec"
)
"""The sums of fio 2."""
PLANNED = re.compile(r".{0,200}: \(g=(\d{1,6})\): rw=([a-z]{1,20}), .{0,400}ioengine=([a-z_]{1,30}), .{0,80}")
JOB = re.compile(r".{0,200}\(groupid=(\d{1,6}), jobs=\d+\): err=\s{0,3}(\d{1,6}).{0,400}")
SIDE = re.compile(
    rf"\s*(read|write|trim|mixed)\s{{0,3}}: (?:IOPS={NUMBER}, BW=.{{1,200}}|io=.{{1,80}}, iops={NUMBER}\s?,\s.{{1,80}})"
)
ALL = re.compile(r"All clients: \(groupid=.{1,400}")
ALL_SIDE = re.compile(
    rf"\s*(read|write|trim|mixed)\s{{0,3}}: IOPS=\S{{1,40}}, BW=.{{1,60}}\)\({NUMBER}B/(\d{{1,18}})msec\).{{0,80}}"
)
LATENCY = re.compile(
    rf"\s*lat \((nsec|usec|msec)\): min=.{{1,40}}, max=\s{{0,9}}{NUMBER}\s?, avg=\s{{0,9}}{NUMBER}\s?, .{{1,40}}"
)
CENTILES = re.compile(r"\s*c?lat percentiles \((nsec|usec|msec)\):")
CENTILE = re.compile(r"(\d{1,3}\.\d{2,9})th=\[\s{0,12}(\d{1,18})\]")
ISSUED = re.compile(
    r"\s*issued (?:rwts?: total=(\d{1,18}),(\d{1,18}),(\d{1,18})[, ].{0,200}"
    r"|\s{0,8}: total=r=(\d{1,18})/w=(\d{1,18})/[dt]=(\d{1,18}),.{0,200})"
)
ERRORS = re.compile(r"\s*errors\s+: total=(\d{1,18}), first_error=.{1,200}")
STOPPED = re.compile(r"fio: pid=\d{1,10}, (?:got signal|err)=.{1,300}|.{0,200}: verify failed at file .{1,300}")
SIDES = ("read", "write", "trim", "mixed")
NS = {"nsec": 1, "usec": 1e3, "msec": 1e6}


@dataclass(kw_only=True)
class JobBlock:
    """Content of one job's block; the figures of each direction by name."""

    group: str
    failed: bool
    errors: int = 0
    sides: dict[str, dict[str, printed.ParsedNumber]] = field(default_factory=dict)


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = printed.lines(text)
    report = rows[_starts(rows)[-1] :]
    jobs = _jobs(report)
    if (at := next((at for at, row in enumerate(report) if ALL.fullmatch(row)), None)) is not None:
        yield from _of_all_clients(report[at:], jobs)
        return
    sums = _sums(report)
    planned = (line for row in rows if (line := PLANNED.fullmatch(row)))
    manners = {line[1]: printed.Manner(pattern=line[2], engine=line[3]) for line in planned}
    for side in SIDES:
        found = {group: figures for (group, name), figures in sums.items() if name == side}
        names = printed.fio_groups(side, {group: manners.get(group, printed.Manner()) for group in found})
        for group, figures in found.items():
            named = {**_of_jobs([job for job in jobs if job.group == group], side, figures["elapsed_ns"]), **figures}
            manner = manners.get(group, printed.Manner())
            valid = {
                name: figure for name, figure in named.items() if manner.has(name) and (name, figure.value) != ("ops_per_s", 0)
            }
            yield from ((f"{names[group]}.{name}", figure) for name, figure in valid.items())
            if manner.is_idle:
                yield f"{names[group]}.idle", printed.exact(1.0)


def _starts(rows: Sequence[str]) -> list[int]:
    """Return the first line of each report: the first job, and each first one after the sums of the report before.

    Earlier reports are intermediate (--status-interval) or of other calls. Raises ValueError if the last call has no report.
    """
    starts, summed = [0], False
    for index, row in enumerate(rows):
        if summed and (PLANNED.fullmatch(row) or JOB.fullmatch(row)):
            starts.append(index)
            summed = False
        if ALL.fullmatch(row):
            while len(starts) > 1 and JOB.fullmatch(rows[starts[-1]]):
                starts.pop()  # the reports of the single clients
            summed = True
        summed = summed or _sum(row) is not None
    if not summed:
        stopped = printed.first_match(rows, STOPPED)
        raise ValueError(f"last report, without sums{f' ({stopped[0].strip()[:120]!r})' if stopped else ''}")
    return starts


def runs(text: str) -> Sequence[str]:
    """Return the reports in an output, in order."""
    rows = printed.lines(text)
    try:
        starts = _starts(rows)
    except ValueError:
        return (text,)
    return ["\n".join(rows[start:end]) + "\n" for start, end in pairwise([0, *starts[1:], len(rows)])]


def _of_all_clients(rows: Sequence[str], jobs: Sequence[JobBlock]) -> Iterator[printed.Figure]:
    """Yield the figures of all clients together; the job that is last of all stands for them."""
    errors = printed.exact(sum(_failed(job) for job in jobs))
    for match in (match for row in rows if (match := ALL_SIDE.fullmatch(row))):
        side, amount, elapsed = match[1], _sized(match[2], match[3]), printed.number(match[4], 1e6)
        rate = amount.value / elapsed.value * printed.SECOND if elapsed.value else 0.0
        found = {"bytes": amount, "elapsed_ns": elapsed, "errors": errors, **jobs[-1].sides[side]}
        if rate:
            slack = amount.half / amount.value + elapsed.half / elapsed.value
            found["bytes_per_s"] = printed.ParsedNumber(value=rate, half=rate * slack)
        yield from ((f"{side}.{name}", figure) for name, figure in found.items())


def _sums(rows: Sequence[str]) -> Mapping[tuple[str, str], Mapping[str, printed.ParsedNumber]]:
    """Return the sums of each group and direction of one report."""
    found: dict[tuple[str, str], Mapping[str, printed.ParsedNumber]] = {}
    group = ""
    for row in rows:
        head, line = GROUP.fullmatch(row), _sum(row)
        group = head[1] if head else group
        if line:
            found[group, line[0]] = line[1]
    return found


def _sum(row: str) -> tuple[str, dict[str, printed.ParsedNumber]] | None:
    """Return the direction and the figures of a line of sums."""
    if match := SUM.fullmatch(row):
        _, rate, prefix, unit, amount, size, ms = match.groups()
        figures = {"bytes": _sized(amount, size), "bytes_per_s": _sized(rate, prefix)}
    elif match := SUM_2.fullmatch(row):
        _, amount, size, rate, prefix, unit, ms = match.groups()
        figures = {"bytes": _binary(amount, size), "bytes_per_s": _binary(rate, prefix)}
    else:
        return None
    if unit == "bit":
        figures["bytes_per_s"] = figures["bytes_per_s"].times(1 / 8)
    if not int(ms):
        del figures["bytes_per_s"]
    return match["side"].lower(), {**figures, "elapsed_ns": printed.number(ms, 1e6)}


def _jobs(rows: Sequence[str]) -> list[JobBlock]:
    """Return the job blocks of one report."""
    jobs: list[JobBlock] = []
    side, unit = "", ""
    for row in rows:
        _refuse_damaged(row)
        if head := JOB.fullmatch(row):
            jobs.append(JobBlock(group=head[1], failed=int(head[2]) != 0))
            side, unit = "", ""
        elif jobs and (begun := SIDE.fullmatch(row)):
            side, unit = begun[1], ""
            jobs[-1].sides[side] = {"ops_per_s": _sized(begun[2] or begun[4], begun[3] or begun[5] or "")}
        elif jobs:
            unit = _within(jobs[-1], side, unit, row)
    return jobs


def _refuse_damaged(row: str) -> None:
    """Raise ValueError for a damaged heading: its lines would count for the previous job, direction or group."""
    for form, sign in ((JOB, "(groupid="), (GROUP, "Run status group"), (SIDE, "IOPS="), (SIDE, ", iops=")):
        if sign in row and not form.fullmatch(row):
            raise ValueError(f"{row.strip()[:80]!r} as the head of a block")
    if any(f" {side.upper()}: " in row for side in SIDES) and _sum(row) is None:
        raise ValueError(f"{row.strip()[:80]!r} as a line of sums")


def _within(job: JobBlock, side: str, unit: str, row: str) -> str:
    """Parse one line of a job's block; return the unit of the percentiles that follow."""
    if (latency := LATENCY.fullmatch(row)) and side:
        job.sides[side]["latency_max_ns"] = _sized(latency[2], latency[3]).times(NS[latency[1]])
        job.sides[side]["latency_mean_ns"] = _sized(latency[4], latency[5]).times(NS[latency[1]])
    elif issued := ISSUED.fullmatch(row):
        for number, name in enumerate(("read", "write", "trim"), 1):
            job.sides.get(name, {})["count"] = printed.exact(int(issued[number] or issued[number + 3]))
    elif errors := ERRORS.fullmatch(row):
        job.errors = int(errors[1])
    elif head := CENTILES.fullmatch(row):
        return head[1]
    elif unit and side and "th=[" in row:
        for percent, value in CENTILE.findall(row):
            if float(percent) in printed.FIO_PERCENTILES:
                job.sides[side][f"latency_{printed.FIO_PERCENTILES[float(percent)]}_ns"] = printed.number(value, NS[unit])
        return unit
    return ""


def _of_jobs(jobs: Sequence[JobBlock], side: str, elapsed: printed.ParsedNumber) -> Mapping[str, printed.ParsedNumber]:
    """Return the figures of one job; for several jobs the counts, weighted means and maxima, without percentiles."""
    found = [job.sides[side] for job in jobs if side in job.sides]
    errors = {"errors": printed.exact(sum(_failed(job) for job in jobs))}
    if len(found) == 1:
        return {**found[0], **errors}
    if not found or not all("count" in one for one in found):
        return errors
    count = printed.total(one["count"] for one in found)
    rate = count.value * 1e9 / elapsed.value if elapsed.value else 0.0
    ops = {"ops_per_s": printed.ParsedNumber(value=rate, half=rate * elapsed.half / elapsed.value)} if elapsed.value else {}
    return {**errors, "count": count, **ops, **_latencies(found, count.value)}


def _failed(job: JobBlock) -> float:
    """Return the failed operations of a job (continue_on_error): all, at least one, where it ended with an error."""
    done = sum(figures["count"].value for figures in job.sides.values() if "count" in figures)
    return max(1.0, done) if job.failed else float(job.errors)


def _latencies(found: Sequence[Mapping[str, printed.ParsedNumber]], count: float) -> Mapping[str, printed.ParsedNumber]:
    """Return the weighted mean and the maximum of several jobs; empty if a job has no latencies (engines of files)."""
    if not all({"latency_mean_ns", "latency_max_ns"} <= set(one) for one in found):
        return {}
    share = 1 / count if count else 0.0
    return {
        "latency_mean_ns": printed.total(one["latency_mean_ns"].times(one["count"].value * share) for one in found),
        "latency_max_ns": max((one["latency_max_ns"] for one in found), key=lambda figure: figure.value),
    }


def _sized(number: str, prefix: str) -> printed.ParsedNumber:
    """Parse a number with a prefix: `12.8k` is 12,800; `8192Ki` is 8,388,608."""
    return printed.number(number, printed.power(prefix[:1], 1024 if prefix.endswith("i") else 1000))


def _binary(number: str, prefix: str) -> printed.ParsedNumber:
    """Parse an amount of fio 2: `81920K` is 83,886,080, with kb_base=1000 printed as `Ki`."""
    return printed.number(number, printed.power(prefix[:1]))


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for fio's text without a JSON report of the same run beside it, which has more digits."""
    return printed.prints(("fio",), GROUP, PLANNED, JOB, STOPPED)(argv, output) and '"fio version"' not in output


PARSER = Parser(
    name="fio_text",
    recognises=recognises,
    **printed.reads(_figures, EXPECTED, runs=runs),
    result_file=printed.file_option("fio", "--output"),
    tier=printed.of_device,
    direct="--direct=1",
    flush="--end_fsync=1",
)
