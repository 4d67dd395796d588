"""The line: a program of our own that joins two network namespaces by paths of stated rate, delay, queue and loss.

It makes the namespaces and their interfaces itself, so that all of it is gone with its process, and it ends when the lab ends.
The entry in the ledger comes first; whoever finds it ends every process that carries its token.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.catalogue import FAMILY, Host, Undo
from assay.errors import AssayError, MissingError, TrialError
from assay.machine.net_namespaces import inside

PROGRAM = Path(__file__).parent.parent / "bin" / "assay-line"
DEVICE = "/dev/net/tun"
ENDS = ("load", "server")
PATIENCE_S = 10.0
COUNT = '{"type":"count"}'


@dataclass(frozen=True, kw_only=True)
class LineEnds:
    """A line at work."""

    pid: int
    token: str
    namespaces: Mapping[str, str]
    """`load` and `server` -> the path of its network namespace."""
    addresses: Mapping[str, Mapping[str, str]]
    """End -> link -> address."""
    interfaces: Mapping[str, str]
    """Link -> the interface, which has the same name at both ends."""
    realtime: bool


def config(links: Sequence[Mapping[str, object]], seed: int, *, offload: bool) -> str:
    """The first message: the links in order, each with its name, `up` and `down`."""
    return json.dumps({"type": "config", "links": [*links], "seed": seed, "offload": offload})


def begin(host: Host, undo: Undo, message: str) -> LineEnds:
    """Start a line. Raises MissingError and TrialError; then nothing of it is left."""
    if not host.exists(str(PROGRAM)):
        raise MissingError(f"the line: not found at {PROGRAM}. Run `make build`.")
    token = secrets.token_hex(8)
    undo.add("family", token=token)
    try:
        done = host.run(
            [str(PROGRAM), "detached"], input_text=f"{message}\n", env={FAMILY: token}, timeout_s=PATIENCE_S, check=False
        )
        return _ends(token, done.stdout.splitlines(), done.stderr)
    except BaseException:
        undo.undo("family", token=token)
        raise


def _ends(token: str, lines: list[str], stderr: str) -> LineEnds:
    last = json.loads(lines[-1]) if lines else {}
    if last.get("type") != "ready":
        reason = last.get("message") or stderr.strip() or "no answer"
        raise TrialError(f"the line cannot be made: {reason}")
    ends = last["ends"]
    return LineEnds(
        pid=last["pid"],
        token=token,
        namespaces={name: ends[name]["namespace"] for name in ENDS},
        addresses={name: {link: at["address"] for link, at in ends[name]["interfaces"].items()} for name in ENDS},
        interfaces={link: at["name"] for link, at in ends["load"]["interfaces"].items()},
        realtime=bool(last["realtime"]),
    )


def asking(pid: int, message: str = "") -> tuple[str, ...]:
    """The command that hands a message to a line; without one the words before it."""
    return (str(PROGRAM), "ask", str(pid), *([message] if message else []))


def finish(host: Host, undo: Undo, pid: int, token: str) -> None:
    """End a line, and whatever lives in its namespaces; strike it out of the ledger."""
    with contextlib.suppress(AssayError, OSError):  # it has ended already, or is killed now
        host.run(asking(pid, '{"type":"end"}'), check=False, timeout_s=PATIENCE_S)
    undo.undo("family", token=token)


def join_mptcp(host: Host, ends: LineEnds) -> None:
    """Let connections by MPTCP use every link: the load opens a subflow from each further address to the server's first one.

    The server listens at that address alone, so a further one that it announces would refuse. Raises what Host.run raises.
    """
    (first, _), *further = ends.interfaces.items()
    network = ipaddress.ip_network(f"{ends.addresses['server'][first]}/24", strict=False)
    for name in ENDS:
        host.run([*inside(ends.namespaces[name]), "ip", "mptcp", "limits", "set", "subflow", "8"])
    at = inside(ends.namespaces["load"])
    for number, (link, interface) in enumerate(further, 1):
        host.run([*at, "ip", "route", "add", str(network), "dev", interface, "metric", str(1000 + number)])
        host.run([*at, "ip", "mptcp", "endpoint", "add", ends.addresses["load"][link], "dev", interface, "subflow"])
