"""Laws of the catalogues, each one test that lists every failure: what an entry has, and that what it says of itself is so."""

import ast
import configparser
import functools
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from assay import catalogue
from assay.audit import limits
from assay.catalogue import PLACEMENT, TIMING, Order, Workload, resolved
from assay.evidence import sources
from assay.records import Endpoint, PhasePlan, Scope

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "assay"
ENTRIES = [(kind, name) for kind in catalogue.CONSTANTS for name in catalogue.names(kind)]
RULES = {name: catalogue.find("rules", name) for name in catalogue.names("rules")}
OBSERVERS = {name: catalogue.find("observers", name) for name in catalogue.names("observers")}
WORKLOADS = {name: catalogue.find("workloads", name) for name in catalogue.names("workloads")}


def text_of(kind: str, name: str) -> str:
    return (SOURCE / kind / f"{name}.py").read_text()


@functools.cache
def tree_of(text: str) -> ast.Module:
    return ast.parse(text)


def imported(text: str) -> set[str]:
    """The modules and names that a file imports at its top, as dotted names."""
    found: set[str] = set()
    for node in tree_of(text).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def last_name(text: str) -> str | None:
    last = tree_of(text).body[-1]
    target = last.targets[0] if isinstance(last, ast.Assign) else getattr(last, "target", None)
    return getattr(target, "id", None)


def is_documented(kind: str, name: str) -> bool:
    """By sentences in a page of its own, or in a section of a page that entries share."""
    pages = ROOT / "docs" / kind
    own = pages / f"{name}.md"
    shared = (re.search(rf"(?ms)^## {name}\n(.*?)(?=^## |\Z)", page.read_text()) for page in pages.glob("*.md"))
    texts = [own.read_text()] if own.is_file() else [found[1] for found in shared if found]
    return any(re.search(r"(?m)^[^#|\n].{20,}\.$", text) for text in texts)


def test_every_entry_has_help_a_page_a_test_and_registers_on_its_last_line():
    failures = []
    assert {kind for kind, _ in ENTRIES} == set(catalogue.CONSTANTS)
    for kind, name in ENTRIES:
        test = ROOT / "tests" / kind / f"test_{name}.py"
        if kind != "rules" and not is_documented(kind, name):
            failures.append(
                f"{kind}/{name}: its page docs/{kind}/{name}.md, or a section of a page there, is missing, or has no sentence"
            )
        if not test.is_file() or not re.search(r"(?m)^(async )?def test_", test.read_text()):
            failures.append(f"{kind}/{name}: tests/{kind}/test_{name}.py holds no test")
        else:
            failures += [f"{kind}/{name}: {one} can not fail" for one in idle_tests(test.read_text())]
        if not catalogue.help_of(kind, name).endswith("."):
            failures.append(f"{kind}/{name}: the first docstring line is the help: one sentence")
        if last_name(text_of(kind, name)) != catalogue.CONSTANTS[kind]:
            failures.append(f"{kind}/{name}: the constant {catalogue.CONSTANTS[kind]} comes last")
    assert failures == []


def idle_tests(text: str) -> list[str]:
    """The tests that neither call anything nor compare: they hold a docstring, `pass` or `assert True`."""
    tests = [one for one in tree_of(text).body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
    return [one.name for one in tests if not any(looks(node) for line in one.body for node in ast.walk(line))]


def looks(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) or (isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant))


def test_an_entry_is_named_like_its_file_and_imports_no_other_entry():
    plugs = tuple(f"assay.{plural}." for plural in catalogue.CONSTANTS)
    failures = []
    for kind, name in ENTRIES:
        if catalogue.find(kind, name).name.replace("-", "_") != name:
            failures.append(f"{kind}/{name}: the file has another name than the entry")
        found = re.findall(r"(?m)^\s*(?:from|import) ([\w.]+)", text_of(kind, name))
        failures += [f"{kind}/{name} imports {one}" for one in found if f"{one}.".startswith(plugs)]
    assert failures == []


