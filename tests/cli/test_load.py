"""`assay load` as a user calls it: its numbers, what it says they are, what it refuses, and that it leaves nothing."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.machine.stack import mount_of, stack
from stage.assay_process import Bench, kill, wait_until
from stage.targets_host import HOST, MIB

NOISE = ("N", "W07")
"""Rules that speak of the machine and of what was there before, not of what the number is."""
HURRY = ("quiesce=0s",)
HEAVY = {"numpy", "scipy", "duckdb", "altair", "vl_convert", "jinja2", "rich"}


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    for pid in made.processes():
        kill(pid)
    assert not [trace for trace in made.traces() if ".assay-marker" not in trace]


def load(bench, *words, **more):
    """The object of `--json -`, and that nothing else is on standard output. Not waiting for a quiet machine."""
    hurry = () if words[0] == "null" or any(str(word).startswith("cache=") for word in words) else ("quiesce=0s",)
    done = bench.run("load", *words, *hurry, "--json", **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def written(path, size=8 * MIB):
    """A file of others, really on the disk."""
    with path.open("wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
    return path


def seen(directory):
    """All that a write could change: names, times of the directory and the files, and the bytes."""
    paths = (directory, *sorted(directory.rglob("*")))
    digests = (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in paths)
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino, digest) for path, digest in zip(paths, digests, strict=True)}


def only(found):
    (verdict,) = found["verdicts"]
    return verdict


# ------------------------------------------------------------------------------------------------- its numbers


def test_a_load_of_empty_operations_computes_and_says_so(bench):
    told = bench.run("load", "null", "duration=2s").stdout
    (line,) = [line for line in told.splitlines() if line.startswith("spent")]
    assert re.search(r"\d+ %( ±\d+)? (computing in|the load generator ready)", line), line


def test_null_says_what_was_done(bench):
    found = load(bench, "null", "ops=1000000", "clients=2")
    assert (found["kind"], found["outcome"], found["errors"], found["bytes"]) == ("null", "finished", 0, 0)
    assert found["ops"] == found["operations"]["null"]["ops"] == 2_000_000
    assert (found["settings"]["ops"], found["settings"]["clients"]) == (1_000_000, 2)
    assert set(found["latency_ns"]) == {"p50", "p90", "p99", "p999", "max", "mean"}
    assert set(found["operations"]["null"]) >= {"ops", "bytes", "elapsed_s", "ops_per_s", "bytes_per_s", "latency_ns", "errors"}
    assert found["cpu_s_per_million_ops"] > 0
    assert {"user_instructions_per_op", "kernel_instructions_per_op", "user_cycles_per_op", "kernel_cycles_per_op"} <= set(found)
    assert {"voluntary_switches", "involuntary_switches", "faults", "load", "queue"} <= set(found)
    assert set(found["versions"]) >= {"assay", "assay-engine", "python"}
    assert only(found)["measure"] == "null.null.ops_per_s"


def test_rates_are_the_work_over_the_time(bench):
    found = load(bench, "bulk_io", "path=F", "operation=write", "size=8MiB", "record_size=1MiB", "flush=end")
    done = found["operations"]["write"]
    assert (found["ops"], found["bytes"], done["ops"], done["bytes"]) == (8, 8 * MIB, 8, 8 * MIB), "flushes are apart"
    assert found["operations"]["flush"]["ops"] == 1
    assert done["bytes_per_s"] * done["elapsed_s"] == pytest.approx(8 * MIB)
    assert done["ops_per_s"] * done["elapsed_s"] == pytest.approx(8)
    assert found["bytes_per_s"] == done["bytes_per_s"]


def test_several_operations_together(bench):
    found = load(bench, "metadata", "path=.", "operations=create,stat", "ops=500", "file_bytes=4KiB")
    each = found["operations"]
    assert [each[name]["ops"] for name in ("create", "stat")] == [500, 500]
    assert (found["ops"], found["bytes"]) == (1000, 500 * 4096)
    assert found["elapsed_s"] == pytest.approx(each["create"]["elapsed_s"] + each["stat"]["elapsed_s"])
    assert found["ops_per_s"] * found["elapsed_s"] == pytest.approx(1000)
    assert found["latency_ns"]["max"] == max(one["latency_ns"]["max"] for one in each.values())
    assert list(bench.home.iterdir()) == []


def test_for_people_it_is_a_few_lines_and_the_last_is_the_audit(bench):
    done = bench.run("load", "null", "rate=1000/s", "duration=200ms", "--json=figures.json")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert len(lines) <= 12
    assert lines[0].split()[:4] == ["operation", "ops/s", "bytes/s", "p50"]
    assert "unstarted" in done.stdout
    assert "s of CPU per million operations" in done.stdout
    assert lines[-1].split(":")[0] in ("SOUND", "BOUNDED", "TAINTED", "INVALID", "UNVERIFIED")
    found = json.loads((bench.home / "figures.json").read_text())
    assert found["load"]["unstarted"] + found["ops"] == pytest.approx(200, abs=2)


# ------------------------------------------------------------------------------------- what its numbers really are


def test_preallocated_is_not_written(bench):
    with (bench.home / "F").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 8 * MIB)
    if HOST.syscalls.fiemap(str(bench.home / "F")).unwritten_bytes == 0:
        pytest.skip("this file system has no unwritten extents")
    done = bench.run(
        *("load", "bulk_io", "path=F", "operation=random_read", "record_size=4KiB", "ops=2000", "direct=true"),
        *(*HURRY, "--json=j"),
    )
    verdict = only(json.loads((bench.home / "j").read_text()))
    assert verdict["state"] == "INVALID"
    assert verdict["findings"][0]["rule"] == "T06"
    last = done.stdout.splitlines()[-1]
    assert ("T06: " in last, "device" in last.partition(". T06")[0]) == (True, False), "and what to do"


def test_cached_is_called_memory_unless_that_is_claimed(bench):
    written(bench.home / "F").read_bytes()
    words = ("bulk_io", "path=F", "operation=read", "record_size=64KiB")
    done = bench.run("load", *words, *HURRY, "--gate")
    last = done.stdout.splitlines()[-1]
    assert (done.returncode, last.startswith("INVALID: "), "page-cache" in last) == (3, True, True)
    assert only(load(bench, *words, "--claim", "tier=client-cache"))["state"] != "INVALID"


def test_cold_and_direct_is_the_device(bench):
    written(bench.home / "F")
    if mount_of(HOST, str(bench.home)).filesystem != "ext4" or not stack(HOST, str(bench.home)):
        pytest.skip("needs ext4 on a device that the machine shows")
    found = load(bench, "bulk_io", "path=F", "operation=read", "record_size=256KiB", "direct=true", "cache=cold")
    verdict = only(found)
    accused = [one["rule"] for one in verdict["findings"] if not one["rule"].startswith(NOISE)]
    assert verdict["state"] in ("SOUND", "BOUNDED") or not accused, verdict
    assert verdict["claim"]["tier"] == "device"
    assert (found["ops"], found["bytes"]) == (32, 8 * MIB)


# --------------------------------------------------------------------------------------------- what it refuses


def test_bad_input_is_refused_before_anything_is_written(bench, subtests):
    written(bench.home / "F")
    before = seen(bench.home)
    many = "path=none/N operation=wirte clients=0 sizes=1MiB record_size=4k depth=4097 --json=none/j --claim tier=disk"
    for words, reasons in (
        ("path=F operation=write size=1MiB", ["a file that Assay did not make"]),
        ("path=F operation=read record_size=16MiB", ["record_size 16 MiB on a file of 8 MiB"]),
        ("path=N operation=write record_size=1000B size=10kB direct=true", ["a multiple of 512 B"]),
        (many, ["'disk'", "no directory for /", "'write'", "0 for 'clients'", "'sizes'", "'record_size'", "4097", "--json;"]),
        ("path=N operation=write size=1000TiB record_size=1MiB", ["free"]),
    ):
        with subtests.test(words=words):
            done = bench.run("load", "bulk_io", *words.split())
            assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
            assert [reason for reason in reasons if reason not in done.stderr] == [], done.stderr
            assert seen(bench.home) == before


def test_direct_where_the_file_system_has_none_fails_with_the_kernels_reason(bench):
    """Files of sysfs cannot be opened so; the kernel is asked when the engine is armed, and nothing was written by then."""
    path = Path("/sys/kernel/uevent_seqnum")
    if not path.is_file():
        pytest.skip("no sysfs")
    done = bench.run(
        "load", "bulk_io", f"path={path}", "operation=read", "record_size=512B", "size=512B", "direct=true", "quiesce=0s"
    )
    assert done.returncode == 1
    assert "Invalid argument" in done.stderr or "no direct I/O" in done.stderr, done.stderr


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_file_system_in_memory_is_named_and_direct_on_it_is_what_the_kernel_says(bench):
    inside = bench.home / "memory"
    inside.mkdir()
    HOST.run(["mount", "-t", "tmpfs", "none", str(inside)])
    reads = ("load", "bulk_io", "operation=read", "size=1MiB", *HURRY)
    writes = ("load", "bulk_io", "path=memory/N", "operation=write", "size=1MiB", "record_size=4KiB", "direct=true", *HURRY)
    try:
        done = bench.run(*reads, "path=memory/N")
        assert "files      tmpfs, no block device below" in done.stdout.splitlines(), done.stdout
        assert "files      " not in bench.run(*reads, "path=N").stdout
        done = bench.run(*writes)
        assert list(inside.iterdir()) == []
        assert done.returncode == 0 or "Invalid argument" in done.stderr
        if done.returncode == 0:  # since Linux 6.6 it is taken and does nothing
            assert not done.stdout.splitlines()[-1].startswith("SOUND"), "no device was seen"
    finally:
        HOST.run(["umount", str(inside)])


# -------------------------------------------------------------------------------------------------- whose it is


def test_an_existing_directory_is_as_it_was(bench):
    written(bench.home / "precious")
    before = {name: what[1:] for name, what in seen(bench.home).items()}
    load(bench, "metadata", "path=.", "object=file", "operation=create", "ops=300")
    load(bench, "bulk_io", "path=.", "operation=write", "size=1MiB")
    assert {name: what[1:] for name, what in seen(bench.home).items()} == before


def test_a_file_that_is_made_is_removed_unless_kept_and_a_kept_one_is_used_again(bench):
    words = ("bulk_io", "path=F", "size=4MiB", "record_size=64KiB")
    load(bench, *words, "operation=random_read", "ops=50")
    assert list(bench.home.iterdir()) == []
    load(bench, *words, "operation=read", "--keep")
    assert sorted(path.name for path in bench.home.iterdir()) == [".F.assay-marker", "F"]
    before = seen(bench.home)
    assert load(bench, *words, "operation=read")["settings"]["target"] == "existing", "no new layout"
    assert seen(bench.home) == before
    assert load(bench, *words, "operation=write")["outcome"] == "finished"
    assert seen(bench.home) != before, "it is ours, so it may be written"
    assert (bench.home / "F").exists(), "what was kept stays"


def begun(bench, *words):
    """A load that is running: its process, and its engine."""
    process = bench.start("load", *words, stdout=subprocess.PIPE)
    (engine,) = wait_until(bench.engines)
    wait_until(lambda: cpu_ticks(engine) >= 3)
    return process, engine


def cpu_ticks(pid):
    """User and system time of a process, in ticks of 10 ms; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


