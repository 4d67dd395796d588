import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from assay.catalogue import CacheStat, Extents
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.page_cache import MOST_FILES, OBSERVER
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look, the_series

MIB = 1 << 20


@dataclass
class Kernel:
    """A host whose kernel answers what the test says."""

    cachestat: Callable[[str], CacheStat]
    fiemap: Callable[[str], Extents]

    @property
    def syscalls(self):
        return self


def pages(_path: str) -> CacheStat:
    return CacheStat(cached=3, dirty=2, writeback=1, evicted=4, recently_evicted=0, page_bytes=4096, file_bytes=20000)


def extents(_path: str) -> Extents:
    return Extents(
        file_bytes=20000,
        allocated_bytes=20480,
        mapped_bytes=4096,
        unwritten_bytes=8192,
        hole_bytes=7712,
        encoded_bytes=0,
        extents=2,
    )


def refuse(_path: str) -> CacheStat:
    raise PermissionError(1, "Operation not permitted")


def parsed(host, subject, edges=(Edge.ARMED, Edge.LAST)):
    return OBSERVER.parse("h", "p", [look(OBSERVER, host, subject, edge, at) for at, edge in enumerate(edges)], subject)


def test_pages_become_bytes_and_extents_have_a_layer_of_their_own():
    subject = Subject(paths=("/x",), backing_files=("/image",))
    evidence = parsed(Kernel(pages, extents), subject)
    assert list(the_series(evidence, "dirty_bytes", "path:/x").value) == [8192, 8192]
    assert list(the_series(evidence, "file_bytes", "path:/x", layer="page_cache").value) == [20000, 20000]
    assert list(the_series(evidence, "unwritten_bytes", "backing:/image", layer="extents").value) == [8192, 8192]
    assert not evidence.missing


def test_a_refused_file_is_named_and_the_other_layer_stays():
    evidence = parsed(Kernel(refuse, extents), Subject(paths=("/x",)))
    assert evidence.missing["page_cache.dirty_bytes"] == "path:/x: Operation not permitted"
    assert {one.layer for one in evidence.series} == {"extents"}
    assert "extents.hole_bytes" not in evidence.missing


def test_many_files_are_sampled_evenly_and_it_says_so():
    subject = Subject(paths=tuple(f"/d/{index:05}" for index in range(1000)))
    evidence = parsed(Kernel(pages, extents), subject, edges=(Edge.ARMED,))
    watched = {one.subject for one in evidence.series}
    assert len(watched) == MOST_FILES
    assert {"path:/d/00000", "path:/d/00996"} <= watched
    assert [fact.value for fact in evidence.facts] == ["256 of 1000, evenly spaced by name"]


def test_what_is_not_told_is_missing():
    assert set(parsed(Kernel(pages, extents), Subject()).missing) == set(OBSERVER.gives)
    raw = {"path:/x": {"page_cache": {"cached": "many"}, "extents": {"error": "x"}}}
    with pytest.raises(EvidenceError, match="expected a whole number"):
        OBSERVER.parse("h", "p", [Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=0, raw=raw)], Subject(paths=("/x",)))

    class Shell:
        syscalls = None

    assert "Assay on that host" in OBSERVER.available(Shell())


@pytest.fixture
def real(tmp_path):
    host = Local()
    probe = tmp_path / "probe"
    probe.write_bytes(b"x")
    try:
        host.syscalls.cachestat(str(probe))
        host.syscalls.fiemap(str(probe))
    except OSError as error:
        pytest.skip(f"cachestat or FIEMAP is not to be had in {tmp_path}: {error}")
    return host


def test_real_files_dirty_clean_fallocated_and_with_a_hole(real, tmp_path):
    dirty, preallocated, sparse = (tmp_path / name for name in ("dirty", "preallocated", "sparse"))
    with dirty.open("wb") as file, preallocated.open("wb") as full, sparse.open("wb") as empty:
        file.write(os.urandom(4 * MIB))
        file.flush()
        os.posix_fallocate(full.fileno(), 0, 4 * MIB)
        empty.truncate(4 * MIB)
        subject = Subject(paths=tuple(map(str, (dirty, preallocated, sparse))))
        before = look(OBSERVER, real, subject, Edge.LAST, 0)
        os.fsync(file.fileno())
        evidence = OBSERVER.parse("h", "p", [before, look(OBSERVER, real, subject, Edge.DRAINED, 1)], subject)
    assert the_series(evidence, "cached_bytes", f"path:{dirty}").value[0] == 4 * MIB
    held = [the_series(evidence, metric, f"path:{dirty}").value for metric in ("dirty_bytes", "writeback_bytes")]
    assert sum(value[1] for value in held) == 0
    assert the_series(evidence, "unwritten_bytes", f"path:{preallocated}").value[0] == 4 * MIB
    assert the_series(evidence, "hole_bytes", f"path:{sparse}").value[0] == 4 * MIB
