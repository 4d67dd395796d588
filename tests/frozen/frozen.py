"""The frozen corpus: what Assay says of stored notebooks and fixed inputs, held against the texts that are kept here.

    frozen.py check [NAME...]     compare; exit 1 on a difference
    frozen.py accept [NAME...]    write the new texts
    frozen.py whole DIR [NAME...] write the texts unshortened below DIR
    frozen.py pack NAME DIR       keep a directory with notebooks as NAME

A name is a notebook or a group of calls (README.md). Each name has a forked child of one warm process.
"""

import ctypes
import difflib
import gc
import importlib
import json
import os
import pickle
import pkgutil
import re
import secrets
import shlex
import shutil
import signal
import sys
import tarfile
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import shorten  # noqa: E402

NOTEBOOKS, CALLS, TEXTS = HERE / "notebooks", HERE / "calls", HERE / "texts"
TOGETHER = int(os.environ.get("FROZEN_TOGETHER", "2"))
"""Cases at once."""
MEMORY = Path("/dev/shm")
"""Where the calls work, since a notebook's files are flushed; else where temporary files are."""
PR_SET_PDEATHSIG = 1
DIFF_LINES = 40
"""Of the difference of one text."""
ENVIRONMENT = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}
DERIVED = ("derived", "index.sqlite*", "writer.lock", "report*", "export", "*.log")
"""What a stored notebook leaves out: everything but the raw data."""
READABLE = "readable"
"""The text that says which runs of a notebook can be read."""
LATER = ("duckdb", "numpy", "pydantic", "scipy.special", "scipy.stats", "typer.rich_utils")
"""What Assay imports only when it needs it."""
TABLES = (
    *("runs", "phases", "phase_hosts", "clients", "servers", "connections", "missing", "verdicts", "findings", "cells"),
    *("comparisons", "experiments", "measures", "courses", "requirements", "dips", "scaling", "effects"),
    *("operation_ladder", "percentiles", "histograms"),
)
"""What is exported: all but the raw series, facts and readings."""
EXPORTED = {
    *("quick", "net_stream", "net_udp", "net_rr_rate", "ldap_openldap", "ldap_389ds", "ldap_import", "coherence_moosefs"),
    *("drill_power", "line_window", "sittings", "index_parity", "design_screening", "requirement_met", "null_scaling"),
    *("schema_1", "damaged", "open_loop", "until_precise", "with_event", "middlebox", "stat_compared", "steady"),
}
"""Notebooks whose tables are exported: each table has rows in some, and each kind of load is in one."""
FEW_LABS = 2
"""Of more notebooks in one archive only the audit is shown, and what calls/NAME.txt asks."""
QUERY = "SELECT layer, source, count(*) AS series, count(DISTINCT metric) AS metrics FROM series GROUP BY ALL ORDER BY ALL"


@dataclass(frozen=True)
class Said:
    """What one call printed, and how it ended."""

    words: Sequence[str]
    status: int
    out: str
    err: str

    def text(self, shown: str | None = None) -> str:
        """The call as a text; `shown` instead of its output."""
        parts = [f"$ assay {shlex.join(self.words)}", self.out.rstrip("\n") if shown is None else shown]
        parts += [f"[stderr]\n{self.err.rstrip()}"] if self.err else []
        parts += [f"[status {self.status}]"] if self.status else []
        return "\n".join(part for part in parts if part) + "\n"


@dataclass
class Outcome:
    """What a case gave: its texts by name, and why it cannot be accepted."""

    name: str
    texts: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def assay(words: Sequence[str], home: Path) -> Said:
    """Call the command in this process, in a directory; its output goes into files meanwhile."""
    kept = os.dup(1), os.dup(2), os.dup(0)
    texts = []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open() as nothing:
        for descriptor, stream in enumerate((nothing, out, err)):
            os.dup2(stream.fileno(), descriptor)
        status = called(words, home)
        for descriptor, former in enumerate((kept[2], *kept[:2])):
            os.dup2(former, descriptor)
            os.close(former)
        for stream in (out, err):
            stream.seek(0)
            texts.append(shorten.pinned(stream.read().decode("utf-8", "backslashreplace"), home))
    return Said([shorten.pinned(word, home) for word in words], status, *texts)


