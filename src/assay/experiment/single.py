"""One engine, once: an experiment of one workload on one target, from the words of a command line and a look at the path.

Pure. Which target it is follows from what is at the path: a directory is used through a marked one of its own, a file of others
is only read, a name that is free becomes a file of ours, and what the workload only reads is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay import catalogue, units
from assay.catalogue import PLACEMENT, TIMING, Knob, KnobKind, Order, Workload, resolved
from assay.errors import UsageError
from assay.experiment import knobs
from assay.experiment.digest import digest
from assay.experiment.knobs import Settled, declared
from assay.experiment.plan import trial_seed
from assay.experiment.servers import OF_DIRECTORIES, beyond_server
from assay.machine.files import DEVICE, DIRECTORY, FILE, NOTHING, PathState
from assay.machine.ownership import Ownership
from assay.records import (
    Claim,
    Direction,
    Durability,
    Endpoint,
    EndpointKind,
    Experiment,
    Factor,
    Measure,
    Plan,
    TargetSpec,
    Tier,
    Trial,
    Value,
    WorkloadSpec,
)
from assay.toml_document import Document, one_of
from assay.units import Unit

THREADS = "thread_states"
"""The observer that says where the time of a load went."""
MOST_CLIENTS = 1024
PATH = Knob(name="path", kind=KnobKind.PATH, help="a directory, an existing file to read, or a file to make", required=True)
CLIENTS = Knob(name="clients", kind=KnobKind.INTEGER, help="processes", default=1, unit=Unit.COUNT, low=1, high=MOST_CLIENTS)
OF_OTHERS, TREE = "file", "tree"
"""Knobs for a file and a tree of others: `path` says it here."""
MAKES_TREE = "files"
"""The knob of a tree that is laid out first."""
OF_NETWORK = "net"
"""An engine with two ends: without a lab both are on this machine, over the loopback."""
SERVER = "ldap_existing"
"""Where the engine for directories works: the keys of this target say on which server."""
WITHOUT_PATH = ("null", OF_NETWORK)
NO_STORAGE = "/proc"
"""A directory below which there is no device: where those are that need no path."""
EXTERNAL = (None, "command")
"""Not engines of ours: what they do is for themselves to say."""
AS_IS = ("null", "metadata", OF_NETWORK, OF_DIRECTORIES)
"""Engines that move no data of their own to storage: no layer below could confirm a tier."""


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    """A kind of load and the words that came with it, with the mistakes found so far."""

    kind: str
    plug: Workload
    settled: Settled
    document: Document
    keep: bool = False
    claim: Claim | None = None

    @property
    def path(self) -> str | None:
        """Where it is to be done; None where that was not said, or needs not be."""
        found = self.settled.values.get(PATH.name)
        return str(found) if found is not None else None

    @property
    def clients(self) -> int:
        """How many processes."""
        found = self.settled.values.get(CLIENTS.name, 1)
        return found if isinstance(found, int) else 1


@dataclass(frozen=True, kw_only=True)
class _Way:
    """On which target it is done, and with which further knobs."""

    target: TargetSpec
    knobs: Mapping[str, Value] = field(default_factory=dict)


def kinds() -> tuple[str, ...]:
    """Return the workloads that have an engine: an external command needs none of this."""
    return tuple(name for name in catalogue.names("workloads") if _is_alone(catalogue.find("workloads", name)))


def _is_alone(plug: Workload) -> bool:
    """Whether it can be done once: on a path, over the loopback, or on a server that runs already."""
    return plug.engine not in EXTERNAL


def plug_of(kind: str) -> Workload:
    """Return the workload of this kind, imported alone. Raises UsageError naming the kinds that there are."""
    found = catalogue.find("workloads", kind) if kind in catalogue.names("workloads") else None
    if found is None or not _is_alone(found):
        raise UsageError(f"found load {kind!r}; expected {one_of(kinds(), kind)}")
    return found


def keys(plug: Workload) -> dict[str, Knob]:
    """Return every key that this kind takes: its knobs, where it is done, how many do it, and short forms."""
    every = declared((*plug.knobs, *PLACEMENT, *TIMING))
    own = {name: knob for name, knob in every.items() if name not in (OF_OTHERS, TREE)}
    return (
        _where(plug) | own | {CLIENTS.name: CLIENTS} | {short: replace(knob, name=short) for short, knob in _short(own).items()}
    )


def _where(plug: Workload) -> dict[str, Knob]:
    """Return the keys that say where it is done."""
    if plug.engine == OF_DIRECTORIES:
        return declared(catalogue.find("targets", SERVER).knobs)
    if plug.engine in WITHOUT_PATH:
        return {}
    return {PATH.name: PATH if EndpointKind.FILE in plug.accepts else replace(PATH, help="an existing directory")}


def _short(own: Mapping[str, Knob]) -> dict[str, Knob]:
    """`operation` for a list of one, `ops` for what is counted otherwise."""
    found = {}
    if "operations" in own and "operation" not in own:
        many = own["operations"]
        found["operation"] = replace(many, kind=KnobKind.CHOICE, help="short for operations with one of them", default=None)
    if "count" in own and "ops" not in own:
        found["ops"] = replace(own["count"], help="short for count", default=None)
    return found


def load_request(kind: str, given: Sequence[str]) -> LoadRequest:
    """Understand the words. Raises UsageError for a strange kind; what else is wrong is in the document."""
    plug = plug_of(kind)
    known = keys(plug)
    document = Document(file=f"load {kind}", values={}, places={})
    settled = knobs.settle(document, given, known)
    knobs.needed(document, settled, known)
    values = dict(settled.values)
    for short, many in (("operation", "operations"), ("ops", "count")):
        if short not in settled.given or short in declared(plug.knobs):
            continue
        if many in settled.given:
            document.wrong((), f"{short!r} with {many!r}", "one of them")
        elif short in values:
            value = values.pop(short)
            values[many] = (value,) if short == "operation" else value
    return LoadRequest(kind=kind, plug=plug, settled=replace(settled, values=values), document=document)


def experiment(what: LoadRequest, found: PathState | None) -> Experiment:
    """The experiment, where nothing is wrong. Raises InputErrors with every mistake of the words and of what is at the path."""
    document, plug = what.document, what.plug
    elsewhere = (*_where(plug), CLIENTS.name)
    own = {name: value for name, value in what.settled.values.items() if name not in elsewhere}
    defaults = {name: knob.default for name, knob in declared((*plug.knobs, *PLACEMENT, *TIMING)).items()}
    knobs = defaults | own
    way = _way(what, found, knobs)
    knobs |= dict(way.knobs)
    for text in plug.check({**knobs, CLIENTS.name: what.clients}) if not document.mistakes else ():
        seen, _, wanted = text.removeprefix("found ").partition("; expected ")
        document.wrong((), seen, wanted or "keys that fit each other")
    document.refuse_if_wrong()
    made = Experiment(
        title=f"load {what.kind}",
        question="",
        targets=(way.target,),
        workloads=(WorkloadSpec(name=what.kind, kind=what.kind, knobs=knobs),),
        factors=(Factor(path=CLIENTS.name, levels=(what.clients,)),),
        measures=_measures(what, knobs),
        repeats=1,
        observers=(catalogue.USUAL, THREADS),
    )
    return replace(made, digest=digest(made))


def plan(made: Experiment) -> Plan:
    """Return one trial, once."""
    levels = {factor.path: factor.levels[0] for factor in made.factors}
    seed = trial_seed(made.seed, 0)
    trial = Trial(id=1, experiment=made.digest, levels=levels, replicate=0, block=0, sitting=0, position=0, seed=seed)
    return Plan(experiment=made.digest, seed=made.seed, trials=(trial,), blocks=1, drawn_blocks=1, sittings=(None,))


def _way(what: LoadRequest, found: PathState | None, knobs: Mapping[str, Value]) -> _Way:
    """Return the target that fits what is at the path; mistakes are noted."""
    if what.keep and (found is None or found.kind == DIRECTORY or EndpointKind.FILE not in what.plug.accepts):
        what.document.wrong((), "--keep", "none: only a file that is made under the name of 'path' can be kept")
    if found is None:
        quiet = {} if "quiesce" in what.settled.given else {"quiesce": 0}  # what touches no storage need not wait for it
        return _Way(target=_server(what, knobs) if what.plug.engine == OF_DIRECTORIES else _without_path(what.plug), knobs=quiet)
    _no_room_for_direct(what, found, knobs)
    existing = TargetSpec(name=_name(found), kind="existing", knobs={"path": found.path})
    if found.kind == DIRECTORY and TREE in declared(what.plug.knobs) and MAKES_TREE not in what.settled.given:
        return _Way(target=existing, knobs={TREE: found.path})
    if found.kind == DIRECTORY:
        kind = "existing" if what.plug.only_reads(knobs) else "directory"
        return _Way(target=replace(existing, kind=kind))
    if what.plug.only_reads(knobs):
        if found.kind not in (FILE, DEVICE):
            what.document.wrong(
                (), f"{found.kind} at {found.path}", "a directory, a file or a device that exists: it is only read"
            )
        return _Way(target=existing)
    if EndpointKind.FILE not in what.plug.accepts:
        what.document.wrong((), f"{found.kind} at {found.path}", f"an existing directory: {what.kind} works in one")
        return _Way(target=existing)
    return _to_a_file(what, found, knobs, existing)


def _server(what: LoadRequest, knobs: Mapping[str, Value]) -> TargetSpec:
    """Return the target of a directory server; what it cannot do is noted."""
    known = catalogue.find("targets", SERVER).knobs
    values = resolved(known, {name: value for name, value in what.settled.values.items() if name in declared(known)})
    for seen, wanted in () if what.document.mistakes else beyond_server(what.plug, knobs, values):
        what.document.wrong((), seen, wanted)
    return TargetSpec(name=SERVER, kind=SERVER, knobs=values)


def _without_path(plug: Workload) -> TargetSpec:
    """Return the target of what touches no storage: both ends of a network on the loopback, or nothing at all."""
    if plug.engine == OF_NETWORK:
        return TargetSpec(name="loopback", kind="socket", knobs={})
    return TargetSpec(name="here", kind="existing", knobs={"path": NO_STORAGE})


def _to_a_file(what: LoadRequest, found: PathState, knobs: Mapping[str, Value], existing: TargetSpec) -> _Way:
    """Choose the way to a file: one of others is only read; one of ours is read if whole, else made or written."""
    own = declared(what.plug.knobs)
    writes = sorted(name for name, way in _directions(what, knobs).items() if way is not Direction.READ)
    if OF_OTHERS not in own:
        writes = writes or [what.kind]  # it makes its data itself
    size = knobs.get("size")
    fits = not isinstance(size, int) or size <= found.size
    if found.kind == NOTHING and not found.parent:
        what.document.wrong((), f"no directory for {found.path}", "an existing directory: create it, or correct 'path'")
    elif found.kind not in (NOTHING, FILE, DEVICE):
        what.document.wrong((), f"a {found.kind} at {found.path}", "a directory, a file, or a name that is free")
    elif found.ownership is Ownership.IN_USE:
        what.document.wrong((), f"{found.path}, on which another lab is at work", "another name, or to wait until it has ended")
    elif found.kind == DEVICE or (found.kind == FILE and found.ownership is Ownership.OTHERS):
        _only_read(what, found, writes)
        _within(what, found, knobs)
        return _Way(target=existing, knobs={OF_OTHERS: found.path})
    elif found.whole and not writes and not knobs.get("overwrite") and fits:
        _within(what, found, knobs)
        return _Way(target=existing, knobs={OF_OTHERS: found.path})
    target = TargetSpec(name=_name(found), kind="file", knobs={"path": found.path, "keep": what.keep})
    return _Way(target=target, knobs={"sharing": "one-file"} if "sharing" in own else {})


def _only_read(what: LoadRequest, found: PathState, writes: Sequence[str]) -> None:
    """Note what would write to a file of others or to a device."""
    if not writes and not what.keep:
        return
    asked_for = ", ".join(writes) if writes else "--keep"
    owner = "a device" if found.kind == DEVICE else "a file that Assay did not make"
    wanted = ["reads"] if OF_OTHERS in declared(what.plug.knobs) else []
    wanted += [] if found.kind == DEVICE and wanted else ["a name that is free, or a directory"]
    what.document.wrong((), f"{asked_for} on {found.path}, {owner}", f"{', '.join(wanted)}: it is never written")


def _within(what: LoadRequest, found: PathState, knobs: Mapping[str, Value]) -> None:
    """What is read must be in the file, and may be read at all; how large a device is, the engine asks it."""
    if not found.readable:
        what.document.wrong((), f"{found.path}, which this user may not read", "one that may be read: `sudo`, or another mode")
        return
    for name in ("size", "record_size") if found.kind == FILE else ():
        wanted = knobs.get(name)
        if isinstance(wanted, int) and wanted > found.size:
            least = units.format(found.size, Unit.BYTES)
            what.document.wrong((), f"{name} {units.format(wanted, Unit.BYTES)} on a file of {least}", f"at most {least}")


def _no_room_for_direct(what: LoadRequest, found: PathState, knobs: Mapping[str, Value]) -> None:
    """Direct I/O is in whole logical blocks of the device."""
    record = knobs.get("record_size")
    if knobs.get("direct") and isinstance(record, int) and record % found.unit:
        unit = units.format(found.unit, Unit.BYTES)
        what.document.wrong(
            (), f"record_size {units.format(record, Unit.BYTES)} with direct", f"a multiple of {unit}, the device's block"
        )


def _name(found: PathState) -> str:
    """Return what the target is called: the last part of its path."""
    return found.path.rstrip("/").rpartition("/")[2] or "root"


def _directions(what: LoadRequest, knobs: Mapping[str, Value]) -> dict[str, Direction]:
    """Operation -> which way its bytes go; nothing where the knobs are not right yet."""
    if what.settled.given & {"operation", "operations"} and "operations" not in what.settled.values:
        return {}
    kind = EndpointKind.FILE if EndpointKind.FILE in what.plug.accepts else what.plug.accepts[0]
    try:
        plans = what.plug.phases(Order(workload=what.kind, knobs=knobs, endpoints=(Endpoint(kind=kind, address="/"),), seed=0))
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return {}  # knobs that contradict each other: `check` says how
    return {name: way for one in plans if one.measured for name, way in one.directions.items()}


def _measures(what: LoadRequest, knobs: Mapping[str, Value]) -> tuple[Measure, ...]:
    """Return a measure for each operation, with what is claimed of it."""
    directions = _directions(what, knobs)
    return tuple(
        Measure(workload=what.kind, operation=name, figure=figure, claim=what.claim or claim(what.plug, directions.get(name)))
        for name, figure in what.plug.operations(knobs).items()
    )


def claim(plug: Workload, direction: Direction | None) -> Claim:
    """Return what a figure is held to be where nothing is said: reads come from the device, writes reach stable media."""
    if plug.engine in AS_IS:
        return Claim()
    if direction is Direction.READ:
        return Claim(tier=Tier.DEVICE)
    return Claim(durability=Durability.STABLE_MEDIA) if direction is Direction.WRITE else Claim()
