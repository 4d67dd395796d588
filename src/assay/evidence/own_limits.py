"""Rates that the words of a command set for it: its figure then is that setting, and no capacity of what it works with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.evidence.words import given, programs
from assay.frozen import dataclass
from assay.units import Unit

PREFIX = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtT]?)i?[bB]?(?:/s)?")


@dataclass(frozen=True, kw_only=True)
class Option:
    """How a tool is told a rate."""

    names: tuple[str, ...]
    unit: Unit = Unit.BYTES_PER_S
    size: float = 1.0
    """Of its number without a prefix, in base units."""
    step: int = 1024
    """What a prefix stands for."""
    prefixed: float | None = None
    """The same of a number with a prefix, where that is another; None = as without."""
    offers: bool = False
    """Whether the tool measures what becomes of an offered load: then a set rate is what was meant."""
    times: tuple[str, ...] = ()
    """An option whose number multiplies it: streams, workers."""
    default: tuple[str, float] | None = None
    """Without it: an option, and the rate that the tool then sets by itself."""

    def size_of(self, told: str) -> float:
        """Return the size of the unit of this number."""
        return self.size if self.prefixed is None or told[-1:].isdigit() else self.prefixed


def _offered(*names: str) -> Option:
    return Option(names=names, unit=Unit.PER_S, step=1000, offers=True)


def _of_each_stream(names: tuple[str, ...], usual: float) -> Option:
    """Bits a second of each stream; of datagrams without the option so many bytes a second."""
    streams = ("-P", "--parallel")
    return Option(names=names, size=1 / 8, step=1000, offers=True, times=streams, default=("-u --udp", usual))


TOOLS: Mapping[str, Sequence[Option]] = {
    "curl": (Option(names=("--limit-rate",)),),
    "wget": (Option(names=("--limit-rate",)),),
    "pv": (Option(names=("-L", "--rate-limit")),),
    "mbuffer": (Option(names=("-r", "-R")),),
    "rsync": (Option(names=("--bwlimit",), size=1024, prefixed=1),),
    **dict.fromkeys(("scp", "sftp"), (Option(names=("-l",), size=125),)),
    "trickle": (Option(names=("-d", "-u"), size=1024),),
    "iperf3": (_of_each_stream(("-b", "--bitrate", "--bandwidth"), 1e6 / 8),),
    "iperf": (_of_each_stream(("-b", "--bandwidth"), 1.05e6 / 8),),
    "fio": (Option(names=("--rate",), offers=True), _offered("--rate_iops")),
    "pgbench": (_offered("-R", "--rate"),),
    "sysbench": (_offered("--rate"),),
    **dict.fromkeys(("wrk", "wrk2"), (_offered("-R", "--rate"),)),
    "vegeta": (_offered("-rate", "--rate"),),
    "oha": (_offered("-q"),),
    "bombardier": (_offered("-r", "--rate"),),
}
"""Tools that can be told a rate, by their program."""


@dataclass(frozen=True, kw_only=True)
class OwnLimit:
    """A rate that a command set for itself."""

    words: str
    """`--limit-rate 2M of curl`."""
    amount: float
    unit: Unit
    is_meant: bool
    """Whether the tool was told to offer this load; else it copies, or nobody named the rate."""


def own_limits(argv: Sequence[str]) -> Iterator[OwnLimit]:
    """Yield the rates that the words of a command set, of every tool that they call."""
    for program, words in programs(argv):
        for option in TOOLS.get(program, ()):
            yield from _set_by(option, program, words)


def _set_by(option: Option, program: str, words: Sequence[str]) -> Iterator[OwnLimit]:
    times = _number(given(words, option.times), option) or 1.0
    told = given(words, option.names)
    amount = _number(told, option)
    if told is not None and amount:
        name = next(name for name in option.names if given(words, (name,)) is not None)
        said = f"{name} {told} of {program}"
        yield OwnLimit(words=said, amount=amount * option.size_of(told) * times, unit=option.unit, is_meant=option.offers)
    elif told is None and option.default is not None and set(option.default[0].split()) & set(words):
        flag = next(word for word in words if word in option.default[0].split())
        said = f"default rate of {program} {flag} without {option.names[0]}"
        yield OwnLimit(words=said, amount=option.default[1] * times, unit=option.unit, is_meant=False)


def _number(text: str | None, option: Option) -> float | None:
    """Return the number of an option with its prefix; None where it is none (`0` lifts a limit)."""
    match = PREFIX.match(text or "")
    return float(match[1]) * option.step ** " kmgt".index(match[2].lower() or " ") if match else None
