"""How plugs are found: `names` lists modules without importing them, `find` imports exactly one."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
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


def help_of(kind: Kind, name: str) -> str:
    """The first line of the entry's docstring."""
    module = importlib.import_module(f"assay.{kind}.{name}")
    return (module.__doc__ or "").strip().splitlines()[0]
