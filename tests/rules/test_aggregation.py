"""S01: rates of programs that did not run together, rates of tools that are sums over threads, and honest ones."""

from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.records import Severity, State
from assay.rules.aggregation import RULE
from assay.watch.reports import timed
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, PASS, QUALIFIES, high, hold, low

OUTPUT = Path(__file__).parent.parent / "fixtures" / "output"
SECOND_NS = 1e9


def case(*, rate, amount=None, seconds=None, starts=(0.0,), ends=(1.0,), figure="bytes_per_s"):
    told = {f"read.{figure}": rate, "read.bytes" if figure == "bytes_per_s" else "read.count": amount}
    told["read.elapsed_ns"] = None if seconds is None else seconds * SECOND_NS
    values = {name: value for name, value in told.items() if value is not None}
    return case_of(Made(values=values, starts=starts, ends=ends, figure=figure), "S01")


def test_programs_one_after_the_other_do_not():
    finding = RULE.check(case(rate=400e6, amount=400e6, seconds=1.0, starts=(0.0, 1.0, 2.0, 3.0), ends=(1.0, 2.0, 3.0, 4.0)))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.bound.low == finding.bound.high == pytest.approx(100e6)
    assert "0 %" in finding.statement


@each(
    "rate amount seconds state",
    (3.0, 5, 2.0, State.PASS),
    (1010.0, 1000, 1.0, State.PASS),
    (1030.0, 1000, 1.0, State.FAIL),
    (700.0, 1000, 1.0, State.PASS),
)
def test_digits_are_left_open_and_what_overstates_nothing_is_not_accused(rate, amount, seconds, state):
    assert RULE.check(case(rate=rate, amount=amount, seconds=seconds, figure="ops_per_s")).state is state


def test_rates_alone_cannot_be_added_up():
    several = case(rate=400e6, starts=(0.0, 0.0), ends=(1.0, 1.0))
    assert RULE.applies(several) is None
    finding = RULE.check(several)
    assert finding.state is State.UNVERIFIED


def recorded():
    for path in sorted(OUTPUT.iterdir()):
        for name in catalogue.names("parsers"):
            if path.name.startswith(name.partition("_")[0]):
                try:
                    parser = catalogue.find("parsers", name)
                    values = parser.parse(path.read_text(errors="replace"))
                except EvidenceError:
                    continue
                yield path.name, name, {**values, **timed(parser, (), values)}


def test_of_the_recorded_tools_those_that_add_rates_of_threads_are_accused():
    accused = {}
    for file, tool, values in recorded():
        for rate in values:
            operation, _, figure = rate.rpartition(".")
            amount = values.get(f"{operation}.{'count' if figure == 'ops_per_s' else 'bytes'}")
            if figure in ("ops_per_s", "bytes_per_s") and amount:
                elapsed = values.get(f"{operation}.elapsed_ns")
                found = case(rate=values[rate], amount=amount, seconds=elapsed and elapsed / SECOND_NS, figure=figure)
                if RULE.applies(found) is None and RULE.check(found).state is State.FAIL:
                    accused[file, operation, figure] = tool
    assert set(accused.values()) == {"smallfile"}
    assert ("smallfile-3.2-git-rename.txt", "rename", "ops_per_s") in accused


def test_states():
    hold(
        "programs that ran together add up",
        (
            RULE.check(case(rate=400e6, amount=400e6, seconds=1.0, starts=(0.0,) * 4, ends=(1.0, 1.01, 1.0, 1.02))),
            PASS,
            "400 MB/s",
        ),
        # Four seconds of which each program measured one: they may all have measured the same second.
        "time that a program spent outside its own is left open at both ends",
        (RULE.check(case(rate=400e6, amount=400e6, seconds=1.0, starts=(0.0, 0.5), ends=(3.0, 3.5))), PASS),
        "programs that partly overlap are bounded by both",
        (
            RULE.check(case(rate=200e6, amount=200e6, seconds=1.0, starts=(0.0, 0.3), ends=(1.0, 1.3))),
            FAIL,
            QUALIFIES,
            low(200e6 / 1.3),
            high(200e6),
        ),
        # 100 MB at 200 MB/s and 100 MB at 50 MB/s: 125 MB/s is told, 80 MB/s is true.
        "a mean of rates is told from work over time",
        (RULE.check(case(rate=125.0, amount=200, seconds=2.5, figure="ops_per_s")), FAIL, QUALIFIES, low(80), high(125)),
        "it is about rates that external programs tell",
        (RULE.applies(case(rate=1e6, figure="ops_per_s")), NOT_ASKED),
        (RULE.applies(case(rate=1e6, amount=10, seconds=1.0)), NOT_ASKED),
        (RULE.applies(case_of(Made(figure="latency_p99_ns"), "S01")), NOT_ASKED),
        (RULE.applies(case_of(Made(starts=(0.0, 0.0)), "S01")), NOT_ASKED),
    )
