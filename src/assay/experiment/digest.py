"""What an experiment is known by: SHA-256 of its canonical JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay import plain
from assay.records import Experiment, HostSpec, Pairs, Precision, WorkSide

ADDED_KNOBS: Mapping[str, Mapping[str, object]] = {
    "line": {"sysctls": []},
    "ldap_import": {"mode": "offline", "connections": 1, "depth": 1},
}
"""Kind -> the knobs that it got after experiments with it were run, with what they are where the file says nothing."""


def digest(experiment: Experiment) -> str:
    """64 hexadecimal digits; title and question are part of it, its own `digest` field is not.

    Of hosts their names count, and whether load may come from them: at what address and how they are reached does not.
    A price counts as little. What was added later is left out where nothing is said: older experiments keep their folders.
    """
    values = plain.to_plain(replace(experiment, digest=""))
    assert isinstance(values, dict)
    for added in ("implied", "design", "resolution", "observe", "paths", "soak", "bound_factor", "machine", "slices"):
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
        if not measure["primary"]:
            del measure["primary"]
    _without_names(values["factors"])
    _without_rates(values["workloads"])
    _without_sides(values["workloads"])
    _without_prices(values["targets"])
    _without_added([*values["targets"], *values["workloads"]])
    values["hosts"] = [_host(spec) for spec in experiment.hosts]
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _without_names(factors: list[dict[str, object]]) -> None:
    """Leave out the names of levels where none has one."""
    for factor in factors:
        if not factor["names"]:
            del factor["names"]


def _without_rates(workloads: list[dict[str, list[dict[str, object]]]]) -> None:
    """Leave out the rate of events that set none."""
    for event in (one for workload in workloads for one in workload["events"]):
        if event["rate_bytes_per_s"] is None:
            del event["rate_bytes_per_s"]


def _without_sides(workloads: list[dict[str, object]]) -> None:
    """Leave out the side of workloads that are clients."""
    for workload in workloads:
        if workload["side"] == WorkSide.CLIENT:
            del workload["side"]


def _without_prices(targets: list[dict[str, object]]) -> None:
    """Leave out what the targets cost."""
    for target in targets:
        del target["price"]


def _without_added(parts: list[dict[str, Any]]) -> None:
    """Leave out the knobs that a kind got later, where they are as they were before."""
    for part in parts:
        for name, value in ADDED_KNOBS.get(part["kind"], {}).items():
            if part["knobs"].get(name) == value:
                del part["knobs"][name]


def _host(spec: HostSpec) -> dict[str, object]:
    """Return what counts of a host; `local` as it was before others could load."""
    once = {"via": "local", "address": None} if spec.name == "local" else {}
    return {"name": spec.name, **once} | ({"load": True} if spec.load else {})
