"""A fresh server that a command of yours runs, in a network namespace; each client reaches its files by a program.

It stays in the foreground, sees mounts of its own, and all that it starts ends with it. So a recipe for a server is a script that
writes a configuration and runs the server: experiments/servers has some. The server must keep each file under its own name in
{data}, where it is compared. The data are in the experiment's scratch directory, or on the target that `on` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Setting
from assay.errors import TrialError
from assay.machine import external_commands, file_server, server_events
from assay.machine.external_commands import substitute, unknown_placeholders
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Action, Endpoint, EndpointKind, Place, Value
from assay.settings.knobs import names, texts

SERVER, RUN, VERSION, NEEDS, PORT, VARIABLES = "server", "run", "version", "needs", "port", "variables."
IN_DIRECTORY = ("/bin/sh", "-c", 'cd -- "$0" && exec "$@"')
"""Before a command: it runs in the directory in which Assay was started, as every command of an experiment does."""


def software(knobs: Mapping[str, Value]) -> FileSoftware:
    """Return the server that these knobs describe."""
    return FileSoftware(
        name=SERVER,
        tools=lambda given: (*names(given, NEEDS), *external_commands.programs(names(given, knob) for knob in (RUN, VERSION))),
        ports=ports(knobs),
        configure=lambda host, instance: None,
        program=program,
        mount=mount,
        settings=lambda host, instance: (),
        version=version,
        check=lambda host, setting: tuple(_mistakes(host, setting.knobs)),
        mounts=False,
    )


def ports(knobs: Mapping[str, Value]) -> tuple[int, ...]:
    """Return the port on which the server listens when it is ready."""
    port = knobs.get(PORT)
    return (port,) if isinstance(port, int) else ()


def _mistakes(host: Host, knobs: Mapping[str, Value]) -> Iterator[str]:
    """Yield what is wrong with the commands: unknown placeholders, a script that is not there."""
    known = values(knobs, {})
    if not names(knobs, RUN):
        yield f"found no command in {RUN}; expected the server and its arguments"
    for knob in (RUN, VERSION):
        for name in unknown_placeholders(names(knobs, knob), known):
            yield f"found {{{name}}} in {knob}; expected one of: {', '.join(sorted(known))}"
        for word in _paths(names(knobs, knob)):
            if "{" not in word and not host.exists(word):
                yield f"{word}: not found. Run Assay where it is found, or name its whole path in {knob}."


def _paths(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the program, if its path is not a whole one, and the script that it runs, if either is a path."""
    return tuple(word for number, word in enumerate(words[:2]) if "/" in word and (number or not word.startswith("/")))


def values(knobs: Mapping[str, Value], own: Mapping[str, str]) -> dict[str, str]:
    """Return what the placeholders of the commands stand for; empty texts before a server is there."""
    variables = {key: str(value) for key, value in knobs.items() if key.startswith(VARIABLES)}
    return {"instance": "", "data": "", "server.address": "", PORT: str(knobs.get(PORT, "")), **variables, **own}


def _filled(instance: FileInstance, knob: str) -> tuple[str, ...]:
    own = {"instance": instance.directory, "data": instance.data, "server.address": instance.address}
    known = values(instance.knobs, own)
    return tuple(substitute(word, known) for word in names(instance.knobs, knob))


def program(host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the command in the foreground."""
    return (*IN_DIRECTORY, host.real_path("."), *_filled(instance, RUN))


def mount(_host: Host, _instance: FileInstance, _point: str, _word: str) -> MountPlan:
    """Refuse: nothing is mounted. Raises TrialError."""
    raise TrialError("server_command: such a server is not mounted")


def version(host: Host, instance: FileInstance) -> str:
    """Return the first line that the command for it prints."""
    argv = _filled(instance, VERSION)
    done = host.run(argv, check=False) if argv else None
    lines = (done.stdout + done.stderr).split("\n") if done else []
    return next((line.strip() for line in lines if line.strip()), "not known: no command for `version`")


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return everything that is wrong, before anything is made."""
    return file_server.check(software(setting.knobs), host, setting)


def prepare(host: Host, setting: Setting) -> Place:
    """Start the server fresh. Raises UsageError with all mistakes, TrialError where it does not come up."""
    return file_server.prepare(software(setting.knobs), host, setting)


def attach(host: Host, setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return how a client reaches it, and where it keeps the files. Raises UsageError."""
    instance = file_server.instance_of(host, setting, place)
    return Endpoint(kind=EndpointKind.STORE, address=instance.address, details=file_server.reached(instance))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """End the server, its namespaces, and remove its directories."""
    file_server.teardown(software(setting.knobs), host, setting, place)


def _restart(host: Host, setting: Setting, place: Place) -> None:
    server_events.restart(host, place, SERVER, ports(setting.knobs))


SERVED = file_server.target(
    "server_command",
    software({}),
    Knob(name=RUN, kind=KnobKind.TEXTS, required=True, is_command=True, help="command that runs the server in the foreground"),
    Knob(
        name=PORT, kind=KnobKind.INTEGER, required=True, low=1, high=65535, help="TCP port on which it listens when it is ready"
    ),
    texts(NEEDS, "programs that it needs; a missing one is refused before anything is started"),
    Knob(name=VERSION, kind=KnobKind.TEXTS, default=(), is_command=True, help="command that prints the server's version"),
    Knob(name="variables.*", kind=KnobKind.TEXT, help="values for {variables.NAME}; each can be a factor"),
)
TARGET = replace(
    SERVED,
    endpoint=EndpointKind.STORE,
    check=check,
    lacks=lambda host, knobs: file_server.lacks(software(knobs), host, knobs),
    prepare=prepare,
    attach=attach,
    teardown=teardown,
    events={**SERVED.events, Action.KILL: replace(SERVED.events[Action.KILL], back=_restart)},
)