def test_an_operation_has_one_noun_whatever_workload_makes_it():
    """An answer finds the noun by the operation alone: one workload's `creates seen` was said of the creates of all."""
    failures = [
        f"{name}: {operation} is {noun!r} here and {catalogue.noun_of(operation)!r} in answers. Nouns are found in the text, by "
        f'operation, over all workloads: write nouns={{"{operation}": "..."}} as a literal, and alike in every workload'
        for name, workload in WORKLOADS.items()
        for operation, noun in workload.nouns.items()
        if catalogue.noun_of(operation) != noun
    ]
    assert failures == []


READING = {
    "backup_read": {"tree": "/srv"},
    "bulk_io": {"file": "/srv/f", "operations": ("read",)},
    "profile": {"profile": "mail_spool"},
}
"""Knobs with which a workload can be told from one that writes; all others have their defaults."""


def phases_of(workload: Workload, given: dict[str, object]) -> tuple[bool, tuple[PhasePlan, ...]]:
    knobs = resolved((*workload.knobs, *PLACEMENT, *TIMING), {"clients": 2, **given})
    ends = tuple(Endpoint(kind=workload.accepts[0], address="/d") for _ in range(2 + workload.servers(knobs)))
    return workload.only_reads(knobs), workload.phases(Order(workload="w", knobs=knobs, endpoints=ends, seed=1, memory="/m"))


def test_a_workload_that_only_reads_has_no_phase_that_writes_or_creates():
    """Assay runs such a workload on data of the user, without a directory of its own."""
    failures, reading = [], set()
    for name, workload in WORKLOADS.items():
        for given in ({}, READING.get(name, {})):
            if name == "profile" and not given:
                continue
            only_reads, phases = phases_of(workload, given)
            reading |= {name} if only_reads else set()
            writes = [
                f"{name} {given}: only_reads is true, but phase {phase.name} does {', '.join(phase.changes)}"
                for phase in phases
                if phase.changes
            ]
            failures += writes if only_reads else []
    assert failures == []
    assert {"backup_read", "bulk_io", "ldap_load", "null"} <= reading, "the law looked at these"


def test_every_key_that_a_rule_reads_is_given_by_an_observer_or_the_lab():
    given = {key for observer in OBSERVERS.values() for key in observer.gives if key != "fact:*"}
    given |= {source.keys for source in sources.UNOBSERVED}
    given |= {source.keys for observer in OBSERVERS.values() for source in observer.sources if source.keys.startswith("fact:")}
    failures = [
        f"{rule.id} {name} reads {key}, which nobody gives: add it to `gives` of its observer, or to sources.UNOBSERVED"
        for name, rule in RULES.items()
        for key in (*rule.reads, *rule.needs)
        if not any(sources.fits(key, one) or sources.fits(one, key) for one in given)
    ]
    assert failures == []


def test_evidence_of_rules_and_observers_has_words():
    failures = [f"{name}: {key}" for name, one in OBSERVERS.items() for key in one.gives if sources.of(key).words == key]
    failures += [f"{name} has no sources" for name, one in OBSERVERS.items() if not one.sources]
    failures += [
        f"{rule.id}: {key}" for rule in RULES.values() for key in (*rule.reads, *rule.needs) if sources.of(key).words == key
    ]
    assert failures == []