def called(words: Sequence[str], home: Path) -> int:
    """Be the command as a process of its own would be; its exit status."""
    from assay.cli.main import main
    from assay.cli.verbs import app

    os.chdir(home)
    os.environ["HOME"] = str(home)
    sys.argv = ["assay", *words]
    streams, verbs = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__), list(app.registered_commands)
    for number, name in enumerate(("stdout", "stderr"), 1):
        stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    else:
        return 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = streams
        app.registered_commands[:] = verbs


def labs_in(home: Path) -> list[Path]:
    """The notebooks below a directory, relative to it."""
    return sorted({plan.parents[1].relative_to(home) for plan in home.rglob("plan*.json") if ".trash" not in plan.parts})


def notebook(name: str, home: Path) -> Outcome:
    """Every verb that only looks, on every notebook of an archive."""
    with tarfile.open(NOTEBOOKS / f"{name}.tar.xz") as packed:
        packed.extractall(home, filter="data")
    found = Outcome(name)
    labs = labs_in(home)
    for lab in labs:
        prefix = "" if len(labs) == 1 else f"{lab}/".replace("/lab/", "/")
        for folder in sorted(path.name for path in (home / lab).iterdir() if (path / "trials").is_dir()):
            several = "" if len(list((home / lab).glob("*/trials"))) == 1 else f"{folder}/"
            told = [*verbs(home, lab, folder)] if len(labs) <= FEW_LABS else [*audited(home, lab, folder)]
            told += [*tables(home, lab, folder)] if name in EXPORTED else []
            found.texts |= {f"{prefix}{several}{verb}": text for verb, text in told}
    for number, words in enumerate(calls_of(name), 1):
        found.texts[f"call-{number:02d}"] = assay(words, home).text()
    return found


def verbs(home: Path, lab: Path, folder: str) -> Iterator[tuple[str, str]]:
    """The text of each verb on one experiment of a notebook."""
    at = ["--lab", str(lab)]
    yield from audited(home, lab, folder)
    yield from told("list", ["list", folder, *at], home)
    yield from told("compare", ["compare", folder, *at], home)
    if runs := sorted((home / lab / folder / "trials").glob("*/attempt-*")):
        run = f"{runs[-1].parent.name}/{runs[-1].name.removeprefix('attempt-')}"
        for name, text in told("show", ["show", run, folder, *at], home):
            yield name, text if name == "show" else text.splitlines()[-1] + "\n"
    yield "report", assay(["report", folder, *at, "--format", "md", "--out", "-"], home).text()


def tables(home: Path, lab: Path, folder: str) -> Iterator[tuple[str, str]]:
    """The tables of one experiment as export and SQL give them."""
    at = ["--lab", str(lab)]
    exported = assay(["export", folder, *at, "--to", "export", *(word for table in TABLES for word in ("--table", table))], home)
    written = sorted((home / "export").glob("*.csv"))
    yield (
        "export",
        exported.text() + "\n".join(shorten.short_table(path.stem, pinned_file(path, home)) for path in written) + "\n",
    )
    shutil.rmtree(home / "export", ignore_errors=True)
    yield "sql", assay(["sql", QUERY, *at, "--csv"], home).text()


def audited(home: Path, lab: Path, folder: str) -> Iterator[tuple[str, str]]:
    """The answer of an audit, and which runs it read."""
    yield from told("audit", ["audit", folder, "--lab", str(lab)], home)


def pinned_file(path: Path, home: Path) -> str:
    """The text of a file that a call wrote."""
    return shorten.pinned(path.read_text(encoding="utf-8"), home)


def told(verb: str, words: Sequence[str], home: Path) -> Iterator[tuple[str, str]]:
    """One call that gives the answer for people and the one in JSON."""
    said = assay([*words, "--json=out.json"], home)
    yield verb, said.text()
    if (file := home / "out.json").exists():
        text = pinned_file(file, home)
        yield f"{verb}-json", shorten.short_json(text) + "\n"
        if verb == "audit":
            yield READABLE, readable(json.loads(text))
        file.unlink()


