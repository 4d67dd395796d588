"""psync, io_uring and mmap move the same data, and say how they did."""

import ctypes
import errno
import hashlib
import itertools
import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
MIB = 1 << 20
PATHS = ("psync", "io_uring", "mmap")


def bulk(file, /, operation="write", size=MIB, record_size=16 << 10, **more):
    region = {"path": str(file), "size": size}
    return {"operation": operation, "regions": [region], "record_size": record_size} | more


def write(engine, file, /, **more):
    return engine.run("bulk", bulk(file, create=True, **more), seed=7)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_path_writes_the_same(subtests, uring, tmp_path_factory):
    for size in [MIB, 100_000]:
        with subtests.test(size=size):
            tmp_path = tmp_path_factory.mktemp("case")
            seen = set()
            for path in PATHS:
                depth = {"depth": 8} if path == "io_uring" else {}
                result = write(uring, tmp_path / "f", size=size, path=path, flush="end", **depth)
                noted = result["operations"]
                assert (noted["write"]["bytes"], noted["flush"]["count"], result["errors"]) == (size, 1, [])
                seen.add(digest(tmp_path / "f"))
                (tmp_path / "f").unlink()
            assert len(seen) == 1


def test_every_path_reads_all_of_it(subtests, uring, tmp_path_factory):
    for operation, path in itertools.product(["read", "random_read", "backward_read"], PATHS):
        with subtests.test(operation=operation, path=path):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(os.urandom(MIB))
            result = uring.run("bulk", bulk(tmp_path / "f", operation, path=path))
            noted = result["operations"][operation]
            assert (noted["count"], noted["bytes"], noted["errors"], result["stopped_by"]) == (64, MIB, 0, "work")
            assert sum(noted["histogram"]["count"]) == 64
            assert (result["queue"] is None) == (path != "io_uring")


def test_requests_are_submitted_and_reaped_in_batches(uring, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(MIB))
    settings = bulk(tmp_path / "f", "random_read", record_size=4096, path="io_uring", depth=32, batch=16, ops=6400)
    result = uring.run("bulk", settings)
    noted, queue = result["operations"]["random_read"], result["queue"]
    assert noted["count"] == 6400
    assert queue["depth"] == 32
    assert 200 <= queue["submissions"] <= 400
    elapsed = noted["last_ns"] - noted["first_ns"]
    assert 16 * elapsed < noted["busy_ns"] <= 33 * elapsed, "latency is from submission to completion: Little's law"
    assert noted["sampled_count"] == 100


def test_cached_reads_are_not_punted_and_flushes_are(uring, tmp_path):
    settings = bulk(tmp_path / "f", path="io_uring", depth=4, create=True, flush=4, flush_call="fdatasync")
    result = uring.run("bulk", settings)
    assert result["operations"]["flush"]["count"] == 16
    assert result["queue"]["punted"]
    assert result["queue"]["punted_threads"] > 0
    result = uring.run("bulk", bulk(tmp_path / "f", "random_read", path="io_uring", depth=32))
    assert (result["queue"]["punted"], result["queue"]["punted_threads"]) == (False, 0)


def test_registration_pays_with_direct_io(subtests, uring, tmp_path_factory):
    for direct, register, expected in [(False, "probe", False), (False, "on", True), (True, "probe", True)]:
        with subtests.test(direct=direct, register=register, expected=expected):
            tmp_path = tmp_path_factory.mktemp("case")
            write(uring, tmp_path / "f", flush="end")
            settings = bulk(tmp_path / "f", "random_read", path="io_uring", depth=8, direct=direct, register=register)
            armed = uring.arm("bulk", settings)
            if direct and armed["type"] == "error":
                pytest.skip(f"no direct I/O here: {armed['message']}")
            uring.go()
            result = uring.result()
            assert result["queue"]["registered"] == expected
            assert result["operations"]["random_read"]["count"] == 64


def test_registered_writes_are_what_they_should_be(uring, tmp_path):
    write(uring, tmp_path / "f")
    expected = digest(tmp_path / "f")
    (tmp_path / "f").unlink()
    write(uring, tmp_path / "f", path="io_uring", depth=5, register="on")
    assert digest(tmp_path / "f") == expected


