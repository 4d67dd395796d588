"""Results in the forms that other people publish, of many versions: each figure as the text says it; null = no figure.

`recorded.json` has every figure of the recordings of real runs, to the last digit; a recording that is not in it is refused.
`runs` is how many runs a file has, where it has several or could be taken for several; `figures` is how many figures there are.
"""

import contextlib
import gzip
import json
import math
import quopri
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay import catalogue
from assay.catalogue import console
from assay.errors import EvidenceError
from assay.watch import imported, reports
from stage.rows import each
from stage.sizes import few_and_many

FOLDER = Path(__file__).parent.parent / "fixtures"
PUBLISHED, RECORDED = (json.loads((FOLDER / f"{name}.json").read_text()) for name in ("published", "recorded"))
RIGHT = PUBLISHED | RECORDED
EVERY = sorted(path for folder in ("published", "output") for path in (FOLDER / folder).iterdir())
RELATIVE = 0.006
"""A rate with three digits is known to 0.5 %."""
EXACT = 1e-9


def figures(data):
    return imported.recognised(console.decoded(data)).values


def is_as_told(name, wanted, found):
    near = RELATIVE if name in PUBLISHED else EXACT
    return found is None if wanted is None else found is not None and math.isclose(found, wanted, rel_tol=near)


def unlike(name, data):
    """What is not as the text says, as lines."""
    if name not in RIGHT:
        with contextlib.suppress(EvidenceError):
            return [f"{name}: no figures are kept, found {figures(data)}"]
        return []
    try:
        told = figures(data)
        found = told | {"runs": len(imported.all_runs(console.decoded(data))[0]), "figures": len(told)}
    except EvidenceError as error:
        return [f"{name}: {error}"]
    return [
        f"{name}: {key} = {found.get(key)}, not {value}"
        for key, value in RIGHT[name].items()
        if not is_as_told(name, value, found.get(key))
    ]


def test_every_published_text_has_figures():
    assert sorted(path.name for path in (FOLDER / "published").iterdir()) == sorted(PUBLISHED)


@pytest.mark.parametrize("tool", sorted({path.name.partition("-")[0] for path in EVERY}))
def test_every_figure_is_as_the_text_says(tool):
    of_tool = [path for path in EVERY if path.name.partition("-")[0] == tool]
    assert [line for path in of_tool for line in unlike(path.name, path.read_bytes())] == []


MANY_LINES = 3
WAYS = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "colours": lambda text: "".join(f"\x1b[1m{line}\x1b[0m\n" for line in text.split("\n")).encode(),
    "ts": lambda text: before("Nov 28 22:44:13 ", text),
    "iperf3 --timestamps": lambda text: before("Sat Nov 28 22:44:13 2026 ", text),
    "kubectl": lambda text: before("2026-11-28T22:44:13.123456789Z ", text),
    "Jenkins": lambda text: before("[2026-11-28T22:44:13.123Z] ", text),
    "docker compose": lambda text: before("bench-1  | ", text),
    "journald": lambda text: before("Nov 28 22:44:13 filer bench[4711]: ", text),
    "a list's indent": lambda text: before("\t", text),
    "an answer to a mail": lambda text: before("> ", text),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()),
    "pdsh": lambda text: before("node-1: ", text),
    "mpirun --tag-output": lambda text: before("[1,0]<stdout>:", text),
    "gh run view --log": lambda text: before("bench\tRun it\t2026-11-28T22:44:13.1234567Z ", text),
    "gzip": lambda text: gzip.compress(text.encode()),
    "a list in a note": lambda text: before("- ", text),
    "a remark behind each line": lambda text: re.sub(r"(?<=\S)$", "   <- last night", text, flags=re.MULTILINE).encode(),
    "docker's file": lambda text: "".join(
        json.dumps({"log": line, "stream": "stdout", "time": "2026-11-28T22:44:13.1Z"}, separators=(",", ":")) + "\n"
        for line in text.splitlines(keepends=True)
    ).encode(),
    "Python's logging": lambda text: before("2026-11-28 22:44:13,123 - INFO - ", text),
    "journald -o short-iso": lambda text: before("2026-11-28T22:44:13+0000 filer bench[4711]: ", text),
    "GitLab": lambda text: before("2026-11-28T22:44:13.123456Z 01O ", text),
    "rsync --log-file": lambda text: before("2026/11/28 22:44:13 [4711] ", text),
    "compose and time": lambda text: before("bench-1  | 2026-11-28T22:44:13.1Z ", text),
}
"""What happens to a text on its way; each is undone."""


def before(prefix, text):
    return "".join(f"{prefix}{line}\n" for line in text.rstrip("\n").split("\n")).encode()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@few_and_many("every", 5, 1)
