"""`assay import`: finished results of other tools in a notebook, judged by what they tell, beside runs of `assay stat`.

Each file is a run. Files of one name are repeats of one arm, all others are arms of their own, compared with the first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from assay import catalogue, measures
from assay.audit import judge
from assay.catalogue import console
from assay.cli.stat import saved
from assay.cli.stat.options import claimed
from assay.errors import EvidenceError, InputErrors, RefusedError, UsageError
from assay.laboratory.results import conclude
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.notebook.annotations import UNPRINTABLE
from assay.notebook.store import Store
from assay.records import Claim, Experiment, Factor, Plan, TargetSpec, Verdict, WorkloadSpec
from assay.terminal.output import Row, deliver, table
from assay.toml_document import Document
from assay.units import counted
from assay.watch import imported
from assay.watch.claims import WORKLOAD, operations
from assay.watch.imported import ImportedResult
from assay.watch.reports import Reported

MOST_BYTES = 64 << 20
"""Larger files are no results of a tool."""
LEVEL = "imported"
"""The first word of an imported arm: no command's."""
QUESTION = "What do these results tell?"


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """The words of the call."""

    files: Sequence[str]
    """`FILE`, or `NAME=FILE`."""
    form: str | None = None
    claim: str | None = None
    beside: str | None = None
    lab: Path
    json_to: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """A result that is kept."""

    id: str
    result: ImportedResult
    verdicts: tuple[Verdict, ...]


def import_results(request: ImportRequest) -> int:
    """Keep the results and show them. Raises UsageError, InputErrors and RefusedError with everything that is wrong."""
    claim = resolved(request)
    results = read(request)
    with opened(request, results, claim) as store:
        fit(store, results)
        kept = tuple(keep(store, result) for result in results)
        conclude(store)
        folder = store.folder
    deliver(request.json_to, "import", lambda: plain(folder, kept), lambda: text(folder, kept))
    return 0


def resolved(request: ImportRequest) -> Claim | None:
    """Return the claim of the call. Raises InputErrors with every mistake of the words."""
    document = Document(file="the call", values={}, places={})
    claim = claimed(document, request.claim) if request.claim is not None else None
    known = catalogue.names("parsers")
    if request.form is not None and request.form not in known:
        document.wrong((), f"--format {request.form}", f"one of: {', '.join(known)}")
    if request.claim is not None and request.beside is not None:
        document.wrong((), "--claim with --beside", "one of them: the experiment has its claims")
    if document.mistakes:
        raise InputErrors(document.mistakes)
    return claim


