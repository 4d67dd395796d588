"""`assay stat`: its words, what passes through untouched, its exit status, its JSON, its gate, repeats, and what it costs."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from assay.catalogue import rules_of
from assay.cli.stat import options, shown
from assay.cli.stat.described import NOTHING
from assay.cli.stat.words import ALONE, VALUED
from assay.errors import InputErrors
from assay.laboratory.gate import Gate
from assay.records import Claim, Durability, Scope, State, Tier
from assay.watch.reports import commands, result_file, script_of
from stage.assay_process import Bench, wait_until

DOCS = Path(__file__).parents[3] / "docs"
HEAVY = {"numpy", "scipy", "duckdb", "altair", "pydantic", "typer", "rich"}


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "data").write_bytes(os.urandom(8 << 20))
    return Bench(tmp_path)


def block(done):
    return [line for line in done.stderr.splitlines() if line.startswith(("assay: ", "  "))]


# ------------------------------------------------------------------------------------------------------- words


def test_words_before_the_command_are_ours_and_all_others_are_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = options.read(["--gate=strict", "--claim", "tier=device,durability=stable-media", "--", "x", "--json", "--", "y"])
    assert request.argv == ("x", "--json", "--", "y")
    assert (request.gate, request.claim.tier, request.claim.durability) == (Gate.STRICT, Tier.DEVICE, Durability.STABLE_MEDIA)
    assert options.read(["--gate", "dd", "--gate"]).argv == ("dd", "--gate")
    assert options.read(["--vs", "dd if=a", "--", "x"]).commands[1].argv == ("dd", "if=a")
    assert options.read(["--vs=cat a | wc", "--", "x"]).commands[1].argv == ("sh", "-c", "cat a | wc")
    assert options.read(["--vs=a", "--", "x"]).repeat == 5
    request = options.read(["--observe=tracepoints,layout", "--server", "pid_file=p,data=d,data=/e,address=::1", "--", "x"])
    assert request.observe == ("tracepoints", "layout")
    (node,) = request.server.nodes
    assert (node.pid_file, node.address, node.cgroup, node.data) == ("p", "::1", None, (f"{tmp_path}/d", "/e"))
    assert list(options.CLAIM_PARTS) == [field.name for field in fields(Claim)], "every part of a claim has words"


def test_every_mistake_is_told_at_once(tmp_path, subtests):
    for words, wanted in (
        (
            ["--no", "--claim=tier=x", f"--json={tmp_path}/none/x", "--repeat=0", "--unit=MB/s", "--gate=y"],
            ("'--no'", "'x'", "none/x", "--repeat 0", "--unit without", "--gate=y", "no command"),
        ),
        (
            ["--observe", "all,tracepoints", "--server=data=d,host=x", "--", "x"],
            ("--observe all", "processes", "--server host=x", "without processes"),
        ),
        (["--reported", "[0-9]+ MB", "--", "x", "{braces}"], ("a group ( )", "unit")),
    ):
        with subtests.test(words=words):
            with pytest.raises(InputErrors) as caught:
                options.read(words)
            text = str(caught.value)
            assert ([part for part in wanted if part not in text], "braces" in text) == ([], False)


def test_the_simple_commands_of_a_script(subtests):
    for argv, expected in [
        (("dd", "if=a"), [("dd", "if=a")]),
        (("sh", "-c", "dd if=a; cat 'b c' | wc & wait"), [("dd", "if=a"), ("cat", "b c"), ("wc",), ("wait",)]),
        (("nice", "bash", "-ec", "fio x\ndd if=a"), [("fio", "x"), ("dd", "if=a")]),
        (("sh", "-c", "dd 'if=a"), [("dd",)]),
    ]:
        with subtests.test(argv=argv):
            assert list(commands(argv)) == expected


def test_the_file_to_which_a_shell_sends_what_a_tool_says(subtests):
    for script, path in [
        ("dd if=a of=/dev/null 2> r.txt", "r.txt"),
        ("sleep 1; dd if=a 2>r.txt & wait", "r.txt"),
        ("fio x > out 2>&1", "out"),
        ("fio --output=own x > out", "own"),
        ("dd if=a > b 2>> c", "c"),
        ("dd if=a of=b 2> /dev/null", None),
        ("dd if=a 2>&1 | tee x", None),
        ("sleep 1 > x; dd if=a 2> $log", None),
    ]:
        with subtests.test(script=script):
            assert result_file(("sh", "-c", script)) == path


def test_a_script_is_only_what_a_shell_is_given():
    assert script_of(("gcc", "-c", "x")) is None
    assert script_of(("sh", "-c", "x")) == "x"


# ------------------------------------------------------------------------------------ what passes through untouched


def test_output_input_status_and_signals_pass_through(bench):
    done = bench.run("stat", "--", "sh", "-c", 'cat; echo "$1" >&2; exit 7', "sh", "--json", input="hello\n")
    assert (done.returncode, done.stdout) == (7, "hello\n")
    assert (done.stderr.startswith("--json\n"), "status 7" in done.stderr) == (True, True)
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert bench.run("stat", "--", "sh", "-c", f"kill -{number.value} $$").returncode == 128 + number
    process = bench.start("stat", "--", "sleep", "600")
    wait_until(lambda: any(command.startswith("sleep") for command in bench.processes().values()))
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=300)
    assert (process.returncode, "signal 15" in told) == (128 + signal.SIGTERM, True)
    assert bench.processes() == {}


def test_what_fails_here_ends_as_with_env(bench, subtests):
    help_ = bench.run("stat", "--help")
    assert (help_.returncode, [name for name in (*VALUED, *ALONE) if f"--{name}" not in help_.stdout]) == (0, [])
    for words, status in ((["/no/such"], 127), (["/etc/passwd"], 126), (["--no"], 125), ([], 125)):
        with subtests.test(words=words):
            done = bench.run("stat", *words)
            assert done.returncode == status
            assert done.stderr.startswith(("assay: ", "assay stat: "))
            assert "Traceback" not in done.stderr
    # 126 would say that the command could not be executed.
    done = bench.run("stat", "--save=/sys/lab", "--", "sh", "-c", "exit 7")
    assert (done.returncode, "the command ended with status 7" in done.stderr) == (125, True)


# -------------------------------------------------------------------------------------------- what it says


def test_the_block_is_short_and_the_verdict_leads(bench):
    done = bench.run("stat", "--claim", "tier=device", "--", "cp", "data", "copy")
    lines = block(done)
    assert len(lines) <= 12
    assert re.match(r"assay: (SOUND|BOUNDED|TAINTED|INVALID|UNVERIFIED): ", lines[0])
    assert "  read       whole command: " in done.stderr
    assert done.stdout == ""


def test_where_nothing_is_claimed_there_is_no_verdict_but_what_moved(bench):
    for _ in range(3):  # whoever drops the caches of the whole machine drops this file, too
        (bench.home / "data").read_bytes()
        done = bench.run("stat", "--json=told.json", "--", "cat", "data", errors="replace")
        told = json.loads((bench.home / "told.json").read_text())
        first = block(done)[0]
        if "device" not in first:
            break
    assert re.fullmatch("assay: read 8.(39|40) MB from the page cache", first), done.stderr
    assert not re.search("SOUND|BOUNDED|TAINTED|INVALID|UNVERIFIED", done.stderr)
    assert (told["verdict"], told["measures"]["read"]["verdict"], told["label"]) == (None, None, first.removeprefix("assay: "))


def test_a_figure_that_cannot_be_true_is_said_to_be_so_without_a_claim(bench):
    how = ("--reported", "([0-9.]+) bytes", "--unit", "B", "--direction", "read")
    done = bench.run("stat", *how, "--", "sh", "-c", "cat data > /dev/null; echo 90000000 bytes")
    assert "E05        contradiction: " in done.stderr
    assert "INVALID" not in done.stderr


def test_a_copy_is_judged_in_the_direction_of_the_claim(bench, subtests):
    for claim, judged in [
        ("tier=device,durability=stable-media", {"write"}),
        ("durability=stable-media", {"write"}),
        ("tier=client-cache", {"read", "write"}),
        (None, {"read", "write"}),
    ]:
        with subtests.test(claim=claim):
            (bench.home / "data").read_bytes()
            how = () if claim is None else ("--claim", claim)
            done = bench.run("stat", "--json=told.json", *how, "--", "dd", "if=data", "of=copy", "bs=1M", "conv=fsync")
            told = json.loads((bench.home / "told.json").read_text())
            assert {name for name, one in told["measures"].items() if one["verdict"]} == judged
            assert ("T01 " in done.stderr) is (claim is None)
            assert ("by default of dd" in block(done)[0]) is (claim is None)


def test_the_advice_is_of_the_tool_and_of_a_shell_and_whole(bench):
    (bench.home / "data").read_bytes()
    (found,) = [one for one in block(bench.run("stat", "--", "dd", "if=data", "of=/dev/null")) if "T01" in one]
    assert found.endswith("`dd if=FILE iflag=nocache count=0`. Or use `iflag=direct` of dd.")


def test_no_advice_at_a_shell_names_what_only_an_experiment_has():
    names = "quiesce|repeats|look_every|observers|drop_caches|until_steady"
    lab = re.compile(rf"(cache = (cold|warm)|flush = )|`({names})`|knob|assay (show|plan|run)")
    rules = [rule for rule in rules_of(Scope.TRIAL) if lab.search(rule.at_shell or rule.advice)]
    assert [rule.id for rule in rules] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_an_observer_that_cannot_look_is_said_to_be_so(bench):
    nobody = Bench(bench.home, through=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    done = nobody.run("stat", "--observe", "tracepoints", "--", "true", cwd="/")
    assert "  not seen   tracepoints: " in done.stderr


def test_tar_into_dev_null_is_a_trap_and_nothing_that_moved_is_no_figure(bench):
    done = bench.run("stat", "--", "tar", "cf", "/dev/null", "data")
    assert block(done)[0] == f"assay: {NOTHING}"
    assert "  trap       GNU tar " in done.stderr
    done = bench.run("stat", "--", "true")
    assert (done.returncode, block(done)[0].startswith("assay: nothing to judge")) == (0, True)
    assert block(bench.run("stat", "--claim", "tier=device", "--", "true"))[0].startswith("assay: UNVERIFIED: nothing to judge")


def test_the_call_that_would_have_told_is_named():
    def doubtful(*observers):
        return shown.remedy(None, SimpleNamespace(observers=observers, state=State.UNVERIFIED))

    assert doubtful("tracepoints", "layout") == " Use: assay stat --observe tracepoints,layout"
    assert doubtful() == ""


def test_a_claim_is_what_the_number_is_judged_by_and_a_gate_replaces_only_status_0(bench):
    (bench.home / "data").read_bytes()
    words = ("--", "dd", "if=data", "of=/dev/null", "bs=1M")
    assert bench.run("stat", "--gate", *words).returncode == 3
    done = bench.run("stat", "--gate", "--claim", "tier=client-cache", *words)
    assert ("(claim: client-cache)" in block(done)[0], "T01" in done.stderr) == (True, False)
    claim = ("--claim", "tier=device")
    assert bench.run("stat", "--gate", *claim, "--", "sh", "-c", "cat data > /dev/null; exit 9").returncode == 9
    assert bench.run("stat", "--gate=strict", *claim, "--", "true").returncode == 3
    assert bench.run("stat", "--gate", *claim, "--", "true").returncode == 0
    # Figures of which nothing is claimed: refused before the command starts.
    for words in (["touch", "made"], ["sh", "-c", "touch made; cat data"], ["dd", "if=data", "of=made"]):
        other = ["--vs", "touch made"] if words[0] == "dd" else []
        done = bench.run("stat", "--gate", *other, "--", *words)
        assert (done.returncode, (bench.home / "made").exists(), "--gate without a claim" in done.stderr) == (125, False, True)


def test_figures_of_a_command_that_failed_are_invalid(bench):
    words = ("--claim", "tier=device", "--reported", "([0-9.]+) MB/s", "--unit", "MB/s", "--json=told.json")
    done = bench.run("stat", *words, "--", "sh", "-c", "cat data > /dev/null; echo 5 MB/s; exit 4")
    told = json.loads((bench.home / "told.json").read_text())
    assert (done.returncode, told["verdict"]) == (4, "INVALID")


def schema():
    return json.loads((DOCS / "stat-json.schema.json").read_text(encoding="utf-8"))


def test_the_json_is_as_documented(bench, subtests):
    for words in [
        ["dd", "if=data", "of=/dev/null", "bs=1M"],
        ["true"],
        ["sh", "-c", "dd if=data of=/dev/null bs=1M 2> r.txt"],
        ["cp", "data", "copy"],
        ["sh", "-c", "kill -9 $$"],
        ["sh", "-c", "dd if=data of=/dev/null bs=16 & dd if=data of=/dev/null bs=16 & wait"],
    ]:
        with subtests.test(words=words):
            bench.run("stat", "--json=told.json", "--", *words)
            told = json.loads((bench.home / "told.json").read_text())
            jsonschema.Draft202012Validator(schema()).validate(told)
            assert told["command"] == words
            assert (told["reported"] or {}).get("tool") == ("dd" if "dd" in " ".join(words) else None)
            assert len(told["reported"]["calls"] if told["reported"] else []) == (2 if "&" in words[-1] else 0)


# -------------------------------------------------------------------------------------------- what it costs


MOST_CPU_S = 0.6
"""Of user and system time; twice what it takes on a machine with two slow processors that others use at the same time."""


@pytest.mark.long
def test_it_costs_little_of_the_machine_that_it_measures():
    code = (
        "import atexit, resource, sys\n"
        "atexit.register(lambda: print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]), file=sys.stderr))\n"
        "from assay.cli.main import main\nmain()"
    )
    command = [sys.executable, "-c", code, "stat", "--", "sleep", "0.5"]
    used = [subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()[-1] for _ in range(3)]
    assert min(map(float, used)) < MOST_CPU_S


UNNEEDED = {
    *("tomllib", "importlib.metadata", "email", "zipfile", "hashlib", "secrets", "random", "datetime", "platform"),
    *("tempfile", "csv", "argparse", "traceback", "logging", "sqlite3"),
    *(f"assay.cli.stat.{name}" for name in ("json_output", "repeated", "saved")),
    *("assay.notebook", "assay.experiment", "assay.trial.harvest", "assay.undo.ledger", "assay.observers.environment"),
    "assay.targets",
}
"""What watching and judging one command has no use for: each of these was imported once, and cost a part of the budget."""


def imported(*words):
    """The modules that a call of `assay stat` imports beyond those of a bare interpreter."""
    code = (
        "import atexit, sys\n"
        "bare = set(sys.modules)\n"
        "atexit.register(lambda: print('imported', *sorted(set(sys.modules) - bare), file=sys.stderr))\n"
        "from assay.cli.main import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code, "stat", *words], capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("imported ")]
    return set(line.split()[1:])


def test_nothing_is_imported_that_watching_has_no_use_for():
    found = imported("--", "dd", "if=/etc/passwd", "of=/dev/null")
    assert found & UNNEEDED == set()
    assert {name for name in found if name.startswith("assay.rules.")} > {"assay.rules.client_page_cache"}
    assert "assay.rules.order_effects" not in found
    assert {name for name in found if name.startswith("assay.parsers.")} == {"assay.parsers.dd"}
    assert not imported("--json=/dev/null", "--", "dd", "if=/etc/passwd", "of=/dev/null") & HEAVY
