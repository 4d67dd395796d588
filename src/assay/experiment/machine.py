"""`[machine]` of an experiment file: settings of the machines themselves, as constants or as factors `machine.KNOB`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import MACHINE as KNOBS
from assay.experiment import named_hosts
from assay.experiment.factors import variants
from assay.experiment.knobs import declared, settings
from assay.experiment.parts import PartSpec, Varied
from assay.experiment.shape import FileShape
from assay.records import MACHINE, Factor, HostSpec, MachineSpec
from assay.toml_document import Document, Point, shown

EXCLUSIVE = (
    ("dirty_bytes", "sysctl.vm.dirty_bytes"),
    ("dirty_bytes", "sysctl.vm.dirty_ratio"),
    ("sysctl.vm.dirty_bytes", "sysctl.vm.dirty_ratio"),
    ("dirty_background_bytes", "sysctl.vm.dirty_background_bytes"),
    ("dirty_background_bytes", "sysctl.vm.dirty_background_ratio"),
    ("sysctl.vm.dirty_background_bytes", "sysctl.vm.dirty_background_ratio"),
    ("swappiness", "sysctl.vm.swappiness"),
)
"""Pairs that set one thing: the second would undo the first (Documentation/admin-guide/sysctl/vm.rst)."""


def machine(document: Document, shape: FileShape, known: Sequence[HostSpec], varied: Varied) -> PartSpec | None:
    """Return the settings of the machines, after all that is wrong with the keys was noted.

    None where a target, a workload or a path has that name: factors are about it then.
    """
    at = (MACHINE,)
    if any(MACHINE in names for names in (shape.targets, shape.workloads, shape.paths)):
        if shape.machine:
            document.wrong(at, f"[{MACHINE}] beside a part of that name", "another name for the part", Point.KEY)
        return None
    table = {key: value for key, value in shape.machine.items() if key != "hosts"}
    knobs = declared(KNOBS)
    chosen = settings(document, at, knobs, table, varied(MACHINE))
    spec = MachineSpec(knobs=chosen.values, hosts=_hosts(document, shape.machine, known))
    return PartSpec(name=MACHINE, at=at, knobs=knobs, settings=chosen, spec=spec, plug=None)


def machine_fits(document: Document, part: PartSpec | None, factors: tuple[Factor, ...]) -> None:
    """Note settings that undo each other."""
    if part is None:
        return
    varied = {factor.path.removeprefix(f"{MACHINE}.") for factor in factors if factor.path.startswith(f"{MACHINE}.")}
    given = varied | {name for name, value in part.settings.values.items() if value is not None}
    for one, other in EXCLUSIVE:
        if one in given and other in given:
            written = [at for name in (other, one) for at in _places(name) if at in document.places]
            document.wrong(written[0] if written else part.at, f"{one} and {other}", "one of them: both set the same", Point.KEY)


def used(part: PartSpec | None, factors: tuple[Factor, ...]) -> MachineSpec | None:
    """Return the settings; None where neither the file nor a factor sets one."""
    if part is None or not isinstance(part.spec, MachineSpec):
        return None
    sets = any(value is not None for knobs in variants(part, factors) for value in knobs.values())
    return part.spec if sets else None


def _places(name: str) -> list[tuple[str, ...]]:
    return [("factors", f"{MACHINE}.{name}"), (MACHINE, *name.split(".")), (MACHINE, "sysctl", name.removeprefix("sysctl."))]


def _hosts(document: Document, table: Mapping[str, object], known: Sequence[HostSpec]) -> tuple[str, ...]:
    listed = table.get("hosts", [])
    if not isinstance(listed, list):
        document.wrong((MACHINE, "hosts"), shown(listed), 'a list of hosts, such as ["server"]')
        return ()
    found: list[str] = []
    for index, name in enumerate(listed):
        at = (MACHINE, "hosts", index)
        found += named_hosts.acting(document, at, named_hosts.several(document, at, name, known), known)
    return tuple(dict.fromkeys(found))
