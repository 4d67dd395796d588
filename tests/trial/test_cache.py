"""Cold, warm and unchanged, made and proved on real files."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue import CacheStat
from assay.errors import RefusedError
from assay.hosts.local import Local
from assay.records import CacheState, EndpointKind, PhasePlan, Place, Server, ServerNode
from assay.trial import initial_state
from stage.trial_stage import HOST, MIB

DIRECTORY = catalogue.find("targets", "directory")


@pytest.fixture
def stage(tmp_path):
    """A place with one file of 4 MiB on a real file system, in memory."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(4 * MIB))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    place = Place(target="t", host="local", kind=EndpointKind.DIRECTORY, address=str(tmp_path))
    if HOST.run(["stat", "-f", "-c", "%T", str(tmp_path)]).stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip("the temporary directory is in memory: nothing there can be cold")
    return place, str(path)


def plan(cache, *paths):
    return PhasePlan(name="p", operations=(), directions={}, cache=cache, data_files=paths)


def refuses(host, place):
    raise RefusedError("cannot be made cold: mount it yourself")


class Reluctant:
    """System calls of a machine where dropping does nothing."""

    def cachestats(self, paths):
        few = CacheStat(cached=900, dirty=0, writeback=0, evicted=0, recently_evicted=0, page_bytes=4096, file_bytes=1000 * 4096)
        return (few,) * len(paths)

    def drop_file(self, path):
        raise PermissionError(path)


def test_cold_warm_and_unchanged_are_made_and_proved(stage):
    place, path = stage
    assert initial_state.resident_share(HOST, [path]) > 0.99
    proof = initial_state.establish(HOST, DIRECTORY, place, plan(CacheState.COLD, path))
    assert (proof.proved, proof.share, proof.refusal) == (CacheState.COLD, 0.0, None)
    place, path = stage
    HOST.syscalls.drop_file(path)
    proof = initial_state.establish(HOST, DIRECTORY, place, plan(CacheState.WARM, path))
    assert (proof.proved, proof.share) == (CacheState.WARM, 1.0)
    place, path = stage
    assert initial_state.establish(HOST, DIRECTORY, place, plan(CacheState.UNCHANGED, path)).proved is CacheState.WARM
    HOST.syscalls.drop_file(path)
    with Path(path).open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(2 * MIB)
    proof = initial_state.establish(HOST, DIRECTORY, place, plan(CacheState.UNCHANGED, path))
    assert proof.proved is None
    assert 0.4 < proof.share < 0.7
    place, path = stage
    proof = initial_state.establish(HOST, DIRECTORY, place, plan(CacheState.COLD, path + "-later"))
    assert (proof.proved, proof.share) == (CacheState.COLD, 0.0)
    place, path = stage
    proof = initial_state.establish(HOST, DIRECTORY, place, plan(CacheState.COLD))
    assert (proof.proved, proof.share, proof.refusal) == (None, None, None)
    assert initial_state.resident_share(HOST, [path]) == 0.0, "the target dropped what is below its place"


def test_an_image_below_must_be_cold_too(stage, tmp_path):
    place, path = stage
    image = tmp_path / "image"
    image.write_bytes(os.urandom(MIB))
    stacked = Place(**{**vars(place), "backing_files": (str(image),)})
    HOST.syscalls.drop_file(path)
    assert initial_state.proof(HOST, stacked, plan(CacheState.COLD, path)).proved is None
    assert initial_state.establish(HOST, DIRECTORY, stacked, plan(CacheState.COLD, path)).proved is CacheState.COLD


def test_what_cannot_be_made_cold_is_told_and_not_claimed(stage):
    place, path = stage
    host = Local()
    host.syscalls = Reluctant()
    target = type(DIRECTORY)(**{**vars(DIRECTORY), "drop_caches": refuses})
    proof = initial_state.establish(host, target, place, plan(CacheState.COLD, path))
    assert proof.proved is None
    assert proof.share == 0.9
    assert "mount it yourself" in proof.refusal


class Guest(Local):
    """This machine with other texts of /proc and /sys; it notes how much memory was held."""

    def __init__(self, **texts):
        super().__init__()
        self.texts = {"/sys/module/page_reporting/parameters/page_reporting_order": "9\n", "/proc/meminfo": "MemFree: 8192 kB\n"}
        self.texts |= {"/proc/self/cgroup": "", **texts}
        self.held, self.calls = [], self.syscalls
        self.syscalls = self

    def read(self, path):
        return self.texts.get(path) or super().read(path)

    def cachestats(self, paths):
        return self.calls.cachestats(paths)

    @contextlib.contextmanager
    def memory_held(self, length):
        self.held.append(length)
        yield
        self.held.append(0)


def held_for(guest, found, **settings):
    with initial_state.memory_held(guest, replace(found, settings=(settings,))):
        return list(guest.held)


