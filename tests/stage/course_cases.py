"""Runs whose rates over time are given, for tests of what is said of their courses."""

import random
from dataclasses import replace

from assay.analysis.steady_state import courses
from assay.records import Observations
from stage import notebook_records as made

LATENCY = "spool.create.latency_p99_ns"
PART_NS = 100_000_000


def scene(rates, clients=1, start_ns=0, **phase):
    """A run whose clients together complete so many a second in each 100 ms, and its evidence."""
    done, times, busy = [0.0], [start_ns], [0.0]
    for rate in rates:
        done.append(done[-1] + round(rate / 10 / clients))
        times.append(times[-1] + PART_NS)
        busy.append(busy[-1] + PART_NS)
    ran = [
        made.client(index, first_ns=start_ns, last_ns=times[-1], count=int(done[-1]), busy_ns=int(busy[-1]))
        for index in range(clients)
    ]
    series = tuple(
        made.series(f"create.{metric}", times[1:], values[1:], f"client:{one.index}")
        for one in ran
        for metric, values in (("count", done), ("busy_ns", busy))
    )
    asked = made.experiment(measures=(made.RATE, LATENCY))
    run = made.run(made.plan(asked).trials[0], phases=[replace(made.phase(ran), start_ns=start_ns, **phase)])
    return asked, run, Observations(series=series)


def of(rates, measure=made.RATE, **more):
    return courses(*scene(rates, **more))[measure]


def noise(name, count=120, spread=0.03):
    draw = random.Random(name)
    return [1000 * (1 + spread * draw.gauss(0, 1)) for _ in range(count)]
