"""Two network namespaces for a target with a server: its clients are in one, the server in the other, new for each trial.

Without a path they are joined by a veth pair, which is as fast as this machine. With one they are the two ends of the line.
Addresses and ports of other servers on this machine are in neither, so no server of ours is in the way of another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Undo
from assay.errors import AssayError
from assay.frozen import dataclass
from assay.machine import line
from assay.machine.net_namespaces import NETWORK, configure, file_of, keep, release, tcp_settings
from assay.records import Place, Value

KNOBS = (
    Knob(name="through", kind=KnobKind.TEXT, help="path between clients and server: NAME of a table [paths.NAME]; default: none"),
)
TOOLS = ("ip", "nsenter", "unshare", "cat")
LOAD, SERVER = "198.18.0.1", "198.18.0.2"
"""Addresses for tests of network devices (RFC 2544); the pair of namespaces is alone with them."""
ANOTHER = "198.18.1"
"""Before the number of a further client."""


@dataclass(frozen=True, kw_only=True)
class NetworkPair:
    """The two namespaces: their files, the server's address, and what a place keeps of them (Place.private)."""

    load: str
    server: str
    address: str
    private: Mapping[str, Value]


def used(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the path that these knobs name, if any."""
    return (str(knobs["through"]),) if knobs.get("through") else ()


def mistakes(host: Host, setting: Setting) -> Iterator[str]:
    """Yield what keeps this host from having them."""
    if wanted := used(setting.knobs):
        yield from line.mistakes(host, setting, wanted)
    elif host.far:
        yield f"found host {host.name}; expected this machine: clients and server are in namespaces beside the lab"
    elif not host.is_root():
        yield "a server in a network namespace of its own needs root. Run as root."


def make(host: Host, setting: Setting) -> NetworkPair:
    """Make both, joined. Raises TrialError, MissingError; then nothing of them is left."""
    if wanted := used(setting.knobs):
        ends, kept = line.through(host, setting, wanted, offload=True)
        address = ends.addresses["server"][wanted[0]]
        return NetworkPair(load=ends.namespaces["load"], server=ends.namespaces["server"], address=address, private=kept)
    pids: list[int] = []
    try:
        while len(pids) < len(("load", "server")):
            pids.append(keep(host, setting.undo))
        _join(host, *pids)
    except BaseException:
        _release(host, setting.undo, pids)
        raise
    load, server = map(file_of, pids)
    private: dict[str, Value] = {"kept": tuple(map(str, pids)), f"{NETWORK}load": load, f"{NETWORK}server": server}
    return NetworkPair(load=load, server=server, address=SERVER, private=private)


def _join(host: Host, load: int, server: int) -> None:
    """Join two namespaces by a veth pair with segmentation left on, as a network card would have it."""
    configure(host, load, f"link set lo up\nlink add load0 type veth peer name server0 netns {server}\n")
    configure(host, load, f"address add {LOAD}/30 dev load0\nlink set load0 up\n")
    configure(host, server, f"link set lo up\naddress add {SERVER}/30 dev server0\nlink set server0 up\n")


def join_another(host: Host, client: int, server: int, number: int) -> None:
    """Join one more client's namespace, by a veth pair of its own, with a server that has the usual address."""
    own = f"{ANOTHER}.{number}"
    configure(host, client, f"link set lo up\nlink add load0 type veth peer name server{number} netns {server}\n")
    configure(host, client, f"address add {own}/32 peer {SERVER} dev load0\nlink set load0 up\n")
    configure(host, server, f"address add {SERVER}/32 peer {own} dev server{number}\nlink set server{number} up\n")


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return what joins clients and server."""
    if "line" in place.private:
        return line.facts(host, place)
    settings = tcp_settings(host, str(place.private[f"{NETWORK}load"]))
    return (("link", "veth pair without a limit"), *((f"link.{name}", value) for name, value in settings))


def part(host: Host, undo: Undo, private: Mapping[str, Value]) -> None:
    """End both; whatever still lives in them must be ended before."""
    if "line" in private:
        line.finish(host, undo, int(str(private["line"])), str(private["token"]))
        return
    kept = private["kept"]
    _release(host, undo, [int(str(pid)) for pid in kept] if isinstance(kept, tuple) else [])


def _release(host: Host, undo: Undo, pids: list[int]) -> None:
    for pid in reversed(pids):
        with contextlib.suppress(AssayError):
            release(host, undo, pid)
