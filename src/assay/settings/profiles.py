"""Profiles of workloads: requests of several sizes by their shares, random and sequential.

title = "File server"
source = "where the pattern was published, or how it was found"
read_share = "80 %"
random_share = "100 %"
depth = 4                    # requests in flight of each worker; 1
think = "1 ms"               # from the end of a request to the next one; none
align = "512 B"              # where random requests begin; multiples of their own size
requests = [
    { bytes = "4 KiB", share = "60 %" },
    { bytes = "64 KiB", share = "40 %" },
]
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay import units
from assay.errors import InputErrors, Mistake
from assay.toml_document import Document, known, load, required_quantity, required_text
from assay.toml_document import Path as Where
from assay.units import Unit

SHIPPED = Path(__file__).parent.parent / "profiles"
"""Directory of the shipped profiles, one file each; the file's stem is the name."""
SUFFIX = ".toml"
"""A name with this suffix is the path of a profile; any other is the name of a shipped profile."""
SECTOR = 512
MOST_BYTES = 1 << 30
MOST_REQUESTS = 64
MOST_DEPTH = 4096
"""Limits of the engine."""
WHOLE = 1_000_000
"""Number of parts of all requests; one part is 0.0001 %, the precision of a share."""

KEYS = ("title", "source", "read_share", "random_share", "depth", "think", "align", "requests")


