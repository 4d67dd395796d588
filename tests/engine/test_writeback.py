"""sync_file_range: what was written since the last time has left the cache of dirty pages, and that is all it says."""

import itertools
import os

import pytest

from assay import _core

MIB = 1 << 20


def bulk(file, /, operation="write", **more):
    region = {"path": str(file), "offset": MIB, "size": MIB}
    return {"operation": operation, "regions": [region], "record_size": 4096, "flush_call": "sync_file_range"} | more


def dirty_pages(tmp_path):
    """Make the file `f`, and count its dirty pages, on a file system that has any."""
    for _ in range(5):  # somebody else may flush all there is just now
        (tmp_path / "f").write_bytes(os.urandom(3 * MIB))
        if _core.cachestat(tmp_path / "f")["dirty"]:
            return lambda: _core.cachestat(tmp_path / "f")["dirty"]
    pytest.skip("no dirty pages on this file system")


def test_what_was_written_is_written_back(subtests, uring, tmp_path_factory):
    for path, (flush, count) in itertools.product(["psync", "io_uring", "stdio"], [("end", 1), (100, 3), ("each", 256)]):
        with subtests.test(path=path, flush=flush, count=count):
            tmp_path = tmp_path_factory.mktemp("case")
            dirty = dirty_pages(tmp_path)
            result = uring.run("bulk", bulk(tmp_path / "f", "rewrite", path=path, flush=flush, flush_name="writeback"))
            assert (result["operations"]["writeback"]["count"], result["errors"]) == (count, [])
            assert dirty() <= 512, "only the megabytes before and after it may be dirty, unless somebody else has flushed them"


def test_random_writes_are_written_back_from_the_first_to_the_last(subtests, uring, tmp_path_factory):
    for path in ["psync", "io_uring"]:
        with subtests.test(path=path):
            tmp_path = tmp_path_factory.mktemp("case")
            dirty = dirty_pages(tmp_path)
            with (tmp_path / "f").open() as file:
                os.fsync(file)
            depth = {"depth": 8} if path == "io_uring" else {}
            result = uring.run("bulk", bulk(tmp_path / "f", "random_write", path=path, ops=1000, flush=64, **depth))
            assert (result["operations"]["flush"]["count"], dirty()) == (16, 0)


def test_a_mapping_has_none(engine, tmp_path):
    answer = engine.arm("bulk", bulk(tmp_path / "f", path="mmap", create=True, flush="end"))
    assert "msync" in answer["message"]
