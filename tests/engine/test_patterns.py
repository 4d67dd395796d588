"""Which records are written and read, by whom, and what is in them."""

import errno
import hashlib
import itertools
import os
import zlib

import pytest

MIB = 1 << 20
BLOCK = 4096


def bulk(file, /, operation="write", size=MIB, record_size=BLOCK, **more):
    region = {"path": str(file), "size": size}
    return {"operation": operation, "regions": [region], "record_size": record_size} | more


def blocks(path, size=BLOCK):
    data = path.read_bytes()
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_what_rewrites_needs_a_file_and_keeps_its_size(subtests, engine, tmp_path_factory):
    for operation in ["rewrite", "record_rewrite", "random_write", "random_mix"]:
        with subtests.test(operation=operation):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(2 * MIB))
            share = {"read_share": 0.5} if operation == "random_mix" else {}
            result = engine.run("bulk", bulk(tmp_path / "f", operation, **share))
            assert (result["stopped_by"], result["errors"]) == ("work", [])
            assert sum(noted["count"] for noted in result["operations"].values()) == 256
            written = [number for number, block in enumerate(blocks(tmp_path / "f")) if block.strip(b"\0")]
            assert len(blocks(tmp_path / "f")) == 512
            expected = {
                "rewrite": range(256, 257),
                "record_rewrite": range(1, 2),
                "random_write": range(120, 200),
                "random_mix": range(70, 140),
            }
            assert len(written) in expected[operation]
            assert max(written) < 256


def test_a_rewrite_makes_no_file(subtests, engine, tmp_path_factory):
    for operation in ["rewrite", "record_rewrite"]:
        with subtests.test(operation=operation):
            tmp_path = tmp_path_factory.mktemp("case")
            assert engine.arm("bulk", bulk(tmp_path / "f", operation))["errno"] == errno.ENOENT
            (tmp_path / "f").write_bytes(b"x")
            assert "1 bytes" in engine.arm("bulk", bulk(tmp_path / "f", operation))["message"]
            assert engine.arm("bulk", bulk(tmp_path / "f", operation, create=True))["what"] == "settings"


def test_a_mix_names_its_reads_and_writes(engine, tmp_path):
    (tmp_path / "f").write_bytes(bytes(MIB))
    settings = bulk(tmp_path / "f", "random_mix", read_share=0.7, ops=5000, flush=100)
    noted = engine.run("bulk", settings)["operations"]
    reads, writes = noted["random_read"]["count"], noted["random_write"]["count"]
    assert reads + writes == 5000
    assert 3300 < reads < 3700
    assert noted["flush"]["count"] == -(-writes // 100)
    names = {"name": "get", "write_name": "put", "flush_name": "sync"}
    assert set(engine.run("bulk", settings | names)["operations"]) == {"get", "put", "sync"}


def test_a_permutation_writes_every_record_once(subtests, engine, tmp_path_factory):
    for order in ["uniform", "permutation"]:
        with subtests.test(order=order):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(MIB))
            engine.run("bulk", bulk(tmp_path / "f", "random_write", order=order))
            written = sum(block != bytes(BLOCK) for block in blocks(tmp_path / "f"))
            assert (written == 256) == (order == "permutation")


def test_workers_share_one_file_without_a_record_in_two_hands(subtests, engine, tmp_path_factory):
    for layout, operation in itertools.product(["segments", "interleaved", "random"], ["write", "random_write"]):
        with subtests.test(layout=layout, operation=operation):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(MIB))
            regions = [{"path": str(tmp_path / "f"), "size": MIB, "part": part, "parts": 4} for part in range(4)]
            order = {"order": "permutation"} if operation == "random_write" else {}
            settings = bulk(tmp_path / "f", operation, layout=layout, **order) | {"regions": regions}
            result = engine.run("bulk", settings)
            assert (result["workers"], result["operations"][operation]["count"]) == (4, 256)
            assert all(block.strip(b"\0") for block in blocks(tmp_path / "f"))
            settings["regions"] = regions[1:2]
            (tmp_path / "f").write_bytes(bytes(MIB))
            engine.run("bulk", settings)
            mine = [number for number, block in enumerate(blocks(tmp_path / "f")) if block.strip(b"\0")]
            assert len(mine) == 64
            if layout == "segments":
                assert mine == list(range(64, 128))
            elif layout == "interleaved":
                assert mine == list(range(1, 256, 4))
            else:
                assert mine not in (list(range(64, 128)), list(range(1, 256, 4)))


def test_strides_visit_every_record_once(engine, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(MIB))
    result = engine.run("bulk", bulk(tmp_path / "f", "stride_read", stride=17 * BLOCK))
    assert result["operations"]["stride_read"]["count"] == 256


def test_flushes_come_as_often_as_they_should(subtests, engine, tmp_path_factory):
    for (flush, count), call in itertools.product(
        [("none", None), ("end", 1), ("each", 256), (100, 3), (128, 2), (1000, 1)], ["fsync", "fdatasync"]
    ):
        with subtests.test(flush=flush, count=count, call=call):
            tmp_path = tmp_path_factory.mktemp("case")
            noted = engine.run("bulk", bulk(tmp_path / "f", create=True, flush=flush, flush_call=call))["operations"]
            assert noted.get("flush", {"count": None})["count"] == count


