"""The words of a call of `assay stat`: its own options, separated from the command behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.errors import Mistake
from assay.laboratory.gate import Gate

WHERE = "assay stat"
GATES = {"": Gate.ON, "on": Gate.ON, "strict": Gate.STRICT, "off": Gate.OFF, "worse": Gate.WORSE}
VALUED = (
    *("claim", "reported", "unit", "direction", "observe", "server", "lab"),
    *("repeat", "vs", "parameter-scan", "prepare", "warmup", "export"),
)
ALONE = ("gate", "json", "save", "help")
"""Options whose value needs `=`, or which have none."""
REPEATABLE = "vs"


@dataclass
class StatWords:
    """Options and command as typed, and what was wrong with them."""

    options: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    """The commands of --vs, which may be repeated."""
    command: tuple[str, ...] = ()
    mistakes: list[Mistake] = field(default_factory=list)

    def wrong(self, found: str, expected: str) -> None:
        """Note a mistake."""
        self.mistakes.append(Mistake(file=WHERE, line=None, column=None, found=found, expected=expected))


def split(words: Sequence[str]) -> StatWords:
    """Separate the options from the command."""
    typed, at = StatWords(), 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("--", "-"):
        name, equals, value = ("help" if words[at] == "-h" else words[at].removeprefix("--")).partition("=")
        at += 1
        if not words[at - 1].startswith(("--", "-h")) or name not in (*VALUED, *ALONE):
            typed.wrong(f"option {words[at - 1]!r}", f"one of --{', --'.join((*VALUED, *ALONE))}, or -- and the command")
            continue
        if name in VALUED and not equals:
            if at == len(words) or words[at] == "--":
                typed.wrong(f"--{name} without a value", f"--{name} VALUE")
                continue
            value, at = words[at], at + 1
        if name == REPEATABLE:
            typed.others.append(value)
        elif name in typed.options:
            typed.wrong(f"--{name} twice", "each option once")
        typed.options[name] = value
    if typed.options.get("gate", "") not in GATES:
        typed.wrong(f"--gate={typed.options['gate']}", "--gate, --gate=strict or --gate=worse")
    typed.command = tuple(words[at + 1 :] if words[at : at + 1] == ["--"] else words[at:])
    return typed