def test_a_guest_that_reports_free_pages_holds_the_memory_of_cold_reads_until_the_clock(stage):
    _, path = stage
    guest = Guest()
    assert held_for(guest, plan(CacheState.COLD, path)) == [4 * MIB]
    assert guest.held == [4 * MIB, 0], "it is free again when the clock starts"
    assert held_for(Guest(**{"/proc/meminfo": "MemFree: 1024 kB\n"}), plan(CacheState.COLD, path)) == [MIB // 2]


def test_a_tree_needs_the_memory_of_all_its_files(stage):
    place, path = stage
    for number in range(1000):
        (Path(path).parent / str(number)).write_bytes(b"x" * 4096)
    drawn = initial_state.with_data_files(HOST, place, replace(plan(CacheState.COLD), tree=place.address), 7)
    assert len(drawn.data_files) < 50
    guest = Guest(**{"/proc/meminfo": "MemFree: 8388608 kB\n"})
    few = [one for one in drawn.data_files if one != path]
    assert held_for(guest, replace(drawn, data_files=tuple(few), data_share=len(few) / 1000)) == [1000 * 4096]


def test_nobody_else_holds_any(subtests, stage):
    for order in ["4294967295\n", "\n"]:
        with subtests.test(order=order):
            _, path = stage
            other = Guest(**{"/sys/module/page_reporting/parameters/page_reporting_order": order})
            assert held_for(other, plan(CacheState.COLD, path)) == []
            assert held_for(Guest(), plan(CacheState.WARM, path)) == []
            assert held_for(Guest(), plan(CacheState.COLD, path), direct=True) == []


def test_memory_that_is_held_is_memory_of_this_process_until_the_end():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    with HOST.syscalls.memory_held(64 * MIB):
        assert resident() - before > 60 * MIB
    assert resident() - before < 30 * MIB


def test_whether_files_are_new_is_known_of_all_or_none(stage):
    place, path = stage

    def new(*paths):
        return initial_state.proof(HOST, place, plan(CacheState.UNCHANGED, *paths)).new_files

    assert (new(path), new(path + "-later"), new(path, path + "-later"), new()) == (False, True, None, None)


def test_a_host_without_system_calls_proves_nothing(stage):
    place, path = stage
    host = Local()
    host.syscalls = None
    proof = initial_state.establish(host, DIRECTORY, place, plan(CacheState.COLD, path))
    assert (proof.proved, proof.share) == (None, None)
    assert proof.refusal


def test_the_share_of_a_sparse_file_counts_what_it_has_of_the_device(stage, tmp_path):
    """data.mdb of slapd is a file of 1 GiB of which some MiB are written."""
    sparse = tmp_path / "data.mdb"
    with sparse.open("wb") as file:
        file.write(os.urandom(2 * MIB))
        file.truncate(512 * MIB)
        os.fsync(file.fileno())
    (found,) = HOST.syscalls.cachestats([str(sparse)])
    if found.allocated_bytes is None or found.allocated_bytes > 16 * MIB:
        pytest.skip("no holes here")
    assert (found.file_bytes, found.content_bytes) == (512 * MIB, found.allocated_bytes)
    assert initial_state.resident_share(HOST, [str(sparse)]) > 0.9


def of_server(tmp_path, name="store"):
    """A place that clients reach by a URL, and a file of its server."""
    data = tmp_path / name
    data.mkdir()
    (data / "data.mdb").write_bytes(os.urandom(2 * MIB))
    with (data / "data.mdb").open("rb") as file:
        os.fsync(file.fileno())
    node = ServerNode(host="local", pid_file="/x", data=(str(data),))
    place = Place(
        target="t",
        host="local",
        kind=EndpointKind.URL,
        address="ldap://127.0.0.1:1",
        server=Server(nodes=(node,)),
        storage=str(data),
    )
    return place, data


def test_cold_is_proved_on_the_files_of_the_server(stage, tmp_path):
    """A client of a server has no data files of its own."""
    place, data = of_server(tmp_path)
    before = initial_state.proof(HOST, place, plan(CacheState.COLD))
    assert (before.proved, before.server_share) == (CacheState.WARM, 1.0)
    stubborn = type(DIRECTORY)(**{**vars(DIRECTORY), "drop_caches": lambda host, place: None})
    assert initial_state.establish(HOST, stubborn, place, plan(CacheState.COLD)).proved is CacheState.WARM
    willing = replace(stubborn, drop_caches=lambda host, place: HOST.syscalls.drop_file(str(data / "data.mdb")))
    proof = initial_state.establish(HOST, willing, place, plan(CacheState.COLD))
    assert (proof.proved, proof.share, proof.server_share) == (CacheState.COLD, None, 0.0)
