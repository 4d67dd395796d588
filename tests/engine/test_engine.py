"""Drives the real load engine, line by line."""

import hashlib
import os
import signal
import subprocess
import time
import zlib
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from stage.assay_process import wait_until
from stage.processes import wait_ended

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
MIB = 1 << 20


def bulk(path, operation="write", size=MIB, record_size=64 << 10, **more):
    create = operation in ("write", "random_write")
    region = {"path": str(path), "offset": 0, "size": size}
    return {"operation": operation, "regions": [region], "record_size": record_size, "create": create} | more


def metadata(path, operations, count=200, **more):
    return {"directory": str(path), "object": "file", "operations": operations, "count": count} | more


def command(path, *argv, **more):
    return {"argv": list(argv), "directory": str(path)} | more


def ends_within(process, seconds):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


# ------------------------------------------------------------------------------------------ the process


def test_it_says_what_it_is(engine):
    assert engine.hello["type"] == "hello"
    assert engine.hello["pid"] == engine.process.pid
    assert engine.hello["engines"] == [
        "bulk",
        "coherence",
        "command",
        "drill",
        "ldap",
        "metadata",
        "net",
        "null",
        "transfer",
        "tree",
    ]
    assert engine.hello["build"] == "release"


def test_it_needs_no_library_of_the_host():
    text = subprocess.run(["ldd", ENGINE], capture_output=True, text=True, check=False)
    assert "statically linked" in text.stdout or "not a dynamic executable" in text.stderr


def test_clock_is_answered_while_a_phase_runs(engine):
    engine.arm("null", {"operation": "null", "duration_ns": 500_000_000}, interval_ns=10**12)
    engine.go(0)
    before = time.monotonic_ns()
    engine.send(type="clock")
    answer = engine.receive()
    assert answer["type"] == "clock"
    assert before <= answer["mono_ns"] <= time.monotonic_ns()
    assert engine.result()["stopped_by"] == "time"


def test_go_is_confirmed_at_once_and_before_the_result(engine):
    engine.arm("null", {"operation": "null", "ops": 1}, phase="w.read")
    asked_ns = time.monotonic_ns()
    engine.send(type="go", at_ns=asked_ns + 200_000_000)
    told = engine.receive()
    assert (told["type"], told["phase"], told["at_ns"]) == ("told", "w.read", asked_ns + 200_000_000)
    assert asked_ns <= told["mono_ns"] <= time.monotonic_ns()
    assert engine.result()["started_ns"] >= told["at_ns"]


def test_end_of_input_ends_it_in_the_middle_of_a_phase(engine):
    engine.arm("null", {"operation": "null", "duration_ns": 10**13})
    engine.go(0)
    engine.process.stdin.close()
    assert ends_within(engine.process, 120) == 1


def test_the_lease_ends_it(engine):
    engine.arm("null", {"operation": "null", "duration_ns": 10**13})
    engine.go(0)
    engine.send(type="lease", until_ns=time.monotonic_ns() + 100_000_000)
    assert ends_within(engine.process, 120) == 1


def test_a_later_lease_is_kept_instead(engine):
    engine.send(type="lease", until_ns=time.monotonic_ns() + 10**10)
    engine.send(type="lease", until_ns=time.monotonic_ns() + 10**11)
    assert engine.run("null", {"operation": "null", "ops": 10})["stopped_by"] == "work"


def test_the_lease_holds_while_a_phase_is_armed(engine, tmp_path):
    os.mkfifo(tmp_path / "never")
    engine.send(type="config", engine="bulk", phase="p", settings=bulk(tmp_path / "never", "read"))
    engine.send(type="lease", until_ns=time.monotonic_ns() + 200_000_000)
    assert ends_within(engine.process, 120) == 1, "opening a pipe without a writer hangs"


def test_the_limit_stops_a_phase_with_its_result(engine):
    result = engine.run("null", {"operation": "null", "duration_ns": 10**13}, limit_ns=100_000_000)
    assert result["stopped_by"] == "limit"
    assert engine.run("null", {"operation": "null", "ops": 1})["stopped_by"] == "work"


