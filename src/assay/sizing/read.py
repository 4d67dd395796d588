"""The file of `assay size`: TOML in, a Chain out, or every mistake at once with its line and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path as FilePath

from assay.errors import UsageError
from assay.records import price
from assay.records.price import Price
from assay.sizing import directory
from assay.sizing.chain import ChainLoad, ChainPart, Layout, MeasuredLimit, PartChain, Speed, Upgrade, speed_of
from assay.sizing.sized import LEAST_DISKS
from assay.toml_document import Document, Path, Point, known, load, one_of, shown, table, text
from assay.units import EXAMPLES, Refusal, Unit, attempt

TOP = ("title", "question", "load", "part")
LOAD_KEYS = ("read", "write", "random_reads", "random_writes", "operation_size", "ldap")
LDAP = ("operations", "reads_each", "writes_each")
"""The keys of directory operations of one mean; by kind they are the kinds, and these:"""
LDAP_BY_KIND = ("io", "flush")
PART = ("name", "speed", "layout", "standby", "measured", "price", "upgrade")
UPGRADE = ("speed", "layout", "standby", "price")
MEASURED = ("read", "write", "operations", "notebook")
PERIODS: Mapping[str, int] = {"h": 3600, "hour": 3600, "d": 86_400, "day": 86_400, "week": 604_800}
"""Seconds of the periods for which an amount may be told: `40 TB/week`."""
_AMOUNT = re.compile(r"\s*(?P<amount>[^/]+?)\s*(?:/|\s+a\s+|\s+per\s+)\s*(?P<period>h|hour|d|day|week)\s*")
"""`1200 EUR`, `1,200.50 EUR`; not `1.200 EUR`, nor `1,2 EUR`, which mean one thing here and another there."""
MIRRORS = {"raid1": Layout.RAID10, "raid1+0": Layout.RAID10}
"""Other names of layouts; hyphens, spaces and case do not matter."""
BY_KIND = '{ search = "3000 /s", modify = "200 /s", io = "dsio.json" }'

Lookup = Callable[[str, str, Unit], float | Refusal]
"""(notebook, measure, unit) -> its value in this unit, or why there is none."""


def read(path: FilePath, lookup: Lookup) -> PartChain:
    """Return the chain of a file. Raises UsageError where it cannot be read, InputErrors with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        raise UsageError(f"found {path} ({why}); expected a file that describes a chain of parts") from error
    return parse(text, str(path), lookup)