def read(request: ImportRequest) -> tuple[ImportedResult, ...]:
    """Return the results in the files. Raises RefusedError with all that cannot be read."""
    found: list[ImportedResult] = []
    wrong: list[str] = []
    for arm, path in with_folders([named(word) for word in request.files]):
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)  # what has no end has no size either
            if len(data) > MOST_BYTES:
                raise EvidenceError("found more than 64 MiB; expected the result of a tool")
            runs, left_out = imported.all_runs(console.decoded(data), request.form)
            written = datetime.fromtimestamp(min(max(path.stat().st_mtime, 0), time.time()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            found += results_of(printable(str(path)), printable(arm), written, (runs, left_out))
        except OSError as error:
            wrong.append(f"{path}: not read ({error.strerror}). Check the name and the permissions.")
        except EvidenceError as error:
            wrong.append(f"{path}: {error}")
    if wrong:
        raise RefusedError("\n".join(wrong))
    return tuple(found)


def results_of(path: str, arm: str, written: str, told: tuple[Sequence[Reported], Sequence[str]]) -> Iterator[ImportedResult]:
    """Yield the results of a file: runs of one tool with the same figures are repeats of an arm; several arms are `#1`, `#2`."""
    runs, left_out = told
    kinds = list(dict.fromkeys((one.tool, frozenset(one.values)) for one in runs))
    for number, one in enumerate(runs, 1):
        kind = kinds.index((one.tool, frozenset(one.values))) + 1
        name = arm if len(kinds) == 1 else f"{arm}#{kind}"
        place = path if len(runs) == 1 else f"{path} ({number} of {len(runs)})"
        yield ImportedResult(
            path=place, file=path, arm=name, written_utc=written, reported=one, left_out=tuple(left_out) if number == 1 else ()
        )


def printable(text: str) -> str:
    """Return a name without letters that no text file and no terminal takes: line ends, escapes, bytes that are no UTF-8."""
    return UNPRINTABLE.sub("?", text)


def with_folders(words: Sequence[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Return the arms and files: files of one name in several folders have it in the arm, unless the caller named them."""
    folders: dict[str, set[Path]] = {}
    for arm, path in words:
        if arm == path.name:
            folders.setdefault(arm, set()).add(path.absolute().parent)
    return [
        (f"{path.absolute().parent.name}/{arm}" if arm == path.name and len(folders[arm]) > 1 else arm, path)
        for arm, path in words
    ]


def named(word: str) -> tuple[str, Path]:
    """Return the arm and the file of a word of the call: `NAME=FILE`, or the file, whose arm has its name."""
    name, equals, path = word.partition("=")
    if equals and name.strip() and path and not Path(word).exists():
        return name.strip(), Path(path)
    return Path(word).name, Path(word)


def opened(request: ImportRequest, results: Sequence[ImportedResult], claim: Claim | None) -> Store:
    """Return the experiment that takes the results: the one of --beside, else a new one. Raises UsageError, BusyError."""
    if request.beside is not None:
        folder = notebook.choose(request.lab, request.beside)
        if [factor.path for factor in notebook.read_plan(folder)[0].factors] != [saved.FACTOR]:
            raise UsageError(
                f"found --beside {folder.name}, an experiment of a file; "
                "expected one that `assay stat --save` or `assay import` kept"
            )
        return Store.open(folder)
    wanted = experiment_of(results, claim)
    fixed = replace(wanted, digest=layout.digest(wanted))
    if (request.lab / layout.folder_name(fixed)).exists():
        raise UsageError(
            f"found these results in {request.lab / layout.folder_name(fixed)}; expected new ones, "
            "NAME=FILE with another name, or --beside that experiment for repeats"
        )
    plan = Plan(experiment=fixed.digest, seed=1, trials=(), blocks=0, drawn_blocks=0, sittings=(None,))
    return Store.create(request.lab, fixed, plan, f"# assay import {' '.join(one.path for one in results)}\n")


def experiment_of(results: Sequence[ImportedResult], claim: Claim | None) -> Experiment:
    """Return the experiment of results that are compared with each other."""
    arms = tuple(dict.fromkeys(level(one) for one in results))
    return Experiment(
        title=f"Imported: {', '.join(name for _, name in arms)}",
        question=QUESTION,
        targets=(TargetSpec(name="elsewhere", kind="directory"),),
        workloads=(WorkloadSpec(name=WORKLOAD, kind="command", knobs={"parse": LEVEL}),),
        factors=(Factor(path=saved.FACTOR, levels=arms),),
        measures=imported.measures_of([one.reported for one in results], claim),
        compare=saved.FACTOR,
    )


def level(result: ImportedResult) -> tuple[str, str]:
    """Return the level of a result's arm."""
    return (LEVEL, result.arm)


def fit(store: Store, results: Sequence[ImportedResult]) -> None:
    """Hold the results against the experiment. Raises RefusedError with all that do not fit in it, or are there already."""
    wanted = [f"{one.operation}.{one.figure}" for one in store.experiment.measures]
    there = {
        (run.trial.levels.get(saved.FACTOR), frozenset(run.phases[0].values.items())): layout.run_id(run.trial.id, run.attempt)
        for run in notebook.scan(store.folder).runs
    }
    wrong: list[str] = []
    files: dict[str, str] = {}
    for one in results:
        figures = frozenset(imported.figures(one.reported).items())
        if not set(wanted) & set(one.reported.values):
            wrong.append(f"{one.path}: found {', '.join(one.reported.values)}; expected one of: {', '.join(wanted)}")
        elif (same := there.get((level(one), figures))) is not None and files.get(same) != one.file:
            wrong.append(f"{one.path}: found the figures of {same}; expected another result")
        there[level(one), figures], files[one.path] = one.path, one.file
    if wrong:
        store.withdraw()
        raise RefusedError("\n".join(wrong))


def keep(store: Store, result: ImportedResult) -> ImportedRun:
    """Keep a result as the next run of its arm, with its verdicts."""
    trial = saved.next_trial(store.plan, level(result))
    experiment = saved.grown(store.experiment, level(result))
    plan = replace(store.plan, trials=(*store.plan.trials, trial), blocks=max(store.plan.blocks, trial.block + 1))
    store.extend(experiment, replace(plan, drawn_blocks=plan.blocks))
    run = imported.run(result, trial)
    seen = imported.observations(result, run)
    name = store.add(run, seen)
    verdicts = judge.judge_run(experiment, run, seen)
    store.judge(judge.ruleset(), verdicts)
    return ImportedRun(id=name, result=result, verdicts=verdicts)


def text(folder: Path, kept: Sequence[ImportedRun]) -> str:
    """For people: where the results are, and what each tells."""
    head = ("run", "arm", "file", "read as", "measure", "figure", "verdict")
    rows = [Row(cells=cells) for one in kept for cells in rows_of(one)]
    after = [
        *left_out(kept),
        *(f"Not kept of {one.result.path}: {words}." for one in kept for words in one.result.left_out),
        "`assay compare` compares them, `assay report` draws them; `assay show RUN` has all figures of a run.",
    ]
    return "\n\n".join((f"{counted(len(kept), 'result')} kept in {folder}.", table(head, rows, (5,)), "\n".join(after)))


def left_out(kept: Sequence[ImportedRun]) -> Iterator[str]:
    """Yield which operations have no measure, since not every result tells them."""
    measured = {verdict.measure.split(".")[1] for one in kept for verdict in one.verdicts}
    every = dict.fromkeys(name for one in kept for name in operations(one.result.reported.values))
    if left := [name for name in every if name not in measured]:
        yield f"Not compared, since not every result tells it: {', '.join(left)}."


def rows_of(one: ImportedRun) -> Iterator[tuple[str, ...]]:
    """Yield a row for each figure that the experiment has a measure for."""
    first = (one.id, one.result.arm, one.result.path, one.result.reported.tool)
    for verdict in one.verdicts:
        if verdict.value is not None:
            yield (*first, verdict.measure, measures.with_unit(verdict.value, verdict.unit), str(verdict.state))
            first = ("", "", "", "")


def plain(folder: Path, kept: Sequence[ImportedRun]) -> dict[str, object]:
    """Return the runs with all their figures, for programs."""
    return {
        "experiment": str(folder),
        "runs": [
            {
                "run": one.id,
                "arm": one.result.arm,
                "file": one.result.path,
                "tool": one.result.reported.tool,
                "values": dict(one.result.reported.values),
                "left_out": list(one.result.left_out),
                "verdicts": {verdict.measure: str(verdict.state) for verdict in one.verdicts if verdict.value is not None},
            }
            for one in kept
        ],
    }
