"""Records through a stream of the C library: in which calls they reach the file, and that no failure is lost in its buffer."""

import errno
import hashlib
import itertools
import os

MIB = 1 << 20


def stream(file, /, operation="write", size=MIB, record_size=512, **more):
    region = {"path": str(file), "size": size}
    return {"operation": operation, "path": "stdio", "regions": [region], "record_size": record_size} | more


def write(engine, file, /, **more):
    return engine.run("bulk", stream(file, create=True, **more), seed=7)


def test_the_same_reaches_the_file_as_by_calls(engine, tmp_path):
    seen = set()
    for path in ("psync", "stdio"):
        result = write(engine, tmp_path / "f", size=100_000, record_size=3000, path=path, flush="end")
        assert (result["operations"]["write"]["bytes"], result["errors"]) == (100_000, [])
        assert result["operations"]["flush"]["count"] == 1
        seen.add(hashlib.sha256((tmp_path / "f").read_bytes()).digest())
        (tmp_path / "f").unlink()
    assert len(seen) == 1


def test_the_buffer_decides_how_many_calls_there_are(subtests, engine, tmp_path_factory):
    for (buffer, calls), operation in itertools.product(
        [({}, 256), ({"stdio_buffer": 64 << 10}, 16), ({"stdio_buffer": 512}, 2048)], ["write", "rewrite", "read", "reread"]
    ):
        with subtests.test(buffer=buffer, calls=calls, operation=operation):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(os.urandom(MIB))
            result = engine.run("bulk", stream(tmp_path / "f", operation, **buffer))
            noted = result["operations"][operation]
            assert (noted["count"], noted["bytes"], result["errors"]) == (2048, MIB, [])
            moved = result["io"]["syscw" if "write" in operation else "syscr"]
            assert calls <= moved <= calls + 40, "the engine's own messages are in it"


def test_a_record_as_large_as_the_buffer_goes_past_it(engine, tmp_path):
    assert 16 <= write(engine, tmp_path / "f", record_size=64 << 10)["io"]["syscw"] <= 56


def test_what_is_left_in_the_buffer_reaches_the_file_without_a_flush(engine, tmp_path):
    result = write(engine, tmp_path / "f", stdio_buffer=2 * MIB)
    assert set(result["operations"]) == {"write"}
    assert (tmp_path / "f").stat().st_size == MIB
    noted = result["operations"]["write"]
    assert noted["last_ns"] - noted["first_ns"] <= result["last_ns"] - result["first_ns"]
    assert noted["busy_ns"] > noted["max_ns"]


def test_a_failure_that_only_the_flush_shows_is_told(subtests, engine):
    for flush, count in [("none", 16), ("end", 16), ("each", 1), (4, 4)]:
        with subtests.test(flush=flush, count=count):
            result = engine.run("bulk", stream("/dev/full", size=16 * 128, record_size=128, flush=flush))
            assert result["stopped_by"] == "error"
            assert {failure["errno"] for failure in result["errors"]} == {errno.ENOSPC}
            assert result["operations"]["write"]["count"] == count
            told = {failure["operation"] for failure in result["errors"]}
            assert told == ({"write"} if flush == "none" else {"flush"})


def test_a_failure_within_a_write_ends_the_phase(engine):
    result = engine.run("bulk", stream("/dev/full", record_size=512))
    noted = result["operations"]["write"]
    assert (noted["count"], noted["errors"], result["stopped_by"]) == (8, 1, "error")


def test_a_file_that_shrinks_is_an_error(engine, tmp_path):
    (tmp_path / "f").write_bytes(b"x" * MIB)
    engine.arm("bulk", stream(tmp_path / "f", "read", record_size=4096))
    os.truncate(tmp_path / "f", MIB // 2 + 100)
    engine.go()
    result = engine.result()
    assert (result["operations"]["read"]["count"], result["errors"][0]["errno"]) == (128, errno.ENODATA)


def test_it_begins_anew_and_flushes_on_the_way(engine, tmp_path):
    result = write(engine, tmp_path / "f", size=10_000, record_size=1000, ops=25, flush=10)
    assert (result["operations"]["write"]["count"], result["operations"]["flush"]["count"]) == (25, 3)
    assert (tmp_path / "f").stat().st_size == 10_000
    assert engine.run("bulk", stream(tmp_path / "f", "read", size=10_000, record_size=1000, ops=35))["errors"] == []


def test_described_records_are_verified(engine, tmp_path):
    write(engine, tmp_path / "f", record_size=8192, describe=True, generation=2)
    reads = stream(tmp_path / "f", "read", record_size=4096, verify="all", generation=2, stdio_buffer=10_000)
    assert engine.run("bulk", reads)["errors"] == []
    with (tmp_path / "f").open("r+b") as file:
        file.seek(5 * 4096 + 77)
        file.write(b"\x00\x01")
    assert engine.run("bulk", reads)["errors"][0]["what"] == "verify"


def test_it_keeps_to_its_part_and_to_its_rate(engine, tmp_path):
    (tmp_path / "f").write_bytes(bytes(4 * MIB))
    regions = [{"path": str(tmp_path / "f"), "offset": MIB, "size": 2 * MIB, "part": part, "parts": 2} for part in range(2)]
    load = {"load": {"rate": 20_000}, "duration_ns": 200_000_000}
    result = engine.run("bulk", stream(tmp_path / "f", "rewrite", **load) | {"regions": regions})
    done = result["operations"]["rewrite"]["count"] + result["load"]["unstarted"]
    assert 3990 <= done <= 4010
    data = (tmp_path / "f").read_bytes()
    assert not any(data[:MIB] + data[3 * MIB :])
    assert any(data[MIB : MIB + 512])
    assert any(data[2 * MIB : 2 * MIB + 512])


def test_what_a_stream_cannot_do_is_refused(subtests, engine, tmp_path_factory):
    for wrong in [
        {"direct": True},
        {"depth": 2},
        {"operation": "random_write"},
        {"operation": "random_mix", "read_share": 0.5},
        {"operation": "record_rewrite"},
        {"layout": "interleaved"},
        {"stdio_buffer": 0},
        {"stdio_buffer": (1 << 30) + 1},
        {"path": "psync", "stdio_buffer": 4096},
    ]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("bulk", stream(tmp_path / "f", create=True) | wrong)
            assert (answer["type"], answer["what"]) == ("error", "settings")
            assert not (tmp_path / "f").exists()
