import errno
import os
from pathlib import Path

import pytest

from assay import _core
from assay.catalogue import CacheStat, Extents

MIB = 1 << 20


def lacking(error: OSError) -> bool:
    return error.errno in (errno.ENOSYS, errno.EOPNOTSUPP)


def cache_of(path: Path) -> CacheStat:
    try:
        return CacheStat(**_core.cachestat(path))
    except OSError as error:
        if lacking(error):
            pytest.skip(f"this kernel has no cachestat(2): {error}")
        raise


def extents_of(path: Path) -> Extents:
    try:
        return Extents(**_core.fiemap(path))
    except OSError as error:
        if lacking(error):
            pytest.skip(f"this file system has no FIEMAP: {error}")
        raise


def test_the_page_cache_is_counted_and_emptied(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(MIB))
    before = cache_of(path)
    assert before.file_bytes == MIB
    assert before.cached * before.page_bytes == MIB
    _core.drop_file(path)
    after = cache_of(path)
    assert (after.cached, after.dirty, after.writeback) == (0, 0, 0)
    path.read_bytes()
    assert cache_of(path).cached == before.cached


def test_holes_unwritten_and_data_add_up(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2 * MIB)
        file.truncate(8 * MIB)
        file.seek(4 * MIB)
        file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    seen = extents_of(path)
    assert seen.file_bytes == 8 * MIB
    assert seen.mapped_bytes + seen.unwritten_bytes + seen.hole_bytes == seen.file_bytes
    assert seen.unwritten_bytes == 2 * MIB
    assert seen.mapped_bytes == MIB
    assert seen.allocated_bytes >= 3 * MIB
    assert seen.encoded_bytes == 0


def test_an_empty_file_has_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    seen = extents_of(path)
    assert (seen.file_bytes, seen.extents, seen.hole_bytes) == (0, 0, 0)
    assert cache_of(path).cached == 0


def test_a_flush_of_the_file_system_takes_time(tmp_path: Path) -> None:
    assert _core.syncfs(tmp_path) > 0


def test_errors_have_number_text_and_name(subtests, tmp_path_factory):
    for call in [_core.cachestat, _core.fiemap, _core.drop_file, _core.syncfs]:
        with subtests.test(call=call):
            tmp_path = tmp_path_factory.mktemp("case")
            missing = tmp_path / "nothing"
            with pytest.raises(FileNotFoundError) as caught:
                call(missing)  # type: ignore[operator]  # every one of them takes a path
            assert caught.value.errno == errno.ENOENT
            assert caught.value.strerror == "No such file or directory"
            assert Path(caught.value.filename) == missing


def test_a_named_pipe_without_a_writer_does_not_block(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert extents_of(pipe).file_bytes == 0


def test_this_is_a_release_build() -> None:
    told = _core.build_info()
    assert told["profile"] == "release"
    assert told["target"].endswith("-linux")
