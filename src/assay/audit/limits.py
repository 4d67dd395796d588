"""The thresholds of rules/limits.toml: by rule, with the claims that a rule is for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from assay._core import parse_toml
from assay.records import Claim, Experiment

ROOT = Path(__file__).parent.parent
"""The package: found without importlib's own libraries, which cost more than all that is read here."""
Table = Mapping[str, object]


@functools.cache
def tables() -> Mapping[str, Table]:
    """The tables of limits.toml by rule id."""
    text = (ROOT / "rules" / "limits.toml").read_text(encoding="utf-8")
    found, _, mistakes = parse_toml(text)  # a quarter of the cost of the standard library's
    assert not mistakes, mistakes
    return cast("Mapping[str, Table]", found)


def thresholds(rule: str) -> dict[str, float]:
    """Name -> value of each threshold of a rule; empty where it has none."""
    return {name: value for name, (value, _) in sourced(rule).items()}


def sourced(rule: str) -> dict[str, tuple[float, str]]:
    """Name -> (value, where the number comes from) of each threshold of a rule."""
    entries = ((name, entry) for name, entry in tables().get(rule, {}).items() if isinstance(entry, Mapping) and "value" in entry)
    return {name: (float(entry["value"]), str(entry.get("source", ""))) for name, entry in entries}


def applies_text(rule: str) -> str:
    """When the rule applies, in words."""
    return str(tables().get(rule, {}).get("applies", "always"))


def outside(rule: str, claim: Claim) -> str | None:
    """Why a claim is none of those that the rule is for (`only` in limits.toml); None where it is one."""
    only = tables().get(rule, {}).get("only", {})
    assert isinstance(only, Mapping)
    for part, values in only.items():
        claimed = getattr(claim, part)
        if claimed not in values:
            return f"{part} = {' or '.join(values)} is not claimed"
    return None


BOUNDED = "BOUNDED"
"""The table of what belongs to that verdict, and to no rule."""


def bound_factor(experiment: Experiment) -> float:
    """How far apart the bounds of a figure may be at most, as a factor: by the experiment's file, else by limits.toml."""
    return experiment.bound_factor or thresholds(BOUNDED)["factor"]
