"""What the program that looks at threads would have counted of a load: each look finds its threads in states of a course."""

import random

from assay import catalogue
from assay.evidence import time_ladder
from assay.records import Edge, Snapshot, Subject

OBSERVER = catalogue.find("observers", "thread_states")
SECOND_NS = 10**9
LOOKS = 400


def course(parts, looks=LOOKS, run=1, seed=1):
    """States of one process in random order, each as often as its share says, in runs of so many looks."""
    runs = [one for one, share in parts.items() for _ in range(round(share * looks / run))]
    random.Random(seed).shuffle(runs)
    return [one for one in runs for _ in range(run)]


def counted(states, *, threads=None, connections=None, times=None, fresh=0, denied=0, alive_ns=0):
    """The sums over looks that each found a (process, state) with all of the time; `threads` are means of others beside it."""
    rows, looks = {}, len(states)
    for key in dict.fromkeys((*states, *(threads or {}))):
        on = [float(one == key) for one in states]
        squares = [sum(sum(on[at : at + size]) ** 2 for at in range(0, looks - size + 1, size)) for size in time_ladder.SQUARES]
        pieces = sum(now > before for before, now in zip([0.0, *on], on, strict=False))
        many = (threads or {}).get(key, sum(on) / looks) * looks
        rows[key] = {"share": sum(on), "threads": many, "squares": squares, "pieces": pieces}
    asked = dict.fromkeys(time_ladder.CONNECTIONS.values(), 0.0) | (connections or {})
    return {
        "looks": looks,
        "alive": looks,
        "alive_ns": alive_ns,
        "denied": denied,
        "fresh": fresh,
        "rows": [{"process": process, "kind": kind, **sums} for (process, kind), sums in rows.items()],
        "times": times or {},
        "connections": asked,
    }


def evidence(seconds=10.0, phase="p", **groups):
    """The evidence of a phase: nothing before it, and these sums after it."""
    empty = {name: counted([]) | {"rows": []} for name in groups}
    looks = ((-0.1, Edge.ARMED, empty), (seconds, Edge.LAST, groups))
    snapshots = [
        Snapshot(edge=edge, at_ns=int(at_s * SECOND_NS), took_ns=1000, raw={"states": found}) for at_s, edge, found in looks
    ]
    return OBSERVER.parse("local", phase, snapshots, Subject())


def series(seconds=10.0, phase="p", **groups):
    """The series of that evidence."""
    return evidence(seconds, phase, **groups).series