def test_the_death_of_the_parent_ends_it(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([{str(ENGINE)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "p.stdout.readline(); print(p.pid, flush=True); time.sleep(600)\n"
    )
    parent = subprocess.Popen(["python3", "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    wait_ended(pid)


def test_a_wrong_line_is_answered_and_it_stays_usable(subtests, engines):
    for line, what in [
        ("{", "request"),
        ('{"type":"dance"}', "request"),
        ('{"type":"go","at_ns":0}', "go"),
        ('{"type":"config","engine":"none","phase":"p","settings":{}}', "settings"),
        ('{"type":"config","engine":"null","phase":"p","settings":{"operation":"null","ops":1,"x":2}}', "settings"),
        ('{"type":"config","engine":"null","phase":"p","settings":{"operation":"null"}}', "settings"),
        ('{"type":"config","engine":"null","phase":"p","cpus":[],"settings":{"operation":"null","ops":1}}', "settings"),
        ('{"type":"config","engine":"null","phase":"p","cpus":[1000],"settings":{"operation":"null","ops":1}}', "pin"),
    ]:
        with subtests.test(line=line, what=what):
            engine = engines()
            engine.process.stdin.write(line + "\n")
            engine.process.stdin.flush()
            answer = engine.receive()
            assert (answer["type"], answer["what"]) == ("error", what)
            assert answer["message"]
            assert engine.run("null", {"operation": "null", "ops": 1})["stopped_by"] == "work"


def test_stop_ends_the_running_phase(engine):
    engine.arm("null", {"operation": "null", "duration_ns": 10**13})
    engine.go(0)
    engine.send(type="stop")
    assert engine.result()["stopped_by"] == "stop"


def test_stop_before_the_start_time_is_not_waited_for(engine):
    engine.arm("null", {"operation": "null", "ops": 5})
    engine.go(10**12)
    engine.send(type="stop")
    result = engine.result()
    assert (result["stopped_by"], result["operations"]["null"]["count"]) == ("stop", 0)


# ------------------------------------------------------------------------------------------ what is noted


def test_the_parts_of_a_result_agree(engine):
    engine.arm("null", {"operation": "null", "ops": 3_000_000}, client=3, interval_ns=10_000_000)
    start_ns = engine.go()
    result = engine.result()
    noted = result["operations"]["null"]
    assert (result["client"], result["workers"], result["pid"]) == (3, 1, engine.process.pid)
    assert noted["count"] == 3_000_000 == sum(noted["histogram"]["count"])
    assert all(low < high for low, high in pairwise(noted["histogram"]["upper_ns"]))
    assert noted["histogram"]["upper_ns"][-1] <= noted["max_ns"]
    assert noted["sampled_count"] == 3_000_000 // 64
    assert result["armed_ns"] < start_ns <= result["started_ns"] + 1000
    assert result["started_ns"] <= result["first_ns"] <= result["last_ns"]
    assert 0 < noted["busy_ns"] <= noted["last_ns"] - noted["first_ns"]
    points = noted["checkpoints"]
    assert points["count"][-1] == 3_000_000
    assert points["at_ns"][-1] == noted["last_ns"]
    assert all(column == sorted(column) for column in points.values())
    assert all(message["operations"]["null"]["count"] <= 3_000_000 for message in engine.progress)


def test_the_clock_says_what_it_is(engine):
    clock = engine.run("null", {"operation": "null", "ops": 1000})["clock"]
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
    assert clock["source"] == ("tsc" if source == "tsc" else "clock_gettime")
    assert clock["error_ppm"] <= 50
    assert 0 < clock["stamp_ns"] < clock["operation_ns"]


def test_counters_that_the_machine_has_not_are_null(engine):
    cost = engine.run("null", {"operation": "null", "ops": 2_000_000})["cost"]
    counters = [cost[f"{who}_{what}"] for who in ("user", "kernel") for what in ("instructions", "cycles")]
    assert all(value is None or value > 0 for value in counters)
    if cost["user_instructions"] is not None:
        assert cost["user_instructions"] / 2_000_000 <= 120
    assert cost["cpu_user_ns"] > 0


def test_an_interval_gives_at_most_2000_points(engine):
    result = engine.run("null", {"operation": "null", "duration_ns": 1_500_000_000}, interval_ns=200_000)
    noted = result["operations"]["null"]
    assert 100 < len(noted["checkpoints"]["at_ns"]) <= 2000
    check_spread(noted)
    assert 4 <= len(noted["spread"]["at_ns"]) <= 32, "each 50 ms, however short the interval"


def check_spread(noted):
    """The buckets over time never fall, end with the whole histogram, and hold what the histogram has below their ends.

    A bucket ends on a tick of the clock. Where a tick is shorter than a nanosecond the next ticks may fall on the same
    nanosecond, and then the histogram has them in one bucket: there only the buckets on either side bound the band. From a
    microsecond on every bucket is wider than three nanoseconds, and the counts are the same.
    """
    spread, histogram = noted["spread"], noted["histogram"]
    assert spread["at_ns"] == sorted(set(spread["at_ns"]))
    assert spread["at_ns"][-1] == noted["last_ns"]
    assert all(earlier <= later for column in zip(*spread["count"], strict=True) for earlier, later in pairwise(column))
    buckets = list(zip(histogram["upper_ns"], histogram["count"], strict=True))
    bands = list(zip(spread["upper_ns"], accumulate(spread["count"][-1]), strict=True))
    for end, held in bands:
        through = sum(count for upper, count in buckets if upper <= end)
        before = sum(count for upper, count in buckets if upper < end)
        assert held == through if end >= 1000 else before <= held <= through
    assert bands[-1][1] == noted["count"]


def test_the_buckets_of_several_workers_are_those_of_all(engine, tmp_path):
    settings = bulk(tmp_path / "f")
    one = {**settings["regions"][0], "size": 64 * 1024}
    region = [{**one, "offset": place * 64 * 1024} for place in range(3)]
    result = engine.run("bulk", {**settings, "regions": region, "duration_ns": 400_000_000}, interval_ns=50_000_000)
    check_spread(result["operations"]["write"])
    assert len(result["operations"]["write"]["spread"]["at_ns"]) >= 2


def test_no_operation_has_no_buckets(engine, tmp_path):
    noted = engine.run("bulk", bulk(tmp_path / "f", flush="end"))["operations"]
    assert noted["write"]["spread"]["at_ns"] == [noted["write"]["last_ns"]]
    assert engine.run("null", {"operation": "null", "ops": 0})["operations"]["null"]["spread"]["at_ns"] == []


# ------------------------------------------------------------------------------------------ bulk


def test_what_was_written_is_there_and_does_not_compress(engine, tmp_path):
    result = engine.run("bulk", bulk(tmp_path / "f", flush="end"), seed=7)
    noted = result["operations"]
    assert (noted["write"]["count"], noted["write"]["bytes"], noted["flush"]["count"]) == (16, MIB, 1)
    assert noted["flush"]["first_ns"] >= noted["write"]["last_ns"]
    assert MIB <= result["io"]["wchar"] < MIB + 4096
    data = (tmp_path / "f").read_bytes()
    assert len(data) == MIB
    assert len(zlib.compress(data)) > 0.999 * MIB
    assert len({data[at : at + 512] for at in range(0, MIB, 512)}) == MIB // 512


def test_data_depend_on_seed_phase_file_and_place_only(engine, tmp_path):
    def digest(name, **more):
        engine.run("bulk", bulk(tmp_path / name), **more)
        return hashlib.sha256((tmp_path / name).read_bytes()).digest()

    first = digest("a", seed=1)
    assert digest("a", seed=1) == first
    assert digest("a", seed=2) != first
    assert digest("a", seed=1, phase="again") != first
    assert digest("b", seed=1) != first


def test_a_flush_after_each_write_is_counted(engine, tmp_path):
    settings = bulk(tmp_path / "f", flush="each", name="commit", flush_name="sync_it")
    noted = engine.run("bulk", settings)["operations"]
    assert (noted["commit"]["count"], noted["sync_it"]["count"]) == (16, 16)


def test_an_existing_file_is_never_cut_short(engine, tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 2 * MIB)
    engine.run("bulk", bulk(tmp_path / "f"))
    assert (tmp_path / "f").stat().st_size == 2 * MIB
    engine.run("bulk", bulk(tmp_path / "f", truncate=True))
    assert (tmp_path / "f").stat().st_size == MIB


def test_a_write_without_create_makes_no_file(engine, tmp_path):
    answer = engine.arm("bulk", bulk(tmp_path / "f", create=False))
    assert (answer["type"], answer["what"], answer["errno"], answer["path"]) == ("error", "open", 2, str(tmp_path / "f"))
    assert not (tmp_path / "f").exists()


def test_reads_do_not_write(subtests, engine, tmp_path_factory):
    for operation in ["read", "random_read"]:
        with subtests.test(operation=operation):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(os.urandom(MIB))
            (tmp_path / "f").chmod(0o444)
            before = (tmp_path / "f").stat()
            result = engine.run("bulk", bulk(tmp_path / "f", operation, record_size=4096))
            noted = result["operations"][operation]
            assert (noted["count"], noted["bytes"], noted["errors"]) == (256, MIB, 0)
            assert MIB <= result["io"]["rchar"] < MIB + 4096
            after = (tmp_path / "f").stat()
            assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)


def test_a_read_that_would_change_the_file_is_refused(subtests, engine, tmp_path_factory):
    for more in [{"create": True}, {"truncate": True}, {"flush": "end"}]:
        with subtests.test(more=more):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(b"x" * MIB)
            assert engine.arm("bulk", bulk(tmp_path / "f", "read") | more)["what"] == "settings"
            assert (tmp_path / "f").read_bytes() == b"x" * MIB


def test_random_writes_stay_in_their_region(engine, tmp_path):
    (tmp_path / "f").write_bytes(bytes(3 * MIB))
    settings = bulk(tmp_path / "f", "random_write", record_size=4096, ops=2000)
    settings["regions"] = [{"path": str(tmp_path / "f"), "offset": MIB, "size": MIB}]
    engine.run("bulk", settings)
    data = (tmp_path / "f").read_bytes()
    assert (data[:MIB], data[2 * MIB :]) == (bytes(MIB), bytes(MIB))
    written = sum(any(data[at : at + 4096]) for at in range(MIB, 2 * MIB, 4096))
    assert written > 240, "2,000 random records out of 256 leave 0.1 of them out on average"


def test_a_sequential_phase_ends_with_a_shorter_record(engine, tmp_path):
    noted = engine.run("bulk", bulk(tmp_path / "f", size=100_000))["operations"]["write"]
    assert (noted["count"], noted["bytes"]) == (2, 100_000)


def test_time_ends_a_phase_and_sequential_work_begins_anew(engine, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(64 << 10))
    settings = bulk(tmp_path / "f", "read", size=64 << 10, record_size=4096, duration_ns=100_000_000)
    result = engine.run("bulk", settings)
    assert result["stopped_by"] == "time"
    assert result["operations"]["read"]["count"] > 16


def test_workers_share_a_file_of_unknown_size(engine, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(MIB + 5000))
    settings = bulk(tmp_path / "f", "read", record_size=4096)
    settings["regions"] = [{"path": str(tmp_path / "f"), "size": 0, "part": part, "parts": 3} for part in range(3)]
    result = engine.run("bulk", settings)
    assert (result["workers"], result["operations"]["read"]["bytes"]) == (3, MIB + 4096)


def test_a_file_that_is_too_short_is_refused(engine, tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 1000)
    answer = engine.arm("bulk", bulk(tmp_path / "f", "read"))
    assert answer["type"] == "error"
    assert "1000 bytes" in answer["message"]


def test_a_file_that_shrinks_under_the_reads_is_an_error(engine, tmp_path):
    (tmp_path / "f").write_bytes(b"x" * MIB)
    engine.arm("bulk", bulk(tmp_path / "f", "read"))
    os.truncate(tmp_path / "f", MIB // 2)
    engine.go()
    result = engine.result()
    assert result["stopped_by"] == "error"
    assert result["errors"] == [{"operation": "read", "errno": 61, "count": 1, "path": str(tmp_path / "f")}]


def test_a_full_device_is_a_counted_error(engine):
    settings = bulk("/dev/full", create=False)
    result = engine.run("bulk", settings)
    assert result["stopped_by"] == "error"
    assert result["errors"] == [{"operation": "write", "errno": 28, "count": 1, "path": "/dev/full"}]
    assert result["operations"]["write"]["count"] == 0


def test_direct_io_out_of_alignment_is_refused_with_its_unit(engine, tmp_path):
    armed = engine.arm("bulk", bulk(tmp_path / "f", direct=True))
    if armed["type"] == "error":
        pytest.skip(f"no direct I/O here: {armed['message']}")
    answer = engine.arm("bulk", bulk(tmp_path / "f", direct=True, record_size=1000))
    if answer["type"] == "armed":
        pytest.skip("this file system does not say its unit of direct I/O")
    assert "expected multiples of" in answer["message"]


def test_direct_io_does_not_go_through_the_cache(engine, tmp_path):
    armed = engine.arm("bulk", bulk(tmp_path / "f", direct=True))
    if armed["type"] == "error":
        pytest.skip(f"no direct I/O here: {armed['message']}")
    engine.go()
    result = engine.result()
    if result["io"]["write_bytes"] == 0:
        pytest.skip("this file system has no device below it")
    assert result["operations"]["write"]["errors"] == 0
    assert result["io"]["write_bytes"] >= MIB


# ------------------------------------------------------------------------------------------ metadata


def test_objects_are_made_listed_looked_up_and_removed(engine, tmp_path):
    directory = tmp_path / "d"
    made = engine.run("metadata", metadata(directory, ["create", "fsync", "list"], list_every=50, file_bytes=100))
    noted = made["operations"]
    assert [noted[name]["count"] for name in ("create", "fsync", "list")] == [200, 200, 4]
    assert noted["create"]["bytes"] == 20_000
    assert {50, 100, 150, 200} <= set(noted["create"]["checkpoints"]["count"])
    assert sorted(path.name for path in directory.iterdir()) == [f"o{number:08d}" for number in range(200)]
    assert len({path.read_bytes() for path in directory.iterdir()}) == 200
    for name in ("stat", "list", "unlink"):
        noted = engine.run("metadata", metadata(directory, [name]))["operations"][name]
        assert (noted["count"], noted["errors"]) == (1 if name == "list" else 200, 0)
    assert not list(directory.iterdir())


def test_directories_are_objects_too(engine, tmp_path):
    settings = metadata(tmp_path / "d", ["create", "fsync"], count=20, object="directory", first=95)
    assert engine.run("metadata", settings)["operations"]["fsync"]["count"] == 20
    assert all((tmp_path / "d" / f"o{number:08d}").is_dir() for number in range(95, 115))
    settings = metadata(tmp_path / "d", ["stat", "unlink"], count=20, object="directory", first=95)
    assert engine.run("metadata", settings)["stopped_by"] == "work"
    assert not list((tmp_path / "d").iterdir())


def test_objects_that_are_there_already_are_errors(engine, tmp_path):
    engine.run("metadata", metadata(tmp_path / "d", ["create"], count=30))
    result = engine.run("metadata", metadata(tmp_path / "d", ["create"], count=60))
    noted = result["operations"]["create"]
    assert (noted["count"], noted["errors"], result["stopped_by"]) == (30, 30, "work")
    assert result["errors"][0]["errno"] == 17
    hopeless = engine.run("metadata", metadata(tmp_path / "e", ["stat"], count=1000))
    assert (hopeless["operations"]["stat"]["errors"], hopeless["stopped_by"]) == (100, "error")


def test_the_curve_is_bounded_for_any_interval_of_lists(engine, tmp_path):
    result = engine.run("metadata", metadata(tmp_path / "d", ["create", "list"], count=3000, list_every=1))
    points = result["operations"]["create"]["checkpoints"]["count"]
    assert 900 <= len(points) <= 2000
    assert result["operations"]["list"]["count"] == 3000


def test_metadata_settings_that_cannot_be_are_refused(subtests, engine, tmp_path_factory):
    for wrong in [
        {"operations": []},
        {"operations": ["fsync", "create"]},
        {"operations": ["create", "create"]},
        {"count": 0},
        {"first": 99_999_999},
        {"object": "directory", "file_bytes": 1},
        {"object": "link"},
    ]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("metadata", metadata(tmp_path / "d", ["create"]) | wrong)
            assert (answer["type"], answer["what"]) == ("error", "settings")


# ------------------------------------------------------------------------------------------ command


def test_a_command_is_one_operation_with_its_output(engine, tmp_path):
    argv = ("sh", "-c", "echo $GREETING; echo oops >&2; pwd; exit 3")
    result = engine.run("command", command(tmp_path, *argv, env={"GREETING": "hello"}, operation="say"))
    assert result["operations"]["say"]["count"] == 1
    told = result["command"]
    assert (told["status"], told["signal"], told["truncated"]) == (3, None, False)
    assert (told["stdout"], told["stderr"]) == (f"hello\n{tmp_path}\n", "oops\n")


def test_a_command_is_charged_with_its_whole_tree(engine, tmp_path):
    script = "dd if=/dev/zero of=f bs=64k count=16 conv=fsync 2>/dev/null; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    result = engine.run("command", command(tmp_path, "sh", "-c", script))
    assert MIB <= result["io"]["wchar"] < 2 * MIB
    assert result["cost"]["cpu_user_ns"] > 0
    assert result["cost"]["user_instructions"] is None


def test_output_beyond_a_mebibyte_is_drained_and_cut(engine, tmp_path):
    result = engine.run("command", command(tmp_path, "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; echo done >&2"))
    told = result["command"]
    assert (len(told["stdout"]), told["stderr"], told["truncated"], told["status"]) == (MIB, "done\n", True, 0)


def group_of(directory):
    return int(wait_until(lambda: (directory / "pid").exists() and (directory / "pid").read_text().strip()))


SLEEPER = ("sh", "-c", "sleep 600 & echo $! > pid.new; mv pid.new pid; wait")


def test_whatever_ends_a_command_ends_its_children(subtests, engines, tmp_path_factory):
    for how in ["stop", "limit", "end of input", "lease"]:
        with subtests.test(how=how):
            engine, tmp_path = engines(), tmp_path_factory.mktemp("case")
            engine.arm("command", command(tmp_path, *SLEEPER), limit_ns=4_000_000_000 if how == "limit" else None)
            engine.go()
            sleeper = group_of(tmp_path)
            if how == "stop":
                engine.send(type="stop")
            elif how == "lease":
                engine.send(type="lease", until_ns=time.monotonic_ns())
            elif how == "end of input":
                engine.process.stdin.close()
            if how in ("stop", "limit"):
                result = engine.result()
                assert (result["stopped_by"], result["command"]["signal"]) == (how, signal.SIGKILL)
            wait_ended(sleeper)


def test_the_command_does_not_outlive_a_killed_engine(engine, tmp_path):
    engine.arm("command", command(tmp_path, "sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 600"))
    engine.go()
    sleeper = group_of(tmp_path)
    engine.process.kill()
    wait_ended(sleeper)


def test_a_background_child_does_not_hold_the_result_back(engine, tmp_path):
    result = engine.run("command", command(tmp_path, "sh", "-c", "sleep 600 & echo $! > pid; echo ready"))
    assert (result["command"]["status"], result["command"]["stdout"]) == (0, "ready\n")
    wait_ended(group_of(tmp_path))


def test_a_command_that_cannot_be_found_is_not_armed(subtests, engine, tmp_path_factory):
    for argv, what in [((), "settings"), (("no-such-command",), "command"), (("./no-such-file",), "command")]:
        with subtests.test(argv=argv, what=what):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("command", command(tmp_path, *argv))
            assert (answer["type"], answer["what"]) == ("error", what)


def test_a_command_that_cannot_be_started_is_a_counted_error(engine, tmp_path):
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    result = engine.run("command", command(tmp_path, "./broken"))
    assert (result["stopped_by"], result["command"]) == ("error", None)
    assert result["errors"][0]["errno"] == 2


def test_workers_run_on_the_given_cpus(engine, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    result = engine.run("command", command(tmp_path, "grep", "Cpus_allowed_list", "/proc/self/status"), cpus=[cpu])
    assert result["command"]["stdout"].split()[1] == str(cpu)
