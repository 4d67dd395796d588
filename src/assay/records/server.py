"""The server behind a target: which processes it is, where its data are, how its clients reach it."""

from __future__ import annotations

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class Server:
    """What an experiment says of a server on the target's host; what it does not say is None or empty."""

    pid_file: str | None = None
    """Holds the process id of the server, first of its children too."""
    cgroup: str | None = None
    """A control group all of whose processes are the server's."""
    data: tuple[str, ...] = ()
    """Its data: files, or directories whose files are meant."""
    address: str | None = None
    """The IP address that its clients use."""
    requests: tuple[str, ...] = ()
    """A command that prints how many requests it has answered; the last number counts."""
