"""The plugs and how they are found: one file an entry, its constant on the last line is the registration.

A catalogue is a plural folder (`targets`, `workloads`, `observers`, `rules`, `parsers`). Every module in it ends with one
upper-case constant named TARGET, WORKLOAD, OBSERVER, RULE or PARSER. `names` lists modules without importing them;
`find` imports exactly one. Nothing else imports a plug.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Literal, overload

from assay.catalogue.cases import About, Case, ComparisonCase, ExperimentCase, Runs, TrialCase
from assay.catalogue.host import (
    FAMILY,
    LINUX,
    SNMP,
    CacheStat,
    Completed,
    Extents,
    Host,
    Listener,
    Look,
    Machine,
    Note,
    Notes,
    Process,
    SocketPeer,
    Syscalls,
    lab_bytes,
    needs_assay,
    needs_file,
    needs_system,
    system_of,
)
from assay.catalogue.knobs import FRAMES, FREE, MACHINE, PLACEMENT, TIMING, Knob, KnobKind, path_knobs, resolved
from assay.catalogue.pace import Pace
from assay.catalogue.plugs import (
    OWN_CPU_NS,
    Beside,
    Evidence,
    Mounts,
    Observer,
    ObserverScope,
    Order,
    Parser,
    Rule,
    Setting,
    Source,
    Target,
    TargetEvent,
    Undo,
    Watch,
    Workload,
)
from assay.errors import UsageError
from assay.records import Experiment, Path, Scope
from assay.units import Unit

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
PATHS = ("sockets",)
"""The observers that look where a path is claimed."""


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
@overload
def find(kind: Kind, name: str) -> Plug: ...
def find(kind: Kind, name: str) -> Plug:
    """Import one entry. Raises UsageError naming the entries that exist."""
    if name not in names(kind):
        raise UsageError(f"found {kind[:-1]} {name!r}; expected one of: {', '.join(names(kind))}")
    module = importlib.import_module(f"assay.{kind}.{name}")
    plug: Plug = getattr(module, CONSTANTS[kind])
    return plug


@functools.cache
def rules_of(scope: Scope) -> tuple[Rule, ...]:
    """The rules of one scope, by id. What says in its text that it has another scope is not imported, for that costs time."""
    words = tuple(f"scope=Scope.{one.name}," for one in Scope if one is not scope)
    likely = (name for name in names("rules") if not any(word in _text("rules", name) for word in words))
    return tuple(sorted((rule for name in likely if (rule := find("rules", name)).scope is scope), key=lambda rule: rule.id))


@functools.cache
def _text(kind: Kind, name: str) -> str:
    """The text of an entry; empty where there is none."""
    try:
        return (pathlib.Path(importlib.import_module(f"assay.{kind}").__path__[0]) / f"{name}.py").read_text(encoding="utf-8")
    except OSError:
        return ""


def observers_of(key: str) -> tuple[Observer, ...]:
    """The observers that speak of evidence with a key's layer (`page_cache`, `L9`, `fact:device`); imports none of the rest."""
    words = (f'keys="{key.partition(".")[0]}.', f'keys="{key}"')
    speaking = (name for name in names("observers") if any(word in _text("observers", name) for word in words))
    return tuple(find("observers", name) for name in speaking)


def watching(*when: Watch) -> tuple[str, ...]:
    """The observers that `assay stat` runs without being asked, in these cases; imports none of them."""
    words = [f"watch=Watch.{one.name}," for one in when]
    return tuple(name for name in names("observers") if any(word in _text("observers", name) for word in words))


@functools.cache
def programs_of(name: str) -> tuple[str, ...]:
    """The programs of a parser's tool, as it declares them (literally in its module), else what its name begins with."""
    _, declares, after = _text("parsers", name).rpartition("programs=(")
    found = tuple(word for word in after.partition(")")[0].split('"')[1::2]) if declares else ()
    return found or (name.partition("_")[0],)


@functools.cache
def noun_of(operation: str) -> str | None:
    """Give the plural of an operation in answers, as a workload declares it (literally in its module); None where none does."""
    speaking = (name for name in names("workloads") if f'"{operation}": "' in _text("workloads", name))
    return next((noun for name in speaking if (noun := find("workloads", name).nouns.get(operation))), None)


def watchers(named: Sequence[str] | None, *, paths: bool = False) -> tuple[str, ...]:
    """The names of the observers that an experiment's list stands for, each once; None stands for `*`.

    `paths`: something claims a path, so the usual ones include those that look at the load's own sockets.
    """
    wanted: dict[str, None] = {}
    for name in (USUAL,) if named is None else named:
        usual = [one for one in names("observers") if (paths and one in PATHS) or not find("observers", one).on_request]
        wanted |= dict.fromkeys(usual if name == USUAL else [name])
    return tuple(wanted)


def watchers_of(experiment: Experiment) -> tuple[str, ...]:
    """The names of the observers of an experiment; where a network path is claimed, with those that look at its own sockets."""
    claimed = any(measure.claim.path not in (None, Path.LOCAL) for measure in experiment.measures)
    return watchers(experiment.observers, paths=claimed)


def help_of(kind: Kind, name: str) -> str:
    """The first line of the entry's docstring."""
    module = importlib.import_module(f"assay.{kind}.{name}")
    return (module.__doc__ or "").strip().splitlines()[0]


def rule_named(rule: str) -> tuple[str, Rule]:
    """The rule of an id or name in any case, with the name of its module."""
    every = {name: find("rules", name) for name in names("rules")}
    wanted = rule.strip().lower().replace("_", "-")
    for name, found in every.items():
        if wanted in (found.id.lower(), found.name):
            return name, found
    order = sorted(every.values(), key=lambda found: found.id)
    near = [found for found in order if len(wanted) > 1 and (wanted in found.name or found.id.lower().startswith(wanted))]
    known = ", ".join(f"{found.id} {found.name}" for found in near or order)
    raise UsageError(f"found rule {rule!r}; expected an id or a name of: {known}")
