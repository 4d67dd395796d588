"""Laws of every parser, over every recorded output: whole, cut off, damaged, of another tool, or no tool's at all."""

import random
import re
import time

import pytest

from assay import catalogue
from assay.catalogue import printed
from assay.watch import imported
from stage.parser_cases import RECORDED, figures_or_refusal, recorded
from stage.sizes import scaled

PARSERS = [catalogue.find("parsers", name) for name in catalogue.names("parsers")]
OWN = {
    parser.name: [
        name
        for name in RECORDED
        if name.startswith((parser.name.partition("_")[0], "bash", "time")) and figures_or_refusal(parser, recorded(name))
    ]
    for parser in PARSERS
}
OF_EACH = pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
STRANGE = "\0\t\r\n\x1b\x85\xa0\u2028\ufeff٣½é€\U0001f600" + "".join(map(chr, range(32, 127)))


def broken(law, *given):
    """Why a law does not hold, as a line; nothing where it does."""
    try:
        law(*given)
    except Exception as error:
        yield f"{law.__name__}: {error!r}"


def own(parser, chance):
    return recorded(chance.choice(OWN[parser.name]))


def place(chance, text):
    return chance.choice((0, len(text), *(chance.randint(0, len(text)) for _ in range(8))))


def strange(chance, most):
    return "".join(chance.choices(STRANGE, k=chance.randint(0, most)))


def changed(whole, parser, text):
    """The figures of a text that the whole one does not have."""
    return {key: value for key, value in (figures_or_refusal(parser, text) or {}).items() if whole.get(key) != value}


def any_recording_gives_figures_or_a_refusal(parser):
    for name in RECORDED:
        figures_or_refusal(parser, recorded(name))
    assert OWN[parser.name], "no recording that it understands"


def it_knows_what_its_program_printed_and_nothing_else(parser):
    programs = catalogue.programs_of(parser.name)
    texts = [text for name in OWN[parser.name] if imported.recognised(text := recorded(name)).tool == parser.name]
    known = [(program, text[:60]) for program in programs for text in texts if parser.recognises((program, "-x"), text)]
    assert len(known) == len(programs) * len(texts) > 0
    assert [text[:60] for text in texts if parser.recognises(("another",), text)] == []
    assert [program for program in programs if parser.recognises((program,), "usage\n")] == []


def a_cut_gives_figures_of_whole_lines_or_of_the_last_line_as_it_stands(parser, chance):
    """A result without a last line end is read: so what a cut leaves of a line counts as printed, or not at all."""
    text = own(parser, chance)
    at = place(chance, text)
    found = figures_or_refusal(parser, text[:at])
    if found and "{" not in text:
        end = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        ended, before = (figures_or_refusal(parser, one) or {} for one in (f"{text[:at]}\n", text[:end]))
        assert all(value in (ended.get(key), before.get(key)) for key, value in found.items())


JUNK = ("-", "9" * 45, "1e999", "nan", "inf", "-1", "0", "", "\n", "\r", "%", "٣", "1e308")


def damage_anywhere_gives_figures_or_a_refusal(parser, chance):
    text = own(parser, chance)
    at = place(chance, text)
    junk = chance.choice((*JUNK, strange(chance, 12), strange(chance, 12)))
    figures_or_refusal(parser, text[:at] + junk + text[at + chance.randint(0, 40) :])


def any_number_in_the_place_of_another_gives_figures_or_a_refusal(parser, chance):
    figures_or_refusal(parser, strange(chance, 200))
    parts = own(parser, chance).split(" ")
    places = [index for index, part in enumerate(parts) if part[:1].isdigit()]
    if places:
        parts[chance.choice(places)] = "".join(chance.choices("0123456789.,e+-", k=chance.randint(1, 12)))
        figures_or_refusal(parser, " ".join(parts))


NUMBER = re.compile(r"\d[\d.]*")


def numbers_that_cannot_be_read_change_no_figure(parser, chance):
    """Figures of one number are missing then; sums and means of several (matrices, iterations, files) are, too."""
    text = own(parser, chance)
    whole = parser.parse(text)
    for _ in range(chance.randint(1, 3)):
        start, end = chance.choice([match.span() for match in NUMBER.finditer(text)] or [(0, 0)])
        text = text[:start] + chance.choice("x?*-#") * (end - start) + text[end:]
    assert changed(whole, parser, text) == {}


WORDS = [
    "12",
    "99999",
    "MB/s",
    "KB/sec",
    "IOPS=7",
    "bytes",
    "read",
    "write",
    "1.5",
    "GB/s",
    "sec",
    "=",
    "(32.0MiB)",
    "elapsed",
    "real",
]