def test_what_cannot_be_is_refused(subtests, engine, tmp_path_factory):
    for wrong in [
        {"operation": "stride_read"},
        {"operation": "stride_read", "stride": BLOCK + 1},
        {"operation": "read", "stride": BLOCK},
        {"operation": "random_mix"},
        {"operation": "random_mix", "read_share": 1.5},
        {"operation": "read", "order": "permutation"},
        {"operation": "read", "sync": "dsync"},
        {"operation": "write", "flush": 0},
        {"operation": "write", "flush": "often"},
        {"operation": "write", "verify": "all"},
        {"operation": "read", "describe": True},
        {"operation": "write", "describe": True, "record_size": 512},
        {"operation": "write", "describe": True, "data": {"zeros": 0.5}},
        {"operation": "write", "data": {"zeros": 0.6, "duplicates": 0.6}},
        {"operation": "write", "data": {"compressible": 0.5}},
        {"operation": "write", "data": "pretty"},
        {"operation": "random_mix", "read_share": 0.5, "verify": "all"},
    ]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(b"x" * MIB)
            answer = engine.arm("bulk", bulk(tmp_path / "f") | wrong)
            assert (answer["type"], answer["what"]) == ("error", "settings")
            assert (tmp_path / "f").read_bytes() == b"x" * MIB


# ------------------------------------------------------------------------------------------ data


def write(engine, path, size=8 * MIB, **more):
    assert engine.run("bulk", bulk(path, create=True, size=size, **more), seed=5)["errors"] == []
    return path.read_bytes()


def test_data_compress_by_their_ratio(subtests, engine, tmp_path_factory):
    for ratio, record_size in itertools.product([1.25, 2.0, 3.0, 5.0], [BLOCK, 128 << 10]):
        with subtests.test(ratio=ratio, record_size=record_size):
            tmp_path = tmp_path_factory.mktemp("case")
            data = write(engine, tmp_path / "f", size=2 * MIB, data={"compressible": ratio}, record_size=record_size)
            achieved = len(data) / len(zlib.compress(data, 1))
            assert achieved == pytest.approx(ratio, rel=0.02)


def test_shares_of_duplicates_and_zeros_are_exact(engine, tmp_path):
    write(engine, tmp_path / "f", data={"duplicates": 0.3, "zeros": 0.1})
    all_blocks = blocks(tmp_path / "f")
    zeros = [block for block in all_blocks if not block.strip(b"\0")]
    rest = [hashlib.sha256(block).digest() for block in all_blocks if block.strip(b"\0")]
    assert len(zeros) / len(all_blocks) == pytest.approx(0.1, abs=0.001)
    assert (len(rest) - len(set(rest))) / len(all_blocks) == pytest.approx(0.3, abs=0.001)
    assert len(zlib.compress(b"".join(block for block in all_blocks if block.strip(b"\0")), 1)) > 0.99 * 0.9 * 8 * MIB


def test_described_data_are_unique_and_do_not_compress(engine, tmp_path):
    data = write(engine, tmp_path / "f", describe=True)
    assert len(zlib.compress(data)) > 0.999 * len(data)
    assert len({data[at : at + 512] for at in range(0, len(data), 512)}) == len(data) // 512


def test_a_changed_byte_is_found(subtests, uring, tmp_path_factory):
    for path, record_size in itertools.product(["psync", "mmap", "io_uring"], [BLOCK, 64 << 10]):
        with subtests.test(path=path, record_size=record_size):
            tmp_path = tmp_path_factory.mktemp("case")
            write(uring, tmp_path / "f", size=MIB, describe=True, generation=3, record_size=64 << 10)
            reads = bulk(tmp_path / "f", "read", verify="all", record_size=record_size, path=path)
            good = uring.run("bulk", reads | {"generation": 3})
            assert (good["errors"], good["operations"]["read"]["bytes"]) == ([], MIB)
            with (tmp_path / "f").open("r+b") as file:
                file.seek(5 * BLOCK + 77)
                file.write(b"\x00\x01")
            bad = uring.run("bulk", reads)
            failure = {"operation": "read", "errno": errno.EILSEQ, "what": "verify", "count": 1, "path": str(tmp_path / "f")}
            assert bad["errors"] == [failure]
            assert (bad["operations"]["read"]["errors"], bad["stopped_by"]) == (1, "work")
            stale = uring.run("bulk", reads | {"generation": 4})
            assert stale["errors"][0]["count"] == MIB // record_size


def test_a_sample_finds_what_is_wrong_everywhere(engine, tmp_path):
    (tmp_path / "f").write_bytes(os.urandom(MIB))
    settings = bulk(tmp_path / "f", "random_read", verify="sample", ops=10_000)
    result = engine.run("bulk", settings)
    assert result["operations"]["random_read"]["count"] == 10_000
    assert 100 < result["errors"][0]["count"] < 220, "one in 64"


def test_a_mix_verifies_what_it_overwrites(subtests, uring, tmp_path_factory):
    for path in ["psync", "io_uring"]:
        with subtests.test(path=path):
            tmp_path = tmp_path_factory.mktemp("case")
            write(uring, tmp_path / "f", size=MIB, describe=True)
            settings = bulk(tmp_path / "f", "random_mix", read_share=0.5, verify="all", describe=True, ops=5000, path=path)
            result = uring.run("bulk", settings)
            assert (result["errors"], result["stopped_by"]) == ([], "work")
