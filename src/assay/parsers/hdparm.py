"""hdparm: timings of reads from the device (-t) and from the page cache (-T).

`MB` is 2^20 bytes and `kB` 2^10 (hdparm 9.65, hdparm.c, time_device and time_cache: blocks of TIMING_BUF_MB * 1024 * 1024 bytes).
According to hdparm.8, -T measures the cache and no disk, -t the device through the buffer cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed
from assay.records import Tier

EXPECTED = "hdparm's line 'Timing ... reads: N MB in T seconds = R MB/sec' of one device"
LINE = re.compile(
    r"\s*Timing (?:O_DIRECT )?(cached|buffered disk|disk|buffer-cache) reads[^:]{0,40}:"
    r"\s+(\d+) MB in\s+([\d.]+) seconds =\s*([\d.]+) (MB|kB)/sec\s*"
)
TIMING = re.compile(r"\s*Timing ")
DEVICE = re.compile(r"(/\S{1,200}):\s*")
FAILED = re.compile(r"(?:\s*Timing .{1,60} reads[^:]{0,40}:)?\s*read\(\) (?:failed|hit EOF).{0,80}")
"""What stands in the place of a timing whose reads failed."""
OPERATIONS = {"cached": "cached_read", "buffer-cache": "cached_read", "buffered disk": "read", "disk": "read"}
SIZES = {"MB": printed.MIB, "kB": printed.KIB}
FLAGS = re.compile(r"-[A-Za-z]*")


def tier(argv: Sequence[str]) -> Tier | None:
    """Return the device for -t, the client's cache for -T alone; None for neither."""
    letters = "".join(word for word in argv if FLAGS.fullmatch(word))
    if "t" in letters:
        return Tier.DEVICE
    return Tier.CLIENT_CACHE if "T" in letters else None


def runs(text: str) -> list[str]:
    """Return the texts of the runs of one device; one text where there are several devices, or none is named."""
    devices = {match[1] for line in printed.lines(text) if (match := DEVICE.fullmatch(line))}
    return printed.runs_in(text, DEVICE) if len(devices) == 1 else [text]


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run of one device; lines of several devices cannot be told apart."""
    for line in printed.lines(text):
        if TIMING.match(line) and not LINE.fullmatch(line) and not FAILED.fullmatch(line):
            raise ValueError(f"{line.strip()[:60]!r}")  # else an earlier run would stand for it
    found = [match for line in printed.lines((runs(text) or [text])[-1]) if (match := LINE.fullmatch(line))]
    names = [OPERATIONS[match[1]] for match in found]
    if len(set(names)) < len(names):
        raise ValueError(f"{len(names)} timings of {', '.join(sorted(set(names)))}")
    for name, match in zip(names, found, strict=True):
        yield f"{name}.bytes", printed.number(match[2], printed.MIB)
        yield f"{name}.elapsed_ns", printed.number(match[3], printed.SECOND)
        yield f"{name}.bytes_per_s", printed.number(match[4], SIZES[match[5]])


PARSER = Parser(
    name="hdparm",
    recognises=printed.prints(("hdparm",), LINE, FAILED),
    **printed.reads(_figures, EXPECTED, runs=runs),
    tier=tier,
    direct="--direct",
)
