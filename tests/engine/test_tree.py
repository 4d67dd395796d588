"""A tree is read as a backup reads it: every file once, nothing changed, whatever lies in the way."""

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.hosts.local import Local

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"
NOBODY = 65534
RECORD = 4096
IN_CLOSE_NOWRITE, IN_OPEN, IN_ISDIR = 0x10, 0x20, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
names = st.binary(min_size=1, max_size=40).filter(lambda name: not {0, ord("/")} & set(name) and name not in (b".", b".."))
trees = st.recursive(st.integers(0, 3 * RECORD), lambda inner: st.dictionaries(names, inner, max_size=5), max_leaves=25)


def make(at, content):
    """A directory for a mapping, a file of so many bytes for a number."""
    if isinstance(content, int):
        at.write_bytes(os.urandom(content))
        return
    at.mkdir()
    for name, inner in content.items():
        make(at / os.fsdecode(name), inner)


def below(root):
    """(directories, files), the root included."""
    every = [root, *root.rglob("*")]
    return [path for path in every if path.is_dir()], [path for path in every if path.is_file()]


@contextlib.contextmanager
def opened(directories):
    """Counts how often each file was opened, as the kernel tells it (inotify; with the closes, so that no two opens are one)."""
    descriptor = LIBC.inotify_init1(os.O_NONBLOCK)
    places = {LIBC.inotify_add_watch(descriptor, os.fsencode(path), IN_OPEN | IN_CLOSE_NOWRITE): path for path in directories}
    counts = Counter()
    yield counts
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, 1 << 20):
            while data:
                watch, mask, _, length = struct.unpack_from("iIII", data)
                name, data = data[16 : 16 + length].rstrip(b"\0"), data[16 + length :]
                if mask & IN_OPEN and not mask & IN_ISDIR:
                    counts[places[watch] / os.fsdecode(name)] += 1
    os.close(descriptor)


def tree(root, **more):
    return {"root": str(root), "record_size": RECORD} | more


def read(engine, root, **more):
    result = engine.run("tree", tree(root, **more))
    assert result["stopped_by"] == "work"
    return result


def totals(result):
    return {name: (noted["count"], noted["bytes"]) for name, noted in result["operations"].items()}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    trees,
    st.integers(1, 5),
    st.integers(1, 3),
    st.sampled_from(["directory", "inode"]),
    st.sampled_from(["none", "sequential", "willneed", "noreuse"]),
)
def test_every_byte_is_read_once_by_any_number_of_walkers_and_clients(engine, content, walkers, parts, order, advice):
    with tempfile.TemporaryDirectory() as home:
        root = Path(home, "root")
        make(root, content)
        directories, files = below(root)
        watched = directories or [Path(home)]
        more = {"walkers": walkers, "parts": parts, "order": order, "advice": advice}
        with opened(watched) as counts:
            results = [read(engine, root, part=part, **more) for part in range(parts)]
    assert not any(result["errors"] for result in results)
    noted = [totals(result) for result in results]
    assert sum(one["read"][1] for one in noted) == sum(size(content))
    assert sum(one["file"][0] for one in noted) == len(files)
    assert [one["walk"][0] for one in noted] == [len(directories)] * parts
    arming = parts if root in files else 0  # a root that is a file is tried when the phase is armed
    assert counts == dict.fromkeys(files, 1 + arming)


def size(content):
    if isinstance(content, int):
        yield content
    else:
        for inner in content.values():
            yield from size(inner)


def state(root):
    """Everything of every entry that a reader could change, times of access included."""
    return {path: (os.lstat(path), path.read_bytes() if path.is_file() else None) for path in (root, *sorted(root.rglob("*")))}


@pytest.fixture
def small(tmp_path):
    """A tree whose entries were last accessed long ago, so that the kernel would note a new access; nothing of it is left to be
    written, which a reader with O_DIRECT would have to do."""
    root = tmp_path / "small"
    make(root, {b"a": {b"one": 10_000, b"two": 1}, b"b": {b"c": {b"three": 5000}}, b"empty": 0})
    for path in (root, *root.rglob("*")):
        os.utime(path, (10**9, 2 * 10**9))
        place = os.open(path, os.O_RDONLY | os.O_NOATIME)
        os.fsync(place)
        os.close(place)
    return root


