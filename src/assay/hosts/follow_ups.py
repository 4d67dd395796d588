"""What a look asks next: after one question about a process further ones, after a list the same question about each name. Pure.

A host that is far answers many questions in one exchange, if it is known what will be asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

Question = tuple[str, str]
"""What is asked, and the path (empty where there is none)."""

OF_PROCESS = (
    *(("read", name) for name in ("stat", "status", "io", "cgroup", "net/snmp", "net/netstat", "net/dev")),
    ("real_path", "ns/net"),
    ("list", "task"),
    ("list", "fd"),
)
"""What observers ask of a process of the load, as soon as they have asked one question about it."""
OF_THREAD = ("stat", "schedstat", "children")
OF_ANY = ("stat", "io", "cgroup")
EVERY = "/proc"
PROCESS = re.compile(r"/proc/\d+/(?:stat|status|task|fd)")
DESCRIPTORS = re.compile(r"/proc/(?:self|\d+)/fd")
THREADS = re.compile(r"/proc/(?:self|\d+)/task")
IN_A_LIST = re.compile(r"^(/proc(?:/(?:self|\d+)/(?:task|fd))?)/\d+")


def beside(question: Question, every: Sequence[str]) -> Iterator[Question]:
    """Yield a first question about a process and those that come with it; nothing for other questions.

    `every` are the names in /proc, where they are known: who then asks for descriptors looks for a holder among all processes.
    """
    path, _, name = question[1].rpartition("/")
    if not PROCESS.fullmatch(question[1]):
        return
    yield question
    if name == "fd" and every:
        yield from (("list", f"{EVERY}/{other}/fd") for other in every if other.isdigit())
    else:
        yield from ((do, f"{path}/{name}") for do, name in OF_PROCESS)


def following(question: Question, names: Iterable[str]) -> Iterator[Question]:
    """Yield the questions that follow the list of a directory: the same one about each name in it."""
    do, path = question
    if do != "list":
        return
    if DESCRIPTORS.fullmatch(path):
        yield from (("real_path", f"{path}/{name}") for name in names)
    elif THREADS.fullmatch(path):
        yield from (("read", f"{path}/{name}/{file}") for name in names for file in OF_THREAD)
    elif path == EVERY:
        yield from (("read", f"{path}/{name}/{file}") for name in names if name.isdigit() for file in OF_ANY)


def new_in_lists(former: Sequence[Question], follow: Iterable[Question]) -> list[Question]:
    """Return those of the follow-ups that are about threads, descriptors and processes that the former look did not know.

    Questions that another host was asked name no process; then all that follows is new.
    """
    kinds, known = {_of_all(one) for one in former}, {_entry(path) for _, path in former} - {""}
    return [one for one in follow if not known or (_of_all(one) in kinds and _entry(one[1]) not in known)]


def _of_all(question: Question) -> Question:
    """Return a question about one thread, descriptor or process as that about any."""
    do, path = question
    return do, IN_A_LIST.sub(r"\1/*", path)


def _entry(path: str) -> str:
    """Return the thread, descriptor or process of a path; empty where it has none."""
    match = IN_A_LIST.match(path)
    return match[0] if match else ""
