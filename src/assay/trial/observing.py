"""Commands of `[observe.NAME]` as observers: each look runs the command on its host and keeps what it printed.

Nothing is interpreted before the phase is over, as with every observer; a look that fails is evidence that is missing, with the
reason, and ends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from assay.catalogue import Evidence, Host, Observer
from assay.errors import AssayError
from assay.evidence import observed
from assay.records import Experiment, ObserveSpec, Snapshot, Subject

LEAST_S, MOST_S = 1.0, 10.0
"""A command gets as long as its interval, within these bounds: others wait for it."""
MOST_CHARACTERS = 1 << 20
"""Of an output no more is kept: a phase of an hour has thousands of them."""
COST = "the CPU time of its command on that host"


def watching(experiment: Experiment, host: str) -> tuple[Observer, ...]:
    """The observers that the file adds for a host of this name."""
    return tuple(observing(spec) for spec in experiment.observe if host in spec.hosts)


def observing(spec: ObserveSpec) -> Observer:
    """The observer that a command is: its series are `observe.NAME`, of the whole host."""
    return Observer(
        name=f"{observed.LAYER}.{spec.name}",
        gives=tuple(f"{observed.LAYER}.{metric}" for metric in observed.metrics(spec)),
        cost=COST,
        available=_anywhere,
        read=partial(_read, spec),
        parse=partial(_parse, spec),
        every_s=spec.every_ns / 1e9,
        alone=True,
        systems=(),
    )


def _anywhere(_host: Host) -> None:
    """Only the first look tells whether a host has the command."""


def _read(spec: ObserveSpec, host: Host, _subject: Subject) -> Mapping[str, object]:
    """Run the command once; what it printed, or why it printed nothing.

    A status other than 0 is a failure whatever was printed: half an output has half of its numbers.
    """
    try:
        done = host.run(spec.argv, check=False, timeout_s=min(MOST_S, max(LEAST_S, spec.every_ns / 1e9)))
    except (AssayError, OSError) as error:
        return {observed.REASON: str(error)}
    if done.status != 0:
        said = ": ".join(filter(None, (f"exit status {done.status}", done.stderr.strip()[: observed.SHOWN])))
        return {observed.REASON: said}
    return {observed.OUTPUT: done.stdout[:MOST_CHARACTERS]}


def _parse(spec: ObserveSpec, host: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """What the looks of a phase gave."""
    return observed.parsed(spec, host, phase, snapshots)
