import os
from typing import TypeAlias, TypedDict, type_check_only

__all__ = ["build_info", "cachestat", "drop_file", "fiemap", "filter_mistake", "parse_toml", "socket_peers", "syncfs"]

@type_check_only
class _CacheStat(TypedDict):
    cached: int
    dirty: int
    writeback: int
    evicted: int
    recently_evicted: int
    page_bytes: int
    file_bytes: int
    allocated_bytes: int

@type_check_only
class _Extents(TypedDict):
    file_bytes: int
    allocated_bytes: int
    mapped_bytes: int
    unwritten_bytes: int
    hole_bytes: int
    encoded_bytes: int
    extents: int

@type_check_only
class _BuildInfo(TypedDict):
    version: str
    profile: str
    target: str

_Path: TypeAlias = str | os.PathLike[str]
_Place: TypeAlias = tuple[int, int]

def build_info() -> _BuildInfo: ...
def cachestat(path: _Path) -> _CacheStat: ...
def drop_file(path: _Path) -> None: ...
def fiemap(path: _Path) -> _Extents: ...
def filter_mistake(text: str, /) -> tuple[int, str, str] | None: ...
def parse_toml(
    text: str,
) -> tuple[dict[str, object], dict[tuple[str | int, ...], tuple[_Place, _Place]], list[tuple[int, int, str]]]: ...
def socket_peers(pid: int) -> list[tuple[str, str, str]]: ...
def syncfs(path: _Path) -> int: ...
