"""The commands of a call of `assay stat`: the one behind `--`, those of `--vs`, or one for each value of `--parameter-scan`.

The first one is the baseline of all comparisons. What prepares each run, how often all run, and in which order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.cli.stat.words import StatWords
from assay.frozen import dataclass

MOST_REPEATS = 1000
MOST_COMMANDS = 100
COMPARED_TIMES = 5
"""How often each of several commands runs where `--repeat` does not tell."""
SPECIAL = frozenset("|&;<>()$`*?~\n")
"""Characters for which a command in one word is given to a shell."""
LONGEST = 40
"""Characters of the name of a command among several."""
RANGE = ".."
MOST_DIGITS = 18


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command of a call."""

    argv: tuple[str, ...]
    label: str
    """What it is called where several are listed: its words, or `NAME=VALUE` of a scan."""
    prepare: str | None = None
    """The shell command that runs before each of its runs, outside of all that is measured."""


@dataclass(frozen=True, kw_only=True)
class ParameterScan:
    """One parameter with its values; `{NAME}` in the words of the command stands for it."""

    name: str
    values: tuple[str, ...]

    def put(self, text: str, value: str) -> str:
        """The text with the value in it."""
        return text.replace(f"{{{self.name}}}", value)


def commands(typed: StatWords) -> tuple[Command, ...]:
    """All commands of a call, the baseline first; note what is wrong with them."""
    prepare = prepared(typed)
    others = [(argv, text) for text in typed.others if (argv := split_command(typed, text))]
    if (scan := scanned(typed)) is None:
        named = [(typed.command, " ".join(typed.command)), *others]
        return tuple(Command(argv=argv, label=label, prepare=prepare) for argv, label in named)
    return tuple(
        Command(
            argv=tuple(scan.put(word, value) for word in typed.command),
            label=f"{scan.name}={value}",
            prepare=None if prepare is None else scan.put(prepare, value),
        )
        for value in scan.values
    )


def short_names(commands: Sequence[Command]) -> list[str]:
    """The program of each command where all are others; else its words without those at the end that all have: `gzip -1`."""
    programs = [Path(command.argv[0]).name for command in commands]
    if len(set(programs)) == len(programs) and all(command.label.startswith(command.argv[0]) for command in commands):
        return programs
    words = [command.label.split(" ") for command in commands]
    ends = zip(*(reversed(each[1:]) for each in words), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda end: len(set(end)) == 1, ends))
    if len({command.label for command in commands}) < 2:  # a command beside itself
        common = 0
    return [" ".join(each[: len(each) - common])[:LONGEST] for each in words]


def prepared(typed: StatWords) -> str | None:
    """The shell command before each run."""
    text = typed.options.get("prepare")
    if text is not None and not text.strip():
        typed.wrong("an empty --prepare", "a shell command: --prepare 'rm -rf copy'")
    return text


def split_command(typed: StatWords, text: str) -> tuple[str, ...]:
    """A command of --vs as words; through a shell only where it has special characters."""
    if SPECIAL & set(text):
        return ("sh", "-c", text)
    import shlex  # needed here alone

    try:
        words = shlex.split(text)
    except ValueError as error:
        typed.wrong(f"--vs {text!r} ({error})", "a command")
        return ()
    if not words:
        typed.wrong("an empty --vs", "a command")
    return tuple(words)


def scanned(typed: StatWords) -> ParameterScan | None:
    """The parameter that is scanned; None without one, or where it is wrong."""
    text = typed.options.get("parameter-scan")
    if text is None:
        return None
    name, equals, listed = text.partition("=")
    values = values_of(listed)
    before = len(typed.mistakes)
    if not equals or not name.isidentifier() or len(values) < 2:
        typed.wrong(f"--parameter-scan {text}", "NAME=FIRST,SECOND,... or NAME=FROM..TO, with at least two values")
    elif len(set(values)) < len(values):
        typed.wrong(f"a value twice in --parameter-scan {text}", "each value once")
    elif len(values) > MOST_COMMANDS:
        typed.wrong(f"{len(values)} values in --parameter-scan", f"at most {MOST_COMMANDS}")
    elif not any(f"{{{name}}}" in word for word in typed.command):
        typed.wrong(f"no {{{name}}} in the command, which --parameter-scan varies", f"{{{name}}} where the value belongs")
    if typed.others:
        typed.wrong("--parameter-scan and --vs", "one of them")
    return ParameterScan(name=name, values=values) if len(typed.mistakes) == before else None


def values_of(text: str) -> tuple[str, ...]:
    """The values of `a,b,c` or `1..8`."""
    low, dots, high = text.partition(RANGE)
    if dots and is_number(low) and is_number(high):
        return tuple(map(str, range(int(low), min(int(high), int(low) + MOST_COMMANDS) + 1)))
    return tuple(part.strip() for part in text.split(",") if part.strip())


def repeats(typed: StatWords) -> int:
    """How often each command runs: once, or five times where several are compared."""
    return whole(typed, "repeat", COMPARED_TIMES if typed.others or "parameter-scan" in typed.options else 1, least=1)


def warmups(typed: StatWords) -> int:
    """How often each command runs before its runs count."""
    return whole(typed, "warmup", 0, least=0)


def whole(typed: StatWords, name: str, default: int, *, least: int) -> int:
    """The whole number of an option."""
    text = typed.options.get(name)
    if text is None:
        return default
    if not is_number(text) or not least <= int(text) <= MOST_REPEATS:
        typed.wrong(f"--{name} {text}", f"a whole number from {least} to {MOST_REPEATS}")
        return default
    return int(text)


def is_number(text: str) -> bool:
    """Whether these are digits, and no more than anybody means: int() refuses thousands of them with an error of its own."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def export_file(typed: StatWords) -> Path | None:
    """The file for the table of all commands."""
    text = typed.options.get("export")
    if text is None:
        return None
    path = Path(text).absolute()
    if path.suffix not in (".csv", ".md"):
        typed.wrong(f"--export {text}", "a file that ends with .csv or .md (JSON: --json=FILE)")
    elif not path.parent.is_dir():
        typed.wrong(f"no directory for --export {text}", "one that exists")
    return path


def order(count: int, number: int) -> Iterator[int]:
    """In which order `count` commands run in round `number`, from 0.

    Over a cycle of rounds each command is at each place equally often, and behind each other one equally often: the rows of a
    Williams square (E. J. Williams, Australian Journal of Scientific Research A 2, 149, 1949). An odd number needs two squares.
    """
    first = [(at + 1) // 2 if at % 2 else (count - at // 2) % count for at in range(count)]
    row = [(one + number) % count for one in first]
    yield from reversed(row) if count % 2 and number // count % 2 else row
