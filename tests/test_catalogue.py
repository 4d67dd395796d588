"""Laws of the catalogues: an entry without its page, its test or (a rule) its control is refused."""

import ast
import configparser
import inspect
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from assay import catalogue
from assay.evidence import sources
from assay.laboratory import rule_pages
from assay.records import Scope

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "assay"
ALIKE = {"Request": "the words of one call of a verb; each verb has its own"}
"""Class names of several folders, each with the idea that it stands for everywhere."""
ENTRIES = [(kind, name) for kind in catalogue.CONSTANTS for name in catalogue.names(kind)]
RULES = [name for kind, name in ENTRIES if kind == "rules"]
LONGEST_FILE = 500
USUAL_FILE = 300
"""Nineteen files of twenty are no longer."""
LEAST_FILE = 60
"""A shorter file that one other alone imports is a part of that one."""
A_FILE_EACH = (*(f"{kind}/" for kind in catalogue.CONSTANTS), "controls/", "settings/", "report/charts/")
"""Here a file is an entry, a kind of settings or a chart, however short."""
ENTRY_POINTS = ("cli/main.py",)
"""The installed command begins here: nothing of Assay imports it."""
LONGEST_FUNCTION = 40
"""From its docstring to its end: the signature of a verb is as long as its options are many."""


def imported(path: Path) -> set[str]:
    """The modules and names that a file imports, as dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def test_there_are_entries_of_every_kind_that_is_in_use():
    assert {kind for kind, _ in ENTRIES} == set(catalogue.CONSTANTS)


def test_an_operation_has_one_noun_whatever_workload_makes_it():
    """An answer finds the noun by the operation alone: one workload's `creates seen` was said of the creates of all."""
    nouns = {name: catalogue.find("workloads", name).nouns for name in catalogue.names("workloads")}
    unlike = [
        (name, operation, noun)
        for name, every in nouns.items()
        for operation, noun in every.items()
        if catalogue.noun_of(operation) != noun
    ]
    assert unlike == []


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_entry_has_page_test_help_and_registers_on_its_last_line(kind, name):
    module = SOURCE / kind / f"{name}.py"
    text = module.read_text()
    assert (ROOT / "docs" / kind / f"{name}.md").is_file(), "its page is missing"
    assert (ROOT / "tests" / kind / f"test_{name}.py").is_file(), "its test is missing"
    assert catalogue.help_of(kind, name).endswith("."), "the first docstring line is the help: one sentence"
    last = ast.parse(text).body[-1]
    targets = last.targets if isinstance(last, ast.Assign) else [getattr(last, "target", None)]
    assert [getattr(target, "id", None) for target in targets] == [catalogue.CONSTANTS[kind]], "the constant comes last"


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_entry_imports_no_other_entry(kind, name):
    plugs = tuple(f"assay.{plural}." for plural in catalogue.CONSTANTS)
    assert not [module for module in imported(SOURCE / kind / f"{name}.py") if module.startswith(plugs)]


@pytest.mark.parametrize("kind", ["targets", "workloads", "observers", "parsers"])
def test_constant_is_named_like_its_file(kind):
    assert [catalogue.find(kind, name).name for name in catalogue.names(kind)] == list(catalogue.names(kind))


@pytest.mark.parametrize("name", catalogue.names("observers"))
def test_an_observers_evidence_has_words(name):
    observer = catalogue.find("observers", name)
    assert observer.sources, "it says in words what its evidence is"
    assert [key for key in observer.gives if sources.of(key).words == key] == []


@pytest.mark.parametrize("scope", list(Scope))
def test_rules_of_a_scope_are_all_of_them(scope):
    assert {rule.id for rule in catalogue.rules_of(scope)} == {
        rule.id for name in RULES if (rule := catalogue.find("rules", name)).scope is scope
    }