def parse(text: str, file: str, lookup: Lookup) -> PartChain:
    """Return the chain of a text. Raises InputErrors with every mistake."""
    document = load(text, file)
    document.refuse_other_kinds("part")
    reader = Reader(document=document, lookup=lookup)
    chain = reader.chain()
    document.refuse_if_wrong()
    return chain


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads each table and notes what is wrong with it; what it gives is only used where nothing was wrong."""

    document: Document
    lookup: Lookup

    def chain(self) -> PartChain:
        """Return the whole file."""
        values = known(self.document, (), self.document.values, TOP)
        parts = values.get("part")
        if not isinstance(parts, list) or not parts:
            self.document.wrong(
                ("part",), shown(parts) if "part" in values else "no [[part]]", "a [[part]] for each part of the chain"
            )
            parts = []
        made = tuple(part for at, each in enumerate(parts) if (part := self._part(("part", at), each)) is not None)
        self._distinct(parts)
        self._one_currency(made)
        return PartChain(
            title=text(self.document, ("title",), values, "A chain of parts"),
            question=text(self.document, ("question",), values, ""),
            load=self._load(values.get("load")),
            parts=made,
        )

    def _load(self, value: object) -> ChainLoad:
        values = table(self.document, ("load",), value, LOAD_KEYS, "a table [load] with the load on the chain")
        tree = self._ldap(values.get("ldap")) if "ldap" in values else ChainLoad()
        reads, writes = (self._quantity(("load", key), values.get(key), Unit.PER_S) for key in ("random_reads", "random_writes"))
        each = self._quantity(("load", "operation_size"), values.get("operation_size"), Unit.BYTES)
        read_bytes, write_bytes = tree.random_read_bytes_per_s, tree.random_write_bytes_per_s
        whole = replace(
            tree,
            read_bytes_per_s=self._rate(("load", "read"), values.get("read")),
            write_bytes_per_s=self._rate(("load", "write"), values.get("write")),
            read_ops_per_s=reads + tree.read_ops_per_s,
            write_ops_per_s=writes + tree.write_ops_per_s,
            operation_bytes=each,
            random_read_bytes_per_s=None if read_bytes is None else read_bytes + reads * each,
            random_write_bytes_per_s=None if write_bytes is None else write_bytes + writes * each,
        )
        nothing = not (whole.read_bytes_per_s or whole.write_bytes_per_s or whole.read_ops_per_s or whole.write_ops_per_s)
        if nothing and self.document.clean(("load",)) and not self.document.mistakes:
            self.document.wrong(
                ("load",),
                "no load",
                'some of read = "100 MB/s", write, random_reads = "500 /s", random_writes, ldap',
                Point.KEY,
            )
        return whole

    def _ldap(self, value: object) -> ChainLoad:
        """Directory operations as the I/O that they were seen to need: one mean, or by kind from a file."""
        path = ("load", "ldap")
        if isinstance(value, dict) and value and not any(key in LDAP for key in value):
            return self._ldap_by_kind(value)
        values = table(
            self.document, path, value, LDAP, f'a table such as {{ operations = "4000 /s", reads_each = 0.5 }}, or {BY_KIND}'
        )
        rate = self._quantity((*path, "operations"), values.get("operations"), Unit.PER_S)
        return ChainLoad(
            ldap_ops_per_s=rate,
            read_ops_per_s=rate * self._number((*path, "reads_each"), values.get("reads_each", 0)),
            write_ops_per_s=rate * self._number((*path, "writes_each"), values.get("writes_each", 0)),
        )

    def _ldap_by_kind(self, value: Mapping[str, object]) -> ChainLoad:
        path: Path = ("load", "ldap")
        values = known(self.document, path, value, (*directory.KINDS, *LDAP_BY_KIND))
        kinds = [kind for kind in values if kind in directory.KINDS]
        rates = {kind: self._quantity((*path, kind), values[kind], Unit.PER_S) for kind in kinds}
        flush_ns = self._quantity((*path, "flush"), values["flush"], Unit.NANOSECONDS) if "flush" in values else None
        if not kinds:
            self.document.wrong(path, "no kind of operation", BY_KIND, Point.KEY)
        file = values.get("io")
        if not isinstance(file, str):
            self.document.wrong(
                (*path, "io") if "io" in values else path,
                shown(file) if "io" in values else "no io",
                f'io = "FILE", {directory.EXPECTED}',
            )
            return ChainLoad()
        found = directory.needs(directory.beside(FilePath(self.document.file), file))
        if isinstance(found, Refusal):
            self.document.wrong((*path, "io"), found.found, found.expected)
            return ChainLoad()
        for kind in kinds:
            if kind not in found.kinds:
                counted = ", ".join(found.kinds) or "none"
                self.document.wrong((*path, kind), f"{kind}, which {file} did not count", f"a kind that it counted: {counted}")
        return directory.load(rates, found, flush_ns)

    def _part(self, path: Path, value: object) -> ChainPart | None:
        values = table(self.document, path, value, PART, "a table with name and speed")
        name = text(self.document, (*path, "name"), values, "")
        if isinstance(value, dict) and not name and self.document.clean((*path, "name")):
            self.document.wrong(path, "a part without a name", 'name = "host port"', Point.KEY)
        carries = self._speed(path, values)
        measured = self._measured((*path, "measured"), values.get("measured"))
        price = self._price((*path, "price"), values.get("price"))
        standby = self._standby(path, values, carries)
        layout = self._layout(path, values, (carries, standby))
        upgrades = tuple(self._upgrades((*path, "upgrade"), values.get("upgrade", []), (layout, standby)))
        if carries is None:
            return None
        return ChainPart(
            name=name, speed=carries, layout=layout, standby=standby, measured=measured, price=price, upgrades=upgrades
        )

    def _upgrades(self, path: Path, value: object, now: tuple[Layout, int]) -> Iterator[Upgrade]:
        """What the part could be instead: a list, one of them, or only its speed. `now`: its layout, and how many stand by."""
        for at, each in enumerate(value if isinstance(value, list) else [value]):
            one = self._upgrade((*path, at) if isinstance(value, list) else path, each, now)
            if one is not None:
                yield one

    def _upgrade(self, path: Path, value: object, now: tuple[Layout, int]) -> Upgrade | None:
        """Return one of them; layout and standby stay as they are where nothing else is told."""
        upgrade = {"speed": value} if isinstance(value, str) else value
        if not isinstance(upgrade, dict):
            self.document.wrong(path, shown(upgrade), 'a speed, or a table such as { speed = "10GbE", price = "900 EUR" }')
            return None
        values = known(self.document, path, upgrade, UPGRADE)
        carries, price = self._speed(path, values), self._price((*path, "price"), values.get("price"))
        standby = self._standby(path, values, carries, as_it_is=now[1])
        layout = self._layout(path, values, (carries, standby), as_it_is=now[0])
        return None if carries is None else Upgrade(speed=carries, layout=layout, standby=standby, price=price)

    def _speed(self, path: Path, values: Mapping[str, object]) -> Speed | None:
        value = values.get("speed")
        if value is None:
            self.document.wrong(path, "no speed", 'speed = "2 x 2GFC", "6 x SATA 7200" or "95 MB/s"', Point.KEY)
            return None
        found = speed_of(value) if isinstance(value, str) else Refusal(found=shown(value), expected="a text")
        if isinstance(found, Refusal):
            self.document.wrong((*path, "speed"), found.found, found.expected)
            return None
        return found

    def _layout(
        self, path: Path, values: Mapping[str, object], of: tuple[Speed | None, int], as_it_is: Layout = Layout.NONE
    ) -> Layout:
        """Return how so many disks, of which some stand by, share the data; what are no disks have no layout to keep."""
        (carries, standby), place = of, (*path, "layout")
        value = values.get("layout", as_it_is.value if carries is None or carries.is_disk else Layout.NONE.value)
        plain = re.sub(r"[ -]", "", value.lower()) if isinstance(value, str) else ""
        if plain not in (*Layout, *MIRRORS):
            self.document.wrong(place, shown(value), one_of([layout.value for layout in Layout], str(value)))
            return Layout.NONE
        layout = MIRRORS.get(plain) or Layout(plain)
        least, active = LEAST_DISKS.get(layout, 1), None if carries is None else carries.count - standby
        if layout is not Layout.NONE and carries is not None and not carries.is_disk:
            self.document.wrong(place, f"{layout.value} of a part that is no disk", "a layout only for disks")
        elif active is not None and (active < least or (layout is Layout.RAID10 and active % 2)):
            even = ", an even number" if layout is Layout.RAID10 else ""
            spare = f" besides {standby} on standby" if standby else ""
            self.document.wrong(place, f"{layout.value} of {active}", f"{least} disks or more{even}{spare}, or another layout")
        return layout

    def _standby(self, path: Path, values: Mapping[str, object], carries: Speed | None, as_it_is: int = 0) -> int:
        """Return how many units only stand by; those that did before, as far as one is left that does not."""
        most = carries.count - 1 if carries is not None else None
        value = values.get("standby", as_it_is if most is None else min(as_it_is, most))
        if not isinstance(value, int) or isinstance(value, bool) or value < 0 or (most is not None and value > most):
            up_to = "on" if most is None else f"to {most}"
            self.document.wrong((*path, "standby"), shown(value), f"a whole number from 0 {up_to}: units on standby")
            return 0
        return value

    def _measured(self, path: Path, value: object) -> MeasuredLimit:
        if value is None:
            return MeasuredLimit()
        values = table(self.document, path, value, MEASURED, 'a table such as { read = "60 MB/s", write = "53 MB/s" }')
        notebook = values.get("notebook")
        if notebook is not None and not isinstance(notebook, str):
            self.document.wrong((*path, "notebook"), shown(notebook), "the directory of a notebook")
            return MeasuredLimit()
        figures = {
            key: self._figure((*path, key), values[key], notebook) for key in ("read", "write", "operations") if key in values
        }
        return MeasuredLimit(
            read_bytes_per_s=figures.get("read"),
            write_bytes_per_s=figures.get("write"),
            ops_per_s=figures.get("operations"),
            source=notebook or "the file",
        )

    def _figure(self, path: Path, value: object, notebook: str | None) -> float:
        """Return a figure as written, or the measure of this name in the notebook."""
        unit = Unit.PER_S if path[-1] == "operations" else Unit.BYTES_PER_S
        if notebook is None or not isinstance(value, str):
            return self._quantity(path, value, unit)
        found = self.lookup(notebook, value, unit)
        if isinstance(found, Refusal):
            self.document.wrong(path, found.found, found.expected)
            return 0.0
        return found

    def _price(self, path: Path, value: object) -> Price | None:
        if value is None:
            return None
        found = price.price_of(value)
        if found is None:
            self.document.wrong(path, shown(value), price.EXAMPLE)
        return found

    def _rate(self, path: Path, value: object) -> float:
        """Return bytes/s; also as an amount in a longer time: `40 TB/week`."""
        match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
        amount = attempt(match["amount"], Unit.BYTES) if match else None
        if match is not None and amount is not None and not isinstance(amount, Refusal):
            return float(Fraction(amount) / PERIODS[match["period"]])
        return self._quantity(path, value, Unit.BYTES_PER_S, also='; or in a longer time: "40 TB/week", "5 TB/day", "240 GB/h"')

    def _quantity(self, path: Path, value: object, unit: Unit, also: str = "") -> float:
        if value is None:
            return 0.0
        found = attempt(value, unit) if isinstance(value, str) else Refusal(found=shown(value), expected=EXAMPLES[unit])
        if isinstance(found, Refusal):
            self.document.wrong(path, found.found, found.expected + also)
            return 0.0
        return float(found)

    def _number(self, path: Path, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            self.document.wrong(path, shown(value), "a number, 0 or more")
            return 0.0
        return float(value)

    def _distinct(self, parts: Sequence[object]) -> None:
        names = [part.get("name") if isinstance(part, dict) else None for part in parts]
        for at, name in enumerate(names):
            if name and name in names[:at]:
                self.document.wrong(("part", at, "name"), f"two parts named {name!r}", "a name of its own for each part")

    def _one_currency(self, parts: tuple[ChainPart, ...]) -> None:
        prices = [part.price for part in parts] + [one.price for part in parts for one in part.upgrades]
        currencies = sorted({price.currency for price in prices if price is not None})
        if len(currencies) > 1:
            self.document.wrong(("part",), f"prices in {' and '.join(currencies)}", "one currency")
