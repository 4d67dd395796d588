"""Requests of several sizes, at random and one after the other, on every path that can do them."""

import itertools
import os

import pytest

MIB = 1 << 20
SIZES = {512: 10, 1024: 5, 2048: 5, 4096: 60, 8192: 2, 16384: 4, 32768: 4, 65536: 10}
PATHS = [("psync", {}), ("io_uring", {"depth": 8}), ("mmap", {})]


def mixed(file, /, sizes=SIZES, offset=0, size=4 * MIB, **more):
    requests = [{"bytes": each, "weight": weight} for each, weight in sizes.items()]
    shares = {"read_share": 0.8, "random_share": 1.0}
    region = {"path": str(file), "offset": offset, "size": size}
    return {"operation": "request_mix", "regions": [region], "requests": requests, "ops": 20_000} | shares | more


def test_directions_and_bytes_have_their_shares(subtests, uring, tmp_path_factory):
    for path, more in PATHS:
        with subtests.test(path=path, more=more):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(4 * MIB))
            result = uring.run("bulk", mixed(tmp_path / "f", path=path, random_share=0.7, **more))
            assert (result["errors"], result["stopped_by"]) == ([], "work")
            reads, writes = result["operations"]["read"], result["operations"]["write"]
            assert reads["count"] + writes["count"] == 20_000
            assert abs(reads["count"] - 16_000) < 5 * (20_000 * 0.8 * 0.2) ** 0.5
            mean = sum(size * weight for size, weight in SIZES.items()) / 100
            spread = (sum(size**2 * weight for size, weight in SIZES.items()) / 100 - mean**2) ** 0.5
            for noted in (reads, writes):
                assert abs(noted["bytes"] / noted["count"] - mean) < 5 * spread / noted["count"] ** 0.5
                assert sum(noted["histogram"]["count"]) == noted["count"]


def test_it_stays_inside_its_region_and_fills_it(subtests, uring, tmp_path_factory):
    for path, more in PATHS:
        with subtests.test(path=path, more=more):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(4 * MIB))
            uring.run("bulk", mixed(tmp_path / "f", offset=MIB, size=2 * MIB, read_share=0.0, path=path, **more))
            data = (tmp_path / "f").read_bytes()
            assert len(data) == 4 * MIB
            assert not any(data[:MIB] + data[3 * MIB :])
            inside = data[MIB : 3 * MIB]
            sectors = [inside[at : at + 512] for at in range(0, len(inside), 512)]
            assert all(sector.strip(b"\0") for sector in sectors)
            assert len(set(sectors)) == len(sectors), "what is written is unique"


def test_random_requests_are_aligned_to_their_size_unless_told_otherwise(engine, tmp_path):
    for align, parts in (({}, {0}), ({"align": 512}, set(range(8)))):
        (tmp_path / "f").write_bytes(bytes(64 * MIB))
        engine.run("bulk", mixed(tmp_path / "f", {4096: 1}, size=64 * MIB, ops=300, read_share=0.0, **align))
        data = (tmp_path / "f").read_bytes()
        written = [data[at : at + 512].strip(b"\0") != b"" for at in range(0, len(data), 512)]
        starts = [at for at in range(512, len(data), 512) if written[at // 512] and not written[at // 512 - 1]]
        assert {start // 512 % 8 for start in starts} == parts


def test_what_is_not_random_goes_on_where_it_ended(engine, tmp_path):
    (tmp_path / "f").write_bytes(bytes(MIB))
    settings = mixed(tmp_path / "f", {4096: 1}, size=MIB, read_share=0.0, random_share=0.0, ops=100)
    engine.run("bulk", settings)
    written = [any((tmp_path / "f").read_bytes()[at : at + 4096]) for at in range(0, MIB, 4096)]
    assert written == [True] * 100 + [False] * 156


def test_only_reads_need_no_writes_and_names_can_be_given(engine, tmp_path):
    content = os.urandom(MIB)
    (tmp_path / "f").write_bytes(content)
    names = {"name": "get", "write_name": "put"}
    result = engine.run("bulk", mixed(tmp_path / "f", size=MIB, read_share=1.0, ops=1000, **names))
    assert {name: noted["count"] for name, noted in result["operations"].items()} == {"get": 1000, "put": 0}
    assert (tmp_path / "f").read_bytes() == content


def test_direct_requests_are_multiples_of_the_unit(uring, tmp_path):
    (tmp_path / "f").write_bytes(bytes(4 * MIB))
    for path, more in PATHS[:2]:
        armed = uring.arm("bulk", mixed(tmp_path / "f", {4096: 3, 65536: 1}, path=path, direct=True, ops=500, **more))
        if armed["type"] == "error":
            assert "direct" in armed["message"]
            pytest.skip(f"no direct I/O here: {armed['message']}")
        uring.go()
        assert uring.result()["errors"] == []
    refused = uring.arm("bulk", mixed(tmp_path / "f", {4096: 1}, direct=True, align=512, ops=1))
    small = uring.arm("bulk", mixed(tmp_path / "f", {65536: 1, 512: 1}, direct=True, ops=1))
    assert refused["type"] == small["type"]
    if refused["type"] == "error":
        assert "found records of 512 bytes" in refused["message"]


def test_it_takes_a_load(subtests, uring, tmp_path_factory):
    for load, path in itertools.product([{"rate": 5000, "arrivals": "poisson"}, {"think_ns": 100_000}], ["psync", "io_uring"]):
        with subtests.test(load=load, path=path):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(4 * MIB))
            settings = mixed(tmp_path / "f", path=path, load=load, ops=None, duration_ns=300_000_000)
            result = uring.run("bulk", settings)
            done = sum(noted["count"] for noted in result["operations"].values())
            unstarted = (result["load"] or {"unstarted": 0})["unstarted"]
            assert (result["stopped_by"], result["errors"]) == ("time", [])
            if "rate" in load:
                assert 1300 <= done + unstarted <= 1700, "1,500 and five times their root"
            else:
                assert 0 < done <= 3000


def test_flushes_come_after_their_writes(engine, tmp_path):
    (tmp_path / "f").write_bytes(bytes(4 * MIB))
    noted = engine.run("bulk", mixed(tmp_path / "f", read_share=0.5, ops=1000, flush=50))["operations"]
    assert noted["flush"]["count"] == -(-noted["write"]["count"] // 50)


def test_what_cannot_be_mixed_is_refused(subtests, engine, tmp_path_factory):
    for wrong in [
        {"requests": []},
        {"requests": [{"bytes": 1000, "weight": 1}]},
        {"requests": [{"bytes": 0, "weight": 1}]},
        {"requests": [{"bytes": 512, "weight": 0}]},
        {"requests": [{"bytes": 512, "weight": 1, "more": 1}]},
        {"requests": [{"bytes": 512, "weight": 1}] * 65},
        {"requests": [{"bytes": 8 * MIB, "weight": 1}]},
        {"read_share": None},
        {"random_share": None},
        {"random_share": 1.1},
        {"align": 100},
        {"record_size": 4096},
        {"ops": None},
        {"layout": "random"},
        {"describe": True},
        {"path": "stdio"},
        {"operation": "random_read", "record_size": 4096},
        {"order": "permutation"},
    ]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(bytes(4 * MIB))
            answer = engine.arm("bulk", mixed(tmp_path / "f") | wrong)
            assert (answer["type"], answer["what"]) == ("error", "settings")
