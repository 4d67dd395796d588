"""What events do to the targets of a trial: the one that is measured, and those that it stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.catalogue import Host, Setting, Target, TargetEvent
from assay.errors import UsageError
from assay.records import Action, Event, Place

Deed = Callable[[], None]
WORDS = {
    Action.KILL: ("kill the server of", "start the server of"),
    Action.STOP: ("stop the server of", "let the server go on of"),
    Action.POWER: ("cut the power of", "give power to"),
    Action.FILL: ("fill", "give room to"),
}


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A prepared target of a trial."""

    target: Target
    host: Host
    setting: Setting
    place: Place

    def do(self, event: TargetEvent) -> None:
        """Do it to this target."""
        event.do(self.host, self.setting, self.place)

    def back(self, event: TargetEvent) -> None:
        """Take it back."""
        event.back(self.host, self.setting, self.place)


@dataclass(frozen=True, kw_only=True)
class TimedDeed:
    """Something that is done so many ns after the start of a phase, on a host."""

    at_ns: int
    on: str
    words: str
    deed: Deed


def deeds(event: Event, layers: Sequence[Layer]) -> Iterator[TimedDeed]:
    """Yield what an event does, and what takes it back. Raises UsageError where no target of the trial can have it."""
    place = next((index for index, one in enumerate(layers) if _fits(event, one)), None)
    if place is None:
        wanted = f"target {event.on!r}" if event.on else "a target of the trial"
        raise UsageError(f"found {event.action} of {wanted}; expected one that it can be done to")
    layer = layers[place]
    own = layer.target.events[event.action]
    above = _servers(layers[:place]) if event.action is Action.POWER else ()
    does, undoes = WORDS[event.action]
    lasts = event.for_ns or 0
    name = layer.setting.name

    def do() -> None:
        for one, killing in above:  # first those that acknowledge: what they say after the cut would be nobody's
            one.do(killing)
        layer.do(own)

    def back() -> None:
        layer.back(own)
        for one, killing in reversed(above):
            one.back(killing)

    words = f"{does} {name} for {lasts / 1e9:g} s (not tested: {own.untested})"
    yield TimedDeed(at_ns=event.at_ns, on=layer.host.name, words=words, deed=do)
    yield TimedDeed(at_ns=event.at_ns + lasts, on=layer.host.name, words=f"{undoes} {name}", deed=back)


def _fits(event: Event, layer: Layer) -> bool:
    return event.action in layer.target.events and event.on in ("", layer.setting.name)


def _servers(above: Iterable[Layer]) -> tuple[tuple[Layer, TargetEvent], ...]:
    """The servers on a target: they lose their power with it."""
    return tuple((one, one.target.events[Action.KILL]) for one in above if Action.KILL in one.target.events)
