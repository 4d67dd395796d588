"""Every operation on objects does what it says, in one directory or many, alone or shared."""

import os

import pytest


def metadata(path, operations, count=100, **more):
    return {"directory": str(path), "object": "file", "operations": operations, "count": count} | more


def run(engine, *arguments, **more):
    result = engine.run("metadata", metadata(*arguments, **more))
    assert result["errors"] == []
    return {name: noted["count"] for name, noted in result["operations"].items()}


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def numbered(letter, count=100):
    return [f"{letter}{number:08d}" for number in range(count)]


def test_all_of_it_on_files(engine, tmp_path):
    folder = tmp_path / "d"
    made = ["create", "stat", "open", "setxattr", "link", "symlink"]
    armed = engine.arm("metadata", metadata(folder, made))
    assert armed["type"] == "armed"
    engine.go()
    result = engine.result()
    if any(failure["operation"] == "setxattr" for failure in result["errors"]):
        pytest.skip("no extended attributes here")
    assert {noted["count"] for noted in result["operations"].values()} == {100}
    assert names(folder) == sorted(numbered("o") + numbered("l") + numbered("s"))
    first = folder / "o00000000"
    assert os.getxattr(first, "user.assay") == b"01234567"
    assert (first.stat().st_nlink, (folder / "s00000000").readlink().name) == (2, "o00000000")
    assert run(engine, folder, ["rename"]) == {"rename": 100}
    assert names(folder) == sorted(numbered("r") + numbered("l") + numbered("s"))
    for letter in "rls":
        assert run(engine, folder, ["stat", "unlink"], prefix=letter, new_prefix="z") == {"stat": 100, "unlink": 100}
    assert names(folder) == []


def test_all_of_it_on_directories(engine, tmp_path):
    folder = tmp_path / "d"
    done = run(engine, folder, ["mkdir", "stat", "open", "symlink", "rename", "rmdir"], object="directory")
    assert set(done.values()) == {100}
    assert names(folder) == numbered("s")


def test_what_follows_a_rename_uses_the_new_name(engine, tmp_path):
    assert run(engine, tmp_path / "d", ["create", "rename", "stat", "unlink"])["unlink"] == 100
    assert names(tmp_path / "d") == []


def test_lists_come_with_or_without_attributes(engine, tmp_path):
    operations = ["create", "readdir", "readdir_plus"]
    assert run(engine, tmp_path / "d", operations, list_every=20) == {"create": 100, "readdir": 5, "readdir_plus": 5}
    first, second = (engine.run("metadata", metadata(tmp_path / "d", [one]))["cost"] for one in operations[1:])
    assert first is not None
    assert second is not None


def test_objects_are_dealt_out_to_directories(engine, tmp_path):
    assert run(engine, tmp_path / "d", ["create", "list"], directories=8, list_every=10) == {"create": 100, "list": 10}
    folders = sorted((tmp_path / "d").iterdir())
    assert [folder.name for folder in folders] == [f"d{number:06d}" for number in range(8)]
    assert [len(names(folder)) for folder in folders] == [13, 13, 13, 13, 12, 12, 12, 12]
    assert run(engine, tmp_path / "d", ["unlink"], directories=8) == {"unlink": 100}
    assert not any(names(folder) for folder in folders)


def test_workers_have_their_own_objects(subtests, engine, tmp_path_factory):
    for sharing in ["own", "shared"]:
        with subtests.test(sharing=sharing):
            tmp_path = tmp_path_factory.mktemp("case")
            more = {"workers": 4, "sharing": sharing}
            assert run(engine, tmp_path / "d", ["create"], **more) == {"create": 400}
            if sharing == "shared":
                assert names(tmp_path / "d") == numbered("o", 400)
            else:
                assert names(tmp_path / "d") == [f"w{worker:04d}" for worker in range(4)]
                assert all(names(folder) == numbered("o") for folder in (tmp_path / "d").iterdir())
            assert run(engine, tmp_path / "d", ["stat", "unlink"], **more) == {"stat": 400, "unlink": 400}