def test_nothing_is_changed(subtests, engine, small):
    for direct in [False, True]:
        with subtests.test(direct=direct):
            if direct and b"tmpfs" in subprocess.check_output(["stat", "-f", "-c", "%T", small]):
                pytest.skip("no direct I/O on tmpfs")
            stats = {path: os.lstat(path) for path in (small, *sorted(small.rglob("*")))}
            result = read(engine, small, direct=direct)
            assert result["errors"] == []
            assert result["io"]["write_bytes"] == result["io"]["cancelled_write_bytes"] == 0
            assert {path: os.lstat(path) for path in stats} == stats
            assert totals(result) == {"walk": (4, 0), "file": (4, 0), "read": (6, 15_001)}


def test_times_of_access_change_where_that_is_wanted(engine, small):
    options = subprocess.check_output(["findmnt", "-n", "-o", "OPTIONS", "--target", small], text=True)
    if "noatime" in options:
        pytest.skip("this file system keeps no times of access")
    read(engine, small, noatime=False)
    assert os.lstat(small / "a" / "one").st_atime > 10**9
    assert os.lstat(small / "a").st_atime > 10**9


def test_only_files_are_read_and_no_link_is_followed(engine, tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    make(root, {b"file": 10})
    make(outside, {b"secret": 99})
    (root / "link").symlink_to(outside)
    (root / "to_file").symlink_to(outside / "secret")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
    (root / "second_name").hardlink_to(root / "file")
    result = read(engine, root, walkers=2)
    assert totals(result) == {"walk": (1, 0), "file": (2, 0), "read": (2, 20)}
    assert result["tree"] == {"others": 4, "elsewhere": 0}


def test_what_is_no_tree_is_refused(engine, tmp_path):
    make(tmp_path / "root", {})
    (tmp_path / "link").symlink_to("root")
    os.mkfifo(tmp_path / "pipe")
    missing = engine.arm("tree", tree(tmp_path / "nothing"))
    assert (missing["type"], missing["what"], missing["errno"]) == ("error", "stat", errno.ENOENT)
    for name, said in (("link", "symbolic link"), ("link/", "symbolic link"), ("pipe", "neither")):
        refused = engine.arm("tree", tree(f"{tmp_path}/{name}"))
        assert (refused["type"], refused["what"]) == ("error", "settings")
        assert said in refused["message"]
    assert totals(read(engine, f"{tmp_path}/root/"))["walk"] == (1, 0)


def test_wrong_settings_are_refused(subtests, engine, small):
    for wrong in [
        {"walkers": 0},
        {"record_size": 0},
        {"record_size": 5000, "direct": True},
        {"part": 1},
        {"passes": 0},
        {"load": {"rate": 5}},
        {"advice": "random"},
        {"order": "size"},
        {"depth": 1},
    ]:
        with subtests.test(wrong=wrong):
            answer = engine.arm("tree", tree(small, **wrong))
            assert (answer["type"], answer["what"]) == ("error", "settings")


def test_an_empty_tree_and_one_of_a_single_file(engine, tmp_path):
    make(tmp_path / "empty", {})
    make(tmp_path / "file", 3 * RECORD + 1)
    nothing = read(engine, tmp_path / "empty", passes=1000, walkers=8)
    assert totals(nothing) == {"walk": (1, 0), "file": (0, 0), "read": (0, 0)}
    assert totals(read(engine, tmp_path / "file", passes=2))["read"] == (8, 2 * (3 * RECORD + 1))


def test_the_tree_is_read_again_until_something_ends_it(engine, small):
    assert totals(read(engine, small, passes=3, walkers=3))["file"] == (12, 0)
    assert totals(read(engine, small, ops=10, walkers=2))["file"] == (20, 0)
    timed = engine.run("tree", tree(small, duration_ns=100_000_000))
    assert timed["stopped_by"] == "time"
    assert timed["operations"]["file"]["count"] > 4
    engine.arm("tree", tree(small, duration_ns=10**12))
    engine.go()
    time.sleep(0.1)
    engine.send(type="stop")
    assert engine.result()["stopped_by"] == "stop"


def test_walkers_think_before_each_file(engine, small):
    noted = read(engine, small, walkers=1, load={"think_ns": 20_000_000})["operations"]["file"]
    assert noted["last_ns"] - noted["first_ns"] >= 3 * 20_000_000
    assert noted["count"] == 4


def test_files_that_vanish_are_counted_and_the_work_goes_on(engine, tmp_path):
    make(tmp_path / "root", {b"%03d" % number: 1 for number in range(150)})
    engine.arm("tree", tree(tmp_path / "root", walkers=2, load={"think_ns": 60_000_000}))
    engine.go()
    time.sleep(0.2)
    for path in (tmp_path / "root").iterdir():
        path.unlink()
    result = engine.result()
    noted = result["operations"]["file"]
    assert result["stopped_by"] == "work"
    assert (noted["count"] + noted["errors"], noted["errors"] > 10) == (150, True)
    (error,) = {(one["operation"], one["errno"]) for one in result["errors"]}
    assert error == ("file", errno.ENOENT)
    assert result["errors"][0]["path"].startswith(f"{tmp_path}/root/")


def test_what_becomes_something_else_is_not_followed(engine, tmp_path):
    make(tmp_path / "root", {b"%03d" % number: 1 for number in range(40)})
    engine.arm("tree", tree(tmp_path / "root", walkers=1, load={"think_ns": 60_000_000}))
    engine.go()
    time.sleep(0.1)
    for number, path in enumerate(sorted((tmp_path / "root").iterdir())):
        path.unlink()
        path.symlink_to("/etc/passwd") if number % 2 else os.mkfifo(path)
    result = engine.result()
    assert result["operations"]["file"]["errors"] > 5
    assert {one["errno"] for one in result["errors"]} == {errno.ENOENT}
    assert result["operations"]["read"]["bytes"] == result["operations"]["file"]["count"]


@contextlib.contextmanager
def engine_through(kind, *command):
    """An engine of a kind that is started through a command, from a place where every user may start it."""
    home = Path(tempfile.mkdtemp(prefix="assay-tree-", dir="/tmp"))
    home.chmod(0o755)
    binary = shutil.copy(ENGINE, home / "assay-engine")
    started = kind.__new__(kind)
    started.process = subprocess.Popen(
        [*command, binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    started.hello, started.progress = started.receive(), []
    try:
        yield started, home
    finally:
        started.close()
        subprocess.run(["rm", "-rf", "--", home], check=True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become nobody")
def test_what_an_ordinary_user_may_not_read_is_counted_and_the_rest_is_read(engine):
    become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    with engine_through(type(engine), *become) as (user, home):
        root = home / "root"
        make(root, {b"closed": {b"inside": 5}, b"open": {b"mine": 7}, b"last": 9} | {b"no%03d" % n: 1 for n in range(150)})
        for path in (root / "closed", *root.glob("no*")):
            path.chmod(0)
        os.chown(root / "open" / "mine", NOBODY, NOBODY)
        os.utime(root / "open" / "mine", (10**9, 2 * 10**9))
        result = read(user, root, walkers=2)
        assert totals(result) == {"walk": (2, 0), "file": (2, 0), "read": (2, 16)}
        counted = Counter()
        for one in result["errors"]:
            counted[one["operation"], one["errno"]] += one["count"]
        assert counted == {("file", errno.EACCES): 150, ("walk", errno.EACCES): 1}
        assert {one["path"] for one in result["errors"] if one["operation"] == "walk"} == {str(root / "closed")}
        assert os.lstat(root / "open" / "mine").st_atime == 10**9
        (root / "open").chmod(0)
        assert user.arm("tree", tree(root / "open"))["errno"] == errno.EACCES


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount")
def test_other_file_systems_are_left_alone_unless_they_are_wanted(engine, small):
    mounted = small / "b"
    subprocess.run(["mount", "-t", "tmpfs", "none", mounted], check=True)
    try:
        (mounted / "there").write_bytes(bytes(100))
        apart = read(engine, small)
        assert (apart["tree"]["elsewhere"], totals(apart)["read"][1]) == (1, 10_001)
        whole = read(engine, small, same_filesystem=False)
        assert (whole["tree"]["elsewhere"], totals(whole)["read"][1]) == (0, 10_101)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_a_thousand_levels_cost_no_descriptors(engine, tmp_path):
    place = os.open(tmp_path, os.O_RDONLY)
    for level in range(1000):
        os.mkdir("d" * 20, dir_fd=place)
        deeper = os.open("d" * 20, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = deeper
        if level % 100 == 0:
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
    os.close(place)
    try:
        with engine_through(type(engine), "prlimit", "--nofile=48") as (limited, _):
            result = read(limited, tmp_path, walkers=4)
        assert (result["errors"], totals(result)["walk"][0], totals(result)["file"][0]) == ([], 1001, 10)
    finally:
        subprocess.run(["rm", "-rf", "--", tmp_path / ("d" * 20)], check=True)


@pytest.mark.long
def test_a_wide_directory_needs_little_memory_and_keeps_all_walkers_at_work(engine, tmp_path):
    make(tmp_path / "few", {b"f": 1})
    wide = tmp_path / "wide"
    wide.mkdir()
    place = os.open(wide, os.O_RDONLY)
    for number in range(50_000):
        os.mknod(f"{number:0100}", stat.S_IFREG | 0o644, dir_fd=place)
    os.close(place)
    read(engine, tmp_path / "few")
    before = most_kib(engine)
    result = read(engine, wide, order="inode")
    assert (totals(result)["walk"][0], totals(result)["file"][0]) == (1, 50_000)
    assert most_kib(engine) - before < 4096
    read(engine, wide, order="directory", walkers=4, passes=None, ops=100, load={"think_ns": 500_000})
    shares = [switches(path) for path in Path(f"/proc/{engine.process.pid}/task").iterdir()]
    assert sum(count >= 80 for count in shares) >= 4


def most_kib(engine):
    text = Path(f"/proc/{engine.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM"))


def switches(task):
    """How often a thread went to sleep: once or more for each file that it thought about."""
    text = (task / "status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("voluntary_ctxt_switches"))


def test_no_walker_stands_still_while_one_directory_has_files(engine, tmp_path):
    make(tmp_path / "root", {b"%04d" % number: 1 for number in range(80)})
    noted = read(engine, tmp_path / "root", walkers=8, load={"think_ns": 50_000_000})["operations"]["file"]
    alone_ns = 80 * 50_000_000
    assert noted["last_ns"] - noted["first_ns"] < alone_ns / 3


def test_what_was_read_stays_in_memory_or_not(subtests, engine, tmp_path_factory):
    for drop_behind in [False, True]:
        with subtests.test(drop_behind=drop_behind):
            tmp_path = tmp_path_factory.mktemp("case")
            path = tmp_path / "root" / "file"
            make(tmp_path / "root", {b"file": (9 << 20) + 1})
            with path.open("rb") as file:
                os.fsync(file.fileno())
            calls = Local().syscalls
            if b"tmpfs" in subprocess.check_output(["stat", "-f", "-c", "%T", path]):
                pytest.skip("the pages of tmpfs cannot be given back")
            calls.drop_file(str(path))
            read(engine, tmp_path / "root", drop_behind=drop_behind, record_size=1 << 20)
            found = calls.cachestat(str(path))
            assert found.cached == (0 if drop_behind else -(-found.file_bytes // found.page_bytes))


def test_an_engine_that_waits_in_the_queue_ends_with_its_input(engine, small):
    engine.arm("tree", tree(small, walkers=4, load={"think_ns": 10**12}))
    engine.go()
    time.sleep(0.1)
    engine.process.stdin.close()
    assert engine.process.wait(300) in (1, -signal.SIGKILL)
