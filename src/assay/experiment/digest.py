"""What an experiment is known by: SHA-256 of its canonical JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from assay import plain
from assay.records import Experiment, HostSpec, Pairs, Precision


def digest(experiment: Experiment) -> str:
    """64 hexadecimal digits; title and question are part of it, its own `digest` field is not.

    Of hosts their names count, and whether load may come from them: at what address and how they are reached does not.
    A price counts as little. What was added later is left out where nothing is said: older experiments keep their folders.
    """
    values = plain.to_plain(replace(experiment, digest=""))
    assert isinstance(values, dict)
    for added in ("implied", "design", "resolution", "observe", "paths"):
        if not values[added]:
            del values[added]
    if experiment.pairs is Pairs.BASELINE:
        del values["pairs"]
    if isinstance(experiment.repeats, Precision) and experiment.repeats.most is None:
        del values["repeats"]["most"]
    for measure in values["measures"]:
        for added in ("summary", "unit"):
            if measure[added] is None:
                del measure[added]
    _without_rates(values["workloads"])
    _without_prices(values["targets"])
    values["hosts"] = [_host(spec) for spec in experiment.hosts]
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _without_rates(workloads: list[dict[str, list[dict[str, object]]]]) -> None:
    """Leave out the rate of events that set none."""
    for event in (one for workload in workloads for one in workload["events"]):
        if event["rate_bytes_per_s"] is None:
            del event["rate_bytes_per_s"]


def _without_prices(targets: list[dict[str, object]]) -> None:
    """Leave out what the targets cost."""
    for target in targets:
        del target["price"]


def _host(spec: HostSpec) -> dict[str, object]:
    """Return what counts of a host; `local` as it was before others could load."""
    once = {"via": "local", "address": None} if spec.name == "local" else {}
    return {"name": spec.name, **once} | ({"load": True} if spec.load else {})
