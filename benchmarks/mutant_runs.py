"""Runs the tests of mutants: each mutant in a fork of a process that has imported everything already.

A change inside of functions is put into the functions that exist: their code objects are replaced, so every reference sees it.
What else a module has (constants, defaults, classes), and what ran while the tests were collected, is imported from the changed
source, in a fork of a process that has only the libraries.
Each fork stops at the first test that fails, and its CPU time is limited.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest
from mutant_sites import Mutant, compiled
from mutant_tests import OPTIONS, Few, Plan, unit_tests

SPARE_CPU_S = 10.0
"""Beyond three times what the tests took: imports are in it."""
LIBRARIES = ("hypothesis", "numpy", "scipy.stats", "scipy.optimize", "scipy.special", "duckdb", "pydantic", "jinja2", "typer")
WALL = 40
"""So many times the CPU time may pass on the clock: a mutant that waits for ever is ended."""
MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Result:
    """What the tests said of a mutant."""

    name: str
    outcome: str
    """`killed`, `survived` or `not covered`."""
    by: str
    """The test that failed, or how the process ended."""
    tests: int
    left_out: int
    cpu_s: float
    warm: bool


def run(tree: Path, plans: Sequence[Plan], together: int, told: Callable[[Result], None]) -> None:
    """Run all mutants; each result is told when it is there."""
    import_libraries()
    for one in plans:
        if not one.tests:
            told(Result(one.mutant.name, "not covered", "", 0, 0, 0.0, warm=True))
    covered = [one for one in plans if one.tests]
    cold = [one for one in covered if not one.mutant.scope or one.collected]
    warm = [one for one in covered if one not in cold]
    forks = Forks(together, told)
    forks.all((one, imported_anew(tree, one), False) for one in cold)
    if warm:
        session = Session(tree, warm, forks)
        pytest.main([*OPTIONS, *unit_tests(tree)], plugins=[Few(), session])


def import_libraries() -> None:
    """What the tests import beside Assay."""
    for name in LIBRARIES:
        __import__(name)
    gc.freeze()


class Forks:
    """Forks that run tests, some at once."""

    def __init__(self, together: int, told: Callable[[Result], None]) -> None:
        self.together, self.told = together, told
        self.running: dict[int, tuple[Plan, int, Path, float, bool]] = {}

    def all(self, wanted: Iterator[tuple[Plan, Callable[[], str], bool]]) -> None:
        for one, tests, warm in wanted:
            while len(self.running) >= self.together:
                self.wait()
            self.start(one, tests, warm)
        while self.running:
            self.wait()

    def start(self, one: Plan, tests: Callable[[], str], warm: bool) -> None:  # noqa: FBT001
        reads, writes = os.pipe()
        room = Path(tempfile.mkdtemp(prefix="mutant-", dir=MEMORY if MEMORY.is_dir() else None))
        limit = 3 * one.cpu_s + SPARE_CPU_S
        pid = os.fork()
        if pid == 0:
            os.close(reads)
            child(tests, writes, room, limit)
        os.close(writes)
        self.running[pid] = (one, reads, room, time.monotonic() + WALL * limit, warm)

    def wait(self) -> None:
        """Until one of them has ended, or has had its time."""
        while True:
            for pid, (*_, ends, _) in self.running.items():
                ended, status, used = os.wait4(pid, os.WNOHANG)
                if ended:
                    return self.ended(pid, status, used.ru_utime + used.ru_stime)
                if time.monotonic() > ends:
                    os.killpg(pid, signal.SIGKILL)
            time.sleep(0.02)

    def ended(self, pid: int, status: int, cpu_s: float) -> None:
        one, reads, room, _, warm = self.running.pop(pid)
        with os.fdopen(reads) as pipe:
            said = pipe.read()
        shutil.rmtree(room, ignore_errors=True)
        exit_code = os.waitstatus_to_exitcode(status)
        if exit_code < 0:
            by = "its time" if -exit_code in {signal.SIGXCPU, signal.SIGKILL} else signal.Signals(-exit_code).name
        else:
            by = said
        outcome = "survived" if not by else "killed"
        self.told(Result(one.mutant.name, outcome, by, len(one.tests), one.left_out, cpu_s, warm))


def child(tests: Callable[[], str], writes: int, room: Path, limit_s: float) -> NoReturn:
    """Run tests, say which one failed, and end without whatever else the process would do at its end."""
    said = "the process ended"
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), int(limit_s) + 1))
        os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = str(room)
        said = tests()
    except BaseException as error:
        said = f"{type(error).__name__} outside of tests"
    finally:
        os.write(writes, said.encode()[:2000])
        os._exit(0)


class Session:
    """A pytest plugin that runs mutants instead of the tests that were collected."""

    def __init__(self, tree: Path, plans: Sequence[Plan], forks: Forks) -> None:
        self.tree, self.plans, self.forks = tree, plans, forks
        self.failed = ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        living = by_file(self.tree)
        gc.collect()
        gc.freeze()
        self.forks.all(self.calls(items, living))
        return True

    def calls(self, items: dict[str, pytest.Item], living: dict[str, list[FunctionType]]) -> Iterator[tuple[Plan, Any, bool]]:
        """Each mutant with what its fork does."""
        for one in self.plans:
            changed = replacements(self.tree, one.mutant, living)
            if changed:
                yield one, lambda one=one, changed=changed: self.patched([items[name] for name in one.tests], changed), True
            else:
                yield one, imported_anew(self.tree, one), False

    def patched(self, items: Sequence[pytest.Item], changed: Sequence[tuple[FunctionType, CodeType]]) -> str:
        """Run tests with changed functions; the first that fails, else nothing."""
        for function, code in changed:
            function.__code__ = code
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        return self.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")


def by_file(tree: Path) -> dict[str, list[FunctionType]]:
    """The functions that exist, by the file that defines them."""
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(f"{tree}/src/"):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def replacements(tree: Path, mutant: Mutant, living: dict[str, list[FunctionType]]) -> list[tuple[FunctionType, CodeType]]:
    """The functions whose code the mutant changes, with their new code."""
    before = codes(compiled(tree, mutant, changed=False))
    after = codes(compiled(tree, mutant))
    if before.keys() != after.keys():
        return []
    changed = [(code, after[key]) for key, code in before.items() if code != after[key]]
    functions = living.get(str(tree / mutant.file), [])
    return [(function, new) for old, new in changed for function in functions if function.__code__ == old]


def codes(top: CodeType) -> dict[tuple[str, int, int], CodeType]:
    """All code below, by name, line and order."""
    found: dict[tuple[str, int, int], CodeType] = {}
    todo = [one for one in top.co_consts if isinstance(one, CodeType)]
    while todo:
        code = todo.pop(0)
        number = sum(key[:2] == (code.co_qualname, code.co_firstlineno) for key in found)
        found[code.co_qualname, code.co_firstlineno, number] = code
        todo += [one for one in code.co_consts if isinstance(one, CodeType)]
    return found


def imported_anew(tree: Path, one: Plan) -> Callable[[], str]:
    """Run the tests of a mutant with its module imported from the changed source."""

    def tests() -> str:
        sys.meta_path.insert(0, Changed(tree, one.mutant))
        chosen = Chosen(one.tests)
        files = list(dict.fromkeys(name.partition("::")[0] for name in one.tests))
        status = pytest.main([*OPTIONS, *files], plugins=[Few(), chosen])
        lost = status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        return chosen.failed or ("collection" if lost else "")

    return tests


class Chosen:
    """A pytest plugin that runs some tests in a given order, up to the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {name: number for number, name in enumerate(tests)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")
        if self.failed:
            raise pytest.exit.Exception(self.failed)


class Changed(importlib.abc.MetaPathFinder):
    """Finds the mutant's module, with its change."""

    def __init__(self, tree: Path, mutant: Mutant) -> None:
        self.name = mutant.file.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.code = compiled(tree, mutant)

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name == self.name else None
        if spec is not None and spec.origin:
            spec.loader = Loader(name, spec.origin, self.code)
        return spec


class Loader(importlib.machinery.SourceFileLoader):
    """Gives code that was compiled already."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.code


def kept(path: Path) -> dict[str, Result]:
    """Results that are there already, by name."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {raw["name"]: Result(**raw) for raw in map(json.loads, lines)}
