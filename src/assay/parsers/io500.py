"""IO500: the phases of a result, from result_summary.txt, the output of io500 and io500.sh, or result.txt.

`GiB/s` is 2^30 bytes/s, and so is `GB/s` of the shell version (utilities/io500_fixed.sh of 2019 divides MiB by 1,024). `kIOPS`
are 1,000 operations per second. A phase with the mark `[INVALID]` or `[RESULT-invalid]` has no figure; the
score is none of a phase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "the lines [RESULT] of IO500, or its result.txt with a section [ior-easy-write] and so on"
ROW = re.compile(
    r"\s*\[RESULT(-invalid)?\]\s+(?:(?:BW|IOPS)\s+phase \d{1,2}\s+)?([a-z][a-z0-9_-]{2,40})"
    r"\s+([\d.]{1,20}) (GiB/s|GB/s|kIOPS|kiops)\s*: time\s+([\d.]{1,20}) seconds\s*(.{0,60})"
)
SECTION = re.compile(r"\[([a-z][a-z0-9-]{2,40})\]")
VALUE = re.compile(r"(score|t_delta)\s*=\s*([\d.]{1,20})")
UNITS = {
    "GiB/s": ("bytes_per_s", 2.0**30),
    "GB/s": ("bytes_per_s", 2.0**30),
    "kIOPS": ("ops_per_s", 1e3),
    "kiops": ("ops_per_s", 1e3),
}
PHASES = ("ior-", "mdtest-", "find", "mdworkbench-")
INVALID = "INVALID"


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = printed.lines(text)
    found = [match for row in rows if (match := ROW.fullmatch(row))]
    valid = [match for match in found if not match[1] and INVALID not in match[6]]
    if found and not valid:
        raise ValueError(f"phase that IO500 takes for valid ({found[0][0].strip()[:80]!r})")
    for _, phase, value, unit, seconds, _ in (match.groups() for match in valid):
        figure, size = UNITS[unit]
        name = phase.replace("-", "_")
        yield f"{name}.{figure}", printed.number(value, size)
        yield f"{name}.elapsed_ns", printed.number(seconds, printed.SECOND)
    if not found:
        yield from _sections(rows)


def _sections(rows: list[str]) -> Iterator[printed.Figure]:
    """Yield the figures of result.txt: `score` of a phase in GiB/s or kIOPS, its time `t_delta`."""
    phase = ""
    for row in rows:
        if match := SECTION.fullmatch(row.strip()):
            phase = match[1] if match[1].startswith(PHASES) else ""
        elif row.startswith("["):
            phase = ""
        elif phase and (match := VALUE.fullmatch(row.strip())):
            figure, unit = UNITS["GiB/s" if phase.startswith("ior-") else "kIOPS"]
            name = phase.replace("-", "_")
            is_rate = match[1] == "score"
            yield (
                (f"{name}.{figure}", printed.number(match[2], unit))
                if is_rate
                else (
                    f"{name}.elapsed_ns",
                    printed.number(match[2], printed.SECOND),
                )
            )


PARSER = Parser(
    name="io500",
    programs=("io500", "io500.sh"),
    recognises=printed.prints(("io500", "io500.sh"), ROW, re.compile(r"\[(?:ior-easy-write|ior-hard-write|mdtest-easy-write)\]")),
    **printed.reads(_figures, EXPECTED),
    tier=printed.of_device,
)
