"""How much longer a request takes because others are served: Erlang's C formula for servers that share one queue (M/M/m).

References: Erlang, 1917 (delay formula); Kleinrock, Queueing Systems I, 1975, 3.5; Jagerman, Bell System Technical Journal 53
(1974) 525, for the recursion, which never divides by a small number.
"""

from __future__ import annotations


def waiting_share(servers: int, utilisation: float) -> float:
    """The share of requests that wait, with utilisation per server (0..1); 1 from full load on. Raises ValueError."""
    if servers < 1 or utilisation < 0:
        raise ValueError("found no server or a utilisation below 0")
    if utilisation >= 1:
        return 1.0
    offered, blocked = servers * utilisation, 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - utilisation * (1 - blocked))


def slowdown(servers: int, utilisation: float) -> float:
    """Mean response time over service time: 1 with nobody else, infinite from full load on. Raises ValueError."""
    wait = waiting_share(servers, utilisation)
    return float("inf") if utilisation >= 1 else 1 + wait / (servers * (1 - utilisation))
