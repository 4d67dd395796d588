"""Any system that commands can set up: prepare, attach, detach, drop_caches, facts and teardown are argument lists.

In each argument {scratch}, {name}, {seed}, {trial}, {variables.NAME} and, after `prepare`, {path} are replaced by their values;
write a literal brace twice. The measured directory is `path`, or the last line that `prepare` prints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Mounts, Setting, Target
from assay.errors import RefusedError, TrialError, refuse
from assay.machine import files, server, server_nodes
from assay.machine.external_commands import substitute, unknown_placeholders
from assay.machine.stack import mount_of, stack
from assay.records import Endpoint, EndpointKind, Place, Value

STEPS = ("prepare", "attach", "detach", "drop_caches", "facts", "teardown")
OF_CLIENTS = {"client": "", "server.address": ""}
"""Placeholders of `attach` and `detach`, which run on a client's host."""
GROUP = "cgroup"


ALIKE = ("mount", "filesystem", "below", "mount.options", "mount.holds_back")
"""Facts of the mount that do not name a trial's own directory."""


def check(_host: Host, setting: Setting) -> tuple[str, ...]:
    """Return mistakes: unknown placeholders, an unidentified server, no directory to measure."""
    known = {**_values(setting), "path": "", **OF_CLIENTS}
    found = [
        f"found {{{name}}} in {step}; expected one of: {', '.join(sorted(known))}"
        for step in (*STEPS, *server_nodes.names(setting.knobs), GROUP)
        for name in unknown_placeholders(_argv(setting.knobs, step), known)
    ]
    found += server_nodes.mistakes(setting.knobs)
    if not setting.knobs.get("path") and not _argv(setting.knobs, "prepare"):
        found.append(
            "found neither `path` nor `prepare`; expected the directory to measure, or a command that prints it as its last line"
        )
    return tuple(found)


def prepare(host: Host, setting: Setting) -> Place:
    """Write `teardown` into the ledger, run `prepare`, and find the directory.

    Raises UsageError with all mistakes of `check`, TrialError if a command fails or leaves no directory.
    """
    refuse(check(host, setting))
    values = _values(setting)
    path = substitute(str(setting.knobs.get("path") or ""), values)
    back = _filled(setting.knobs, "teardown", {**values, "path": path, **OF_CLIENTS})
    if back:
        setting.undo.add("command", argv=json.dumps(back))
    printed = _run(host, _filled(setting.knobs, "prepare", {**values, "path": path, **OF_CLIENTS}))
    path = path or (printed.strip().splitlines() or [""])[-1].strip()
    if host.run(["test", "-d", path], check=False).status != 0:
        raise TrialError(f"{path!r} is not a directory after `prepare`. Print the directory as the last line, or set `path`.")
    known = {**values, "path": path}
    private: dict[str, Value] = {step: _argv(setting.knobs, step) for step in STEPS}
    private["teardown"] = tuple(back)
    if group := "".join(_filled(setting.knobs, GROUP, known)):
        private[GROUP] = host.real_path(group)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=path,
        devices=stack(host, path),
        filesystem=mount_of(host, path).filesystem,
        private={**private, "values": tuple((key, known[key]) for key in sorted(known))},
        server=server_nodes.declared(host, setting.knobs, lambda name: tuple(_filled(setting.knobs, name, known))),
    )


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Write `detach` into the ledger and run `attach` for one client; its last line, if any, is the client's directory.

    Both run on the client's host: {scratch} is a directory there, {client} the client's number, {server.address} the server's.
    """
    nodes = place.server.nodes if place.server else ()
    own = {"scratch": setting.scratch, "client": str(client), "server.address": next((n.address or "" for n in nodes), "")}
    values = {**_prepared(place), **own}
    back = _filled(place.private, "detach", values)
    if back:
        setting.undo.add("command", argv=json.dumps(back))
    printed = _run(host, _filled(place.private, "attach", values)).strip().splitlines()
    return Endpoint(
        kind=EndpointKind.DIRECTORY,
        address=printed[-1].strip() if printed else place.address,
        details={"detach": tuple(back)} if back else {},
    )


def detach(_host: Host, setting: Setting, endpoint: Endpoint) -> None:
    """Run `detach` through the ledger, so that it runs only once."""
    back = endpoint.details.get("detach")
    if isinstance(back, tuple):
        setting.undo.undo("command", argv=json.dumps(list(back)))


def drop_caches(host: Host, place: Place) -> None:
    """Run `drop_caches`. Raises RefusedError without one: this system cannot be made cold."""
    if not place.private["drop_caches"]:
        raise RefusedError(
            f"target {place.target} has no `drop_caches`, which cache = cold needs. Add the command, or use cache = unchanged."
        )
    _step(host, place, "drop_caches")


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the `key = value` or `key: value` lines that `facts` prints, and the mount of the directory."""
    lines = _step(host, place, "facts").splitlines()
    found = tuple((match[1], match[2]) for line in lines if (match := _PAIR.match(line)))
    found += server.facts(host, place.server)
    return (*found, *(pair for pair in files.mount_facts(host, place.address, place.devices) if pair[0] in ALIKE))


