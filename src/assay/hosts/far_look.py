"""A look at a far host: what the former look of the same name asked is asked in one exchange, the rest one by one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.hosts.exchange import Exchange, Message
from assay.hosts.follow_ups import EVERY, Question, beside, following, new_in_lists

FILES = {"read": "text", "list": "names", "exists": "there"}
"""Questions that a look takes as a list of paths -> the field of the answer to a single one."""
CALLS = ("cachestat", "fiemap", "placed", "space", "real_path", "booted_ns", "cpu_clock")
"""Questions that a look takes as calls: none of them changes anything, nor does it matter if one is asked in vain."""

READING = ("kernel_log", "clock", "spin", "run")
"""Questions that are asked anew each time and change nothing that a look reads: commands of observers list, and set nothing."""

Asked = tuple[Question, ...]


class OneExchange:
    """Answers each question once a look, from what was asked at once; what was not is asked by itself."""

    def __init__(self, exchange: Exchange, former: Asked) -> None:
        """Ask what the former look asked. Where the host is lost, each question and `end` raise LostHostError."""
        self._exchange = exchange
        self._asked: dict[Question, None] = {}
        self._answers: dict[Question, Message] = {}
        self._span_ns: tuple[int, int] | None = None
        self._went_on = False
        with contextlib.suppress(OSError):
            self._at_once(former)

    @property
    def questions(self) -> Asked:
        """What the observer wanted to know."""
        return tuple(self._asked)

    def ask(self, do: str, **fields: object) -> Message:
        """Return the answer. Raises as `Exchange.ask`."""
        question = (do, str(fields.get("path", "")))
        if do in READING:
            self._went_on = True
            return self._exchange.ask(do, **fields)
        if do not in FILES and do not in CALLS:
            self._answers.clear()  # it may change what was read
        else:
            self._asked[question] = None
        if question not in self._answers:
            self._ahead(beside(question, _names(self._answers.get(("list", EVERY), {}))))
        answer = self._answers.get(question)
        if answer is None:
            self._went_on = True
            answer = self._exchange.ask(do, **fields)
            self._ahead(following(question, _names(answer)))
        return self._exchange.checked(answer)

    def _at_once(self, former: Asked) -> None:
        """Ask what the former look asked, then the same about what is new in the lists among it."""
        answers, self._span_ns = self._told(former)
        self._answers |= answers
        if new := new_in_lists(former, _follow_ups(answers)):
            self._tell_more(new)

    def _ahead(self, questions: Iterable[Question]) -> None:
        """Ask at once what is asked next, as far as it is not known, and then what follows the lists among it."""
        while unknown := [one for one in questions if one not in self._answers]:
            questions = list(_follow_ups(self._tell_more(unknown)))

    def _tell_more(self, questions: Sequence[Question]) -> Mapping[Question, Message]:
        answers, span_ns = self._told(questions)
        self._answers |= answers
        self._span_ns = (span_ns[0] if self._span_ns is None else self._span_ns[0], span_ns[1])
        return answers

    def end(self) -> tuple[int, int]:
        """Return when the look began (their clock, ns) and how long it took. Raises LostHostError."""
        if self._span_ns is None:
            raise self._exchange.lost() or OSError(errno.EIO, os.strerror(errno.EIO), self._exchange.name)
        began_ns, ended_ns = self._span_ns
        if self._went_on:
            ended_ns = int(self._exchange.ask("clock")["mono_ns"])
        return began_ns, ended_ns - began_ns

    def _told(self, former: Sequence[Question]) -> tuple[dict[Question, Message], tuple[int, int]]:
        """Ask all of them in one exchange; return the answers, and the clocks before and after them."""
        lists = {kind: [path for do, path in former if do == kind] for kind in FILES}
        calls = [question for question in former if question[0] in CALLS]
        asked = [{"do": do, "path": path} if path else {"do": do} for do, path in calls]
        told = self._exchange.ask("look", **lists, calls=asked)
        answers = dict(zip(calls, told["calls"], strict=True))
        for kind, paths in lists.items():
            answers |= {(kind, path): _as_answer(kind, path, value) for path, value in zip(paths, told[kind], strict=True)}
        return answers, (int(told["before_ns"]), int(told["after_ns"]))


def _follow_ups(answers: Mapping[Question, Message]) -> Iterator[Question]:
    for question, answer in answers.items():
        yield from following(question, _names(answer))


def _names(answer: Message) -> Sequence[str]:
    return tuple(answer.get("names", ()))


def _as_answer(kind: str, path: str, value: object) -> Message:
    """Return the answer to a single question from its place in the lists of a look."""
    if kind == "read" and isinstance(value, dict):
        number = value.get("errno") or errno.EIO
        return {"error": {"errno": number, "message": os.strerror(number), "path": path}}
    return {FILES[kind]: value}
