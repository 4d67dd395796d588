"""The lines of `[hosts]` grow to one record for each machine."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.experiment import addresses as address_texts
from assay.experiment.addresses import MOST_HOSTS
from assay.experiment.knobs import flat
from assay.experiment.named_hosts import LOCAL
from assay.experiment.other_tools import HOSTS, counterpart
from assay.experiment.parts import RESERVED
from assay.experiment.shape import HostShape
from assay.records import ADDRESS, HostSpec, Value
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import Refusal, counted

VIAS = ("ssh", "exec", "dask", "snmp", "local")
CLUSTERS = ("local", "ssh", "slurm", "pbs", "lsf", "kubernetes", "gateway")
SECRETS = ("community_file", "credentials_file")
"""The file with the community of SNMP 2c, or with a user of SNMP 3."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "ssh": ("via", "address", "addresses", "control", "load", "engine"),
    "exec": ("via", "command", "address", "addresses", "load", "engine"),
    "dask": ("via", "cluster", "scheduler", "count", "addresses", "load", "engine"),
    "snmp": ("via", "address", *SECRETS),
    "local": ("via", "load", "engine"),
}
"""Which keys a line may have, by how the hosts are reached; with dask all other keys are the cluster's."""
OPTIONS = ("host",)
"""Options of a cluster that other inventories have as keys of a host."""
_NAME = re.compile(r"\w[\w+-]*(\.\w[\w+-]*)*")
_SCHEDULER = re.compile(r"tls://(?:[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_OPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029'\"`\\]|\$\(")
"""What ends a word or runs something where a text gets into a job script."""


def hosts(document: Document, shapes: Mapping[str, HostShape]) -> tuple[HostSpec, ...]:
    """Return the machines that take part; `local` is always the first."""
    specs = {LOCAL: HostSpec(name=LOCAL)}
    for name, shape in shapes.items():
        at = ("hosts", name)
        _check_name(document, at, name)
        for spec in _line(document, at, name, shape):
            if spec.name in specs and spec.name != LOCAL:
                found = f"host {spec.name!r} twice: also a host of the group {spec.group or specs[spec.name].group}"
                document.wrong(at, found, "another name for one of them", Point.KEY)
            specs[spec.name] = spec
        if len(specs) > MOST_HOSTS:
            document.wrong(at, f"{len(specs):,} hosts", f"at most {MOST_HOSTS:,}", Point.KEY)
            break
    return tuple(specs.values())


def _check_name(document: Document, at: Path, name: str) -> None:
    """Names of hosts get into evidence, paths and commands of other machines."""
    if not _NAME.fullmatch(name) or "observe" in name.split("."):
        wanted = "a name of letters, digits and _ + - with single dots between, and no part `observe`"
        document.wrong(at, f"the name {shown(name)} of a host", wanted, Point.KEY)
    elif name in RESERVED:
        document.wrong(at, f"the reserved name {name!r}", "another name", Point.KEY)


def _line(document: Document, at: Path, name: str, shape: HostShape) -> tuple[HostSpec, ...]:
    """Return the hosts of one line; where the line is wrong, something that carries the name."""
    via = shape.via or (LOCAL if name == LOCAL else "ssh")
    if via not in VIAS:
        document.wrong((*at, "via"), shown(via), one_of(VIAS, via))
        return (HostSpec(name=name, load=True, engine=True),)
    if name == LOCAL and via != LOCAL:
        document.wrong((*at, "via"), f"host 'local' by {via}", 'via = "local", or another name')
        return (HostSpec(name=LOCAL),)
    options = _further_keys(document, at, shape, via)
    load = via == "dask" if shape.load is None else shape.load
    engine = load or via == "dask" if shape.engine is None else shape.engine
    if load and not engine:
        at_key = (*at, "engine")
        document.wrong(at_key, "engine = false for a host with load", "engine = true: load comes from the engine")
    one = HostSpec(name=name, via=via, load=load, engine=engine)
    if via == "dask":
        return _by_dask(document, at, shape, replace(one, options=options))
    if via == "snmp":
        return (_by_snmp(document, at, shape, one),)
    if via == "exec":
        return _by_exec(document, at, shape, one)
    return _by_ssh(document, at, shape, one) if via == "ssh" else (one,)


def _further_keys(document: Document, at: Path, shape: HostShape, via: str) -> Mapping[str, Value]:
    """Note keys that a host reached this way has not; with dask the unknown ones are options of the cluster."""
    known = KEYS[via]
    own = {key for key in HostShape.model_fields if getattr(shape, key) is not None}
    for key in sorted(own - {*known}):
        document.wrong((*at, key), f"{key!r} for a host reached by {via}", f"none: {_other_ways(key)}", Point.KEY)
    options: dict[str, Value] = {}
    for key, path, raw in flat(shape.model_extra or {}, at):
        hint = None if via == "dask" and key in OPTIONS else counterpart(key.lower(), known, HOSTS)
        if via != "dask" or hint or _misspelt(key, known):
            document.wrong(path, f"unknown key {key!r}", hint or one_of(known, key), Point.KEY)
        elif isinstance(value := _option(key, raw), Refusal):
            document.wrong(path, value.found, value.expected)
        else:
            options[key] = value
    return options