def readable(answer: Mapping[str, object]) -> str:
    """Which runs of an experiment were read, and which were not, as `assay audit` says it in JSON."""
    told = [f"{one['run']['trial']['id']:04d}/{one['run']['attempt']} read" for one in answer["runs"]]
    return "\n".join(sorted([*told, *(f"{run} not read: {why}" for run, why in answer["damaged"].items())])) + "\n"


def calls_of(name: str) -> list[list[str]]:
    """The command lines of calls/NAME.txt, one a line; {assay} is the tree of Assay."""
    path = CALLS / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [shlex.split(line.replace("{assay}", str(shorten.ROOT))) for line in lines if line and not line.startswith("#")]


def group(name: str, home: Path) -> Outcome:
    """The command lines of one file, all in one text."""
    shutil.copytree(HERE / "bad", home / "bad")
    survey_tree(home / "tree")
    return Outcome(name, {"calls": "\n".join(alone(words, home) for words in calls_of(name))})


def alone(words: Sequence[str], home: Path) -> str:
    """The text of a call in a process of its own: some verbs end it or become another program."""
    return text if (text := apart(lambda: assay(words, home).text())) else f"$ assay {shlex.join(words)}\n[no answer]\n"


def survey_tree(tree: Path) -> None:
    """A small tree of files with ages, for `assay survey`."""
    now = tree.parent.stat().st_mtime
    for number in range(12):
        path = tree / f"folder{number % 3}" / f"file{number}.{('txt', 'dat', 'mail')[number % 3]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (1 << number))
        os.utime(path, times=(now - 3600, now - 86_400 * (4**number % 1500) - 600))


def helps(name: str, home: Path) -> Outcome:
    """What each verb says of itself."""
    verbs = re.findall(r"^  ([a-z]+) {2,}\S", assay(["-h"], home).out.partition("Commands:")[2], re.MULTILINE)
    texts = {verb: assay([verb, "-h"], home).text() for verb in verbs}
    return Outcome(name, {"assay": assay(["-h"], home).text(), **texts})


def rules(name: str, home: Path) -> Outcome:
    """What each rule says of itself, and the catalogue of all entries."""
    from assay import catalogue

    ids = sorted(catalogue.find("rules", rule).id for rule in catalogue.names("rules"))
    texts = {f"explain-{rule}": assay(["explain", rule], home).text() for rule in ids}
    return Outcome(name, {"catalogue": assay(["catalogue"], home).text(), **texts})


def plans(name: str, home: Path) -> Outcome:
    """The plan of each shipped experiment on a recorded machine: this one's tools and observers are left out of it."""
    from assay.cli import plan
    from assay.errors import AssayError
    from assay.experiment import read
    from assay.hosts.local import Local

    shutil.copytree(shorten.ROOT / "tests/fixtures/hosts/cgroup_v2", home / "machine", symlinks=True)
    (home / "machine/proc/self").mkdir(parents=True, exist_ok=True)
    (home / "machine/proc/self/status").write_text("Cpus_allowed_list:\t0-3\n")
    machine = Local("recorded", root=home / "machine")
    found = Outcome(name)
    for path in sorted((shorten.ROOT / "experiments").glob("*.toml")):
        try:
            experiment = read.read(path)
            text = plan.text(experiment, plan.preview_of(experiment, machine))
        except AssayError as error:
            text = f"refused: {error}"
        found.texts[path.stem] = shorten.pinned(text, home) + "\n"
    return found


def refused(name: str, home: Path) -> Outcome:
    """What is said of each bad file."""
    shutil.copytree(HERE / "bad", home / "bad")
    files = sorted(path.name for path in (home / "bad").iterdir())
    texts = (assay(["plan", f"bad/{file}"], home).text() for file in files)
    return Outcome(name, {"files": "\n".join(texts)})


