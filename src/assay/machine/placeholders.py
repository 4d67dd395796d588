"""Arguments with {NAME} placeholders: substitution, and unknown names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from assay.errors import UsageError

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([\w.-]+)\}")
"""A doubled brace is a literal one; a brace around anything but a name (awk, JSON) is unchanged."""


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Replace {NAME} by its value and doubled braces by single ones. Raises UsageError for an unknown name."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        if name not in values:
            raise UsageError(f"found {{{name}}}; expected one of: {', '.join(sorted(values))}")
        return values[name]

    return PLACEHOLDER.sub(one, text)


def unknown(argv: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the unknown names in an argument list, each once, in order."""
    names = (match[1] for word in argv for match in PLACEHOLDER.finditer(word) if match[1] is not None)
    wanted = set(known)
    return tuple(dict.fromkeys(name for name in names if name not in wanted))
