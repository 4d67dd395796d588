"""hyperfine: the mean time of each command, from its text or its JSON (--export-json).

Several commands are `command`, `command_2` and so on, in their order. Runs with an exit status other than 0 are errors of the
JSON; the text does not say how many failed, and is refused then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.catalogue import Parser, printed

EXPECTED = "the output of hyperfine (Benchmark 1, Time (mean ± σ)), or its --export-json"
BEGUN = re.compile(r"Benchmark #?1: .{1,2000}")
BENCHMARK = re.compile(r"Benchmark \S{1,7}: .{1,2000}")
TIME = re.compile(r"\s*Time \((?:mean ± σ|abs ≡)\):\s+([\d.]{1,20}) (ms|s|µs|us|min)\s.{0,200}")
MEDIAN = re.compile(r'\s*"median": [\d.e-]{1,30},\s*')
FAILED = re.compile(r"\s*Warning: Ignoring non-zero exit code.{0,200}")
UNITS = {**printed.TIMES, "min": 60 * printed.SECOND}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    if '"results"' in text:
        for number, result in enumerate(printed.json_report(text)["results"], 1):
            yield from ((f"{_name(number)}.{figure}", value) for figure, value in _of_json(result))
        return
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    number = 0
    for row in rows:
        if BENCHMARK.fullmatch(row):
            number += 1
        elif number and (match := TIME.fullmatch(row)):
            yield f"{_name(number)}.elapsed_ns", printed.number(match[1], UNITS[match[2]])


def _name(number: int) -> str:
    return "command" if number == 1 else f"command_{number}"


def _of_json(result: Mapping[str, Any]) -> Iterator[tuple[str, printed.ParsedNumber]]:
    yield "elapsed_ns", printed.exact(printed.json_number(result["mean"]) * printed.SECOND)
    if codes := result.get("exit_codes"):
        yield "count", printed.exact(len(codes))
        yield "errors", printed.exact(sum(code != 0 for code in codes))
        yield "attempts", printed.exact(len(codes))


PARSER = Parser(
    name="hyperfine",
    programs=("hyperfine",),
    recognises=printed.prints(("hyperfine",), BEGUN, TIME, MEDIAN, '"exit_codes"'),
    **printed.reads(_figures, EXPECTED, begins=BEGUN, broken=FAILED),
)