def test_rules_of_a_scope_are_all_of_them_and_no_other_is_imported():
    failures = [scope for scope in Scope if {one.name for one in catalogue.rules_of(scope)} != of_scope(scope)]
    code = (
        "import sys; from assay import catalogue; from assay.records import Scope; catalogue.rules_of(Scope.TRIAL);"
        "print({m.RULE.scope.name for n, m in sys.modules.items() if n.startswith('assay.rules.')})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (failures, done.stdout) == ([], "{'TRIAL'}\n")


def of_scope(scope: Scope) -> set[str]:
    return {rule.name for rule in RULES.values() if rule.scope is scope}


def test_a_rule_has_an_id_of_its_own_and_says_what_goes_wrong_what_else_it_could_be_and_what_to_do():
    ids = [rule.id for rule in RULES.values()]
    failures = [f"{one}: {ids.count(one)} rules" for one in set(ids) if ids.count(one) > 1]
    cases = {Scope.TRIAL: "TrialCase", Scope.COMPARISON: "ComparisonCase", Scope.EXPERIMENT: "ExperimentCase"}
    for rule in RULES.values():
        failures += [
            f"{rule.id}: {part} is empty" for part in ("wrong", "advice", "alternatives", "sources") if not getattr(rule, part)
        ]
        if rule.id[0] in "TD" and rule.scope is Scope.TRIAL and not rule.reads:
            failures.append(f"{rule.id}: `reads` names the evidence that it looks at")
        taken = {kind for function in (rule.check, rule.applies) for kind in inspect.get_annotations(function).values()}
        if taken & {*cases.values()} != {cases[rule.scope]}:
            failures.append(f"{rule.id}: check and applies take a {cases[rule.scope]}")
    assert failures == []


def test_a_rules_table_of_limits_is_there_and_its_code_reads_each_threshold():
    """The code: the rule, and what it imports of the kit; `assay check` and `assay selftest` read those of their own."""
    failures, tables = [], limits.tables()
    for name, rule in RULES.items():
        text = text_of("rules", name)
        near = [path.read_text() for one in imported(text) if (path := SOURCE.parent / f"{one.replace('.', '/')}.py").is_file()]
        near += [path.read_text() for path in ((SOURCE / "published").glob("*.py") if rule.ask else ())]
        near += [(SOURCE / "selftest" / "observers.py").read_text()] if rule.id == "E04" else []
        every = "".join((text, *near))
        if rule.id not in tables:
            failures.append(f"{rule.id}: its table in limits.toml is missing")
        for threshold, (_, why) in limits.sourced(rule.id).items():
            failures += [] if read(threshold, every) else [f"{rule.id}: nothing reads {threshold}"]
            known = len(why) >= 10 and not re.search(r"(?i)\bguess|\btodo\b", why)
            failures += (
                [] if known else [f"{rule.id}: the source of {threshold} is {why!r}; expected where the number comes from"]
            )
        failures += [
            f"{rule.id} reads {one}, which limits.toml does not have"
            for one in re.findall(r'case\.thresholds\["(\w+)"\]', text)
            if one not in limits.sourced(rule.id)
        ]
    assert failures == []


NO_THRESHOLDS = {
    *("HELD_SHARE", "LEAST_WAIT", "MOSTLY", "NEARLY_ONE", "TENTH", "CAUSE", "NAMED_SHARE", "SAME_SHARE", "FEW"),
    *("LEAST", "LEAST_EACH", "LEAST_SAMPLES", "LEAST_FOR_FAR", "NOT_IN_FORCE", "PARTS", "SEGMENT_BYTES", "MOST_SEGMENTS"),
    *("MOST_NAMED", "MOST_SHOWN", "MOST_QUOTED", "MOST_REPEATS"),
}
"""Constants of rules that are compared with: lengths of lists, forms of what is printed, parts of a method."""


def test_no_threshold_stands_in_the_code_of_a_rule():
    """What decides is in limits.toml with its source, and in the digest's words, and `assay explain` shows it."""
    failures = []
    for name in RULES:
        tree = tree_of(text_of("rules", name))
        compared = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in (node.left, *node.comparators)
        }
        names = {node.id for node in ast.walk(tree) if id(node) in compared and isinstance(node, ast.Name)}
        numbers = [node for node in ast.walk(tree) if is_number(node)]
        failures += [
            f"{name}:{one.lineno}: compares with {one.value}" for one in numbers if id(one) in compared and not is_plain(one)
        ]
        for node in (one for one in ast.walk(tree) if isinstance(one, ast.Assign) and is_number(one.value)):
            target = ast.unparse(node.targets[0])
            if target in names - NO_THRESHOLDS and not is_plain(node.value):
                failures.append(f"{name}:{node.lineno}: {target} is a threshold, so it belongs in limits.toml")
    assert failures == []


