"""The server behind a target: which processes it is, where its data are, how its clients reach it."""

from __future__ import annotations

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class ServerNode:
    """A server's part on one host, as the experiment describes it; what it leaves out is None or empty."""

    host: str = "local"
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


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server with its nodes, each on a host."""

    nodes: tuple[ServerNode, ...]

    def on(self, host: str) -> ServerNode | None:
        """The node on a host; None where there is none."""
        return next((node for node in self.nodes if node.host == host), None)