def test_rules_of_other_scopes_are_not_imported():
    code = (
        "import sys; from assay import catalogue; from assay.records import Scope; "
        "print(sorted({m.RULE.scope for n, m in sys.modules.items() if n.startswith('assay.rules.')} "
        "if catalogue.rules_of(Scope.TRIAL) else []))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("Scope.") == 1
    assert "Scope.TRIAL" in done.stdout


def test_rule_ids_are_unique_and_names_follow_the_file():
    rules = [catalogue.find("rules", name) for name in RULES]
    assert len({rule.id for rule in rules}) == len(rules)
    assert [rule.name.replace("-", "_") for rule in rules] == RULES


@pytest.mark.parametrize("name", RULES)
def test_rule_has_thresholds_a_source_and_a_control(name):
    rule = catalogue.find("rules", name)
    limits = tomllib.loads((SOURCE / "rules" / "limits.toml").read_text())
    assert rule.id in limits, "its table in limits.toml is missing"
    assert rule.wrong, "it says what goes wrong"
    assert rule.advice, "it says what to do"
    assert rule.alternatives, "it says what else gives the same signal"
    control = SOURCE / "controls" / f"{name}.toml"
    assert control.is_file(), "its pair of controls is missing"
    assert tomllib.loads(control.read_text())["control"]["rule"] == rule.id


@pytest.mark.parametrize("name", RULES)
def test_a_rule_takes_the_case_of_its_scope(name):
    rule = catalogue.find("rules", name)
    cases = {Scope.TRIAL: "TrialCase", Scope.COMPARISON: "ComparisonCase", Scope.EXPERIMENT: "ExperimentCase"}
    taken = {kind for function in (rule.check, rule.applies) for kind in inspect.get_annotations(function).values()}
    assert taken & {*cases.values()} == {cases[rule.scope]}


@pytest.mark.parametrize("name", RULES)
def test_a_relabel_is_words_without_figures_of_the_run(name):
    tree = ast.parse((SOURCE / "rules" / f"{name}.py").read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in ("relabel", "label")]
    for node in (part for text in texts for part in ast.walk(text)):
        assert not (isinstance(node, ast.FormattedValue) and node.format_spec), "a number belongs in the detail"
        assert not (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "measures"), "a figure belongs in the detail"


@pytest.mark.parametrize("name", RULES)
def test_the_page_of_a_rule_is_made_from_the_rule(name):
    page = ROOT / "docs" / "rules" / f"{name}.md"
    made = rule_pages.markdown(rule_pages.page(name, catalogue.find("rules", name)))
    assert page.read_text() == made, "run `make docs`: the page is not what the rule says"


def test_rule_ids_stand_only_in_the_rules_and_in_what_sound_needs():
    ids = {catalogue.find("rules", name).id for name in RULES}
    elsewhere = {
        f"{path.relative_to(SOURCE)}:{node.lineno}": node.value
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE / "rules" and path != SOURCE / "rulekit" / "soundness.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in ids
    }
    assert elsewhere == {}, "a rule says by `meaning` what other stages ask of it"


@pytest.mark.parametrize("name", RULES)
def test_a_control_plants_a_lie_and_a_twin_that_differ(name):
    text = tomllib.loads((SOURCE / "controls" / f"{name}.toml").read_text())
    control, factors = text["control"], text.get("factors", {})
    lie, twin, blind = control["fail"], control["pass"], control.get("blind", [])
    assert lie != twin or blind, "lie and twin are the same run, so the control asserts nothing"
    assert (lie and twin) or blind, "the levels of the lie and of the twin are named"
    assert [path for level in (lie, twin) for path, value in level.items() if value not in factors.get(path, [])] == []
    assert control["measure"] in text["measures"], "the measure of which the rule speaks is not measured"


def test_no_file_outgrows_its_bounds():
    long = {str(path): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert not {path: lines for path, lines in long.items() if lines > LONGEST_FILE}
    assert sorted(long.values())[int(len(long) * 0.95)] <= USUAL_FILE


def test_no_small_file_serves_one_other_alone():
    paths = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
        for path in SOURCE.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py")
    }
    imports = Counter(name for path in SOURCE.rglob("*.py") for name in imported(path) & paths.keys())
    lonely = (path for name, path in paths.items() if imports[name] < 2)
    small = (str(path.relative_to(SOURCE)) for path in lonely if len(path.read_text().splitlines()) < LEAST_FILE)
    assert not [name for name in small if not name.startswith((*A_FILE_EACH, *ENTRY_POINTS))]


def test_no_function_outgrows_its_bounds():
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.body[0].lineno + 1 > LONGEST_FUNCTION
    ]
    assert not long


def test_no_file_is_named_for_what_it_is_not():
    banned = re.compile(r"(utils?|helpers?|manager|base|common|misc)(\.py)?$")
    assert not [str(path) for path in SOURCE.rglob("*") if banned.search(path.name)]


def test_no_class_or_function_is_named_by_a_participle_that_says_nothing():
    """Nouns of the field, and verbs, let a reader guess what is behind a name."""
    banned = {"told", "said", "asked", "met", "meant", "moved", "teed", "touched", "due"}
    defined = (ast.ClassDef, ast.FunctionDef)
    assert not [
        f"{path}:{node.lineno} {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, defined) and node.name.strip("_").lower() in banned
    ]


def test_a_name_of_a_class_stands_for_one_idea():
    """Two classes of one name in two folders are the same idea, which `ALIKE` gives; nested classes have no reader elsewhere."""
    folders: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                folders.setdefault(node.name, set()).add(str(path.parent.relative_to(SOURCE)))
    assert {name: found for name, found in folders.items() if len(found) > 1 and name not in ALIKE} == {}
    assert [name for name in ALIKE if len(folders.get(name, ())) < 2] == []


def test_the_audit_of_a_command_needs_no_heavy_library():
    code = (
        "import sys, assay.audit.judge, assay.measures, assay.catalogue as c, assay.hosts.local\n"
        "[c.find(k, n) for k in ('observers', 'rules', 'parsers') for n in c.names(k)]\n"
        "print(sorted({'numpy', 'scipy', 'duckdb', 'altair', 'pydantic', 'typer', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("contract", "door"), [("duckdb", "notebook"), ("scipy", "statistics"), ("shell", "hosts")])
def test_a_library_has_one_door(contract, door):
    """A contract of imports names every room but the one that may use the library."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    named = {name.removeprefix("assay.") for name in contracts[f"importlinter:contract:{contract}"]["source_modules"].split()}
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - named == {"__init__", "controls", door}
