"""File systems in user space: which processes are behind a mount, on new and old kernels, and what they moved."""

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.fuse import OBSERVER
from assay.records import Subject
from stage.observer_looks import replayed, the_series
from stage.rows import each

HERE, THERE = "/srv/here", "/srv/there"
MOUNT = "{} 1 0:{} / {} rw - {} {} rw\n"
IO = "rchar: {}\nwchar: 0\nsyscr: 40\nsyscw: 0\nread_bytes: {}\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
SUBJECT = Subject(directory=HERE)


def host_of(home, processes, mounts=((HERE, 41, "fuse.sshfs", "me@far:/d"),)):
    """A host with these mounts, and processes that hold /dev/fuse: number, connection that is told, command line."""
    (home / "proc/self").mkdir(parents=True)
    rows = [MOUNT.format(1, 3, "/", "ext4", "/dev/vda")]
    rows += [MOUNT.format(10 + at, minor, point, kind, source) for at, (point, minor, kind, source) in enumerate(mounts)]
    (home / "proc/self/mountinfo").write_text("".join(rows))
    (home / "dev").mkdir()
    (home / "dev/fuse").touch()
    for pid, connection, words in processes:
        below = home / "proc" / str(pid)
        for name in ("fd", "fdinfo", f"task/{pid}"):
            (below / name).mkdir(parents=True)
        (below / "fd/5").symlink_to(home / "dev/fuse")
        (below / "fdinfo/5").write_text("pos:\t0\n" + (f"fuse_connection:\t{connection}\n" if connection else ""))
        (below / f"task/{pid}/children").write_text("")
        (below / "cmdline").write_text("\0".join(words) + "\0")
        (below / "io").write_text(IO.format(100 * pid, 10 * pid))
    return Local(name="h", root=home)


def parsed(host, *changes):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, host, SUBJECT, *changes), SUBJECT)


NEW, OLD = (41, 42), (None, None)
OTHER = (THERE, 42, "fuse.rclone", "far:")


@each(
    "told words mounts pid",
    (NEW, ("sshfs", "far:"), 2, 7),
    (OLD, ("sshfs", "far:", HERE), 2, 7),
    (OLD, ("sshfs", "far:"), 2, None),
    ((None,), ("sshfs", "far:"), 1, 7),
)
def test_the_process_is_found_by_its_connection_by_its_words_or_alone(tmp_path, told, words, mounts, pid):
    processes = [(7 + at, connection, words if at == 0 else ("rclone",)) for at, connection in enumerate(told)]
    host = host_of(tmp_path, processes, ((HERE, 41, "fuse.sshfs", "far:"), OTHER)[:mounts])
    found = OBSERVER.read(host, SUBJECT)["mounts"][HERE]["pids"]
    assert found == ([] if pid is None else [pid])


def test_its_calls_and_reads_are_counted_from_the_first_look_on(tmp_path):
    host = host_of(tmp_path, [(7, 41, ("sshfs",))])
    risen = {"/proc/7/io": lambda _: IO.format(900, 370)}
    evidence = parsed(host, {}, risen)
    assert list(the_series(evidence, "read_bytes", f"mount:{HERE}").value) == [0, 0, 300, 300]
    assert list(the_series(evidence, "call_bytes", f"mount:{HERE}").value) == [0, 0, 200, 200]
    assert list(the_series(evidence, "networked", f"mount:{HERE}").value) == [1, 1, 1, 1], "its source is another host"
    with pytest.raises(EvidenceError, match="falling"):
        parsed(host, {}, {"/proc/7/io": lambda _: IO.format(1, 1)})


@each("source networked", ("/srv/data", 0), ("/srv/none", 1), ("me@far:/d", 1), ("s3fs", 1))
def test_a_source_that_is_not_of_this_host_comes_over_a_network(tmp_path, source, networked):
    host = host_of(tmp_path, [(7, 41, ("sshfs",))], ((HERE, 41, "fuse.sshfs", source),))
    (tmp_path / "srv/data").mkdir(parents=True)
    assert the_series(parsed(host), "networked", f"mount:{HERE}").value[0] == networked


def test_an_account_that_may_not_be_read_is_missing(tmp_path):
    host = host_of(tmp_path, [(7, 41, ("sshfs",))])
    (tmp_path / "proc/7/io").unlink()
    evidence = parsed(host)
    assert (evidence.series, HERE in evidence.missing["fuse.read_bytes"]) == ((), True)


def test_a_file_system_over_one_in_user_space_has_its_processes(tmp_path):
    host = host_of(tmp_path, [(7, 41, ("sshfs",))])
    (tmp_path / "srv/here").mkdir(parents=True)
    rows = tmp_path / "proc/self/mountinfo"
    rows.write_text(rows.read_text() + f"20 1 0:50 / /srv/over rw - overlay overlay rw,lowerdir={HERE},upperdir=/none\n")
    assert OBSERVER.read(host, SUBJECT)["mounts"]["/srv/over"]["pids"] == [7]


def test_without_a_mount_it_looks_all_the_same_and_finds_none(tmp_path):
    """A target may mount one after the observers were chosen."""
    host = host_of(tmp_path, [], ())
    assert OBSERVER.available(host) is None
    assert OBSERVER.read(host, SUBJECT)["mounts"] == {}


def test_mounts_that_cannot_be_seen_are_a_reason(tmp_path):
    host = host_of(tmp_path, [], ())
    (tmp_path / "proc/self/mountinfo").unlink()
    assert "invisible" in OBSERVER.available(host)