def test_a_file_that_shrinks_is_an_error_and_not_the_end(subtests, uring, tmp_path_factory):
    for path, code in [("io_uring", errno.ENODATA), ("mmap", errno.EIO)]:
        with subtests.test(path=path, code=code):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(b"x" * MIB)
            uring.arm("bulk", bulk(tmp_path / "f", "read", record_size=4096, path=path))
            os.truncate(tmp_path / "f", MIB // 2)
            uring.go()
            result = uring.result()
            assert result["stopped_by"] == "error"
            assert result["operations"]["read"]["count"] == 128
            assert result["errors"][0]["errno"] == code
            assert uring.run("null", {"operation": "null", "ops": 1})["stopped_by"] == "work"


def test_a_full_device_is_a_counted_error(uring):
    result = uring.run("bulk", bulk("/dev/full", path="io_uring", depth=4))
    assert result["stopped_by"] == "error"
    assert {failure["errno"] for failure in result["errors"]} == {errno.ENOSPC}


def test_every_depth_works(subtests, uring, tmp_path_factory):
    for depth in [1, 4096]:
        with subtests.test(depth=depth):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(os.urandom(MIB))
            settings = bulk(tmp_path / "f", "random_read", record_size=512, path="io_uring", depth=depth, ops=10_000)
            assert uring.run("bulk", settings)["operations"]["random_read"]["count"] == 10_000


def test_time_ends_it_and_all_in_flight_is_counted(uring, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(MIB))
    settings = bulk(tmp_path / "f", "random_read", record_size=4096, path="io_uring", depth=64, duration_ns=100_000_000)
    result = uring.run("bulk", settings)
    assert result["stopped_by"] == "time"
    assert result["operations"]["random_read"]["count"] > 64


def test_what_a_path_cannot_do_is_refused(subtests, engine, tmp_path_factory):
    for wrong in [
        {"path": "io_uring", "depth": 0},
        {"path": "io_uring", "depth": 4097},
        {"path": "io_uring", "depth": 4, "batch": 5},
        {"path": "io_uring", "depth": 2, "load": {"think_ns": 1}},
        {"path": "io_uring", "depth": 4096, "record_size": 1 << 24},
        {"path": "psync", "depth": 2},
        {"path": "mmap", "register": "on"},
        {"path": "mmap", "direct": True},
        {"path": "mmap", "sync": "dsync"},
        {"path": "aio"},
        {"queue": ["x"]},
    ]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("bulk", bulk(tmp_path / "f", create=True) | wrong)
            assert (answer["type"], answer["what"]) == ("error", "settings")
            assert not (tmp_path / "f").exists()


def forbid_io_uring():
    """A seccomp filter under which io_uring_setup is not implemented, as in many containers."""
    load, equal, answer = 0x20, 0x15, 0x06
    program = b"".join(
        struct.pack("HBBI", *line)
        for line in ((load, 0, 0, 0), (equal, 0, 1, 425), (answer, 0, 0, 0x50000 | errno.ENOSYS), (answer, 0, 0, 0x7FFF0000))
    )
    held = ctypes.create_string_buffer(program)
    filters = struct.pack("HxxxxxxQ", 4, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp = 38, 22
    libc.prctl(no_new_privileges, 1, 0, 0, 0)
    libc.prctl(seccomp, 2, ctypes.c_char_p(filters), 0, 0)


def test_a_kernel_without_io_uring_is_a_fault_with_its_reason(tmp_path):
    (tmp_path / "f").write_bytes(bytes(MIB))
    config = {"type": "config", "engine": "bulk", "phase": "p", "settings": bulk(tmp_path / "f", "read", path="io_uring")}
    filtered = {"preexec_fn": forbid_io_uring}  # before exec: a filter cannot be taken off again
    with subprocess.Popen([ENGINE], stdin=-1, stdout=-1, stderr=-3, text=True, **filtered) as process:
        process.stdout.readline()
        process.stdin.write(json.dumps(config) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.stdin.close()
    assert (answer["what"], answer["errno"]) == ("io_uring_setup", errno.ENOSYS)
    assert "path = psync" in answer["message"]


def test_workers_that_map_one_new_file_never_cut_it(engine, tmp_path):
    for number in range(60):
        path = tmp_path / f"f{number}"
        regions = [{"path": str(path), "size": MIB, "part": part, "parts": 16} for part in range(16)]
        settings = {"operation": "write", "path": "mmap", "regions": regions, "record_size": 4096, "create": True}
        assert engine.arm("bulk", settings)["type"] == "armed"
        assert path.stat().st_size == MIB
