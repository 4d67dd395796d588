"""Options of a kernel's mount as a user writes them (`rsize=65536,hard`): which of them cannot be meant, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class MountOptions:
    """What is known of the options of one kind of mount; all others are the kernel's to judge."""

    numbers: frozenset[str]
    """Options that take a whole number."""
    words: Mapping[str, tuple[str, ...]]
    """Option -> the words that it takes."""
    own: Mapping[str, str]
    """Options that Assay sets -> the knob for them; empty where there is none."""

    def names(self, text: str) -> list[str]:
        """Return the options of a text, without their values."""
        return [option.partition("=")[0] for option in text.split(",") if option]

    def mistakes(self, text: str) -> Iterator[str]:
        """Yield what is wrong with a text."""
        if text and not re.fullmatch(r"[!-~]+", text):
            yield f"found mount_options {text!r}; expected options with commas between them, without a space"
        for name, equals, value in (option.partition("=") for option in text.split(",") if option):
            if name in self.own:
                knob = f"Use the knob {self.own[name]}." if self.own[name] else "Leave it out."
                yield f"found mount option {name}, which Assay sets. {knob}"
            elif name in self.numbers and not value.isdigit():
                yield f"found mount option {name}{equals}{value}; expected a whole number"
            elif name in self.words and value not in self.words[name]:
                yield f"found mount option {name}{equals}{value}; expected one of {', '.join(self.words[name])}"