def is_number(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def is_plain(node: ast.Constant) -> bool:
    """A count such as none, one or two, and the edge at which a number is written out."""
    return node.value in (0, 1, 2, 1e4)


def read(threshold: str, text: str) -> bool:
    """By its whole name, or as the parts of a name that is put together (`{timer}_most_ns`)."""
    whole = re.search(rf'["\']{threshold}["\']', text)
    return bool(whole) or any(threshold.endswith(tail) for tail in re.findall(r'f"\{\w+\}(_\w+)"', text))


def test_a_control_plants_a_lie_and_a_twin_that_differ_and_measures_what_the_rule_judges():
    failures = []
    for name, rule in RULES.items():
        file = SOURCE / "controls" / f"{name}.toml"
        if not file.is_file():
            failures.append(f"{name}: src/assay/controls/{name}.toml is missing")
            continue
        text = tomllib.loads(file.read_text())
        control, factors = text["control"], text.get("factors", {})
        lie, twin, blind = control["fail"], control["pass"], control.get("blind", [])
        stray = [path for level in (lie, twin) for path, value in level.items() if value not in factors.get(path, [])]
        wrong = {
            "is of another rule": control["rule"] != rule.id,
            "has a lie that is its twin, so that it asserts nothing": lie == twin and not blind,
            "names no levels of lie and twin": not (lie and twin) and not blind,
            f"has levels that are no levels of its factors: {stray}": stray,
            "does not measure what it is about": control["measure"] not in text["measures"],
        }
        failures += [f"{name}: the control {what}" for what, is_so in wrong.items() if is_so]
    assert failures == []


def test_a_relabel_is_words_without_figures_of_the_run():
    failures = []
    for name in RULES:
        tree = tree_of(text_of("rules", name))
        texts = [one.value for one in ast.walk(tree) if isinstance(one, ast.keyword) and one.arg in ("relabel", "label")]
        for node in (part for text in texts for part in ast.walk(text)):
            number = isinstance(node, ast.FormattedValue) and node.format_spec
            figure = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "measures"
            failures += [f"{name}:{node.lineno}: a figure belongs in the detail"] if number or figure else []
    assert failures == []


def test_rule_ids_stand_only_in_the_rules_and_in_what_sound_needs():
    ids = re.compile(rf"""(?<![f\w])(["'])({"|".join(rule.id for rule in RULES.values())})\1""")
    failures = [
        f"{path.relative_to(SOURCE)}: {found[2]}: a rule says by `meaning` what other stages ask of it"
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE / "rules" and path != SOURCE / "rulekit" / "soundness.py"
        for found in ids.finditer(path.read_text())
    ]
    assert failures == []


def test_the_audit_of_a_command_needs_no_heavy_library():
    code = (
        "import sys, assay.audit.judge, assay.measures, assay.catalogue as c, assay.hosts.local\n"
        "[c.find(k, n) for k in ('observers', 'rules', 'parsers') for n in c.names(k)]\n"
        "print(sorted({'numpy', 'scipy', 'duckdb', 'altair', 'pydantic', 'typer', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_library_has_one_door():
    """A contract of imports names every room but the one that may use the library."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    open_to = {}
    for contract in ("duckdb", "scipy", "shell"):
        sealed = contracts[f"importlinter:contract:{contract}"]["source_modules"].split()
        open_to[contract] = rooms - {name.removeprefix("assay.") for name in sealed} - {"__init__", "controls"}
    assert open_to == {"duckdb": {"notebook"}, "scipy": {"statistics"}, "shell": {"hosts"}}
