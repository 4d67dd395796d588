"""Mutants: small faults in the code that judges, and the share of them that the unit tests see.

    python benchmarks/mutants.py [--count N] [--seed N] [--minutes M] [--like DIR] [--together N]

Each result is kept in `.build/mutants`, so a run that was ended goes on where it was while source and tests stay.
A tree with another checkout is run by its own interpreter: `cd DIR && .venv/bin/python .../benchmarks/mutants.py --like OTHER`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import functools
import hashlib
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import mutant_runs
import mutant_tests
from mutant_runs import Result
from mutant_sites import ROOMS, Mutant, chosen
from scipy.stats import binomtest

SEED = 20261128
COUNT = 500
STEP = 100
"""Mutants whose tests are collected once: the sample grows by so many."""
TRACED_AT_ONCE = 2
MOST_CPU_S = 3.0
"""Of the tests of one mutant, as traced, which is about twice what they take."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help=f"how many mutants; {COUNT} without this option")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="which ones")
    parser.add_argument("--minutes", type=float, default=600, metavar="M", help="begin no further mutant after so many minutes")
    parser.add_argument("--like", type=Path, metavar="DIR", help="only mutants whose line that checkout has, too")
    parser.add_argument("--together", type=int, default=2, metavar="N", help="mutants at once")
    asked = parser.parse_args()
    tree = Path.cwd()
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    state = tree / ".build" / "mutants" / f"{digest(tree)}-{asked.seed}{'-like' if asked.like else ''}"
    every = sample(tree, asked.seed, COUNT, asked.like, state / "chosen.json")
    mutants = every[: asked.count]
    results = measured(tree, every, mutants, state, asked.together, time.monotonic() + 60 * asked.minutes)
    text = page(tree, asked.seed, mutants, results)
    (tree / "benchmarks" / "MUTANTS.md").write_text(text)
    print(text.partition("\n## ")[0])
    return 0


def sample(tree: Path, seed: int, count: int, like: Path | None, kept: Path) -> list[Mutant]:
    """The mutants, which take some seconds to choose, and are remembered."""
    if kept.exists() and len(raw := json.loads(kept.read_text())) >= count:
        return [Mutant(**{**one, "place": tuple(one["place"])}) for one in raw]
    found = chosen(tree, seed, count, like)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([asdict(one) for one in found]))
    return found


def digest(tree: Path) -> str:
    """Of the source and the tests: what results hang on."""
    whole = hashlib.sha256()
    for path in sorted([*(tree / "src" / "assay").rglob("*.py"), *(tree / "tests").rglob("*.py")]):
        whole.update(str(path.relative_to(tree)).encode() + path.read_bytes())
    return whole.hexdigest()[:16]


def measured(
    tree: Path, every: Sequence[Mutant], mutants: Sequence[Mutant], state: Path, together: int, ends: float
) -> dict[str, Result]:
    """The results of the mutants: those that are kept, and the others as far as the time lasts."""
    state.mkdir(parents=True, exist_ok=True)
    results = state / "results.jsonl"
    ran = mutant_tests.load(traced(tree, every, state))

    def told(result: Result) -> None:
        with results.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        if time.monotonic() > ends:
            os._exit(0)

    for at in range(0, len(mutants), STEP):
        known = mutant_runs.kept(results)
        todo = [mutant_tests.plan(mutant, ran, MOST_CPU_S) for mutant in mutants[at : at + STEP] if mutant.name not in known]
        if todo and time.monotonic() < ends:
            apart(functools.partial(mutant_runs.run, tree, todo, together, told), state / "run.log")
    return mutant_runs.kept(results)


def traced(tree: Path, every: Sequence[Mutant], state: Path) -> list[Path]:
    """What each folder of unit tests ran, two at once."""
    folders = mutant_tests.unit_tests(tree)
    paths = {state / f"{Path(folder).name}.json": folder for folder in folders}
    todo = {path: folder for path, folder in paths.items() if not path.exists()}
    running: list[tuple[int, Path]] = []
    if todo:
        mutant_runs.import_libraries()
    for path, folder in todo.items():
        work = functools.partial(mutant_tests.trace, tree, [folder], every, path)
        running.append(begun(work, path.with_suffix(".log")))
        if len(running) == TRACED_AT_ONCE:
            ended(*running.pop(0))
    for pid, log in running:
        ended(pid, log)
    return list(paths)


def apart(work: Callable[[], None], log: Path) -> None:
    """Do something in a fork, so that what it imports and leaves ends with it."""
    ended(*begun(work, log))


def begun(work: Callable[[], None], log: Path) -> tuple[int, Path]:
    pid = os.fork()
    if pid == 0:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)
    return pid, log


def ended(pid: int, log: Path) -> None:
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit(f"it failed: see {log}")


def page(tree: Path, seed: int, mutants: Sequence[Mutant], results: dict[str, Result]) -> str:
    """What was measured, as a page."""
    done = [(mutant, results[mutant.name]) for mutant in mutants if mutant.name in results]
    killed = sum(result.outcome == "killed" for _, result in done)
    words = ("git", "rev-parse", "--short=8", "HEAD")
    commit = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=True).stdout.strip()
    lines = [
        "# Mutants",
        "",
        f"Measured on {dt.date.today()} at {commit} with seed {seed}, by `make mutants` (benchmarks/mutants.py).",
        f"Of {COUNT} mutants, {len(done)} have run.",
        f"Killed: {share(killed, len(done))}.",
        f"One mutant took {sum(result.cpu_s for _, result in done) / max(1, len(done)):.1f} CPU-s on average.",
        f"A mutant has at most {MOST_CPU_S:.0f} CPU-s of traced tests.",
        f"Of the survivors {cut(done)} have further tests that run their line.",
        "",
        "| room | mutants | killed | survived | not covered | share killed |",
        "|---|---|---|---|---|---|",
    ]
    for room in ROOMS:
        own = [result.outcome for mutant, result in done if mutant.room == room]
        counts = [own.count(outcome) for outcome in ("killed", "survived", "not covered")]
        lines.append(f"| {room} | {len(own)} | {' | '.join(map(str, counts))} | {share(counts[0], len(own))} |")
    for outcome in ("survived", "not covered"):
        lines += ["", f"## {outcome.capitalize()}", ""]
        found = sorted((mutant.file, mutant.line, mutant.change) for mutant, result in done if result.outcome == outcome)
        lines += [f"- {file}:{line} `{change}`" for file, line, change in found]
    return "\n".join(lines) + "\n"


def share(count: int, of: int) -> str:
    """A share with its exact interval of 95 %."""
    if not of:
        return "-"
    low, high = binomtest(count, of).proportion_ci(0.95, method="exact")
    return f"{count} of {of}, {100 * count / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def cut(done: Sequence[tuple[Mutant, Result]]) -> int:
    return sum(result.outcome == "survived" and result.left_out > 0 for _, result in done)


if __name__ == "__main__":
    raise SystemExit(main())
