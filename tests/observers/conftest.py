"""The law of all observers, held at every parse of every test of this folder: no key that `gives` does not list."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay import catalogue
from assay.catalogue import Evidence, Observer
from assay.evidence import sources
from assay.machine import bpftrace, engine_file

NOTES = ("fact:kernel.log.", "fact:page_cache.sample.")
"""Texts about one phase, which no rule names as evidence."""


def listed(observer: Observer, parse: Callable[..., Evidence]) -> Callable[..., Evidence]:
    def checked(*given: Any, **named: Any) -> Evidence:
        found = parse(*given, **named)
        keys = {f"{one.rung}.{one.direction}" for one in found.readings} | {f"{one.layer}.{one.metric}" for one in found.series}
        keys |= {key for fact in found.facts if not (key := f"fact:{fact.key}").startswith(NOTES)}
        stray = sorted(key for key in keys if not any(sources.fits(key, one) for one in observer.gives))
        assert stray == [], f"observer {observer.name} gives keys that its `gives` does not list"
        return found

    return checked


@pytest.fixture(scope="session", autouse=True)
def every_key_is_listed() -> Iterator[None]:
    observers = [catalogue.find("observers", name) for name in catalogue.names("observers")]
    parsers = {observer.name: observer.parse for observer in observers}
    for observer in observers:
        object.__setattr__(observer, "parse", listed(observer, observer.parse))
    yield
    for observer in observers:
        object.__setattr__(observer, "parse", parsers[observer.name])


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """On a busy machine a program that counts beside takes long to begin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpftrace, "ANSWER_S", 300.0)
        patch.setattr(engine_file, "ANSWER_S", 300.0)
        yield
