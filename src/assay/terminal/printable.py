"""Text of others as a terminal may show it: what could steer it, or break a line or the order of its letters, is escaped."""

SPACES = frozenset(map(chr, (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
"""Spaces that Python takes for not printable, and a terminal prints."""


def printable(text: str) -> str:
    r"""Return the text with `\x1b`, `\n` or `\u202e` for letters that are not printed."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() or letter in SPACES else letter.encode("unicode_escape").decode()
