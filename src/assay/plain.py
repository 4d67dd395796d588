"""Records to and from plain JSON values, without a library: `assay stat` must start fast.

Arrays (`array.array`) become lists, mappings and tuples become objects and lists, enums their values.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from array import array
from collections.abc import Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from assay.errors import DamagedError

T = TypeVar("T")

_ARRAY_CODES = {int: "q", float: "d"}


class _Array(Generic[T]):
    """Stands for `array[T]` in annotations: before Python 3.12 `array.array` takes no parameter at run time."""


def to_plain(value: object) -> Any:
    """The value as dicts, lists, texts, numbers, booleans and None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key.value if isinstance(key, Enum) else key): to_plain(item) for key, item in value.items()}
    if isinstance(value, array):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], value: Any) -> T:
    """A record of this type from plain values. Raises DamagedError naming the field that does not fit."""
    try:
        result: T = _revive(kind, value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise DamagedError(f"found a value that is no {kind.__name__} ({error}); expected what this version writes") from error
    return result


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, localns={"array": _Array})
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _revive(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _revive_union(typing.get_args(kind), value)
    if origin is not None:
        return _revive_generic(origin, typing.get_args(kind), value)
    if dataclasses.is_dataclass(kind):
        known = _fields(typing.cast("type", kind))
        unknown = set(value) - set(known)
        if unknown:
            raise TypeError(f"unknown fields {sorted(unknown)}")
        return typing.cast("type", kind)(**{name: _revive(known[name], item) for name, item in value.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is float and isinstance(value, int):
        return float(value)
    if isinstance(kind, type) and kind is not object and not isinstance(value, kind):
        raise TypeError(f"found {value!r}, expected {kind.__name__}")
    return _as_tuple(value)


def _revive_union(options: tuple[Any, ...], value: Any) -> Any:
    if value is None and type(None) in options:
        return None
    for option in options:
        if option is type(None):
            continue
        try:
            return _revive(option, value)
        except (TypeError, ValueError, AttributeError):
            continue
    return _as_tuple(value)


def _revive_generic(origin: Any, parts: tuple[Any, ...], value: Any) -> Any:
    if origin is _Array:
        return array(_ARRAY_CODES[parts[0]], value)
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(_revive(parts[0], item) for item in value)
        return tuple(_revive(part, item) for part, item in zip(parts, value, strict=True))
    if issubclass(origin, Mapping):
        return {_revive(parts[0], key): _revive(parts[1], item) for key, item in value.items()}
    raise TypeError(f"no plain form for {origin}")


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list) else value