def test_what_happened_to_a_text_on_its_way_changes_no_figure(way, every):
    failures = []
    for path in sorted((FOLDER / "published").iterdir())[list(WAYS).index(way) % every :: every]:
        text = console.plain(console.decoded(path.read_bytes()))
        if way == "UTF-16 without a mark" and not text.isascii():
            continue  # told by its zero bytes, which other scripts do not have
        if way == "pdsh" and text.count("\n") < MANY_LINES:
            continue  # nobody can tell a host from what a tool says of itself
        failures += unlike(path.name, WAYS[way](text))
    assert failures == []


TWICE = {
    "bonnie-1.97-screen.txt",
    "db_bench-6.29.txt",
    "k6-1.0.txt",
    "vdbench-50407-totals.txt",
    "searchrate-ds-6.5.txt",
    "time-1.9-verbose.txt",
    "rsync-3.5.0-stats.txt",
    "tar-1.34-totals.txt",
    "io500-2020.txt",
    "ntttcp-linux-1.4-form.txt",
    "redis-3.0.txt",
    "slapadd-2.4.59.txt",
}


def test_two_reports_in_a_file_are_two_runs_also_where_no_line_begins_or_ends_one():
    texts = {path.name: console.decoded(path.read_bytes()) for path in EVERY if path.name in TWICE}
    assert len(texts) == len(TWICE)
    assert {name: count for name, text in texts.items() if (count := len(imported.all_runs(text + text)[0])) != 2} == {}
    rows = "2024010512000{0},192.0.2.1,1,192.0.2.2,5001,3,{1}.0-{2}.0,1178599424,942800000\n"
    intervals = "".join(rows.format(at, *ends) for at, ends in enumerate([(0, 1), (1, 2), (0, 2)]))
    assert len(imported.all_runs(intervals)[0]) == 1, "rows of intervals are no runs"


REFUSED = json.loads((FOLDER / "refused.json").read_text())


@each("name", *REFUSED)
def test_what_is_not_read_is_refused_by_its_name(name):
    with pytest.raises(EvidenceError, match=re.escape(name)) as refused:
        imported.all_runs(REFUSED[name])
    assert "no known tool" not in str(refused.value)


def of_stat(tool, text):
    """What `assay stat` takes from the output of a command that calls the tool."""
    parser = catalogue.find("parsers", tool)
    argv = catalogue.programs_of(tool)[:1]
    streams = {"stdout": SimpleNamespace(text=text), "stderr": SimpleNamespace(text="")}
    read = reports.by_parser(SimpleNamespace(argv=argv, result=None, lived=(), elapsed_ns=1, **streams))
    chosen = parser.operations(argv)
    return (
        read.tool,
        read.values,
        lambda values: {name: value for name, value in values.items() if not chosen or name.partition(".")[0] in chosen},
    )


def test_stat_takes_the_figures_that_import_takes():
    failures = []
    for path in EVERY:
        text = console.decoded(path.read_bytes())
        if console.by_host(text):
            continue  # what several hosts printed is several runs, and no output of one command
        try:
            wanted = imported.recognised(text)
        except EvidenceError:
            continue
        tool, values, chosen = of_stat(wanted.tool, text)
        if (tool, values) != (wanted.tool, chosen(wanted.values)):
            failures.append(f"{path.name}: {tool} {set(values.items()) ^ set(chosen(wanted.values).items())}")
    assert failures == []


@each("name", *catalogue.names("parsers"))
def test_a_reader_is_found_by_each_program_of_its_tool(name):
    parser = catalogue.find("parsers", name)
    programs = catalogue.programs_of(name)
    assert programs == (parser.programs or (name.partition("_")[0],)), "declared literally, to be found without an import"
    assert [program for program in programs if name not in reports.likely((f"/usr/bin/{program}", "-x"))] == []


def test_stat_refuses_figures_where_the_tool_says_on_its_other_output_that_its_work_failed():
    text = (FOLDER / "output" / "hyperfine-1.15.0.txt").read_text(encoding="utf-8")
    argv, warning = ("hyperfine", "-i", "false"), "  Warning: Ignoring non-zero exit code.\n"
    streams = {"stdout": SimpleNamespace(text=text), "stderr": SimpleNamespace(text=warning)}
    watched = SimpleNamespace(argv=argv, result=None, lived=(), elapsed_ns=1, **streams)
    with pytest.raises(EvidenceError, match="Ignoring non-zero exit code"):
        reports.by_parser(watched)
    streams["stderr"] = SimpleNamespace(text="")
    assert reports.by_parser(SimpleNamespace(**{**vars(watched), **streams})) is not None
