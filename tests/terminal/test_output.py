import contextlib
import itertools
import os
import pty
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.terminal.output import HANGING, Row, folded, table

ASSAY = Path(sys.executable).with_name("assay")
NOTE = "    other programs were at work: 75.4 % of the processor time (python), with the processors 98.5 % busy"
ROW = "SOUND    stream.read.bytes_per_s           441 MB/s  232 MB/s to 840 MB/s, n = 4  device"
LABEL = "no  perf counters  found no hardware counters below /sys; expected a PMU: what it costs is unknown"


WORDS = st.lists(st.text("abc.:", min_size=1, max_size=20), min_size=1, max_size=40)


@given(WORDS.map(" ".join), st.integers(min_value=0, max_value=8), st.integers(min_value=40, max_value=90))
def test_no_word_is_lost_and_no_line_is_too_long(prose, indented, width):
    made = folded(" " * indented + prose, width)
    assert made.split() == prose.split()
    assert max(map(len, made.split("\n"))) <= width
    assert folded(made, width) == made


@given(st.text("ab \n"), st.integers(min_value=40, max_value=90))
def test_any_text_keeps_its_words(text, width):
    assert folded(text, width).split() == text.split()


def test_what_fits_stays_notes_go_on_where_they_began_and_numbers_keep_their_unit():
    for text in ("", "short", "\n\n  two\n", "x" * 200, f"{NOTE}"[:80]):
        assert folded(text, 80) == text
    first, second = folded(NOTE, 80).split("\n")
    assert (first[:9], second[:9]) == ("    other", "    proce")
    first, second = folded(LABEL, 80).split("\n")
    assert (second[:19], second[19]) == (" " * 19, "i")
    assert folded(NOTE.strip(), 80).split("\n")[1].startswith("    processors")
    for unit in ("%", "MB/s", "MiB", "ns", "s"):
        assert folded(f"{'w' * 36} 52.4 {unit} of it", 40).split("\n") == ["w" * 36, f"    52.4 {unit} of it"]
    assert folded(ROW, 80).split("\n")[1] == "    device"


CELL = st.text("abc %", min_size=1, max_size=60).map(lambda text: " ".join(text.split()) or "-")
TABLE = st.integers(1, 8).flatmap(lambda columns: st.lists(st.tuples(*[CELL] * columns), min_size=1, max_size=6))


@given(TABLE, st.integers(40, 200), st.sets(st.integers(0, 7)))
def test_a_head_stands_above_its_cells_at_every_width(rows, width, right):
    header = [f"h{column}" for column in range(len(rows[0]))]
    made = table(header, [Row(cells=row) for row in rows], right, width=width).split("\n")
    assert max(map(len, made)) <= width
    lines = [line for line, text in enumerate(made) if "h" in text]
    assert lines == list(range(len(lines))), "the head has its lines at the top"
    for column, name in enumerate(header):
        (line,) = [line for line in lines if name in made[line].split()]
        at = made[line].index(name)
        edge = at + len(name) if column in right else at
        for row in rows:
            first = row[column].split()[0][: width - HANGING]
            shown = [text for text in made[len(lines) :] if stands_at(text, first, edge, column in right)]
            assert shown, f"{first!r} of {row} stands nowhere at {edge}"


def stands_at(text, word, edge, is_right):
    """Whether a line has a cell with this word at this edge: it begins there, or the words that begin with it end there."""
    if not is_right:
        return text[edge : edge + len(word)] == word and not text[max(0, edge - 1) : edge].strip()
    cell = text[:edge].rpartition("  ")[2]
    return word in cell.split() and not text[edge : edge + 1].strip()


def test_a_table_that_is_too_wide_has_several_lines_for_a_row():
    header = ("verdict", "measure", "at", "value")
    rows = [Row(cells=("SOUND", "load.search.ops_per_s", "target=people clients=2", "9,317/s"), note="a note")]
    assert table(header, rows, (3,), width=40).split("\n") == [
        "verdict  measure",
        "    at                         value",
        "SOUND    load.search.ops_per_s",
        "    target=people clients=2  9,317/s",
        "    a note",
    ]


def lines_on_a_terminal(columns, *words):
    """What a command prints where standard output is a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([ASSAY, *words], stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # EIO: the last writer is gone
        while piece := os.read(ours, 65536):
            said += piece
    process.wait()
    os.close(ours)
    return said.decode().replace("\r\n", "\n").split("\n")


MANUALS = (("catalogue",), ("explain", "T01"), ("load", "bulk_io"), ("doctor",), ("check", "900 MB/s over 1GbE, 64 kB in 20 us"))


def test_what_is_long_folds_to_a_narrow_terminal_and_breaks_no_word(bench, subtests):
    """`assay catalogue` gave what a knob is the indentation of its name, and `explain` left half lines."""
    for words in MANUALS:
        with subtests.test(words=words):
            shown = lines_on_a_terminal(60, *words)
            assert max(map(len, shown)) <= 60
            if words[0] == "doctor":  # the machine may change
                continue
            piped = bench.run(*words).stdout
            assert "".join("".join(shown).split()) == "".join(piped.split())
            known = set(piped.replace(",", " ").split())
            assert {word for line in shown for word in line.replace(",", " ").split()} == known
            if words[0] == "explain":
                for line, below in itertools.pairwise(shown):
                    if below.startswith("    ") and line:
                        assert len(line) + 1 + len(below.split()[0]) > 60, (line, below)


def test_a_label_without_room_behind_it_stands_out():
    line = f"      {'server.nodes.*.pid_file':<25}the same of a further node: file with the PID of the server"
    first, *more = folded(line, 60).split("\n")
    assert first.startswith("      server.nodes")
    assert {len(below) - len(below.lstrip()) for below in more} == {10}
    first, second = folded(line, 80).split("\n")
    assert second == " " * 31 + "the server"


def test_a_list_that_is_longer_than_a_line_ends_behind_a_comma():
    names = ",".join(f"operation_{number}" for number in "abcdefgh")
    made = folded(f"  operations  default {names}", 60).split("\n")
    assert max(map(len, made)) <= 60
    assert all(line.endswith(",") for line in made[1:-1])
    assert "".join(line.strip() for line in made[1:]) == names
    number = "1,234,567,890," + "0" * 60
    assert folded(f"  total  {number}", 40).split() == ["total", number], "no number is broken"


def test_the_environment_may_name_the_width_and_none_is_taken_from_one_that_names_none(bench):
    """A Python with readline leaves COLUMNS and LINES to all that it starts: a pipe to it stays a pipe."""

    def output(*words, **more):
        kept = {name: value for name, value in bench.environment().items() if name not in ("COLUMNS", "LINES")}
        return bench.run(*words, env={**kept, **more}).stdout

    assert 50 < max(map(len, output("explain", "T01", COLUMNS="60").splitlines())) <= 60
    whole = output("catalogue")
    for environment in ({"COLUMNS": "0"}, {"COLUMNS": "wide"}, {"COLUMNS": "60", "LINES": "24"}):
        assert output("catalogue", **environment) == whole, environment


def test_a_terminal_gets_lines_that_fit_and_a_pipe_whole_ones(bench):
    shown = lines_on_a_terminal(60, "stat", "--nothing")
    assert 40 < max(map(len, shown)) <= 60
    piped = bench.run("stat", "--nothing")
    assert [line[:18] for line in piped.stderr.splitlines()] == ["assay stat: found "] * 2
    assert " ".join(piped.stderr.split()) == " ".join(" ".join(shown).split())
