"""Runs of reads and writes at different mixes, whose demands are known: for tests of demands."""

from array import array
from dataclasses import replace

from assay.records import (
    Direction,
    EngineCost,
    Factor,
    Measure,
    Observations,
    OperationTotal,
    Reading,
    Results,
    Rung,
    Series,
    Span,
    WorkloadSpec,
)
from stage import notebook_records as made

S = 1_000_000_000
SHARES = (0.9, 0.5, 0.1)
CORE_NS = {"random_read": 20_000, "random_write": 90_000}
BYTES = 8192


def total(operation, count):
    return OperationTotal(operation=operation, count=count, bytes=0, errors=0, busy_ns=1, first_ns=0, last_ns=2 * S)


def phase(reads, writes, extra=()):
    """Two seconds of reads and writes by one client."""
    spent = reads * CORE_NS["random_read"] + writes * CORE_NS["random_write"]
    client = replace(
        made.client(last_ns=2 * S),
        operations=(total("random_read", reads), total("random_write", writes), *extra),
        cost=EngineCost(cpu_user_ns=spent // 4, cpu_system_ns=spent - spent // 4),
    )
    return replace(made.phase([client], name="mix.random_mix"), workload="mix")


def rising(layer, metric, rate, subject=""):
    """A counter that is looked at before, in and after the phase."""
    at = [-S, 0, S, 2 * S, 3 * S]
    value = array("d", [0.0, 5.0, 5.0 + rate, 5.0 + 2 * rate, 9.0 + 2 * rate])
    return Series(
        phase="mix.random_mix",
        source="s",
        layer=layer,
        host="local",
        subject=subject,
        metric=metric,
        unit="ns",
        at_ns=array("q", at),
        value=value,
    )


def gauge(metric, value):
    return replace(rising("cpu", metric, 0), value=array("d", [value] * 5))


def written(amount, span):
    return Reading(
        phase="mix.random_mix",
        rung=Rung.LOWEST_DEVICE,
        source="block",
        host="local",
        subject="device:a",
        direction=Direction.WRITE,
        bytes=amount,
        operations=7,
        from_ns=0,
        to_ns=2 * S,
        span=span,
    )


def seen(run):
    """Half a processor's background beside the load, and every write on the device, a quarter of them after the clock."""
    reads, writes = (one.count for one in run.phases[0].clients[0].operations[:2])
    busy = (reads * CORE_NS["random_read"] + writes * CORE_NS["random_write"]) / 2
    moved = writes * BYTES
    return Observations(
        series=(
            rising("cpu", "user_ns", 0.25 * S + busy / 2),
            rising("cpu", "system_ns", 0.25 * S + busy / 2),
            rising("server", "run_ns", 0.5 * S, "server"),
            gauge("cpus", 4.0),
        ),
        readings=(written(moved * 3 // 4, Span.CLOCK), written(moved // 4, Span.DRAIN)),
    )


def results(shares=SHARES, blocks=3, level=lambda share: 10_000 + 4_000 * share, compare="mix.read_share"):
    factor = Factor(path="mix.read_share", levels=tuple(shares))
    asked = replace(
        made.experiment(levels=("here",)),
        workloads=(WorkloadSpec(name="mix", kind="bulk_io"),),
        factors=(made.experiment(levels=("here",)).factors[0], factor),
        measures=(Measure(workload="mix", operation="random_read", figure="ops_per_s"),),
        compare=compare,
    )
    plan = made.plan(asked, blocks)
    runs = []
    for trial in plan.trials:
        share = trial.levels["mix.read_share"]
        count = level(share) * (1 + 0.001 * trial.block)
        runs.append(made.judged(made.run(trial, phases=[phase(round(count * share), round(count * (1 - share)))]), {}))
    found = Results(experiment=asked, plan=plan, runs=tuple(runs))
    by_id = {judged.id: judged.run for judged in runs}
    return found, lambda run: seen(by_id[run])
