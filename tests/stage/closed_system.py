"""A closed system whose demands are known: thinking clients, processors and a disk of known speed, by mean value analysis."""

import math
from dataclasses import replace

import numpy as np

from assay.analysis.cells import cells
from assay.records import (
    Direction,
    EndpointKind,
    Factor,
    Limit,
    Measure,
    Observations,
    Place,
    Rung,
    Span,
    WorkloadSpec,
)
from stage import notebook_records as made
from stage.mix_cases import S, gauge, phase, rising, written

RATE, LATENCY = "mix.random_write.ops_per_s", "mix.random_write.latency_p99_ns"
NUMBERS = (1, 2, 4, 8, 16)
RECORD, SPEED, PROCESSORS = 8192, 20_000_000, 4
THINK, CORE = 1e-3, 2e-4
DEVICE = RECORD / SPEED
"""Seconds of one operation: thinking, at a processor, at the device."""
KNEE = (THINK + CORE + DEVICE) / DEVICE


def throughput(n):
    """Exact mean value analysis of a closed system: a delay, and two queues (the processors taken as one that is as fast)."""
    demands, queues = (CORE / PROCESSORS, DEVICE), [0.0, 0.0]
    rate = 0.0
    for count in range(1, n + 1):
        waits = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        rate = count / (THINK + CORE * (1 - 1 / PROCESSORS) + sum(waits))
        queues = [rate * wait for wait in waits]
    return rate


LIMIT = Limit(device="loop0", direction=Direction.WRITE, bytes_per_s=SPEED)
PLACE = Place(target="disk", host="local", kind=EndpointKind.DIRECTORY, address="/", devices=("loop0", "vda"), limits=(LIMIT,))


def system(noise=0.01, seed=1, numbers=NUMBERS, requirements=(), moved=RECORD, scale=1.0, *, late=0.0):
    """An experiment over numbers of clients with runs, cells and evidence; `late`: the share that is written after the clock."""
    draw = np.random.default_rng(seed)
    measures = tuple(Measure(workload="mix", operation="random_write", figure=name.split(".", 2)[2]) for name in (RATE, LATENCY))
    asked = replace(
        made.experiment(levels=("disk",)),
        workloads=(WorkloadSpec(name="mix", kind="bulk_io"),),
        factors=(Factor(path="clients", levels=numbers),),
        measures=measures,
        requirements=requirements,
        compare=None,
    )
    plan = made.plan(asked, 5)
    runs, seen = [], {}
    for trial in plan.trials:
        n = trial.levels["clients"]
        rate = throughput(n) * scale * math.exp(noise * draw.standard_normal())
        run = replace(made.run(trial, phases=[replace(phase(0, round(2 * rate)), operations=("random_write",))]), places=(PLACE,))
        latency = n / rate * 1e9 * math.exp(noise * draw.standard_normal())
        runs.append(made.judged(run, {RATE: rate, LATENCY: latency}))
        bytes_per_s = rate * moved * math.exp(noise / 3 * draw.standard_normal())
        seen[runs[-1].id] = evidence(rate, bytes_per_s, late)
    return asked, runs, cells(asked, plan, runs, seen.get), seen.get


def evidence(rate, bytes_per_s, late=0.0):
    busy = rate * CORE / 2 * S
    clocked = written(round(2 * bytes_per_s * (1 - late)), Span.CLOCK)
    loop, after = (
        replace(one, subject="device:loop0", rung=Rung.UPPER_DEVICE)
        for one in (clocked, written(round(2 * bytes_per_s * late), Span.DRAIN))
    )
    return Observations(
        series=(rising("cpu", "user_ns", busy), rising("cpu", "system_ns", busy), gauge("cpus", float(PROCESSORS))),
        readings=(loop, after, replace(loop, subject="device:vda", rung=Rung.LOWEST_DEVICE, bytes=1)),
    )
