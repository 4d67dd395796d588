"""How plugs are found: `names` lists modules without importing them, `find` imports exactly one."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Literal, overload

from assay.catalogue.plugs import Observer, Parser, Rule, Target, Workload
from assay.errors import UsageError

Plug = Target | Workload | Observer | Rule | Parser
Kind = Literal["targets", "workloads", "observers", "rules", "parsers"]
CONSTANTS: Mapping[Kind, str] = {
    "targets": "TARGET",
    "workloads": "WORKLOAD",
    "observers": "OBSERVER",
    "rules": "RULE",
    "parsers": "PARSER",
}

USUAL = "*"
"""In a list of observers: all that look without being named."""


@functools.cache
def names(kind: Kind) -> tuple[str, ...]:
    """The entries of a catalogue, sorted; imports none of them."""
    package = importlib.import_module(f"assay.{kind}")
    return tuple(sorted(module.name for module in pkgutil.iter_modules(package.__path__)))


@overload
def find(kind: Literal["targets"], name: str) -> Target: ...
@overload
def find(kind: Literal["workloads"], name: str) -> Workload: ...
@overload
def find(kind: Literal["observers"], name: str) -> Observer: ...
@overload
def find(kind: Literal["rules"], name: str) -> Rule: ...
@overload
def find(kind: Literal["parsers"], name: str) -> Parser: ...
def find(kind: Kind, name: str) -> Plug:
    """Import one entry. Raises UsageError naming the entries that exist."""
    if name not in names(kind):
        raise UsageError(f"found {kind[:-1]} {name!r}; expected one of: {', '.join(names(kind))}")
    module = importlib.import_module(f"assay.{kind}.{name}")
    plug: Plug = getattr(module, CONSTANTS[kind])
    return plug


def watchers(named: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the observers that an experiment's list stands for, each once; None stands for `*`."""
    wanted: dict[str, None] = {}
    for name in (USUAL,) if named is None else named:
        usual = [one for one in names("observers") if not find("observers", one).on_request] if name == USUAL else [name]
        wanted |= dict.fromkeys(usual)
    return tuple(wanted)


def help_of(kind: Kind, name: str) -> str:
    """The first line of the entry's docstring."""
    module = importlib.import_module(f"assay.{kind}.{name}")
    return (module.__doc__ or "").strip().splitlines()[0]
