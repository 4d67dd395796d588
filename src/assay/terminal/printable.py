"""Text of others as a terminal may show it: what could steer it, or break a line or the order of its letters, is escaped."""


def printable(text: str) -> str:
    r"""Return the text with `\x1b`, `\n` or `\u202e` for letters that are not printed."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
