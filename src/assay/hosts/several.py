"""The same thing done with several hosts at once, never with more than some of them; what fails on one does not keep the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from assay.catalogue import Host
from assay.errors import AssayError, LostHostError

AT_ONCE = 8
"""Hosts that are opened, asked, cleaned or closed at the same time."""
T = TypeVar("T")
Result = TypeVar("Result")


def at_once(items: Sequence[T], do: Callable[[T], Result]) -> list[Result]:
    """Do the same with several things, some at a time. Raises the first error when all have ended."""
    if len(items) < 2:
        return [do(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # only where there are several

    with ThreadPoolExecutor(min(AT_ONCE, len(items)), thread_name_prefix="host") as pool:
        return list(pool.map(do, items))


def each(hosts: Mapping[str, Host], ask: Callable[[Host], T]) -> dict[str, T | AssayError]:
    """Ask several hosts, some at a time; a host that fails has its error in place of the answer."""

    def answer(host: Host) -> T | AssayError:
        try:
            return ask(host)
        except AssayError as error:
            return error
        except OSError as error:
            return LostHostError(f"host {host.name}: {error.strerror or error}")

    return dict(zip(hosts, at_once(list(hosts.values()), answer), strict=True))


def all_of(answers: Mapping[str, T | AssayError]) -> dict[str, T]:
    """Return the answers of all. Raises one AssayError with the reasons of all hosts that gave none."""
    errors = [answer for answer in answers.values() if isinstance(answer, AssayError)]
    if errors:
        raise errors[0] if len(errors) == 1 else AssayError("\n".join(dict.fromkeys(map(str, errors))))
    return {name: answer for name, answer in answers.items() if not isinstance(answer, AssayError)}
