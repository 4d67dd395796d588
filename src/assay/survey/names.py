"""Names of files as they can be printed, whatever bytes they are made of."""

from __future__ import annotations

import os


def shown(path: str) -> str:
    """A path with escapes for bytes that are no UTF-8 and for control characters, which could steer a terminal."""
    text = os.fsencode(path).decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
