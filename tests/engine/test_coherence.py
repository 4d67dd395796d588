"""Two engines, a writer and a reader, on one local directory: everything is seen at once, and locks hold."""

STEPS = [
    "create",
    "append",
    "overwrite",
    "reopen",
    "truncate",
    "truncate_shared",
    "rename",
    "unlink",
    "list",
    "posix_lock",
    "flock",
    "counter",
    "direct_write",
]
WITHIN_NS = 300_000_000
PATIENT_NS = 20_000_000_000
"""What is there is seen at once, and on a busy machine a little later."""


def settings(role, directory, meeting, **more):
    return {
        "role": role,
        "directory": str(directory),
        "meeting": meeting,
        "steps": STEPS,
        "times": 5,
        "within_ns": WITHIN_NS,
        "look_every_ns": 1_000_000,
    } | more


def both(engines, writer, reader):
    """Run both ends; return their results."""
    ends = engines(), engines()
    for end, given in zip(ends, (writer, reader), strict=True):
        armed = end.arm("coherence", given)
        assert armed["type"] == "armed", armed
    for end in ends:
        end.send(type="go", at_ns=0)
        assert end.receive()["type"] == "told"
    return tuple(end.result() for end in ends)


def test_one_file_system_shows_everything_and_keeps_every_lock(engines, tmp_path, request):
    name = f"{tmp_path.name}-a"
    made = tmp_path / "d"
    writer, reader = both(
        engines, settings("writer", made, name, within_ns=PATIENT_NS), settings("reader", made, name, within_ns=PATIENT_NS)
    )
    assert writer["coherence"] is None
    assert reader["errors"] == writer["errors"] == []
    steps = reader["coherence"]["steps"]
    assert set(steps) == set(STEPS)
    if steps["direct_write"]["refused"]:  # tmpfs of old kernels
        steps.pop("direct_write")
    for name, step in steps.items():
        told = name, step
        assert step["refused"] is None, told
        assert (step["never"], step["stale"], step["granted_twice"], step["lost"], step["unprepared"]) == (0,) * 5, told
        assert (step["expected"] == 10) if name in ("counter", "direct_write") else (step["seen"] == step["tries"] == 5), told
    assert reader["operations"]["create"]["count"] == 5
    assert reader["operations"]["create"]["max_ns"] < PATIENT_NS
    assert reader["operations"]["counter"]["count"] == writer["operations"]["counter"]["count"] == 5
    assert not made.exists(), "the writer removes what it made"


def test_what_the_reader_cannot_see_is_never_seen(engines, tmp_path):
    """Two directories that have nothing to do with each other: two mounts of a server that keeps nothing."""
    other = tmp_path / "other"
    other.mkdir()
    given = {"steps": ["create", "list", "unlink"], "times": 2, "within_ns": 60_000_000}
    name = f"{tmp_path.name}-b"
    _, reader = both(engines, settings("writer", tmp_path / "d", name, **given), settings("reader", other, name, **given))
    steps = reader["coherence"]["steps"]
    assert (steps["create"]["never"], steps["create"]["seen"], steps["list"]["never"]) == (2, 0, 2)
    assert (steps["unlink"]["unprepared"], steps["unlink"]["tries"]) == (2, 0), "the file to be removed was never there"
    assert reader["operations"]["create"]["min_ns"] >= 60_000_000, "never counts with the time of looking"


def test_a_writer_alone_says_so(engines, tmp_path):
    writer = engines()
    assert writer.arm("coherence", settings("writer", tmp_path / "d", f"{tmp_path.name}-c"))["type"] == "armed"
    writer.go()
    result = writer.result()
    assert result["stopped_by"] == "error"
    assert [one["errno"] for one in result["errors"]] == [112]


def test_settings_that_do_not_fit_are_refused(subtests, engines, tmp_path_factory):
    for wrong in [{"steps": []}, {"times": 0}, {"within_ns": 0}, {"meeting": ""}, {"steps": ["guess"]}]:
        with subtests.test(wrong=wrong):
            tmp_path = tmp_path_factory.mktemp("case")
            refused = engines().arm("coherence", settings("reader", tmp_path, f"{tmp_path.name}-d") | wrong)
            assert (refused["type"], refused["what"]) == ("error", "settings")
