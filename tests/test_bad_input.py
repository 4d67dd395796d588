"""Whatever is wrong is told: what was found, what was expected, what to do; with the right status, and nothing is lost."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from assay.cli import run
from assay.experiment import read
from stage.assay_process import COMMAND, Bench, as_nobody, kill, wait_until

SMALL = """
title = "Small"
question = "Does it say what is wrong?"
repeats = {repeats}
seed = 1
observers = ["process_io", "environment"]
[targets.here]
kind = "{kind}"
{target}
[workloads.w]
kind = "bulk_io"
operations = ["write", "read"]
size = "{size}"
record_size = "1 MiB"
quiesce = "0 s"
{more}
[measures]
"w.read.bytes_per_s" = {{}}
"""
SLOW = 'filesystem = "ext4"\nsize = "32 MiB"\nlimit.write_bytes_per_s = "10 MB/s"'
ODD = "we \"ird'\nné: =,{}@%\\x"
ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="mounts, control groups and other users need root")


def small(bench, *, path=None, repeats=1, size="4 MiB", more="", kind="directory", target=None):
    text = json.dumps(str(path or bench.home), ensure_ascii=False)
    given = SMALL.format(repeats=repeats, kind=kind, target=target or f"path = {text}", size=size, more=more)
    (bench.home / "e.toml").write_text(given)
    return "e.toml"


@contextlib.contextmanager
def mounted(directory, options):
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def refused(done, status, *words):
    """Status, one message with these words that ends with the expected input or the remedy, and no output."""
    assert done.returncode == status, done.stderr + done.stdout
    assert done.stderr.startswith("assay: ")
    assert "Traceback" not in done.stderr
    assert re.search(r"found .*; expected|\. [A-Z][a-z]+ ", done.stderr, re.DOTALL), done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert done.stdout == ""


def kept(bench):
    """What a refused call left in the notebook."""
    return sorted(path.name for path in bench.home.glob("lab/*"))


def test_a_mistake_in_the_file(subtests, bench):
    for change, words in [
        ({"more": "sise = 3"}, ("e.toml:16:1", "'sise'", "did you mean 'size'")),
        ({"size": "4 MB/s"}, ("'4 MB/s'", "bytes", "KiB")),
        ({"size": "4k"}, ("'4k'", "KiB")),
        ({"path": "/no/such/directory"}, ("/no/such/directory", "does not exist")),
        ({"path": "/etc/passwd"}, ("regular file", "not a directory")),
        ({"kind": "loopfs", "target": 'filesystem = "zfs"\nsize = "64 MiB"'}, ("'zfs'", "ext4, xfs, btrfs")),
        ({"more": "[factors]\nclients = [0]"}, ("0 clients", "from 1")),
        ({"repeats": 1_000_000}, ("1,000,000 trials", "fewer")),
        ({"repeats": 1000, "more": f"[factors]\nclients = {list(range(1, 1001))}"}, ("1,000,000 trials", "fewer")),
        ({"size": "8000 TiB"}, ("free", "needed")),
    ]:
        with subtests.test(change=change, words=words):
            refused(bench.run("run", small(bench, **change)), 2, *words)
            assert kept(bench) == []
            assert bench.traces() == []


def test_every_mistake_is_told_at_once(bench):
    done = bench.run("run", small(bench, size="4 MB/s", more="sise = 3\n[factors]\nclients = [0]"))
    refused(done, 2, "4 MB/s", "sise", "0 clients")


def test_what_is_no_experiment_file(subtests, bench):
    for file in ["/bin/true", "/tmp", "no-such.toml"]:
        with subtests.test(file=file):
            refused(bench.run("run", file), 2, file)


@needs_root
@pytest.mark.root
def test_a_target_that_is_read_only_or_has_no_room(bench):
    with mounted(bench.home / "ro", "size=64m,ro") as target:
        refused(bench.run("run", small(bench, path=target)), 2, "read-only", "remount,rw")
        refused(bench.run("quick", target), 1, f"{target}: 64 MiB free", "128 MiB")
        refused(bench.run("run", small(bench), "--lab", target / "lab"), 1, "Read-only file system", "--lab")
    with mounted(bench.home / "small", "size=3m") as target:
        refused(bench.run("run", small(bench, path=target)), 2, "3.15 MB free", "4.61 MB")
        assert list(target.iterdir()) == []
    assert kept(bench) == []


@needs_root
@pytest.mark.root
def test_a_notebook_whose_disk_fills_keeps_what_it_has_and_goes_on_when_there_is_room(bench):
    with mounted(bench.home / "disk", "size=112k") as disk:
        lab = disk / "lab"
        refused(bench.run("run", small(bench, repeats=6), "--lab", lab), 1, "No space left", "--lab")
        assert list(lab.rglob(".*")) == []
        before = {path: path.read_bytes() for path in lab.glob("*/trials/*/attempt-*/*")}
        assert bench.run("list", "--lab", lab).returncode == 0
        subprocess.run(["mount", "-o", "remount,size=10m", str(disk)], check=True)
        assert bench.run("run", "e.toml", "--resume", "--lab", lab).returncode == 0
        assert {path: path.read_bytes() for path in before} == before
        assert len(list(lab.glob("*/trials/*/attempt-*"))) == 6
    assert bench.traces() == []


def test_two_runs_on_one_notebook(bench):
    first = bench.start("run", small(bench, repeats=200), "--progress", "json")
    while '"finished"' not in first.stderr.readline():
        assert first.poll() is None
    refused(bench.run("run", "e.toml", "--resume"), 1, f"process {first.pid}", "Wait for it")
    refused(bench.run("audit"), 1, f"process {first.pid}")
    assert bench.run("list").returncode == 0
    assert bench.run("report").returncode == 0
    kill(first.pid, 2)
    first.communicate(timeout=300)
    assert first.returncode == 130
    again = bench.run("run", "e.toml")
    refused(again, 2, "finished trials", "--resume")
    assert len(kept(bench)) == 1
    assert bench.traces() == []


@needs_root
@pytest.mark.root
@pytest.mark.skipif(not Path("/sys/fs/cgroup/blkio/cgroup.procs").exists(), reason="control groups v1 are not mounted here")
def test_a_throttle_that_would_be_escaped_from_a_child_group(bench):
    group = Path(f"/sys/fs/cgroup/blkio/assay-test-{bench.mark}")
    group.mkdir()
    try:
        enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        words = ["sh", "-c", enter, "sh", *COMMAND, "run", small(bench, kind="loopfs", target=SLOW)]
        done = subprocess.run(words, cwd=bench.home, env=bench.environment(), capture_output=True, text=True, check=False)
        refused(done, 2, f"/{group.name}", "in the root group", "echo $$ >")
    finally:
        wait_until(lambda: removed(group))
    assert kept(bench) == []
    assert bench.traces() == []


def removed(group):
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


@needs_root
@pytest.mark.root
def test_what_an_ordinary_user_may_not():
    with as_nobody() as user:
        refused(user.run("run", small(user, kind="loopfs", target=SLOW)), 2, "need root", "throttle", "kind = directory")
        refused(user.run("run", small(user, path="/usr")), 2, "not writable", "/usr")
        refused(user.run("run", small(user), "--lab", "/usr/lab"), 1, "Permission denied", "--lab")
        refused(user.run("quick", "/usr"), 2, "not writable", "/usr")
        assert kept(user) == []
        assert user.run("doctor").returncode == 0


@needs_root
@pytest.mark.root
def test_what_may_not_be_read_or_written_is_said_in_words():
    """`stat --save` into a closed directory ended with the words of Python."""
    with as_nobody() as user:
        closed = user.home / "closed"
        closed.mkdir(mode=0o700)
        (secret := user.home / "secret.json").write_text("{}")
        secret.chmod(0o600)
        calls = (
            (("stat", "--", "dd", "if=/dev/vda", "of=/dev/null"), (1,)),
            (("stat", "--", secret), (126,)),
            (("stat", f"--save={closed}", "--", "true"), (125,)),
            (("stat", f"--json={closed}/x", "--", "true"), (125,)),
            *(((verb, secret), (1, 2)) for verb in ("import", "dissect", "plan", "run", "size", "predict")),
            *(((verb, "--lab", closed), (2,)) for verb in ("list", "report", "serve", "history")),
            (("load", "bulk_io", f"path={secret}", "operation=read"), (1, 2)),
            (("survey", closed), (2,)),
        )
        for words, statuses in calls:
            done = user.run(*words)
            assert done.returncode in statuses, (words, done.stderr)
            assert "Traceback" not in done.stderr, (words, done.stderr)
            assert done.stderr.strip(), words


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("whole"))
    done = bench.run("run", small(bench, repeats=3))
    assert done.returncode == 0, done.stderr
    return bench


@pytest.fixture
def damaged(notebook, tmp_path):
    subprocess.run(["cp", "-r", f"{notebook.home}/lab", f"{notebook.home}/e.toml", str(tmp_path)], check=True)
    (folder,) = (tmp_path / "lab").iterdir()
    series, run = (folder / f"trials/{name}" for name in ("0001/attempt-1/series.parquet", "0002/attempt-1/run.json"))
    os.truncate(series, series.stat().st_size - 20)
    os.truncate(run, 100)
    return Bench(tmp_path)


def test_damaged_trials_are_named_and_left_out(damaged):
    names = ("trials/0001/attempt-1", "trials/0002/attempt-1")
    for verb in ("list", "audit"):
        done = damaged.run(verb)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(name in done.stdout for name in names), verb
        assert "n = 1" in done.stdout or "1/3" in done.stdout, verb
    done = damaged.run("report")
    assert done.returncode == 0, done.stderr
    page = (damaged.home / done.stdout.strip()).read_text()
    assert all(name in page for name in names)
    refused(damaged.run("show", "0002/1"), 1, "run.json", "--resume")
    assert damaged.run("show", "0003/1").returncode == 0
    answer = damaged.run("sql", "SELECT trial FROM runs", "--json")
    assert json.loads(answer.stdout)["rows"] == [{"trial": 3}]


def test_damaged_trials_are_measured_anew_beside_what_is_left_of_them(damaged):
    done = damaged.run("run", "e.toml", "--resume")
    assert done.returncode == 0, done.stderr
    answer = damaged.run("sql", "SELECT trial, attempt FROM runs ORDER BY trial", "--json")
    assert [(row["trial"], row["attempt"]) for row in json.loads(answer.stdout)["rows"]] == [(1, 2), (2, 2), (3, 1)]


def test_a_damaged_plan_costs_a_message(damaged):
    (folder,) = (damaged.home / "lab").iterdir()
    os.truncate(folder / "plan.json", 100)
    assert "plan-copy.json is read instead" in damaged.run("list").stdout
    done = damaged.run("audit")
    assert done.returncode == 0, done.stderr
    assert "plan.json: no valid JSON" in done.stderr
    assert "Restored from plan-copy.json" in done.stderr
    assert "plan.json" not in damaged.run("list").stdout, "it was restored"
    (folder / "plan.json").unlink()
    assert damaged.run("run", "e.toml", "--resume").returncode == 0
    assert (folder / "plan.json").read_bytes() == (folder / "plan-copy.json").read_bytes()


def test_trials_that_were_removed_cost_a_message(damaged):
    (folder,) = (damaged.home / "lab").iterdir()
    subprocess.run(["rm", "-r", str(folder / "trials")], check=True)
    for verb in ("audit", "list"):
        done = damaged.run(verb)
        assert done.returncode == 0, done.stderr
        assert "trials: removed, with every run" in done.stdout
    done = damaged.run("report")
    assert "removed, with every run" in (damaged.home / done.stdout.strip()).read_text()
    for words in (("report",), ("sql", "SELECT * FROM runs"), ("compare",), ("history",), ("export", "--to", "out")):
        assert "trials: removed, with every run" in " ".join(damaged.run(*words).stderr.split()), words


@needs_root
@pytest.mark.root
def test_a_full_disk_names_the_file(damaged):
    with mounted(damaged.home / "full", "size=64k") as disk:
        (disk / "rest").write_bytes(b"x" * (64 << 10))
        file = disk / "result"
        for words in ("report --out", "report --format md --out", "ldif --entries 5000 --out"):
            refused(damaged.run(*words.split(), file), 1, f"{file}: not written (No space left on device", "pace")


def test_a_plan_that_is_lost_with_its_copy_costs_its_experiment_only(damaged):
    (folder,) = (damaged.home / "lab").iterdir()
    for name in ("plan.json", "plan-copy.json"):
        os.truncate(folder / name, 100)
    for verb in ("report", "audit", "compare"):
        refused(damaged.run(verb), 1, "plan.json")
    listed = damaged.run("list")
    assert listed.returncode == 0
    assert "DAMAGED" in listed.stdout


def test_wrong_words(subtests, notebook):
    for words, status, part in [
        (["show", "9999/1"], 2, "0001/1, 0002/1, 0003/1"),
        (["show", "nonsense"], 2, "0007/1"),
        (["sql", "drop table runs"], 2, "DROP"),
        (["sql", "copy runs to 'evil.csv'"], 2, "COPY"),
        (["sql", "select nothing"], 2, "nothing"),
        (["sql", ""], 2, "query"),
        (["compare"], 2, "nothing compared"),
        (["report", "no-such-experiment"], 2, "small-"),
        (["report", "--lab", "nowhere"], 2, "nowhere"),
        (["report", "--chart", "no-such-chart"], 2, "chart"),
    ]:
        with subtests.test(words=words, status=status, part=part):
            refused(notebook.run(*words), status, part)
            assert not (notebook.home / "evil.csv").exists()


def test_an_empty_notebook(bench):
    (bench.home / "lab").mkdir()
    refused(bench.run("report"), 2, "assay quick")
    assert bench.run("list").stdout == "no experiments in lab\n"


def test_a_reader_that_goes_away_early(subtests, notebook):
    for words in [["list"], ["sql", "SELECT * FROM facts"], ["catalogue"], ["doctor"]]:
        with subtests.test(words=words):
            process = notebook.start(*words, stdout=subprocess.PIPE)
            process.stdout.close()
            _, complaint = process.communicate(timeout=300)
            assert complaint == ""
            assert process.returncode in (0, 1)


def test_a_command_that_fails_every_time_is_told_and_fails(bench):
    small(bench, repeats=2)
    text = (bench.home / "e.toml").read_text().replace("bulk_io", "command").replace("w.read.bytes_per_s", "w.command.elapsed_ns")
    lines = [line for line in text.splitlines() if not line.startswith(("operations", "size", "record_size"))]
    (bench.home / "e.toml").write_text("\n".join(lines).replace("quiesce", 'argv = ["false"]\nquiesce'))
    done = bench.run("run", "e.toml")
    assert done.returncode == 1
    assert "0001/1, 0002/1 failed: phase w.run: client 0: the command ended with status 1" in done.stdout
    assert bench.traces() == []


NAMES = [ODD, "with space", "dot.ted", "日本", "😀", "del\x7f", "-dash", "x" * 200, "[0]", "true", "100%", "tab\t", "*"]


def test_quick_takes_a_directory_of_any_name(subtests, tmp_path):
    for name in NAMES:
        with subtests.test(name=name):
            (tmp_path / name).mkdir()
            experiment = read.parse(run.experiment_text([tmp_path / name]), "quick.toml")
            assert experiment.targets[0].knobs["path"] == str(tmp_path / name)


def test_quick_tells_two_directories_of_like_names_apart(tmp_path):
    for name in ("a b", "a:b"):
        (tmp_path / name).mkdir()
    assert run.target_names([tmp_path / "a b", tmp_path / "a:b"]) == ["a-b-1", "a-b-2"]


def test_quick_refuses_a_name_that_no_file_can_hold(tmp_path):
    path = os.fsencode(tmp_path) + b"/bad\xff"
    Path(os.fsdecode(path)).mkdir()
    done = subprocess.run(
        [*(os.fsencode(word) for word in COMMAND), b"quick", path], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


def test_a_directory_with_an_odd_name_is_measured(bench):
    (bench.home / ODD).mkdir()
    text = run.quoted(str(bench.home / ODD))
    done = bench.run("run", small(bench, target=f"path = {text}"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["run"]["outcome"] == "finished"
    assert list((bench.home / ODD).iterdir()) == []
    assert bench.traces() == []