TABLE = [{"bytes": 0, "weight": 5}, {"bytes": 1000, "weight": 3}, {"bytes": 70_000, "weight": 2}]


def sizes(path):
    return {str(file.relative_to(path)): file.stat().st_size for file in path.rglob("*") if file.is_file()}


def test_sizes_are_drawn_by_weight_from_number_and_seed(engine, tmp_path):
    result = engine.run("metadata", metadata(tmp_path / "a", ["create"], count=500, file_bytes=TABLE), seed=7)
    made = sizes(tmp_path / "a")
    assert result["operations"]["create"]["bytes"] == sum(made.values())
    shares = [list(made.values()).count(row["bytes"]) for row in TABLE]
    assert sum(shares) == 500
    assert all(abs(share - 50 * row["weight"]) < 60 for share, row in zip(shares, TABLE, strict=True))
    engine.run("metadata", metadata(tmp_path / "b", ["create"], count=100, first=400, file_bytes=TABLE), seed=7)
    assert sizes(tmp_path / "b") == {name: size for name, size in made.items() if name >= numbered("o", 401)[-1]}
    engine.run("metadata", metadata(tmp_path / "c", ["create"], count=500, file_bytes=TABLE), seed=8)
    assert sizes(tmp_path / "c") != made


def test_no_worker_writes_what_another_wrote(engine, tmp_path):
    more = {"workers": 3, "sharing": "own", "file_bytes": 64, "count": 20}
    run(engine, tmp_path / "d", ["create"], **more)
    contents = [file.read_bytes() for file in (tmp_path / "d").rglob("o*")]
    assert len(contents) == len(set(contents)) == 60


def test_directories_are_listed_in_turn(engine, tmp_path):
    """Were it always the same one, none of the other directories' entries would ever be looked at."""
    if os.statvfs(tmp_path).f_flag & (os.ST_NOATIME | os.ST_NODIRATIME):
        pytest.skip("this file system does not note when a directory was read")
    run(engine, tmp_path / "d", ["create"], directories=4, count=40)
    old = 1_000_000_000
    for folder in (tmp_path / "d").iterdir():
        os.utime(folder, ns=(old, old))
    assert run(engine, tmp_path / "d", ["readdir"], directories=4, count=40, list_every=4) == {"readdir": 10}
    assert all(folder.stat().st_atime_ns > old for folder in (tmp_path / "d").iterdir())


def test_an_open_loop_of_metadata(engine, tmp_path):
    result = engine.run("metadata", metadata(tmp_path / "d", ["create"], load={"rate": 1000}))
    noted = result["operations"]["create"]
    assert noted["last_ns"] - noted["first_ns"] >= 99 * 1_000_000
    assert result["load"]["unstarted"] == 0


def test_what_cannot_be_is_refused(subtests, engine, tmp_path_factory):
    for wrong in [
        {"operations": ["mkdir"]},
        {"operations": ["rmdir"]},
        {"operations": ["link"], "object": "directory"},
        {"operations": ["create", "mkdir"], "object": "directory"},
        {"operations": ["unlink", "rmdir"], "object": "directory"},
        {"directories": 0},
        {"directories": 100_001},
        {"workers": 0},
        {"workers": 1000, "directories": 1000},
        {"prefix": "r"},
        {"prefix": "."},
        {"prefix": "oo"},
        {"file_bytes": []},
        {"file_bytes": [{"bytes": 4096, "weight": 0}]},
        {"file_bytes": [{"bytes": (1 << 30) + 1, "weight": 1}]},
        {"file_bytes": [{"bytes": 4096, "weight": 1}], "object": "directory"},
        {"file_bytes": [{"bytes": 4096, "weight": 1, "x": 1}]},
        {"file_bytes": "4096"},
    ]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("metadata", metadata(tmp_path / "d", ["create"]) | wrong)
            assert (answer["type"], answer["what"]) == ("error", "settings")
            assert not (tmp_path / "d").exists()