def _misspelt(key: str, known: Sequence[str]) -> bool:
    """Whether a key is one of ours but for a slip; `account` is none of `count`."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
    return bool(near) or any(sorted(key) == sorted(one) for one in known)


def _other_ways(key: str) -> str:
    """Return how hosts are reached that have this key."""
    return " or ".join(f'via = "{via}" has it' for via, keys in KEYS.items() if key in keys)


def _option(key: str, raw: object) -> Value | Refusal:
    """Return an option of a cluster; texts that a shell would read in another way are refused."""
    listed = raw if isinstance(raw, list) else [raw]
    items = [item for item in listed if isinstance(item, str | int | float | bool)]
    if not _OPTION.fullmatch(key) or len(items) < len(listed):
        return Refusal(found=f"{shown(raw)} for {shown(key)}", expected="a text, a number, true, false, or a list of them")
    if any(isinstance(item, str) and _UNSAFE.search(item) for item in items):
        wanted = "a text without quotes, backslashes, `, $( and control characters"
        return Refusal(found=f"{shown(raw)} for {key!r}", expected=wanted)
    return tuple(items) if isinstance(raw, list) else items[0]


def _by_ssh(document: Document, at: Path, shape: HostShape, one: HostSpec) -> tuple[HostSpec, ...]:
    """Return the host of an address, or the group of a list of them."""
    if (shape.address is None) == (shape.addresses is None):
        found = f"no 'address' for host {one.name!r}" if shape.address is None else "both 'address' and 'addresses'"
        document.wrong(at, found, 'a line address = "..." (as ssh takes it), or addresses = [...] for a group', Point.KEY)
        return (one,)
    if shape.address is not None:
        refusal = address_texts.refusal(shape.address)
        if refusal is not None:
            document.wrong((*at, "address"), refusal.found, refusal.expected)
        (control, *_) = (*_controls(document, at, shape, 1), None)
        return (replace(one, address=shape.address, control=control),)
    addresses = _addresses(document, (*at, "addresses"), shape.addresses or [])
    controls = _controls(document, at, shape, len(addresses)) or (None,) * len(addresses)
    return tuple(
        replace(one, name=f"{one.name}.{index}", group=one.name, address=address, control=control)
        for index, (address, control) in enumerate(zip(addresses or (None,), controls or (None,), strict=True), 1)
    )


def _by_exec(document: Document, at: Path, shape: HostShape, one: HostSpec) -> tuple[HostSpec, ...]:
    """Return the host behind a command, or a group: one for each address, which takes the place of `{address}`."""
    words = tuple(shape.command or ())
    bad = next((word for word in words if not word or _CONTROL.search(word)), None)
    has_address = shape.address is not None or shape.addresses is not None
    if not words:
        wanted = 'a line command = ["kubectl", "exec", "-i", "POD", "--"]'
        document.wrong(at, f"no 'command' for host {one.name!r}", wanted, Point.KEY)
    elif bad is not None:
        document.wrong((*at, "command"), f"the word {shown(bad)}", "words without control characters")
    elif has_address != any(ADDRESS in word for word in words):
        found = f"{'no ' if has_address else ''}{ADDRESS} in 'command' {'beside' if has_address else 'without'} an address"
        document.wrong((*at, "command"), found, f"{ADDRESS} where the address belongs, and a line address or addresses")
    if shape.address is not None and shape.addresses is not None:
        document.wrong(at, "both 'address' and 'addresses'", "one of them", Point.KEY)
    one = replace(one, options={"command": words}, address=shape.address)
    if shape.addresses is None:
        return (one,)
    addresses = _addresses(document, (*at, "addresses"), shape.addresses)
    grown = (replace(one, name=f"{one.name}.{index}", group=one.name, address=text) for index, text in enumerate(addresses, 1))
    return tuple(grown) or (one,)


def _by_snmp(document: Document, at: Path, shape: HostShape, one: HostSpec) -> HostSpec:
    """Return the device of an address, with the file of its secret."""
    if shape.address is None:
        document.wrong(at, f"no 'address' for host {one.name!r}", 'a line address = "HOST" or "HOST:PORT"', Point.KEY)
    elif address_texts.refusal(shape.address) is not None or "@" in shape.address:
        document.wrong((*at, "address"), f"address {shown(shape.address)}", "HOST or HOST:PORT of an SNMP agent")
    given = {key: getattr(shape, key) for key in SECRETS if getattr(shape, key) is not None}
    if len(given) != 1 or not all(given.values()):
        found = f"{'both' if len(given) > 1 else 'none'} of {' and '.join(map(repr, SECRETS))}"
        document.wrong(at, found, "the file of a community (SNMP 2c), or of a user (SNMP 3)", Point.KEY)
    return replace(one, address=shape.address, load=False, engine=False, options=given)


def with_ports(specs: tuple[HostSpec, ...], limits: Mapping[str, str]) -> tuple[HostSpec, ...]:
    """Return the hosts, devices by SNMP with the ports that `[limits]` names on them."""

    def ports(spec: HostSpec) -> tuple[str, ...]:
        return tuple(name.removeprefix(f"{spec.name}.") for name in limits if name.startswith(f"{spec.name}."))

    return tuple(replace(one, options={**one.options, "ports": ports(one)}) if one.via == "snmp" else one for one in specs)


def _controls(document: Document, at: Path, shape: HostShape, number: int) -> tuple[str, ...]:
    """Return the addresses for our own connections: none, or one a host."""
    raw, here = shape.control, (*at, "control")
    if raw is None or not number:
        return ()
    written = raw if isinstance(raw, list) else [raw]
    if not all(isinstance(item, str) for item in written):
        document.wrong(here, shown(raw), "an address, for a group as many as it has hosts")
        return ()
    controls = _addresses(document, here, written)
    if controls and len(controls) != number:
        found = f"{len(controls)} in {'control'!r} for {counted(number, 'host')}"
        document.wrong(here, found, "one address for each host")
        return ()
    return controls


def _by_dask(document: Document, at: Path, shape: HostShape, one: HostSpec) -> tuple[HostSpec, ...]:
    """Return the workers of a cluster or of a scheduler that runs already."""
    if (shape.cluster is None) == (shape.scheduler is None):
        found = f"{'no' if shape.cluster is None else 'both'} 'cluster' {'or' if shape.cluster is None else 'and'} 'scheduler'"
        document.wrong(at, found, f'cluster = {one_of(CLUSTERS)}; or scheduler = "tls://HOST:PORT"', Point.KEY)
    elif shape.cluster is not None and shape.cluster not in CLUSTERS:
        document.wrong((*at, "cluster"), shown(shape.cluster), one_of(CLUSTERS, shape.cluster))
    elif shape.scheduler is not None and not _SCHEDULER.fullmatch(shape.scheduler):
        document.wrong((*at, "scheduler"), shown(shape.scheduler), '"tls://HOST:PORT"')
    addresses: tuple[str, ...] = ()
    if shape.cluster == "ssh":
        addresses = _addresses(document, (*at, "addresses"), shape.addresses or [])
    elif shape.addresses is not None:
        document.wrong((*at, "addresses"), "'addresses' of dask", 'none: cluster = "ssh" has them', Point.KEY)
    number = _count(document, at, shape, addresses)
    known = replace(one, cluster=shape.cluster, scheduler=shape.scheduler, group=one.name)
    named = itertools.zip_longest(range(1, number + 1), addresses[:number])
    return tuple(replace(known, name=f"{one.name}.{index}", address=address) for index, address in named)


def _count(document: Document, at: Path, shape: HostShape, addresses: Sequence[str]) -> int:
    """Return how many workers are asked for: with addresses one each."""
    count = len(addresses) if shape.count is None and shape.cluster == "ssh" else shape.count
    if shape.cluster == "ssh" and addresses and count != len(addresses):
        found = f"count = {count} beside {len(addresses)} in 'addresses'"
        document.wrong((*at, "count"), found, "no count: one worker for each address")
    elif count is None:
        document.wrong(at, "no 'count' of workers", "a line count = ..., a whole number from 1", Point.KEY)
    elif shape.cluster != "ssh" and not 1 <= count <= MOST_HOSTS:
        document.wrong((*at, "count"), f"count = {count:,}", f"a whole number from 1 to {MOST_HOSTS:,}")
    else:
        return max(1, count)
    return max(1, len(addresses))


def _addresses(document: Document, at: Path, texts: Sequence[str]) -> tuple[str, ...]:
    """Return all addresses of a group, ranges expanded, in order."""
    if not texts:
        document.wrong(at, "no addresses", 'a list of addresses such as ["ws[01-30]", "extra"]')
    found: list[str] = []
    for index, text in enumerate(texts):
        here = (*at, index) if (*at, index) in document.places else at
        grown = address_texts.expanded(text)
        if isinstance(grown, Refusal):
            document.wrong(here, grown.found, grown.expected)
            continue
        known = set(found)
        twice = next((one for one in grown if one in known), None)
        if twice is not None:
            document.wrong(here, f"address {twice!r} twice", "each host once in a group")
        found += [one for one in grown if one not in known]
    return tuple(found)