def outputs() -> list[Path]:
    """Two recorded outputs of each reader, and all that are refused; the figures of all are in recorded.json."""
    from assay.catalogue import console
    from assay.errors import EvidenceError
    from assay.watch import imported

    of_tools: dict[str, list[Path]] = {}
    for path in sorted((shorten.ROOT / "tests/fixtures/output").iterdir()):
        try:
            tool = imported.recognised(console.decoded(path.read_bytes())).tool
        except EvidenceError:
            tool = path.name
        of_tools.setdefault(tool, []).append(path)
    return sorted({path for paths in of_tools.values() for path in (paths[0], paths[-1])})


def imports(name: str, home: Path) -> Outcome:
    """What is taken from recorded outputs of other tools."""
    shutil.copytree(shorten.ROOT / "tests/fixtures/output", home / "output")
    texts = {}
    for path in outputs():
        said = assay(["import", f"output/{path.name}", "--lab", "lab"], home)
        texts[path.name] = said.text()
        shutil.rmtree(home / "lab", ignore_errors=True)
    return Outcome(name, texts)


GROUPS: Mapping[str, Callable[[str, Path], Outcome]] = {
    "help": helps,
    "rules": rules,
    "plan": plans,
    "refused-files": refused,
    "import": imports,
}


def cases() -> dict[str, Callable[[str, Path], Outcome]]:
    """All names with what computes their texts; what takes long comes first."""
    stored = {path.name.removesuffix(".tar.xz"): notebook for path in sorted(NOTEBOOKS.glob("*.tar.xz"))}
    rest = {path.stem: group for path in sorted(CALLS.glob("*.txt")) if path.stem not in stored}
    return {**GROUPS, **rest, **stored}


def computed(name: str) -> Outcome:
    """The texts of one case by the code at hand; what went wrong on the way is told in `broken`."""
    home = (MEMORY if os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())) / f"assay-frozen-{secrets.token_hex(4)}"
    home.mkdir(mode=0o700)
    try:
        found = cases()[name](name, home)
    except Exception as error:
        found = Outcome(name, broken=[f"{name}: {type(error).__name__}: {error}"])
    finally:
        shutil.rmtree(home, ignore_errors=True)
    found.broken += [f"{name}/{text}: ended with a traceback" for text, said in found.texts.items() if "Traceback (" in said]
    found.broken += [f"{name}/{text}: {run} cannot be read any more" for text, run in lost(found)]
    return found


def lost(found: Outcome) -> Iterator[tuple[str, str]]:
    """Runs that could be read when the text was accepted, and cannot be read now."""
    for path in sorted((TEXTS / found.name).rglob(f"{READABLE}.txt")):
        text = str(path.relative_to(TEXTS / found.name).with_suffix(""))
        now = found.texts.get(text, "").splitlines()
        yield from ((text, line) for line in path.read_text().splitlines() if line.endswith(" read") and line not in now)


def all_computed(names: Sequence[str]) -> Iterator[Outcome]:
    """The texts of these cases, in order."""
    warm()
    with ProcessPoolExecutor(TOGETHER, mp_context=get_context("fork"), initializer=die_with_parent) as pool:
        for name, found in zip(names, pool.map(computed_apart, names), strict=True):
            yield found or Outcome(name, broken=[f"{name}: its process ended without an answer"])


