"""Defaults of a user for all calls, from $XDG_CONFIG_HOME/assay/config.toml (else ~/.config/assay/config.toml).

An option of the call counts before the environment, the environment before this file. Nothing in it changes a measurement.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from assay import units
from assay.frozen import dataclass, field
from assay.units import Prefixes

LAB, PROGRESS, UNITS = "lab", "progress", "units"


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """What the file says."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Option without its dashes -> its default."""
    prefixes: Prefixes = Prefixes.DECIMAL


def file() -> Path | None:
    """Where the file is, or would be; None of a user without a home."""
    base, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    if base and base.startswith("/"):
        return Path(base, "assay", "config.toml")
    return Path(home, ".config", "assay", "config.toml") if home and home.startswith("/") else None


def preferences() -> Preferences:
    """Read the file. Raises InputErrors with all that is wrong in it, AssayError where it cannot be read."""
    path = file()
    try:
        text = path.read_text(encoding="utf-8") if path is not None else None
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # of another user's home there are no preferences
        text = None
    except (OSError, UnicodeDecodeError) as error:
        from assay.errors import AssayError

        raise AssayError(f"{path}: {error}. Make it a text that you may read, or remove it.") from None
    if path is None or text is None:
        return Preferences()
    return read(text, path)


def read(text: str, path: Path) -> Preferences:
    """Read the text of such a file. Raises InputErrors with all that is wrong in it."""
    from assay import toml_document
    from assay.terminal.progress import ProgressMode
    from assay.toml_document import one_of, shown

    document = toml_document.load(text, str(path))
    toml_document.known(document, (), document.values, (LAB, PROGRESS, UNITS))
    options: dict[str, str] = {}
    for name, values in ((PROGRESS, tuple(ProgressMode)), (UNITS, tuple(Prefixes))):
        value = document.values.get(name, values[0])
        if value not in values:
            document.wrong((name,), f"{name} = {shown(value)}", one_of([f'"{one}"' for one in values]))
        elif name == PROGRESS and name in document.values:
            options[name] = str(value)
    lab = document.values.get(LAB)
    if isinstance(lab, str) and lab.startswith(("/", "~/")):
        options[LAB] = str(Path(lab).expanduser())
    elif lab is not None:
        document.wrong((LAB,), f"{LAB} = {shown(lab)}", 'a directory from / or ~ on: "~/lab" (the file counts wherever you are)')
    document.refuse_if_wrong()
    return Preferences(options=options, prefixes=Prefixes(str(document.values.get(UNITS, Prefixes.DECIMAL))))


def applied() -> Preferences:
    """Read the file, and print figures as it wants them from now on."""
    found = preferences()
    units.SHOWN.prefixes = found.prefixes
    return found
