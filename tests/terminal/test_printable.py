"""Text of others on a terminal: nothing in it steers the terminal, breaks a line or turns the order of letters."""

from assay.terminal.output import Row, table
from assay.terminal.printable import printable
from stage.rows import each


@each(
    "text shown",
    ("größe 5\u202f000 日本", "größe 5\u202f000 日本"),
    ("\x1b[2J\x9b31m", r"\x1b[2J\x9b31m"),
    ("a\nb\tc\r", r"a\nb\tc\r"),
    ("a\u202eb\u2066\u200bc\ufeff", r"a\u202eb\u2066\u200bc\ufeff"),
    ("\ud800\U000e0041", r"\ud800\U000e0041"),
)
def test_what_could_steer_a_terminal_is_escaped(text, shown):
    assert printable(text) == shown
    assert table(("name",), [Row(cells=(text,))]).split("\n")[1] == shown
