"""What a server answered to curl, which ends with status 0 and prints a speed for the page of an error, too. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

from assay.evidence.words import programs
from assay.frozen import dataclass
from assay.records import Watched

WITH_VALUE = frozenset("AbCcDdEeFHhKmoPQrTtUuwXxYyz")
"""Letters of curl behind which a value stands, in the same word or the next."""
FORMAT, CODE = ("-w", "--write-out"), r"%\{(?:http_code|response_code)\}"
STATUS = re.compile(r"^(?:< )?HTTP/[0-9.]+ ([1-5][0-9]{2})\b", re.MULTILINE)
IN_JSON = re.compile(r'"(?:http_code|response_code)": ?([0-9]{3})')
OTHER_SCHEMES = re.compile(r"(?!https?://)[a-z0-9]+://", re.IGNORECASE)
PASSING = range(100, 400)
"""Answers that others follow: a redirection alone is no answer."""
GOOD = range(200, 300)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """How many answers there were, how many of them were none, and the status of the last of these; None: nobody saw one."""

    count: int
    failed: int | None
    status: int = 0

    def figures(self, operation: str) -> dict[str, float]:
        """Return them beside the figures of an operation."""
        told = {"errors": float(self.failed or 0), "attempts": float(self.count), "count": float(self.count)}
        told |= {"doubtful": float(self.count)} if self.failed is None else {}
        told |= {"http_status": float(self.status)} if self.failed else {}
        return {f"{operation}.{name}": value for name, value in told.items()}


def answers(watched: Watched) -> Answers | None:
    """Return what the calls of curl were answered by HTTP; None where there is no such call."""
    calls = [words for program, words in programs(watched.argv) if program == "curl" and not _is_other(words)]
    if not calls:
        return None
    urls = sum(max(1, sum("://" in word for word in words)) for words in calls)
    seen = [status for words in calls for status in _seen(words, (watched.stdout.text, watched.stderr.text))]
    final = [*(code not in PASSING or code in GOOD for code in seen[:-1]), True]
    codes = list(compress(seen, final))
    failed = [code for code in codes if code not in GOOD]
    if codes:
        return Answers(count=len(codes), failed=len(failed), status=failed[-1] if failed else 0)
    fails = all(_fails(words) for words in calls)
    return Answers(count=urls, failed=0 if fails and not watched.status else None)


def _is_other(words: Sequence[str]) -> bool:
    """Return whether every URL is one of another protocol."""
    urls = [word for word in words if "://" in word]
    return bool(urls) and all(OTHER_SCHEMES.match(url) for url in urls)


def _fails(words: Sequence[str]) -> bool:
    """Return whether curl was told to end with status 22 for the page of an error."""
    return any(word in ("--fail", "--fail-with-body") or "f" in _letters(word) for word in words)


def _letters(word: str) -> str:
    """Return the options in a word like `-fsSLo`: up to the one that takes a value."""
    if not re.fullmatch(r"-[A-Za-z#0-9].*", word):
        return ""
    letters = word[1:]
    end = next((at for at, letter in enumerate(letters) if letter in WITH_VALUE), len(letters))
    return letters[:end]


def _seen(words: Sequence[str], texts: Sequence[str]) -> Iterator[int]:
    """Yield the statuses of answers that the output tells: by the format of -w, else in the lines of -v and -i."""
    written = _format(words)
    patterns = [IN_JSON] if "%{json}" in written else [_pattern(written)] if re.search(CODE, written) else [STATUS]
    for text in texts:
        found = [int(match[1]) for pattern in patterns for match in pattern.finditer(text)]
        if found:
            yield from found
            return


def _format(words: Sequence[str]) -> str:
    for at, word in enumerate(words):
        if word in FORMAT or (re.fullmatch(r"-[A-Za-z]*w", word) and _letters(word) == word[1:-1]):
            return words[at + 1] if at + 1 < len(words) else ""
        if word.startswith("--write-out="):
            return word.partition("=")[2]
    return ""


def _pattern(written: str) -> re.Pattern[str]:
    """Return what the format prints, its status as the group."""
    escaped = written.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").strip()
    parts = re.split(r"(%\{[^}]*\})", escaped)
    status = next(at for at, part in enumerate(parts) if re.fullmatch(CODE, part))
    made = ("([0-9]{3})" if at == status else r"[^\n]*?" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.compile("".join(made))


def sampled(watched: Watched, operation: str) -> dict[str, float]:
    """Return what was seen of the answers of a server of HTTP, beside the figures of the tool that loaded it."""
    if watched.http is None:
        return {}
    kinds = watched.http.statuses
    parts = {
        "seen": kinds,
        "redirected": {code: count for code, count in kinds.items() if code in range(300, 400)},
        "refused": {code: count for code, count in kinds.items() if code >= 400},
    }
    found = {name: sum(part.values()) for name, part in parts.items()} | {"empty": watched.http.empty}
    wrong = parts["refused"] or parts["redirected"]
    told = {f"{operation}.answers_{name}": float(count) for name, count in found.items()}
    return told | ({f"{operation}.answers_status": float(max(wrong, key=lambda code: wrong[code]))} if wrong else {})


def small(values: Mapping[str, float], watched: Watched, found: Answers | None) -> dict[str, float]:
    """Return what was received where it is too little for a figure, but the page of an error: that is what must be judged."""
    kinds = watched.account.kinds if watched.account is not None else None
    if not found or not found.failed or any(name.startswith("receive.") for name in values) or not watched.elapsed_ns:
        return {}
    received = float(kinds.received_bytes or 0) if kinds is not None else 0.0
    return {"receive.bytes": received, "receive.bytes_per_s": received * 1e9 / watched.elapsed_ns} if received else {}