_PAIR = re.compile(r"^\s*([^=:]+?)\s*[=:]\s*(.*?)\s*$")


def teardown(_host: Host, setting: Setting, place: Place) -> None:
    """Run `teardown` through the ledger, so that it runs only once."""
    back = place.private["teardown"]
    if isinstance(back, tuple) and back:
        setting.undo.undo("command", argv=json.dumps(list(back)))


def _values(setting: Setting) -> dict[str, str]:
    trial = setting.trial
    variables = {key: str(value) for key, value in setting.knobs.items() if key.startswith("variables.")}
    where = {"scratch": setting.scratch, "name": setting.name}
    return {**where, "seed": str(trial.seed if trial else 0), "trial": str(trial.id if trial else 0), **variables}


def _argv(knobs: Mapping[str, Value], step: str) -> tuple[str, ...]:
    words = knobs.get(step)
    return tuple(str(word) for word in words) if isinstance(words, tuple) else (str(words),) if words else ()


def _filled(knobs: Mapping[str, Value], step: str, values: Mapping[str, str]) -> list[str]:
    return [substitute(word, values) for word in _argv(knobs, step)]


def _prepared(place: Place) -> dict[str, str]:
    """Return the placeholders as `prepare` left them."""
    pairs = place.private["values"]
    return {str(pair[0]): str(pair[1]) for pair in pairs if isinstance(pair, tuple)} if isinstance(pairs, tuple) else {}


def _step(host: Host, place: Place, step: str) -> str:
    return _run(host, _filled(place.private, step, {**_prepared(place), **OF_CLIENTS}))


def _run(host: Host, argv: list[str]) -> str:
    return host.run(argv).stdout if argv else ""


def _step_knob(step: str, help_text: str) -> Knob:
    return Knob(name=step, kind=KnobKind.TEXTS, default=(), help=help_text)


TARGET = Target(
    name="commands",
    knobs=(
        Knob(name="path", kind=KnobKind.TEXT, help="directory to measure; default: the last line that `prepare` prints"),
        _step_knob("prepare", "command that sets the system up, before each trial"),
        _step_knob("attach", "command that runs once per client, on its host; may print the client's directory"),
        _step_knob("detach", "command that undoes `attach`; also runs after an interruption"),
        _step_knob("drop_caches", "command that drops the system's caches"),
        _step_knob("facts", "command that prints `key = value` lines for the fingerprint"),
        _step_knob("teardown", "command that undoes `prepare`; also runs after an interruption"),
        Knob(name=GROUP, kind=KnobKind.TEXT, help="control group of the clients: its directory, or a link to it"),
        *server_nodes.KNOBS,
        Knob(name="variables.*", kind=KnobKind.TEXT, help="values for {variables.NAME}; each can be a factor"),
    ),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    prepare=prepare,
    attach=attach,
    detach=detach,
    drop_caches=drop_caches,
    facts=facts,
    teardown=teardown,
    mounts=Mounts.HOST,
    mounts_each=lambda knobs: bool(knobs.get("attach")),
)
