"""What makes a run beside the experiment: Assay, the file that an external command is, the content of files that knobs name."""

from __future__ import annotations

import platform
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Host, Order, Workload
from assay.errors import AssayError
from assay.records import Endpoint, FactClass, Value, WorkloadSpec

DISTRIBUTION = "assay-lab"
CHOOSES = ("argv", "env", "variables.")
"""Knobs of an external command that decide which program it is."""


def versions() -> dict[str, str]:
    """What runs the lab: Assay and Python."""
    from importlib import metadata  # not needed where nothing is run

    try:
        own = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        own = "not installed"
    return {"assay": own, "python": platform.python_version()}


def programs(host: Host, workload: Workload, spec: WorkloadSpec, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """`program.WORKLOAD` -> path and size of what an external command starts; nothing for an engine of our own.

    The path is the one that its links lead to. The directory of the trial has another name in every trial and is left out.
    """
    if workload.parse is None:
        return
    order = Order(workload=spec.name, knobs=spec.knobs, endpoints=(endpoint,), seed=0)
    for plan in workload.phases(order):
        argv, env = plan.settings[0].get("argv"), plan.settings[0].get("env")
        if isinstance(argv, Sequence) and argv:
            path = _found(host, str(argv[0]), endpoint.address, env if isinstance(env, Mapping) else {})
            yield f"program.{spec.name}", _told(host, path, endpoint.address) if path else f"{argv[0]}: not found"


def inputs(workload: Workload, spec: WorkloadSpec, levels: Mapping[str, Value]) -> Iterator[tuple[str, str, FactClass]]:
    """`KNOB.WORKLOAD`, content and class of each file that a knob names, so that another content of it shows."""
    for knob, content in workload.inputs(spec.knobs).items():
        yield f"{knob}.{spec.name}", content, fact_class(spec, levels, (knob,))


def fact_class(spec: WorkloadSpec, levels: Mapping[str, Value], knobs: tuple[str, ...] = CHOOSES) -> FactClass:
    """What a factor chooses by one of these knobs is the difference that was asked for; any other is one that counts."""
    chosen = any(path.startswith(f"{spec.name}.{knob}") for path in levels for knob in knobs)
    return FactClass.IDENTITY if chosen or "workload" in levels else FactClass.PERFORMANCE


def _found(host: Host, name: str, directory: str, env: Mapping[str, str]) -> str | None:
    """Where the command lies, as execvp looks for it from its directory; None where it is not there."""
    folders = [""] if "/" in name else (env.get("PATH") or host.run(["printenv", "PATH"]).stdout.strip()).split(":")
    paths = (posixpath.join(directory, folder, name) for folder in folders)
    return next((path for path in paths if host.run(["test", "-f", path, "-a", "-x", path], check=False).status == 0), None)


def _told(host: Host, path: str, directory: str) -> str:
    try:
        real = host.real_path(path)
        size = host.run(["stat", "-L", "-c", "%s", "--", real]).stdout.strip()
    except (AssayError, OSError) as error:
        return f"{path}: unknown: {error}"
    return f"{real.replace(host.real_path(directory), '{directory}')}, {size} bytes"
