"""What the engine itself costs: user instructions per operation, clock and histogram on.

Counted by callgrind as the difference of two operation counts, so that start-up falls out and no counter of the CPU is needed.
"""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
VALGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", ENGINE]
pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")


def instructions(kind, settings):
    with subprocess.Popen(VALGRIND, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        process.stdout.readline()
        config = {"type": "config", "engine": kind, "phase": "p", "interval_ns": 10**12, "settings": settings}
        process.stdin.write(json.dumps(config) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if answer["type"] == "error":
            process.stdin.close()
            pytest.skip(answer["message"])
        process.stdin.write(json.dumps({"type": "go", "at_ns": time.monotonic_ns()}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["type"] == "told"
        assert json.loads(process.stdout.readline())["errors"] == []
        process.stdin.close()
        return int(re.search(r"Collected : (\d+)", process.stderr.read())[1])


def per_operation(kind, settings):
    few, many = (instructions(kind, settings | {"ops": ops}) for ops in (50_000, 150_000))
    return (many - few) / 100_000


def read(file, /, **more):
    file.write_bytes(bytes(4 << 20))
    region = {"path": str(file), "size": 4 << 20}
    return {"operation": "random_read", "regions": [region], "record_size": 4096} | more


def test_the_null_engine_is_within_its_budget():
    assert per_operation("null", {"operation": "null"}) <= 120


def test_a_cached_and_a_queued_read_are_within_their_budget(tmp_path):
    assert per_operation("bulk", read(tmp_path / "f")) <= 160
    assert per_operation("bulk", read(tmp_path / "f", path="io_uring", depth=32)) <= 160


def test_a_record_of_a_tree_is_within_its_budget(tmp_path):
    (tmp_path / "file").write_bytes(bytes(2_000 * 4096))
    settings = {"root": str(tmp_path), "record_size": 4096, "walkers": 1}
    few, many = (instructions("tree", settings | {"passes": passes}) for passes in (1, 6))
    assert (many - few) / 10_000 <= 160


def test_an_empty_file_is_created_within_its_budget(tmp_path):
    def made(count):
        settings = {"directory": str(tmp_path / str(count)), "object": "file", "operations": ["create"], "count": count}
        return instructions("metadata", settings)

    assert (made(32_000) - made(2_000)) / 30_000 <= 300


def test_a_transaction_is_within_its_budget(engines):
    def asked(ops):
        server = engines()
        both = {"exchange": "transaction", "token": "t", "patience_ns": 60_000_000_000}
        armed = server.arm("net", both | {"role": "server"})
        server.go()
        return instructions("net", both | {"role": "load", "address": armed["address"], "ops": ops})

    assert (asked(22_000) - asked(2_000)) / 20_000 <= 200
