"""What `assay compare` and `assay report` take on large notebooks, and how large the page is.

A made-up notebook of 2,000 trials (2 targets x 5 numbers of clients x 200 blocks) with 4 measures of 2 phases, 200 series of
500 points, 300 readings and 16 histograms a trial is judged by the real rules and kept as `assay run` keeps it. Every trial
has files of its own, but the evidence of all is alike and fits the first trial of each combination, which the rules judge;
rates differ from trial to trial, and everything that follows from them (pairs, curves, scaling, bootstraps) is worked out.
Equal findings are decoded once: so each that passed has numbers of its own here, 17 % of all, as 13 to 28 % of those of the
shipped experiments' notebooks differ.
Wanted are at most 20 s of processor time (user and system, with children, by wait4) and 1 GiB of resident memory for each
verb, and for 200 trials a page below 2 MB that is open in a browser (loaded, all but its charts drawn) within 2 s; charts are
drawn when they come near the window, the others after that.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from assay import measures
from assay.audit import judge
from assay.laboratory.results import answered
from assay.notebook import files, index, layout, read
from assay.notebook.store import Store, write_run
from assay.plain import to_plain
from assay.records import (
    ABSOLUTE,
    CacheState,
    Client,
    Direction,
    Experiment,
    Factor,
    Histogram,
    HostClock,
    Judged,
    Measure,
    Observations,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    Place,
    Plan,
    Reading,
    Run,
    Rung,
    Series,
    State,
    StopRule,
    TargetSpec,
    Trial,
    Verdict,
    WorkloadSpec,
)
from assay.records.place import EndpointKind

CHROMIUM = Path("/usr/bin/chromium")
DRAWN = "[...document.querySelectorAll('.chart')].every(one => one.dataset.state === 'drawn')"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
ASSAY = str(Path(sys.executable).parent / "assay")
SECOND = 10**9
LENGTH_S = 10
LOAD_CLIENTS = 8
USUAL = {"fill": ("create", 1000, 0), "dump": ("write", 200, 1 << 20)}
"""Phase -> operation, how many a client did in a usual trial, bytes of each."""
POINTS = 500
SERIES, READINGS = 200, 300
CLIENTS = (1, 2, 4, 8, 16)
MEASURES = tuple(
    Measure(workload=workload, operation=operation, figure=figure)
    for workload, operation in (("spool", "create"), ("dump", "write"))
    for figure in ("ops_per_s", "latency_p99_ns")
)


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    for blocks in (20, 200):
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            lab = Path(name) / "lab"
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
                trials = apart.submit(make, lab, blocks).result()  # a child's largest resident set begins with its parent's
            page = Path(name) / "report.html"
            for words in (
                *(("compare",), ("report", "--out", str(page)), ("report", "--format", "md", "--out", f"{name}/r.md")),
                *(("list",), ("show", "0012/1")),
            ):
                yield (
                    f"{trials:,} trials: {' '.join(word for word in words if '/' not in word)}",
                    cost((*words, "--lab", str(lab))),
                )
            yield f"{trials:,} trials: size of the page", f"{page.stat().st_size / 1e6:.2f} MB"
            yield f"{trials:,} trials: the page in a browser", opened(page)


def cost(words: tuple[str, ...]) -> str:
    """Processor time and largest resident set of one call. Raises CalledProcessError where it fails."""
    with subprocess.Popen([ASSAY, *words], stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, words)
    return f"{used.ru_utime + used.ru_stime:.1f} CPU-s, {used.ru_maxrss / 1024:.0f} MiB"


def opened(page: Path) -> str:
    """When headless Chromium has drawn text, has loaded the page, and has drawn all charts; why not, where it is not here."""
    if not CHROMIUM.exists():
        return f"no {CHROMIUM} here"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        seen = browser.new_page(viewport={"width": 1200, "height": 1000})
        seen.goto(page.as_uri())
        seen.wait_for_function(DRAWN, timeout=60_000)
        text, loaded, drawn = (seen.evaluate(one) / 1e3 for one in (PAINTED, LOADED, "performance.now()"))
        browser.close()
    return f"text after {text:.2f} s, loaded after {loaded:.2f} s, all charts after {drawn:.2f} s"


def make(lab: Path, blocks: int) -> int:
    """Write a notebook with so many blocks; its number of trials."""
    asked = experiment()
    plan = planned(asked, blocks)
    seen = observations()
    chance = random.Random(1)
    with Store.create(lab, asked, plan, 'title = "A large notebook"\n') as store:
        template = lab / "template"
        template.mkdir()
        write_run(template, run(plan.trials[0], 1.0), seen)
        for trial in plan.trials:
            keep(store, template, run(trial, factor(trial, chance)))
        shutil.rmtree(template)
        judge_all(store, seen)
    return len(plan.trials)


def keep(store: Store, template: Path, one: Run) -> None:
    """A run's folder with the template's evidence, and the run in the index."""
    place = layout.attempt_folder(store.folder, one.id)
    shutil.copytree(template, place)
    (place / layout.MANIFEST).unlink()
    (place / layout.RUN).write_bytes(files.to_json(to_plain(one)))
    (place / layout.MANIFEST).write_bytes(files.to_json(files.manifest_of(place)))
    index.put_run(store.database, one)


def judge_all(store: Store, seen: Observations) -> None:
    """Verdicts of every run and all answers: the real rules judge the first run of each combination, the others are alike."""
    judged: list[Judged] = []
    first: dict[tuple[object, ...], tuple[Run, tuple[Verdict, ...]]] = {}
    for one in read.runs(store.folder):
        levels = tuple(one.trial.levels.values())
        if levels not in first:
            first[levels] = (one, judge.judge_run(store.experiment, one, seen))
        verdicts = [alike(verdict, first[levels][0], one, seen) for verdict in first[levels][1]]
        judged.append(Judged(run=one, verdicts={verdict.measure: verdict for verdict in verdicts}))
        store.judge(judge.ruleset(), verdicts)
    bare = replace(read.results(store.folder, judge.ruleset()), runs=tuple(judged), ruleset=judge.ruleset())
    store.derive(judge.ruleset(), answered(bare, lambda _: seen))


def alike(verdict: Verdict, first: Run, one: Run, seen: Observations) -> Verdict:
    """The verdict on a run like the first one, with its own value, which the findings that passed tell."""
    subject = verdict.subject.replace(f"{first.trial.id:04d}/", f"{one.trial.id:04d}/", 1)
    measure = next(measure for measure in MEASURES if subject.endswith(measure.name))
    figure = measures.value(one, seen, measure)
    own = f" ({figure.value:.9g} in trial {one.trial.id})" if figure else ""
    findings = tuple(
        replace(found, subject=subject, statement=f"{found.statement}{own}" if found.state is State.PASS else found.statement)
        for found in verdict.findings
    )
    return replace(verdict, subject=subject, run=one.id, value=figure.value if figure else None, findings=findings)


def experiment() -> Experiment:
    return Experiment(
        title="A large notebook",
        question="Which is faster?",
        targets=tuple(TargetSpec(name=name, kind="directory") for name in ("ext4", "xfs")),
        workloads=(WorkloadSpec(name="spool", kind="metadata"), WorkloadSpec(name="dump", kind="bulk_io")),
        factors=(Factor(path="target", levels=("ext4", "xfs")), Factor(path="clients", levels=CLIENTS)),
        measures=MEASURES,
        compare="target",
        repeats=200,
        digest="cd" * 32,
    )


def planned(asked: Experiment, blocks: int) -> Plan:
    combinations = [{"target": target, "clients": clients} for target in ("ext4", "xfs") for clients in CLIENTS]
    order = [(block, levels) for block in range(blocks) for levels in (combinations if block % 2 else combinations[::-1])]
    trials = tuple(
        Trial(
            id=number,
            experiment=asked.digest,
            levels=levels,
            replicate=block,
            block=block,
            sitting=0,
            position=number,
            seed=number,
        )
        for number, (block, levels) in enumerate(order, 1)
    )
    return Plan(experiment=asked.digest, seed=1, trials=trials, blocks=blocks, drawn_blocks=blocks, sittings=(None,))


def factor(trial: Trial, chance: random.Random) -> float:
    """How many times the usual number of operations: none but the usual in the first block, which is judged."""
    usual = 1.2 if trial.levels["target"] == "xfs" else 1.0
    return usual * chance.lognormvariate(0, 0.05) if trial.block else 1.0


def run(trial: Trial, faster: float) -> Run:
    """A trial that did `faster` times the usual number of operations."""
    minute, second = divmod(trial.id * 30, 60)
    hour, minute = divmod(minute, 60)
    at = f"2026-01-{1 + hour // 24:02d}T{hour % 24:02d}:{minute:02d}:{second:02d}"
    return Run(
        trial=trial,
        attempt=1,
        outcome=Outcome.FINISHED,
        started_utc=f"{at}+00:00",
        ended_utc=f"{at}.5+00:00",
        hosts=(HostClock(host="local", offset_ns=0, error_ns=10, t0_mono_ns=1),),
        places=(place(str(trial.levels["target"])),),
        phases=(
            phase("fill", "spool", Direction.METADATA, faster),
            phase("dump", "dump", Direction.WRITE, faster),
        ),
        versions={"engine": "0.1.0"},
    )


def place(target: str) -> Place:
    return Place(
        target=target,
        host="local",
        kind=EndpointKind.DIRECTORY,
        address=f"/srv/{target}",
        devices=("loop0", "vda"),
        filesystem=target,
    )


def phase(name: str, workload: str, direction: Direction, faster: float) -> Phase:
    operation, usual, size = USUAL[name]
    clients = tuple(client(index, operation, round(usual * faster), size) for index in range(LOAD_CLIENTS))
    return Phase(
        name=name,
        workload=workload,
        measured=True,
        operations=(operation,),
        directions={operation: direction},
        cache_asked=CacheState.UNCHANGED,
        hosts=(PhaseHost(host="local", cached_share_before=0.0, drain_ns=5),),
        start_ns=0,
        end_ns=LENGTH_S * SECOND,
        stop=StopRule.TIME,
        flush_in_clock=False,
        clients=clients,
    )


def client(index: int, operation: str, count: int, size: int) -> Client:
    total = OperationTotal(
        operation=operation,
        count=count,
        bytes=count * size,
        errors=0,
        busy_ns=LENGTH_S * SECOND,
        first_ns=0,
        last_ns=LENGTH_S * SECOND,
    )
    return Client(
        index=index,
        host="local",
        pid=100 + index,
        role="load",
        workers=1,
        armed_ns=-1000,
        started_ns=0,
        first_ns=0,
        last_ns=LENGTH_S * SECOND,
        stopped_by="time",
        operations=(total,),
        cost=None,
    )


def observations() -> Observations:
    """200 series of 500 points, 300 readings, a histogram for each client of each phase."""
    kinds = [
        *(("application", f"client:{n}", part) for n in range(LOAD_CLIENTS) for part in ("count", "bytes")),
        *(("memory", ABSOLUTE, name) for name in ("dirty_bytes", "writeback_bytes")),
        *(("cpu", ABSOLUTE, name) for name in ("user_share", "system_share", "iowait_share", "steal_share")),
        *(("process", f"pid:{n}", "wait_ns") for n in range(SERIES // 2 - 22)),
    ]
    both = itertools.product(("fill", "dump"), kinds)
    chance = random.Random(2)
    return Observations(
        series=tuple(series(phase, kind, chance) for phase, kind in both),
        readings=tuple(reading("fill" if n % 2 else "dump", n) for n in range(READINGS)),
        histograms=tuple(histogram(phase, n) for phase in USUAL for n in range(LOAD_CLIENTS)),
    )


def series(phase: str, kind: tuple[str, str, str], chance: random.Random) -> Series:
    layer, subject, metric = kind
    unit = "share" if metric.endswith("share") else metric.rpartition("_")[2]
    operation, count, size = USUAL[phase]
    steps = (chance.random() / (4 if unit == "share" else 1) for _ in range(POINTS))
    values = list(steps) if unit == "share" else [float(round(total * 10)) for total in itertools.accumulate(steps)]
    if layer == "application":
        usual = count * (size if metric == "bytes" else 1)
        metric, values = f"{operation}.{metric}", [float(usual * (n + 1) // POINTS) for n in range(POINTS)]
    at = array("q", (LENGTH_S * SECOND * (n + 1) // POINTS for n in range(POINTS)))
    return Series(
        phase=phase,
        source="made up",
        layer=layer,
        host="local",
        subject=subject,
        metric=metric,
        unit=unit,
        at_ns=at,
        value=array("d", values),
    )


def reading(phase: str, number: int) -> Reading:
    """What all clients wrote, in equal parts by many processes, and each device as much."""
    _, count, size = USUAL[phase]
    rung, parts = (Rung.LOWEST_DEVICE, 1) if number < 4 else (Rung.SYSCALL, (READINGS - 4) // 2)
    return Reading(
        phase=phase,
        rung=rung,
        source="made up",
        host="local",
        subject=f"device:d{number}" if number < 4 else f"pid:{number}",
        direction=Direction.WRITE,
        bytes=LOAD_CLIENTS * count * size // parts,
        operations=LOAD_CLIENTS * count // parts,
        from_ns=0,
        to_ns=LENGTH_S * SECOND,
    )


def histogram(phase: str, number: int) -> Histogram:
    """A client that was never idle: its latencies are spread evenly, 0.5 to 1.5 times their mean."""
    operation, count, _ = USUAL[phase]
    mean_ns = LENGTH_S * SECOND / count
    return Histogram(
        phase=phase,
        host="local",
        subject=f"client:{number}",
        operation=operation,
        upper_ns=array("q", [int(mean_ns * (0.5 + n / 100)) for n in range(100)]),
        count=array("q", [count // 100] * 100),
    )


if __name__ == "__main__":
    for what, figure in measure():
        print(f"{what}: {figure}", flush=True)