@dataclass(frozen=True, kw_only=True)
class SizedRequest:
    """Requests of one size; `weight` of `WHOLE` requests have it."""

    bytes: int
    weight: int


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A mix of requests, and the source of its numbers."""

    title: str
    source: str
    read_share: float
    random_share: float
    requests: tuple[SizedRequest, ...]
    depth: int = 1
    think_ns: int = 0
    align: int | None = None

    @property
    def summary(self) -> str:
        """The profile in one line."""
        sizes = sorted({request.bytes for request in self.requests})
        span = " to ".join(dict.fromkeys(units.format(size, Unit.BYTES) for size in (sizes[0], sizes[-1])))
        reads, random = (units.format(share, Unit.SHARE) for share in (self.read_share, self.random_share))
        return f"{self.title}: {reads} reads, {random} at random, {span}."

    @property
    def largest(self) -> int:
        """Bytes of the largest request."""
        return max(request.bytes for request in self.requests)

    @property
    def mean_bytes(self) -> float:
        """Bytes of a request on average."""
        return sum(request.bytes * request.weight for request in self.requests) / WHOLE

    @property
    def setting(self) -> Mapping[str, object]:
        """Engine settings of the requests."""
        return {
            "operation": "request_mix",
            "requests": tuple({"bytes": request.bytes, "weight": request.weight} for request in self.requests),
            "read_share": self.read_share,
            "random_share": self.random_share,
            "align": self.align,
        }

    @property
    def canonical(self) -> str:
        """Everything that decides the load, as JSON with sorted keys; title and source do not."""
        content = {
            "align": self.align,
            "depth": self.depth,
            "random_share": self.random_share,
            "read_share": self.read_share,
            "requests": [[request.bytes, request.weight] for request in self.requests],
            "think_ns": self.think_ns,
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @property
    def identity(self) -> str:
        """The digest (SHA-256) of the canonical text, and the text."""
        return f"sha256 {hashlib.sha256(self.canonical.encode()).hexdigest()}: {self.canonical}"


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob(f"*{SUFFIX}")))


def read(name: str) -> Profile:
    """Read the shipped profile of this name, or the file at a path that ends in `.toml` (relative to the current directory).

    Raises InputErrors with every mistake in it, or if it cannot be read.
    """
    is_path = name.endswith(SUFFIX)
    if not is_path and name not in shipped():
        raise _none(name, "no profile of that name")
    path = Path(name) if is_path else SHIPPED / f"{name}{SUFFIX}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _none(name, f"no profile there ({getattr(error, 'strerror', None) or 'it is not UTF-8'})") from error
    return parse(text, name)


def _none(name: str, found: str) -> InputErrors:
    expected = f"one of {', '.join(shipped())}, or the path of a file that ends in {SUFFIX}"
    return InputErrors([Mistake(file=name, line=None, column=None, found=found, expected=expected)])


def parse(text: str, file: str) -> Profile:
    """Parse a profile; `file` is the name in mistakes. Raises InputErrors with every mistake in it."""
    sheet = load(text, file)
    values = sheet.values
    known(sheet, (), values, KEYS)
    title, source = (required_text(sheet, (key,), values.get(key)) for key in ("title", "source"))
    read_share, random_share = (_share(sheet, (key,), values.get(key)) for key in ("read_share", "random_share"))
    think = required_quantity(sheet, ("think",), values["think"], Unit.NANOSECONDS) if "think" in values else 0
    align = _sectors(sheet, ("align",), values["align"]) if "align" in values else None
    depth = _depth(sheet, values.get("depth", 1))
    if depth > 1 and think:
        sheet.wrong(("think",), f"think with depth {depth}", "one of them: a think time needs one request in flight")
    requests = _requests(sheet, values.get("requests"))
    sheet.refuse_if_wrong()
    return Profile(
        title=title,
        source=source,
        read_share=read_share,
        random_share=random_share,
        requests=requests,
        depth=depth,
        think_ns=int(think or 0),
        align=align,
    )


def _share(sheet: Document, at: Where, value: object) -> float:
    share = required_quantity(sheet, at, value, Unit.SHARE)
    if share is not None and share > 1:
        sheet.wrong(at, units.format(share, Unit.SHARE), "at most 100 %")
    return float(share or 0)


def _sectors(sheet: Document, at: Where, value: object) -> int:
    """Return bytes in whole sectors; 0 after a mistake."""
    size = required_quantity(sheet, at, value, Unit.BYTES)
    if size is not None and (size % SECTOR or not 0 < size <= MOST_BYTES):
        sheet.wrong(at, units.format(size, Unit.BYTES), f"a multiple of {SECTOR} B, at most 1 GiB")
        return 0
    return int(size or 0)


def _depth(sheet: Document, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_DEPTH:
        return value
    sheet.wrong(("depth",), repr(value), f"depth = a whole number from 1 to {MOST_DEPTH}")
    return 1


def _requests(sheet: Document, rows: object) -> tuple[SizedRequest, ...]:
    """Return the rows of the table; note the mistakes in and between them."""
    at: Where = ("requests",)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        sheet.wrong(at, "no requests" if rows is None else repr(rows), 'rows such as { bytes = "4 KiB", share = "100 %" }')
        return ()
    if len(rows) > MOST_REQUESTS:
        sheet.wrong(at, f"{len(rows)} rows", f"at most {MOST_REQUESTS}")
    before = len(sheet.mistakes)
    requests = tuple(_request(sheet, (*at, number), row) for number, row in enumerate(rows))
    for number, request in enumerate(requests):
        if request.bytes and any(request.bytes == other.bytes for other in requests[:number]):
            size = units.format(request.bytes, Unit.BYTES)
            sheet.wrong((*at, number, "bytes"), f"{size} a second time", "each size once")
    total = sum(request.weight for request in requests)
    if len(sheet.mistakes) == before and total != WHOLE:
        sheet.wrong(at, f"shares that add to {total * 100 / WHOLE:.6g} %", "100 %")
    return requests


def _request(sheet: Document, at: Where, row: Mapping[str, object]) -> SizedRequest:
    known(sheet, at, row, ("bytes", "share"))
    size = _sectors(sheet, (*at, "bytes"), row.get("bytes"))
    before = len(sheet.mistakes)
    weight = round(_share(sheet, (*at, "share"), row.get("share")) * WHOLE)
    if len(sheet.mistakes) == before and not weight:
        sheet.wrong((*at, "share"), repr(row.get("share")), "at least 0.0001 %")
    return SizedRequest(bytes=size, weight=weight)
