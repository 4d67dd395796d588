"""A folder of exported files, put where it replaces nothing but an earlier export that nobody has changed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from assay.errors import DamagedError, RefusedError
from assay.notebook import files

LIST = "assay-export.json"
CHUNK = 1 << 20
ELSEWHERE = "name another folder (--to), or remove this one"


def list_files(folder: Path, more: Mapping[str, object]) -> None:
    """Write the list of a folder's files, with their lengths and CRC-32, and what else there is to say."""
    listed = {path.name: entry(path) for path in sorted(folder.iterdir())}
    text = json.dumps({**more, "assay": version("assay-lab"), "files": listed}, indent=1, sort_keys=True)
    (folder / LIST).write_text(text + "\n", encoding="utf-8")


def entry(path: Path) -> dict[str, int]:
    """Length and CRC-32 of a file."""
    length = crc = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            length, crc = length + len(chunk), zlib.crc32(chunk, crc)
    return {"bytes": length, "crc32": crc}


def require_ours(target: Path) -> None:
    """Raises RefusedError where the folder has a file that is not as an export left it."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise RefusedError(f"found {target}, which is no folder; expected a new one or an earlier export: {ELSEWHERE}")
    if not target.is_dir():
        return
    there = sorted(path.name for path in target.iterdir() if path.name != LIST)
    listed = entries(target)
    strange = [name for name in there if name not in listed or not unchanged(target / name, listed[name])]
    if strange:
        shown = ", ".join(strange[:5]) + (f" and {len(strange) - 5} more" if len(strange) > 5 else "")
        raise RefusedError(f"found {shown} in {target}, not as an export wrote it; expected a new folder: {ELSEWHERE}")


def entries(folder: Path) -> Mapping[str, object]:
    """The files that an earlier export listed; none where there was no export. Raises RefusedError where the list is no list."""
    if not (folder / LIST).exists():
        return {}
    with suppress(DamagedError, KeyError, TypeError, ValueError):
        return dict(files.read_json(folder / LIST)["files"])
    raise RefusedError(f"found no list of exported files in {folder / LIST}; expected what an export wrote: {ELSEWHERE}")


def unchanged(path: Path, listed: object) -> bool:
    """Whether a file is one of ours and still as it was written."""
    return not path.is_symlink() and path.is_file() and entry(path) == listed


def put(made: Path, target: Path) -> None:
    """Put a whole folder in place; files of the earlier export go, the list comes before the files it names."""
    require_ours(target)
    if not target.exists():
        made.rename(target)
        return
    for path in target.iterdir():
        if path.name != LIST:
            path.unlink()
    (made / LIST).replace(target / LIST)
    for path in sorted(made.iterdir()):
        path.rename(target / path.name)


def cannot_write(target: Path, error: Exception) -> RefusedError:
    """What to tell when an export cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
    return RefusedError(
        f"found {target} not writable ({reason}); expected room and permission there: free some or name another --to"
    )
