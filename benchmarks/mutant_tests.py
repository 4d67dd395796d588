"""Which tests run a mutant's line: each test is traced once, in a process of its own kind, and what it ran is kept.

Python 3.11 has no cheaper hook than a trace function. It follows the lines only of functions that have a mutant.
What ran while the tests were collected counts apart: a mutant there needs a process that imports the changed module anew.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import settings
from mutant_sites import Mutant

FOLDERS = ("analysis", "answer", "audit", "experiment", "parsers", "prediction", "rulekit", "rules", "statistics")
FILES = ("test_catalogue.py", "test_measures.py", "test_units.py")
"""The tests of the rooms, and of those that mostly call them: in their own process, without root, a server or a load engine."""
OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=sys", "--hypothesis-seed=0"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-m", "not root and not slow and not alone"),
)
MARKERS = ("alone: needs the machine to itself",)
FEW = 20
"""Examples of a property: a fifth of what `make test` runs."""
LONG_CPU_S = 1.5
"""A traced test that takes longer is ended; it runs for a mutant that no other test sees."""
Line = tuple[str, int]


def unit_tests(tree: Path) -> list[str]:
    return [f"tests/{name}" for name in (*FOLDERS, *FILES) if (tree / "tests" / name).exists()]


@dataclass
class Traced:
    """What a test ran."""

    cpu_s: float = 0.0
    lines: list[Line] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    is_long: bool = False


@dataclass
class Coverage:
    """What the tests ran, by test; and what ran while they were collected."""

    tests: dict[str, Traced] = field(default_factory=dict)
    collected: list[Line] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))


def load(paths: Iterable[Path]) -> Coverage:
    """What several processes of tests ran, together."""
    whole = Coverage()
    for path in paths:
        raw = json.loads(path.read_text())
        for name, one in raw["tests"].items():
            whole.tests[name] = Traced(**{**one, "lines": [(file, line) for file, line in one["lines"]]})
        whole.collected += [(file, line) for file, line in raw["collected"]]
        whole.failed += raw["failed"]
    return whole


class Few:
    """Properties with few examples, and nothing remembered from one process to the next."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        for marker in MARKERS:
            config.addinivalue_line("markers", marker)
        usual = settings.get_profile("busy machine")
        settings.register_profile("few mutants", usual, max_examples=FEW, database=None)
        settings.load_profile("few mutants")


class Tracer:
    """A pytest plugin that traces each test."""

    def __init__(self, tree: Path, mutants: Iterable[Mutant]) -> None:
        self.tree = f"{tree}/"
        self.wanted: dict[str, set[int]] = {}
        for mutant in mutants:
            lines = self.wanted.setdefault(f"{tree}/{mutant.file}", set())
            lines.update(range(mutant.line, mutant.last_line + 1))
        self.known: dict[int, tuple[CodeType, set[int] | None]] = {}
        self.unseen: dict[int, set[int]] = {}
        self.lines: set[Line] = set()
        self.files: set[str] = set()
        self.coverage = Coverage()
        self.was_long = False
        signal.signal(signal.SIGPROF, self.too_long)

    def wanted_of(self, code: CodeType) -> set[int] | None:
        """The lines of a function that mutants are on; None where its file has none."""
        if id(code) not in self.known:
            wanted = self.wanted.get(code.co_filename)
            own = {line for _, _, line in code.co_lines() if line}
            self.known[id(code)] = (code, None if wanted is None else wanted & own)
        return self.known[id(code)][1]

    def called(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        code = frame.f_code
        wanted = self.wanted_of(code)
        if wanted is None or event != "call":
            return None
        self.files.add(code.co_filename)
        return self.ran if self.unseen.setdefault(id(code), set(wanted)) else None

    def ran(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
        unseen = self.unseen.setdefault(id(frame.f_code), set())
        if event == "line" and frame.f_lineno in unseen:
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
            unseen.discard(frame.f_lineno)
        frame.f_trace_lines = bool(unseen)
        return self.ran

    def too_long(self, _number: int, _frame: FrameType | None) -> None:
        self.was_long = True
        raise pytest.skip.Exception("it takes too long for a mutant")

    def start(self) -> None:
        self.lines, self.files, self.unseen, self.was_long = set(), set(), {}, False
        threading.settrace(self.called)
        sys.settrace(self.called)

    def stop(self) -> tuple[list[Line], list[str]]:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        lines = [(file.removeprefix(self.tree), line) for file, line in self.lines]
        return sorted(lines), sorted(file.removeprefix(self.tree) for file in self.files)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Any:  # noqa: ANN401 - whatever pytest gives
        self.start()
        result = yield
        self.coverage.collected, _ = self.stop()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:  # noqa: ANN401
        began = time.process_time()
        self.start()
        signal.setitimer(signal.ITIMER_PROF, LONG_CPU_S, LONG_CPU_S)
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        lines, files = self.stop()
        self.coverage.tests[item.nodeid] = Traced(time.process_time() - began, lines, files, self.was_long)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.coverage.failed.append(report.nodeid)


def trace(tree: Path, tests: Sequence[str], mutants: Sequence[Mutant], into: Path) -> None:
    """Run some unit tests of a tree traced, and keep what they ran."""
    tracer = Tracer(tree, mutants)
    pytest.main([*OPTIONS, *tests], plugins=[Few(), tracer])
    tracer.coverage.save(into)


@dataclass(frozen=True)
class Plan:
    """The tests of a mutant in their order, and how many of those that run its line are left out."""

    mutant: Mutant
    tests: tuple[str, ...]
    left_out: int
    cpu_s: float
    """That the tests took when they were traced."""
    collected: bool
    """Whether its line ran while the tests were collected."""


def plan(mutant: Mutant, coverage: Coverage, most_cpu_s: float) -> Plan:
    """Tests of the mutant's module and room come first, short ones before long ones, up to a CPU time."""
    wanted = {(mutant.file, line) for line in range(mutant.line, mutant.last_line + 1)}
    fit = [name for name, ran in coverage.tests.items() if name not in coverage.failed and runs(ran, mutant, wanted)]
    fit.sort(key=lambda name: (coverage.tests[name].is_long, *distance(name, mutant), coverage.tests[name].cpu_s))
    tests: list[str] = []
    spent = 0.0
    for name in fit:
        fits = spent + coverage.tests[name].cpu_s <= most_cpu_s and not coverage.tests[name].is_long
        if fits or not tests:
            tests.append(name)
            spent += coverage.tests[name].cpu_s
    collected = not wanted.isdisjoint(coverage.collected)
    return Plan(mutant, tuple(tests), len(fit) - len(tests), spent, collected)


def runs(ran: Traced, mutant: Mutant, wanted: set[Line]) -> bool:
    """Whether a test runs the line; of a line outside of functions, any function of its file."""
    return not wanted.isdisjoint(ran.lines) if mutant.scope else mutant.file in ran.files


def distance(test: str, mutant: Mutant) -> tuple[bool, bool]:
    """How far a test is from the mutant: not of its module, not of its room."""
    stem = Path(mutant.file).stem
    return f"test_{stem}.py" not in test, f"tests/{mutant.room}/" not in test