def die_with_parent() -> None:
    """Have the kernel end this process with the one that forked it: a killed run leaves nothing behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def computed_apart(name: str) -> Outcome | None:
    """The texts of one case by a process of its own."""
    return apart(computed, name)


def apart(function: Callable[..., T], *given: object) -> T | None:
    """What a function gives in a forked child, which it may end or replace by another program; None where it did."""
    with tempfile.TemporaryFile() as answer:
        if (child := os.fork()) == 0:
            die_with_parent()
            try:
                pickle.dump(function(*given), answer)
                answer.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        answer.seek(0)
        return pickle.loads(told) if (told := answer.read()) else None


def warm() -> None:
    """Import Assay once, for all calls."""
    for name in ("ASSAY_LAB", "COLUMNS", "COLORTERM", "FORCE_COLOR"):
        os.environ.pop(name, None)
    os.environ |= ENVIRONMENT
    import assay

    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if not module.name.startswith("assay.cli.stat"):
            importlib.import_module(module.name)
    for name in LATER:
        importlib.import_module(name)
    from assay.audit import judge

    judge.ruleset()
    gc.collect()
    gc.freeze()


def stored(name: str) -> dict[str, str]:
    """The texts of a case as they are kept."""
    folder = TEXTS / name
    return {str(path.relative_to(folder))[: -len(".txt")]: path.read_text(encoding="utf-8") for path in folder.rglob("*.txt")}


def differences(found: Outcome) -> Iterator[str]:
    """What differs between the kept texts of a case and those of the code at hand, one text after the other."""
    before = stored(found.name)
    for text in sorted(before.keys() | found.texts.keys()):
        old, new = (told.get(text, "").splitlines() for told in (before, found.texts))
        if old != new:
            yield difference(f"{found.name}/{text}", old, new)


def difference(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    """The difference of one text with its counts, cut where it is long."""
    told = list(difflib.unified_diff(old, new, "kept", "now", lineterm="", n=1))[2:]
    counts = [sum(line.startswith(sign) for line in told) for sign in "-+"]
    rest = [f"... {len(told) - DIFF_LINES} more lines of this difference"] if len(told) > DIFF_LINES else []
    what = "new text" if not old else "no longer given" if not new else "differs"
    return "\n".join([f"== {text}: {what}, -{counts[0]} +{counts[1]} lines", *told[:DIFF_LINES], *rest])


def show(*told: str) -> None:
    """Write lines to standard output."""
    sys.stdout.writelines(f"{one}\n" for one in told)


def check(names: Sequence[str]) -> int:
    """Compare, print every difference; 1 where there is one."""
    wrong, broken, texts = list[str](), list[str](), 0
    for found in all_computed(names):
        texts += len(found.texts)
        wrong += differences(found)
        broken += found.broken
    show(*wrong, *broken, f"{texts} texts of {len(names)} names: {len(wrong)} differ, {len(broken)} broken.")
    if broken:
        show("A notebook that cannot be read or a traceback is a failure: it cannot be accepted.")
    elif wrong:
        show('`make frozen-accept` writes the new texts (NAMES="..." some of them); the change then stands in the commit.')
    return int(bool(wrong or broken))


def accept(names: Sequence[str]) -> int:
    """Write the new texts of the cases that are whole; 1 where one is not."""
    broken = list[str]()
    for found in all_computed(names):
        broken += found.broken
        if not found.broken:
            written(found, TEXTS)
    show(*broken)
    return int(bool(broken))


def written(found: Outcome, goal: Path) -> None:
    """Put the texts of a case in the place of the former ones."""
    shutil.rmtree(goal / found.name, ignore_errors=True)
    for text, told in found.texts.items():
        path = goal / found.name / f"{text}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(told, encoding="utf-8")


def whole(goal: Path, names: Sequence[str]) -> int:
    """Write the texts without cuts, for a comparison of two commits."""
    shorten.WHOLE = True
    for found in all_computed(names):
        written(found, goal)
    return 0


def pack(name: str, folder: Path) -> int:
    """Keep the raw data of the notebooks below a directory."""

    def plainly(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if any(Path(entry.name).match(pattern) for pattern in DERIVED):
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(NOTEBOOKS / f"{name}.tar.xz", "w:xz", preset=9) as packed:
        for path in sorted(folder.iterdir()):
            packed.add(path, path.name, filter=plainly)
    return 0


def main(words: Sequence[str]) -> int:
    """Do what the words say."""
    verb, rest = (words[0], list(words[1:])) if words else ("", [])
    if verb == "pack":
        return pack(rest[0], Path(rest[1]))
    goal = Path(rest.pop(0)).resolve() if verb == "whole" else TEXTS
    if unknown := sorted(set(rest) - cases().keys()):
        show(f"found {', '.join(unknown)}; expected names of {', '.join(cases())}")
        return 2
    names = rest or list(cases())
    doing = {"check": check, "accept": accept, "whole": lambda some: whole(goal, some)}
    if verb not in doing:
        show(__doc__)
        return 2
    return doing[verb](names)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # else DuckDB tells of what it leaks, since all that was imported is frozen
