"""Files that are whole or not there: written under another name, flushed, renamed; read against their manifest."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import DamagedError, RefusedError
from assay.notebook.layout import MANIFEST, SCHEMA, TEMPORARY


def to_json(value: object) -> bytes:
    """Canonical JSON. Not-a-number and infinities stand as NaN and Infinity, as Python's json reads them back."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def from_json(data: bytes, path: Path) -> Any:  # noqa: ANN401 - plain values are any value
    """Return the value of a JSON file's bytes. Raises DamagedError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: no valid JSON ({error})") from error


def read_json(path: Path) -> Any:  # noqa: ANN401 - plain values are any value
    """Return the value in a JSON file. Raises DamagedError."""
    return from_json(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file. Raises DamagedError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path}: unreadable ({error.strerror})") from error


def flush(path: Path) -> None:
    """Have a file or a folder on stable media."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by a rename, so that a reader sees the old one or the new one. Raises RefusedError."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: Exception) -> RefusedError:
    """Return what to tell when a notebook cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return RefusedError(f"{path}: not writable ({reason}). Free space, check permissions, or name another --lab.")


def manifest_of(folder: Path) -> Mapping[str, object]:
    """Length and CRC-32 of every file in a folder, with the version of their form."""
    from importlib.metadata import version

    files = {
        path.name: {"bytes": len(data), "crc32": zlib.crc32(data)}
        for path in sorted(folder.iterdir())
        if (data := path.read_bytes()) is not None
    }
    return {"schema": SCHEMA, "assay": version("assay-lab"), "files": files}


def check(folder: Path) -> None:
    """Hold every file of a folder against its manifest. Raises DamagedError naming the first that differs."""
    for name, entry in listed(folder).items():
        data = read_bytes(folder / name)
        require_length(folder / name, len(data), entry)
        if zlib.crc32(data) != entry.get("crc32"):
            raise DamagedError(f"{folder / name}: changed since it was written (CRC-32 differs from {entry.get('crc32')})")


def check_lengths(folder: Path) -> None:
    """The same by the lengths of the files alone, which reads none of them. Raises DamagedError."""
    for name, entry in listed(folder).items():
        try:
            found = (folder / name).stat().st_size
        except OSError as error:
            raise DamagedError(f"{folder / name}: unreadable ({error.strerror})") from error
        require_length(folder / name, found, entry)


def listed(folder: Path) -> Mapping[str, Mapping[str, object]]:
    """Return the entries of a folder's manifest by name of file. Raises DamagedError."""
    manifest = read_json(folder / MANIFEST)
    try:
        schema, entries = int(manifest["schema"]), {str(name): dict(entry) for name, entry in manifest["files"].items()}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise DamagedError(f"{folder / MANIFEST}: no list of files") from error
    if schema > SCHEMA:
        raise DamagedError(f"{folder}: format {schema}, written by a later version of Assay (this version reads up to {SCHEMA})")
    return entries


def require_length(path: Path, found: int, entry: Mapping[str, object]) -> None:
    """Raises DamagedError where a file is not as long as its manifest has it."""
    if found != entry.get("bytes"):
        raise DamagedError(f"{path}: {found} bytes instead of {entry.get('bytes')}, cut or changed")
