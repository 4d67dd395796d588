"""Records to and from plain JSON values, without a library: `assay stat` must start fast.

Arrays (`array.array`) become lists, mappings and tuples become objects and lists, enums their values.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
import typing
from array import array
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from assay.errors import DamagedError

T = TypeVar("T")

Read = Callable[[Any], Any]
_SCALARS = (str, int, float, bool)
_AS_IT_IS = frozenset({*_SCALARS, type(None)})
_ARRAY_CODES = {int: "q", float: "d"}


class _Array(Generic[T]):
    """Stands for `array[T]` in annotations: before Python 3.12 `array.array` takes no parameter at run time."""


def to_plain(value: object) -> Any:
    """Return the value as dicts, lists, texts, numbers, booleans and None."""
    kind: type = type(value)
    if kind in _AS_IT_IS:
        return value
    names = _names(kind)
    return {name: to_plain(getattr(value, name)) for name in names} if names is not None else _other_to_plain(value)


def _other_to_plain(value: object) -> Any:
    """Convert what is no record."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key.value if isinstance(key, Enum) else key): to_plain(item) for key, item in value.items()}
    if isinstance(value, array):
        return value.tolist()
    return [to_plain(item) for item in value] if isinstance(value, tuple | list) else value


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a record, None of any other type; asked once a type, for a notebook has some hundred thousand values."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def from_plain(kind: type[T], value: Any) -> T:
    """Return a record of this type from plain values. Raises DamagedError naming the field that does not fit."""
    try:
        result: T = _reader(kind)(value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise DamagedError(f"found a value that is no {kind.__name__} ({error}); expected what this version writes") from error
    return result


@functools.cache
def _fields(kind: type) -> dict[str, Read]:
    """Return what reads each field; made once a record. Only records are looked up: `int | float` equals `float | int`."""
    hints = typing.get_type_hints(kind, localns={"array": _Array})
    return {field.name: _reader(hints[field.name]) for field in dataclasses.fields(kind)}


def _reader(kind: Any) -> Read:
    """Return the function that makes a value of this type from a plain one."""
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _union_reader(typing.get_args(kind))
    if origin is not None:
        return _generic_reader(origin, typing.get_args(kind))
    if dataclasses.is_dataclass(kind):
        return functools.partial(_record, typing.cast("type", kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {member.value: member for member in kind}.__getitem__
    if isinstance(kind, type) and kind is not object:
        return sys.intern if kind is str else functools.partial(_simple, kind)  # of thousands of findings most texts are alike
    return _as_tuple


def _record(kind: type, value: Any) -> Any:
    known = _fields(kind)
    if not value.keys() <= known.keys():
        raise TypeError(f"unknown fields {sorted(set(value) - set(known))}")
    try:
        return kind(**{name: known[name](item) for name, item in value.items()})
    except TypeError:
        for name, item in value.items():
            if known[name] is sys.intern and not isinstance(item, str):
                raise TypeError(f"found {item!r} in {name}, expected str") from None
        raise


def _simple(kind: type, value: Any) -> Any:
    if kind is float and isinstance(value, int):
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"found {value!r}, expected {kind.__name__}")
    return _as_tuple(value)


def _union_reader(options: tuple[Any, ...]) -> Read:
    kinds = [option for option in options if option is not type(None)]
    if all(option in _SCALARS for option in kinds):
        return functools.partial(_scalar, tuple(kinds), len(kinds) < len(options))
    return functools.partial(_first, [_reader(option) for option in kinds], len(kinds) < len(options))


def _scalar(options: tuple[type, ...], optional: bool, value: Any) -> Any:  # noqa: FBT001 - bound by the reader's maker
    """Return the first of several simple types that fits, without an error for each that does not."""
    if value is None and optional:
        return None
    for option in options:
        if isinstance(value, option):
            return value
        if option is float and isinstance(value, int):
            return float(value)
    return _as_tuple(value)


def _first(readers: list[Read], optional: bool, value: Any) -> Any:  # noqa: FBT001 - bound by the reader's maker
    if value is None and optional:
        return None
    for read in readers:
        try:
            return read(value)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
    return _as_tuple(value)


def _generic_reader(origin: Any, parts: tuple[Any, ...]) -> Read:
    if origin is _Array:
        return functools.partial(array, _ARRAY_CODES[parts[0]])
    readers = [_reader(part) for part in parts]
    if origin is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return lambda value: tuple(map(readers[0], value))
    if origin is tuple:
        return lambda value: tuple(read(item) for read, item in zip(readers, value, strict=True))
    if issubclass(origin, Mapping):
        return lambda value: {readers[0](key): readers[1](item) for key, item in value.items()}
    raise TypeError(f"no plain form for {origin}")


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list) else value
