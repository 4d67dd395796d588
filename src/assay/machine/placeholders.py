"""Arguments with {NAME} in them: what stands for a value, and what stands for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from assay.errors import UsageError

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([\w.-]+)\}")
"""A doubled brace is one that is meant; a brace around anything but a name (awk, JSON) is left as it is."""


def substitute(text: str, values: Mapping[str, str]) -> str:
    """The text with {NAME} replaced and doubled braces single. Raises UsageError for a name that stands for nothing."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        if name not in values:
            raise UsageError(f"found {{{name}}}; expected one of: {', '.join(sorted(values))}")
        return values[name]

    return PLACEHOLDER.sub(one, text)


def unknown(argv: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """The names in an argument list that stand for nothing, each once, in order."""
    names = (match[1] for word in argv for match in PLACEHOLDER.finditer(word) if match[1] is not None)
    wanted = set(known)
    return tuple(dict.fromkeys(name for name in names if name not in wanted))
