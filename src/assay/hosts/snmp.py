"""A switch or another device that answers SNMP: it gives counters, runs nothing and keeps nothing.

Times are those of this machine: the question and the answer are stamped here.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

from assay.catalogue import SNMP, Completed, Host, Machine, Process, Syscalls
from assay.errors import LostHostError, RefusedError
from assay.hosts.snmp_agent import Agent, address_of
from assay.hosts.snmp_message import rows
from assay.hosts.snmp_security import Credentials

DESCRIPTION, ENGINE, NAME = "1.3.6.1.2.1.1.1.0", "1.3.6.1.6.3.10.2.1.1.0", "1.3.6.1.2.1.1.5.0"
PHYSICAL = "1.3.6.1.2.1.17.1.1.0"
"""dot1dBaseBridgeAddress: the address of the switch itself."""
IF_NAME, IF_DESCRIPTION = "1.3.6.1.2.1.31.1.1.1.1", "1.3.6.1.2.1.2.2.1.2"
NETWORK = "/sys/class/net"
"""Where names of network interfaces are looked for: here the ports."""
REMEDY = "Check the address, the community or the credentials, and the access list of the agent."


class SnmpHost:
    """A device behind SNMP as a host: it has ports and counters, no files and no commands but `get` and `walk`."""

    far = True
    system = SNMP
    syscalls: Syscalls | None = None

    def __init__(self, name: str, address: str, who: Credentials, ports: Sequence[str] = ()) -> None:
        """Ask for the description of the device. Raises UsageError, and LostHostError where it does not answer.

        `ports` names those whose counters are wanted; without them all that are up.
        """
        self.name, self.address, self.ports = name, address, tuple(ports)
        try:
            self._agent = Agent(address_of(address), who)
        except OSError as error:
            raise LostHostError(f"host {name}: {address}: {error.strerror or error}") from error
        try:
            found = self._agent.get((DESCRIPTION, ENGINE, PHYSICAL, NAME))
        except OSError as error:
            self._agent.close()
            raise LostHostError(f"host {name}: {error.strerror} ({address}). {REMEDY}") from error
        self.description, *names = (value for _, value in found)
        self._serial = next((f"{value}" for value in names if value is not None), "")

    def __hash__(self) -> int:
        return id(self._agent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SnmpHost) and other._agent is self._agent

    def close(self) -> None:
        """Close the socket."""
        self._agent.close()

    def lost(self) -> Exception | None:
        """Return None: a device that does not answer costs its evidence alone."""
        return None

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,  # noqa: ARG002 - as Host; here and below
        input_text: str | None = None,  # noqa: ARG002
        timeout_s: float | None = None,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        cwd: str | None = None,  # noqa: ARG002
    ) -> Completed:
        """Ask for values (`get OID...`), or for all below some OIDs (`walk OID...`); lines of OID and value. Raises OSError."""
        began_ns = time.monotonic_ns()
        if argv[0] == "get":
            text = rows(self._agent.get(argv[1:]))
        elif argv[0] == "walk":
            text = "".join(rows(list(self._agent.walk(root))) for root in argv[1:])
        elif argv[0] == "uname":
            text = f"{self.description or SNMP}\n"
        else:
            self._refuse(f"runs no command ({argv[0]})")
        wall_ns = time.monotonic_ns() - began_ns
        return Completed(argv=tuple(argv), status=0, stdout=text, stderr="", wall_ns=wall_ns)

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> Process:  # noqa: ARG002
        """Raise RefusedError."""
        self._refuse(f"runs no command ({argv[0]})")

    def read(self, path: str) -> str:
        """Raise OSError: it has no files."""
        raise FileNotFoundError(errno.ENOENT, "no files behind SNMP", path)

    def write(self, path: str, text: str) -> None:  # noqa: ARG002
        """Raise RefusedError."""
        self._refuse(f"writes nothing ({path})")

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names of its ports for the directory of interfaces; empty for every other one."""
        if path != NETWORK:
            return ()
        found = (value for root in (IF_NAME, IF_DESCRIPTION) for _, value in self._agent.walk(root))
        return tuple(sorted({f"{value}" for value in found}))

    def exists(self, path: str) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def real_path(self, path: str) -> str:
        """Return the path as it is."""
        return path

    def is_root(self) -> bool:
        """Return False."""
        return False

    def monotonic_ns(self) -> int:
        """Return the clock of this machine: answers are stamped here."""
        return time.monotonic_ns()

    def probe(self) -> tuple[int, int, int]:
        """Return the clock of this machine three times."""
        now_ns = time.monotonic_ns()
        return now_ns, now_ns, now_ns

    def machine(self) -> Machine:
        """Return which device it is, by its engine, its address or its name; it has no name of a boot."""
        return Machine(serial=hashlib.sha256(self._serial.encode()).hexdigest() if self._serial else "", boot="")

    def look(self, name: str) -> PortLook:  # noqa: ARG002
        """Begin a look."""
        return PortLook(self)

    def _refuse(self, what: str) -> NoReturn:
        raise RefusedError(f"host {self.name} is reached by SNMP and {what}. It gives counters alone.")


class PortLook:
    """A look at a device: its values come with the questions of the observer."""

    def __init__(self, host: SnmpHost) -> None:
        self.host: Host = host
        self._from_ns = time.monotonic_ns()

    def end(self) -> tuple[int, int]:
        """Return when it began, and how long it took."""
        return self._from_ns, time.monotonic_ns() - self._from_ns
