"""The plugs and how they are found: one file an entry, its constant on the last line is the registration.

A catalogue is a plural folder (`targets`, `workloads`, `observers`, `rules`, `parsers`). Every module in it ends with one
upper-case constant named TARGET, WORKLOAD, OBSERVER, RULE or PARSER. `names` lists modules without importing them;
`find` imports exactly one. Nothing else imports a plug.
"""

from assay.catalogue.cases import About, Case, ComparisonCase, ExperimentCase, Runs, TrialCase
from assay.catalogue.find import (
    CONSTANTS,
    USUAL,
    Kind,
    Plug,
    find,
    help_of,
    names,
    noun_of,
    observers_of,
    rule_named,
    rules_of,
    watchers,
    watching,
)
from assay.catalogue.host import CacheStat, Completed, Extents, Host, Process, Syscalls
from assay.catalogue.knobs import FREE, PLACEMENT, TIMING, Knob, KnobKind, resolved
from assay.catalogue.plugs import (
    Beside,
    Evidence,
    Observer,
    ObserverScope,
    Order,
    Parser,
    Rule,
    Setting,
    Source,
    Target,
    Undo,
    Watch,
    Workload,
)
from assay.units import Unit

__all__ = [
    "CONSTANTS",
    "FREE",
    "PLACEMENT",
    "TIMING",
    "USUAL",
    "About",
    "Beside",
    "CacheStat",
    "Case",
    "ComparisonCase",
    "Completed",
    "Evidence",
    "ExperimentCase",
    "Extents",
    "Host",
    "Kind",
    "Knob",
    "KnobKind",
    "Observer",
    "ObserverScope",
    "Order",
    "Parser",
    "Plug",
    "Process",
    "Rule",
    "Runs",
    "Setting",
    "Source",
    "Syscalls",
    "Target",
    "TrialCase",
    "Undo",
    "Unit",
    "Watch",
    "Workload",
    "find",
    "help_of",
    "names",
    "noun_of",
    "observers_of",
    "resolved",
    "rule_named",
    "rules_of",
    "watchers",
    "watching",
]
