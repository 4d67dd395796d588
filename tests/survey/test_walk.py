"""Walks of real trees: nothing is followed, changed, counted twice or lost without being told."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from assay.survey import walk
from assay.survey.filters import printable
from stage.rows import each
from stage.survey_trees import made, mounted, walked

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


def descriptors():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_what_is_no_regular_file_is_counted_and_left_alone(tmp_path):
    made(tmp_path / "a" / "file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "to-file").symlink_to("a/file")
    met, found = walked(tmp_path)
    assert found == [f"{tmp_path}/a/file"]
    assert (met.directories, met.others, met.unread, met.vanished, met.elsewhere) == (2, 5, 0, 0, 0)


def test_a_named_directory_may_be_a_link_and_is_walked_once(tmp_path):
    made(tmp_path / "real" / "sub" / "file")
    (tmp_path / "link").symlink_to("real")
    assert walked(tmp_path / "link")[1] == [f"{tmp_path}/link/sub/file"]
    both = walked(tmp_path / "real", tmp_path / "link", tmp_path / "real" / "sub")[1]
    assert both == [f"{tmp_path}/real/sub/file"]
    assert walked(tmp_path / "real" / "sub", tmp_path / "real")[1] == [f"{tmp_path}/real/sub/file"]


@each("typed", ".", "./", "a", "a//", "../{}/a")
def test_paths_begin_as_they_were_typed(tmp_path, monkeypatch, typed):
    made(tmp_path / "a" / "file")
    monkeypatch.chdir(tmp_path)
    typed = typed.format(tmp_path.name)
    inodes, _ = walk.begin([typed])
    found = []
    walk.Walk(inodes=inodes, mounts={}, cross=False, see=lambda *seen: found.append("/".join(seen[:2])), tick=int).all()
    assert len(found) == 1
    assert found[0].startswith(typed.rstrip("/") + "/")
    assert Path(found[0]).samefile("a/file")


def test_the_root_directory_needs_no_name_of_its_own():
    def see(directory, name, status):
        path = f"{directory}/{name}"
        assert path.startswith("/")
        assert not path.startswith("//")
        assert os.lstat(path).st_ino == status.st_ino
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walked("/", see=see)


def test_names_that_are_no_text(tmp_path):
    name = b"\xff\xfe \n\x1b[31m"
    file = tmp_path / os.fsdecode(name) / os.fsdecode(name)
    file.parent.mkdir()
    file.touch()
    (path,) = walked(tmp_path)[1]
    assert os.fsencode(path) == os.fsencode(file)
    assert printable(path).endswith(r"\xff\xfe \n\x1b[31m")
    assert printable(path).isprintable()


@pytest.fixture
def deep(tmp_path):
    """300 directories in each other, a path longer than any that the kernel takes; beside each a small one with a file."""
    depth, name = 300, "deep-" * 5
    above = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=above)
        for side in ("a", "z"):
            os.mkdir(side, dir_fd=above)
            place = os.open(side, os.O_RDONLY, dir_fd=above)
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
            os.close(place)
        below = os.open(name, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    return tmp_path, depth


def test_a_tree_deeper_than_the_longest_path(deep):
    tree, depth = deep
    before = descriptors()
    most = []
    met, found = walked(tree, see=lambda *_: most.append(descriptors()))
    assert len(found) == 2 * depth
    assert max(map(len, found)) > 4096
    assert met.directories == 3 * depth + 1
    assert (met.unread, met.vanished) == (0, 0)
    assert descriptors() == before
    assert max(most) <= before + walk.MOST_OPEN + 3


def test_a_directory_that_moves_away_below_the_walk_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(walk, "MOST_OPEN", 1)
    made(tmp_path / "tree" / "a" / "b" / "c" / "file")
    (tmp_path / "other").mkdir()
    before = descriptors()

    def move(*_):
        (tmp_path / "tree" / "a" / "b").rename(tmp_path / "other" / "b")

    met, found = walked(tmp_path / "tree", see=move)
    assert len(found) == 1
    assert met.unread >= 1
    assert "moved" in met.first_unread[0].reason
    assert descriptors() == before


def test_what_goes_wrong_in_the_caller_goes_through_and_leaves_nothing_open(tmp_path):
    made(tmp_path / "a" / "b" / "file")
    before = descriptors()

    def fail(*_):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        walked(tmp_path, see=fail)
    assert descriptors() == before


def test_names_that_vanish_meanwhile(tmp_path):
    """While one thread makes and removes names, a walk neither fails nor calls it an error."""
    made(tmp_path / "stays")
    done = threading.Event()

    def stir():
        while not done.is_set():
            for number in range(50):
                (tmp_path / f"dir-{number}").mkdir()
                (tmp_path / f"file-{number}").touch()
            for number in range(50):
                (tmp_path / f"dir-{number}").rmdir()
                (tmp_path / f"file-{number}").unlink()

    thread = threading.Thread(target=stir)
    thread.start()
    try:
        results = [walked(tmp_path) for _ in range(40)]
    finally:
        done.set()
        thread.join()
    assert all(f"{tmp_path}/stays" in found for _, found in results)
    assert all(met.unread == 0 for met, _ in results)


def test_access_times_stay(tmp_path):
    """Of directories too, which an ordinary listing changes."""
    for name in ("walked", "listed"):
        made(tmp_path / name / "file")
        os.utime(tmp_path / name, ns=(10**18, 10**18 + 1))
    assert list((tmp_path / "listed").iterdir())
    if (tmp_path / "listed").stat().st_atime_ns == 10**18:
        pytest.skip("this file system keeps no access times of directories")
    met, _ = walked(tmp_path / "walked")
    assert (tmp_path / "walked").stat().st_atime_ns == 10**18
    assert met.touched == 0


def test_all_that_is_no_directory_is_told_at_once(tmp_path):
    made(tmp_path / "file")
    paths = [str(tmp_path / "file"), str(tmp_path), str(tmp_path / "nowhere"), "", "a\0b"]
    found, wrong = walk.begin(paths[:4])
    assert list(found) == [str(tmp_path)]
    assert [word in told for word, told in zip(("a file", "No such file", "No such file"), wrong, strict=True)] == [True] * 3


@needs_root
@pytest.mark.root
def test_other_file_systems_and_second_looks_at_the_same(tmp_path):
    made(tmp_path / "tree" / "own" / "file")
    place = tmp_path / "tree"
    with mounted(place / "tmpfs", "-t", "tmpfs", "none"), mounted(place / "bound", "--bind", str(place / "own")):
        made(place / "tmpfs" / "theirs")
        with mounted(place / "proc", "-t", "proc", "none"):
            met, found = walked(place)
            assert found == [f"{place}/own/file"]
            assert sorted(met.first_elsewhere) == [f"{place}/{name}" for name in ("bound", "proc", "tmpfs")]
            met, found = walked(place, cross=True)
            assert [Path(path).name for path in found] == ["file", "theirs"]
            assert met.first_elsewhere == (f"{place}/proc",)
            assert met.elsewhere == 1
        assert walked(place / "tmpfs")[1] == [f"{place}/tmpfs/theirs"]
        assert walked(place, table={})[0].first_elsewhere == (f"{place}/tmpfs",), "the device number shows it too"


@needs_root
@pytest.mark.root
def test_a_mount_is_left_out_before_it_is_touched(tmp_path):
    """Opening a directory below which an automounter waits would mount something: the table says so beforehand."""
    made(tmp_path / "file")
    with mounted(tmp_path / "there", "-t", "tmpfs", "none"):
        opened = []
        real_open = os.open

        def noting(name, *words, **more):
            opened.append(name)
            return real_open(name, *words, **more)

        table = walk.mount_table()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "open", noting)
            walked(tmp_path, table=table)
    assert opened
    assert "there" not in opened


@needs_root
@pytest.mark.root
def test_what_may_not_be_read(tmp_path):
    """By an ordinary user: a closed directory, and one that may be listed but not entered."""
    tmp_path.chmod(0o755)
    made(tmp_path / "closed" / "a")
    made(tmp_path / "listed" / "b")
    made(tmp_path / "open" / "c")
    (tmp_path / "closed").chmod(0o700)
    (tmp_path / "listed").chmod(0o744)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            here = os.open(tmp_path, os.O_RDONLY)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.fchdir(here)
            met, found = walked(".", table={})
            good = found == ["./open/c"] and met.unread == 2 and met.touched == 3
            good &= {(one.path, one.reason) for one in met.first_unread} == {
                ("./closed", "Permission denied"),
                ("./listed/b", "Permission denied"),
            }
            status = 0 if good else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_names_that_are_no_text_and_a_large_directory_is_told_of_while_it_is_read(tmp_path):
    subprocess.run("seq -f 'f%.0f' 3000 | xargs touch", shell=True, cwd=tmp_path, check=True)
    inodes, _ = walk.begin([str(tmp_path)])
    told = []
    walk.Walk(inodes=inodes, mounts={}, cross=False, see=lambda *_: None, tick=told.append).all()
    assert told == [1024, 2048, 3000]