RUNNING = ("bulk_io", "path=F", "size=4MiB", "record_size=4KiB", "operation=random_read", "duration=60s", "quiesce=0s")


def test_an_interrupt_undoes_everything(bench):
    """Also what was to be kept: half a file is not that."""
    process, _ = begun(bench, *RUNNING, "--keep")
    again = bench.run("load", *RUNNING)
    assert (again.returncode, "on which another lab is at work" in again.stderr) == (2, True)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130, told
    assert told.splitlines() == ["assay: interrupted. All changes of the machine are undone."]
    assert (bench.traces(), list(bench.home.iterdir())) == ([], [])


def test_after_a_kill_the_doctor_removes_what_was_made(bench):
    process, engine = begun(bench, *RUNNING)
    process.kill()
    process.communicate(timeout=300)
    wait_until(lambda: engine not in bench.processes())
    assert (bench.home / "F").exists()
    assert bench.run("doctor").returncode == 0
    assert (bench.traces(), list(bench.home.iterdir())) == ([], [])


# --------------------------------------------------------------------------------------------------- open loops


def test_a_second_of_standstill_is_in_the_latencies_of_all_that_was_due(bench):
    """At 1,000 operations/s for 4 s and a stop of L seconds, what was due in it waits from L down to nothing.

    So of 4,000 operations 1,000 L wait, L / 2 on average: the mean over all is L^2 / 8 s, 125 ms for a second; and the share q of
    all waits at most L - 4 (1 - q).
    """
    usual_ns = json.loads(bench.run("load", "null", "rate=1000/s", "duration=1s", "--json").stdout)["latency_ns"]["mean"]
    process, engine = begun(bench, "null", "rate=1000/s", "duration=4s", "--json")
    stopped = time.monotonic()
    os.kill(engine, signal.SIGSTOP)
    time.sleep(1.0)
    os.kill(engine, signal.SIGCONT)
    length = time.monotonic() - stopped
    out, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    found = json.loads(out)
    assert found["ops"] + found["load"]["unstarted"] == pytest.approx(4000, abs=2)
    late_ns, mean_ns = found["latency_ns"], length**2 / 8 * 1e9
    assert 0.98 * mean_ns - 1e6 <= late_ns["mean"] <= 1.3 * mean_ns + 5e6 + 4 * usual_ns
    for name, share in (("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)):
        waited_ns = (length - 4 * (1 - share)) * 1e9
        assert 0.98 * waited_ns - 2e6 <= late_ns[name] <= 1.1 * waited_ns + 500e6, name
    assert late_ns["p50"] < 50e6, "three operations in four were not held up"
    assert found["load"]["late"] >= 1000 * length * 0.98 - 5
    assert found["load"]["backlog_max_ns"] >= 0.98 * length * 1e9 - 2e6


def test_a_poisson_process_of_150_000_a_second_is_that_within_1_percent(bench):
    found = load(bench, "null", "rate=150000/s", "arrivals=poisson", "duration=2s")
    assert found["ops"] + found["load"]["unstarted"] == pytest.approx(300_000, rel=0.01)


# --------------------------------------------------------------------------------------------------------- words


def test_help_lists_the_kinds_and_a_kind_tells_its_keys(bench):
    kinds = bench.run("load")
    assert (kinds.returncode, [one for one in ("bulk_io", "metadata", "null") if f"  {one} " not in kinds.stdout]) == (0, [])
    for words in (["bulk_io"], ["bulk_io", "path=F", "--help"]):
        done = bench.run("load", *words)
        assert done.returncode == 0
        keys = ("  path ", "  operation ", "  clients ", "  record_size ", "default 64 KiB", "required", "random_read")
        assert [key for key in keys if key not in done.stdout] == []
        assert "  file " not in done.stdout


def test_nothing_heavy_is_loaded_before_the_engine_starts():
    code = (
        "import sys\nfrom assay.trial.clients import Crew\n"
        "def told(*given): print(sorted(set(sys.modules))); raise SystemExit(0)\n"
        "Crew.spawn = told\nsys.argv = ['assay', 'load', 'null', 'ops=10']\n"
        "from assay.cli.main import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    modules = done.stdout
    assert "assay.trial.attempt" in modules, done.stderr
    assert not [name for name in HEAVY if f"'{name}'" in modules]
