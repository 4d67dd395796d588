"""The engine `transfer`: files are made, carried by commands one after the other, and compared byte for byte."""

from pathlib import Path

SIZE = (1 << 20) + 123


def step(name, *files, **more):
    return {"step": name, "operation": name, "bytes": SIZE, "files": list(files)} | more


def done(engine, settings, **more):
    return engine.run("transfer", settings, **more)


def made(engine, tmp_path, count=3, **more):
    """Files as they are made, in this order."""
    paths = [str(tmp_path / f"f{number}") for number in range(count)]
    result = done(engine, step("make", *({"path": path} for path in paths)), **more)
    assert result["stopped_by"] == "work"
    return paths


def test_files_are_carried_and_every_byte_is_compared(engine, tmp_path):
    paths = made(engine, tmp_path)
    assert len({Path(path).read_bytes() for path in paths}) == 3, "no file is like another"
    copies = [f"{path}.copy" for path in paths]
    errands = [{"argv": ["cp", path, copy], "path": copy} for path, copy in zip(paths, copies, strict=True)]
    result = done(engine, step("run", *errands))
    run = result["operations"]["run"]
    assert (run["count"], run["bytes"], run["errors"], result["stopped_by"]) == (3, 3 * SIZE, 0, "work")
    assert result["io"]["wchar"] >= 3 * SIZE, "what all three commands wrote"
    assert result["command"]["status"] == 0
    told = done(engine, step("compare", *({"path": copy} for copy in copies), remove=paths))
    assert (told["operations"]["compare"]["count"], told["errors"]) == (3, [])
    assert not any(Path(path).exists() for path in paths)


def test_one_wrong_byte_a_wrong_length_and_a_missing_file_are_found(engine, tmp_path):
    whole = made(engine, tmp_path, 1)[0]
    for wrong in ("byte", "length", "order"):
        data = bytearray(Path(whole).read_bytes())
        if wrong == "byte":
            data[SIZE - 1] ^= 1
        elif wrong == "length":
            data += b"x"
        else:
            data = data[1 << 10 :] + data[: 1 << 10]
        path = tmp_path / wrong
        path.write_bytes(data)
        told = done(engine, step("compare", {"path": str(path)}))
        assert told["stopped_by"] == "error"
        assert [(one["what"], one["path"]) for one in told["errors"]] == [("verify", str(path))]
    told = done(engine, step("compare", {"path": str(tmp_path / "nothing")}))
    assert (told["stopped_by"], told["operations"]["compare"]["count"]) == ("error", 0)


def test_a_file_of_another_number_client_or_seed_is_another_file(engine, tmp_path):
    paths = made(engine, tmp_path, 2)
    assert done(engine, step("compare", {"path": paths[1]}))["stopped_by"] == "error"
    assert done(engine, step("compare", {"path": paths[0]}), client=1)["stopped_by"] == "error"
    assert done(engine, step("compare", {"path": paths[0]}), seed=9)["stopped_by"] == "error"
    assert done(engine, step("compare", {"path": paths[0]}))["stopped_by"] == "work"


def test_a_command_that_fails_ends_the_phase_and_is_no_operation(engine, tmp_path):
    errands = [{"argv": ["true"]}, {"argv": ["sh", "-c", "echo no room >&2; exit 3"]}, {"argv": ["true"]}]
    told = done(engine, step("run", *errands))
    assert told["stopped_by"] == "error"
    assert told["operations"]["run"]["count"] == 1
    assert (told["command"]["status"], told["command"]["stderr"]) == (3, "no room\n")


def test_a_command_that_leaves_a_short_file_ends_the_phase(engine, tmp_path):
    path = str(tmp_path / "short")
    told = done(engine, step("run", {"argv": ["sh", "-c", f"echo x > {path}"], "path": path}))
    assert told["stopped_by"] == "error"
    assert [(one["what"], one["path"]) for one in told["errors"]] == [("verify", path)]


def test_what_cannot_work_is_refused_before_the_clock(engine, tmp_path):
    for settings, message in (
        (step("run", {"path": "/x"}), "without argv"),
        (step("make", {"argv": ["true"]}), "without path"),
        (step("make"), "found no files"),
    ):
        engine.send(type="config", engine="transfer", phase="p", settings=settings)
        assert message in engine.receive()["message"]
    engine.send(type="config", engine="transfer", phase="p", settings=step("run", {"argv": ["no-such-program"]}))
    assert engine.receive()["what"] == "command"