def what_another_program_says_meanwhile_changes_no_figure(parser, chance):
    text = own(parser, chance)
    rows = text.splitlines(keepends=True)
    at = chance.randint(0, len(rows))
    said = " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))
    assert changed(parser.parse(text), parser, "".join([*rows[:at], f"warning: {said}\n", *rows[at:]])) == {}


def without_numbers_there_is_no_figure(parser):
    for name in OWN[parser.name]:
        assert figures_or_refusal(parser, re.sub(r"\d", "x", recorded(name))) is None


def a_decimal_comma_changes_no_figure(parser):
    for name in OWN[parser.name]:
        text = recorded(name)
        assert changed(parser.parse(text), parser, re.sub(r"(?<=\d)\.(?=\d)", ",", text)) == {}, name


ADDED_UP = ("scp_sftp", "slapadd")
"""Several files of scp are one copy; of the time around slapadd and its meter either may stand alone."""


def no_operation_has_figures_of_two_runs(parser):
    """The later counts where both did it; two that cannot be told apart are refused."""
    names = [
        name
        for name in OWN[parser.name]
        if parser.name not in ADDED_UP and name.startswith(parser.name.partition("_")[0]) and "progress2" not in name
    ]
    for first, second in ((one, other) for one in names for other in names if one[-4:] == other[-4:]):
        before, after = parser.parse(recorded(first)), parser.parse(recorded(second))
        found = figures_or_refusal(parser, recorded(first) + recorded(second)) or {}
        for operation in {key.partition(".")[0] for key in found}:
            told, earlier, later = (
                {key: value for key, value in one.items() if key.partition(".")[0] == operation} for one in (found, before, after)
            )
            assert told == (later or earlier), (first, second, operation)


RECORDINGS = (
    any_recording_gives_figures_or_a_refusal,
    it_knows_what_its_program_printed_and_nothing_else,
    without_numbers_there_is_no_figure,
    a_decimal_comma_changes_no_figure,
    no_operation_has_figures_of_two_runs,
)
CHANCE = {
    a_cut_gives_figures_of_whole_lines_or_of_the_last_line_as_it_stands: 80,
    damage_anywhere_gives_figures_or_a_refusal: 120,
    any_number_in_the_place_of_another_gives_figures_or_a_refusal: 60,
    numbers_that_cannot_be_read_change_no_figure: 40,
    what_another_program_says_meanwhile_changes_no_figure: 20,
}
"""Laws of random examples, and how many of them each parser sees."""


@OF_EACH
def test_laws_of_recordings(parser):
    assert [line for law in RECORDINGS for line in broken(law, parser)] == []


@pytest.mark.hypothesis  # `make long` asks for a hundred times as many examples of what has this mark
@OF_EACH
def test_laws_of_damage(parser):
    seeds = [(law, f"{law.__name__} {number}") for law, times in CHANCE.items() for number in range(scaled(times))]
    assert [f"{seed}: {line}" for law, seed in seeds for line in broken(law, parser, random.Random(seed))] == []


@pytest.mark.slow
@OF_EACH
def test_hostile_repetition_ends_soon(parser):
    """Regular expressions that run away take minutes for this; the bound is generous for slow machines."""
    text = recorded(min(OWN[parser.name], key=lambda name: len(recorded(name))))
    rows = [row for row in printed.lines(text) if row.strip()]
    begun = time.process_time()
    for row in rows[:: max(1, len(rows) // 4)]:
        half = row[: len(row) // 2]
        for piece in (row, half, half + " " * 60, half[-1:], " "):
            filled = (half + piece * (printed.LONGEST_LINE // len(piece)))[: printed.LONGEST_LINE]
            figures_or_refusal(parser, (filled + "\n") * 4 + text)
    figures_or_refusal(parser, text + "1" * 2_000_000 + "\n")
    assert time.process_time() - begun < 30


def test_printed_numbers_know_their_last_digit():
    assert printed.number("447", 10**6) == printed.ParsedNumber(value=447e6, half=0.5e6)
    assert printed.number("0,0375124").half == pytest.approx(0.5e-7)
    assert printed.number("1.2e+03") == printed.ParsedNumber(value=1200.0, half=50.0)
    for text in ("", "-1", "nan", "1.2.3", "1e9999", "٣", "1" * 50, "0x10"):
        with pytest.raises((ValueError, OverflowError)):
            printed.number(text)


def test_programs_and_options_are_found_behind_others():
    assert printed.calls(("sudo", "/usr/bin/dd", "if=x"), "dd")
    assert printed.calls(("sh", "-c", "sync; dd if=x of=y"), "dd")
    assert not printed.calls(("ddrescue", "add"), "dd")
    assert printed.option(("fio", "--output=a", "--output", "b"), "--output") == "b"
    assert printed.option(("fio", "--output"), "--output") is None
