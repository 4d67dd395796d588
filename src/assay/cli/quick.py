"""Measure the storage of a directory, or compare two, without an experiment file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from assay.cli.run import Request, carry_out
from assay.errors import RefusedError, UsageError
from assay.experiment import read as reading
from assay.laboratory.gate import Gate
from assay.terminal.progress import ProgressMode

MOST_DIRECTORIES = 2
FULL_BYTES = 256 << 20
LEAST_BYTES = 16 << 20
SPARE_FACTOR = 8
"""The largest file is at most this part of the free space."""
LONGEST_NAME = 40


def quick(directories: Sequence[Path], lab: Path, *, json_to: str | None, gate: Gate, progress: ProgressMode) -> int:
    """Run `controls/quick.toml` on the directories. Raises UsageError, RefusedError."""
    text = experiment_text(directories)
    request = Request(file=Path("quick.toml"), lab=lab, json_to=json_to, gate=gate, progress=progress, verb="quick")
    return carry_out(request, reading.parse(text, "quick.toml"), text, fresh=True)


def experiment_text(directories: Sequence[Path]) -> str:
    """The experiment of `quick` with the directories as targets and sizes that fit the free space."""
    check(directories)
    text = (resources.files("assay.controls") / "quick.toml").read_text(encoding="utf-8")
    size = min(FULL_BYTES, *(shutil.disk_usage(path).free // SPARE_FACTOR for path in directories))
    if size < LEAST_BYTES:
        raise RefusedError(
            f"{size * SPARE_FACTOR >> 20} MiB free (at least {LEAST_BYTES * SPARE_FACTOR >> 20} MiB needed)."
            " Name a directory on a file system with more space."
        )
    text = text.replace('"256 MiB"', f'"{size >> 20} MiB"')
    names = target_names(directories)
    tables = [
        f'\n[targets.{quoted(name)}]\nkind = "directory"\npath = {quoted(str(path.resolve()))}\n'
        for name, path in zip(names, directories, strict=True)
    ]
    if len(names) > 1:
        tables.append(f"\n[factors]\ntarget = {json.dumps(names)}\n")
    return text + "".join(tables)


def check(directories: Sequence[Path]) -> None:
    """Refuse more than two directories, and what is no directory."""
    if len(directories) > MOST_DIRECTORIES:
        raise UsageError(f"found {len(directories)} directories; expected one to measure or two to compare")
    wrong = [
        f"found {path} which {'is a file' if path.exists() else 'does not exist'}" for path in directories if not path.is_dir()
    ]
    if wrong:
        raise UsageError("; ".join(wrong) + "; expected a directory")
    for path in directories:
        try:
            str(path.resolve()).encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"found {str(path)!r}, whose name is not UTF-8; expected UTF-8, as in an experiment file: rename it"
            ) from error


def target_names(directories: Sequence[Path]) -> list[str]:
    """Short names: the last part of each path as far as a target may be called so, numbered where they are alike."""
    parts = [path.resolve().name or "root" for path in directories]
    names = [re.sub(r"[^\w.+-]+", "-", part)[:LONGEST_NAME].strip("-") or "directory" for part in parts]
    return names if len(set(names)) == len(names) else [f"{name}-{number}" for number, name in enumerate(names, 1)]


def quoted(text: str) -> str:
    """A basic string of TOML 1.0: as in JSON, which leaves only DEL bare where TOML does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
