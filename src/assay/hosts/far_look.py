"""A look at a far host: what the former look of the same name asked is asked in one exchange, the rest one by one."""

from __future__ import annotations

import errno
import os
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from assay.hosts.exchange import Exchange, Message

FILES = {"read": "text", "list": "names", "exists": "there"}
"""Questions that a look takes as a list of paths -> the field of the answer to a single one."""
CALLS = ("cachestat", "fiemap", "placed", "space", "real_path", "booted_ns")
"""Questions that a look takes as calls: none of them changes anything, nor does it matter if one is asked in vain."""

Question = tuple[str, str]
"""What is asked, and the path (empty where there is none)."""
Asked = tuple[Question, ...]


class OneExchange:
    """Answers from what was asked at once, each answer once; asks the agent for everything else."""

    def __init__(self, exchange: Exchange, former: Asked) -> None:
        self.asked: list[Question] = []
        self._exchange = exchange
        self._name = exchange.name
        self._alone = False
        self._answers = self._begin(former)

    def ask(self, do: str, **fields: object) -> Message:
        """Return the answer. Raises as `Exchange.ask`."""
        if do not in FILES and do not in CALLS:
            self._alone = True
            return self._exchange.ask(do, **fields)
        question = (do, str(fields.get("path", "")))
        self.asked.append(question)
        known = self._answers.get(question)
        if not known:
            self._alone = True
            return self._exchange.ask(do, **fields)
        answer = known.popleft()
        if "error" in answer:
            raise self._exchange.error(answer["error"])
        return answer

    def end(self) -> tuple[int, int]:
        """Return when the look began (their clock, ns) and how long it took."""
        after_ns = int(self._exchange.ask("clock")["mono_ns"]) if self._alone else self._after_ns
        return self._before_ns, after_ns - self._before_ns

    def _begin(self, former: Asked) -> Mapping[Question, deque[Message]]:
        lists = {kind: [path for do, path in former if do == kind] for kind in FILES}
        calls = [question for question in former if question[0] in CALLS]
        asked = [{"do": do, "path": path} if path else {"do": do} for do, path in calls]
        told = self._exchange.ask("look", **lists, calls=asked)
        self._before_ns, self._after_ns = int(told["before_ns"]), int(told["after_ns"])
        answers: dict[Question, deque[Message]] = {}
        for kind, paths in lists.items():
            for path, value in zip(paths, told[kind], strict=True):
                answers.setdefault((kind, path), deque()).append(_as_answer(kind, path, value))
        for question, value in zip(calls, told["calls"], strict=True):
            answers.setdefault(question, deque()).append(value)
        return answers


def _as_answer(kind: str, path: str, value: Any) -> Message:  # noqa: ANN401  any value of a message
    """Return the answer to a single question from its place in the lists of a look."""
    if kind == "read" and isinstance(value, dict):
        number = value.get("errno") or errno.EIO
        return {"error": {"errno": number, "message": os.strerror(number), "path": path}}
    return {FILES[kind]: value}
