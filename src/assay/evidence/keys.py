"""Keys of evidence and patterns for them: `fact:device.*`, `own_*_bytes`. A `*` stands for anything, all else for itself."""

from __future__ import annotations


def fits(key: str, pattern: str) -> bool:
    """Whether a key is one of those that the pattern stands for; no regular expression is compiled for it."""
    head, *rest = pattern.split("*")
    if not rest:
        return key == pattern
    *between, tail = rest
    if not key.startswith(head):
        return False
    at = len(head)
    for part in between:
        found = key.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(key) - len(tail) >= at and key.endswith(tail)
