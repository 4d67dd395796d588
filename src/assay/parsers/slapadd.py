"""slapadd: import rate of an LDIF file from its final meter, and the elapsed time of `time` around it.

The meter counts bytes of LDIF, its prefixes are powers of 1,024, its time is truncated to whole seconds, and its rate is the
bytes over these (OpenLDAP 2.4 to 2.6, libraries/liblutil/meter.c); slapadd prints it on a terminal only. One second is blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "slapadd's meter at 100.00% (which it prints on a terminal only), or the elapsed time of time"
METER = re.compile(r".{1,30}\s100\.00% eta\s.{0,10}elapsed\s+((?:\d\d[ywdhms]){0,5})\s+spd\s+([\d.]{1,8}) ([ kMGTPEZY])/s\s*")
SAID = re.compile(r".{0,30}\s[\d.]{4,6}% eta\s.{0,10}elapsed\s.{1,40}")
FAST = re.compile(r".{1,30}\s100\.00% eta\s.{0,10}elapsed\s.{1,20}\sfast!\s*")
"""What the meter says in place of a rate where its clock did not move."""
ENDED = re.compile(f"{METER.pattern}|{FAST.pattern}")
LEFT_OUT = re.compile(r"slapadd: (?:could not (?:add|parse) entry|line \d{1,15}:|dn=).{0,4000}")
"""An entry that is not imported; with -c slapadd goes on."""
TERM = re.compile(r"(\d\d)([ywdhms])")
SIZES = {"y": 31_556_952, "w": 604_800, "d": 86_400, "h": 3600, "m": 60, "s": 1}


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for slapadd's meter, or the time around it."""
    rows = printed.lines(output)
    is_timed = len(argv) > 1 and printed.real_time(rows) is not None  # a time alone does not tell of which command
    return printed.calls(argv, "slapadd") and (any(SAID.fullmatch(row) for row in rows) or is_timed)


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = printed.lines(text)
    is_short = any(FAST.fullmatch(row) for row in rows)
    for row in rows:
        if match := METER.fullmatch(row):
            seconds = sum(int(number) * SIZES[unit] for number, unit in TERM.findall(match[1]))
            if not seconds:
                is_short = True
                continue
            rate = printed.number(match[2], printed.power(match[3]))
            yield "add.elapsed_ns", printed.ParsedNumber(value=seconds * printed.SECOND, half=printed.SECOND)
            yield "add.bytes_per_s", printed.ParsedNumber(value=rate.value, half=max(rate.half, rate.value / (seconds + 1)))
    elapsed = printed.real_time(rows)
    if elapsed:
        yield "add.elapsed_ns", elapsed
    elif is_short:
        raise ValueError("rate (the import was too short for the meter's clock of whole seconds)")


PARSER = Parser(name="slapadd", recognises=recognises, **printed.reads(_figures, EXPECTED, ends=ENDED, broken=LEFT_OUT))
