"""k6: requests and iterations per second, response times and bytes, from the summary at the end of a test.

`kB` and `MB` are 10^3 and 10^6 bytes, times have units of their own, such as `1m2.5s` (k6, go.k6.io/k6/js/summary.js). Response
times are those of `http_req_duration`: sending, waiting and receiving, without connecting. In `http_req_failed` the first number
counts failed requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the summary of k6 (http_reqs, http_req_duration, iterations)"
ROW = re.compile(r"\s*(?:[✓✗] )?(http_reqs|http_req_duration|http_req_failed|iterations|data_received)\.{2,120}: (.{1,300})")
COUNTER = re.compile(r"(\d{1,18})\s+([\d.]{1,30})/s\s*")
DATA = re.compile(r"([\d.]{1,20}) ([kMGTP]?)B\s+([\d.]{1,20}) ([kMGTP]?)B/s\s*")
FAILED = re.compile(r"[\d.]{1,12}%\s+(?:✓ )?(\d{1,18})\s+(?:✗|out of) \d{1,18}\s*")
TREND = re.compile(r"(?<![a-z])([a-z]{3}|p\([\d.]{1,8}\))=([\d.µa-z]{1,20})")
PARTS = re.compile(r"([\d.]{1,20})(ns|µs|us|ms|s|m|h)")
FIGURES = {
    "avg": "latency_mean_ns",
    "max": "latency_max_ns",
    "med": "latency_p50_ns",
    "p(50)": "latency_p50_ns",
    "p(90)": "latency_p90_ns",
    "p(95)": "latency_p95_ns",
    "p(99)": "latency_p99_ns",
    "p(99.9)": "latency_p999_ns",
}


def _figures(text: str) -> Iterator[printed.Figure]:
    found = {match[1]: match[2] for row in printed.lines(text) if (match := ROW.fullmatch(row))}
    for key, name in (("http_reqs", "request"), ("iterations", "iteration")):
        if key in found:
            counter = _whole(COUNTER, found[key])
            yield f"{name}.count", printed.exact(int(counter[1]))
            yield f"{name}.ops_per_s", printed.number(counter[2])
    if "http_reqs" not in found:
        return
    if "http_req_failed" in found:
        yield "request.errors", printed.exact(int(_whole(FAILED, found["http_req_failed"])[1]))
    yield from _latencies(found.get("http_req_duration", ""))
    if "data_received" in found:
        data = _whole(DATA, found["data_received"])
        yield "response.bytes", printed.number(data[1], printed.power(data[2], 1000))
        yield "response.bytes_per_s", printed.number(data[3], printed.power(data[4], 1000))


def _latencies(text: str) -> Iterator[printed.Figure]:
    """Yield the response times. Raises ValueError where a terminal cut the line: `21.44m` of `21.44ms`."""
    times = {match[1]: _time(match[2]) for match in TREND.finditer(text)}
    longest = times.get("max")
    for name, time in times.items():
        if longest is not None and time.value > longest.value:
            raise ValueError(f"{name} above the maximum")
        if name in FIGURES:
            yield f"request.{FIGURES[name]}", time


def _whole(form: re.Pattern[str], text: str) -> re.Match[str]:
    """Return the match of a whole value. Raises ValueError."""
    match = form.fullmatch(text)
    if match is None:
        raise ValueError(f"{text.strip()!r} as a value")
    return match


def _time(text: str) -> printed.ParsedNumber:
    """Return a time such as `1m2.5s`. Raises ValueError."""
    parts: Sequence[tuple[str, str]] = PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} as a time")
    whole = [printed.exact(printed.number(number, printed.TIMES[unit]).value) for number, unit in parts[:-1]]
    return printed.total((*whole, printed.number(parts[-1][0], printed.TIMES[parts[-1][1]])))


PARSER = Parser(
    name="k6",
    recognises=printed.prints(("k6",), ROW),
    **printed.reads(_figures, EXPECTED),
)
