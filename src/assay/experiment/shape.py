"""The shape of an experiment file: which tables and keys there are and what kind of value each takes (pydantic)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from assay.experiment.other_tools import counterpart
from assay.records import Action, Change, DesignKind, Durability, Load, ObserveKind, Pairs, Regime, Summary, Tier
from assay.records import Path as Way
from assay.toml_document import Document, Path, Point, one_of, shown

Table = dict[str, Any]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClaimShape(_Shape):
    """What a measure is said to be."""

    tier: Tier = Tier.AS_IS
    durability: Durability | None = None
    load: Load | None = None
    regime: Regime | None = None
    path: Way | None = None


class MeasureShape(_Shape):
    """A measure: at most a claim, what stands for its runs, and whether the experiment decides by it."""

    claim: ClaimShape = ClaimShape()
    summary: Summary | None = None
    primary: StrictBool = False


class FactorShape(_Shape):
    """A factor written as a table."""

    levels: list[Any] = Field(min_length=1)
    baseline: Any = None
    change: Change = Change.AUTOMATIC
    returns: StrictInt = Field(default=0, ge=0, le=10)


class HostShape(BaseModel):
    """A line of `[hosts]`; what else a cluster of dask takes is checked in `hosts`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    via: StrictStr | None = None
    command: list[StrictStr] | None = None
    address: StrictStr | None = None
    addresses: list[StrictStr] | None = None
    control: Any = None
    load: StrictBool | None = None
    engine: StrictBool | None = None
    cluster: StrictStr | None = None
    scheduler: StrictStr | None = None
    count: StrictInt | None = None
    community_file: StrictStr | None = None
    credentials_file: StrictStr | None = None


class ObserveShape(_Shape):
    """A command that watches hosts."""

    host: Any = "local"
    run: list[StrictStr] = Field(min_length=1)
    every: StrictStr = "1 s"
    pattern: StrictStr = Field(min_length=1)
    unit: StrictStr = "count"
    kind: ObserveKind = ObserveKind.GAUGE


class EventShape(_Shape):
    """Something done to a host or to a path at a time within a phase."""

    phase: StrictStr = Field(min_length=1)
    at: StrictStr
    host: StrictStr | None = None
    on: StrictStr | None = None
    action: Action = Action.RUN
    run: list[StrictStr] | None = Field(default=None, min_length=1)
    for_: StrictStr | None = Field(default=None, alias="for")
    rate_: StrictStr | None = Field(default=None, alias="rate")


class SoakShape(_Shape):
    """A load for hours, in pieces."""

    duration: StrictStr
    piece: StrictStr = "10 min"
    stop_on: list[StrictStr] = ["kernel error", "verification"]


class ControlShape(_Shape):
    """What a control shows: the rule, the measure, and the levels with which it must fail and pass."""

    rule: StrictStr = Field(min_length=1)
    measure: StrictStr = Field(min_length=1)
    fail: Table = {}
    pass_: Table = Field(default={}, alias="pass")
    needs: list[StrictStr] = []
    blind: list[StrictStr] = []
    says: Literal["fail", "unverified"] = "fail"
    anytime: StrictBool = False
    files: dict[StrictStr, StrictStr] = {}


class FileShape(_Shape):
    """The whole file. Tables whose keys are names of the author's choice are checked apart."""

    title: StrictStr = Field(min_length=1)
    question: StrictStr = ""
    compare: StrictStr | None = None
    pairs: Pairs = Pairs.BASELINE
    design: DesignKind | None = None
    resolution: StrictInt | None = Field(default=None, ge=3, le=5)
    slices: StrictInt | None = Field(default=None, ge=2, le=1000)
    repeats: Any = None
    budget: StrictStr | None = None
    matters: StrictStr = "5 %"
    bound_factor: float | None = Field(default=None, gt=1, allow_inf_nan=False)
    seed: StrictInt = Field(default=1, ge=0, le=2**53)
    observers: list[StrictStr] | None = None
    implied: list[StrictStr] = []
    targets: dict[StrictStr, Table] = Field(default={}, min_length=1, validate_default=True)
    workloads: dict[StrictStr, Table] = Field(default={}, min_length=1, validate_default=True)
    factors: dict[StrictStr, Any] = {}
    measures: dict[StrictStr, MeasureShape] = {}
    require: dict[StrictStr, list[StrictStr]] = {}
    hosts: dict[StrictStr, HostShape] = {}
    limits: dict[StrictStr, StrictStr] = {}
    observe: dict[StrictStr, ObserveShape] = {}
    paths: dict[StrictStr, Table] = {}
    soak: SoakShape | None = None
    machine: Table = {}
    control: ControlShape | None = None


_WORDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def check(document: Document, model: type[BaseModel], value: object, at: Path = ()) -> BaseModel | None:
    """Return the value as this model, or None after its mistakes were noted in the document."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for detail in error.errors():
            path = at + tuple(part for part in detail["loc"] if part != "[key]")
            found, expected = _words(model, dict(detail), path)
            point = Point.KEY if detail["type"] == "extra_forbidden" else Point.VALUE
            document.wrong(path, found, expected, point)
        return None


def _words(model: type[BaseModel], detail: dict[str, Any], path: Path) -> tuple[str, str]:
    """Return what was found and expected, in the words of the file."""
    kind, value, name = detail["type"], detail["input"], path[-1] if path else "the file"
    context = detail.get("ctx", {})
    if kind == "extra_forbidden":
        keys = _keys(model, detail["loc"][:-1])
        return f"unknown key {name!r}", counterpart(str(name), keys) or one_of(keys, str(name))
    if kind == "missing" or (kind == "too_short" and not isinstance(value, str) and not value and _absent(detail)):
        return f"no {name!r}", _needed(str(name))
    if kind == "enum":
        return f"{shown(value)} for {name!r}", one_of(
            context["expected"].replace("'", "").replace(" or ", ", ").split(", "), str(value)
        )
    if kind in ("too_short", "string_too_short"):
        return f"{shown(value)} for {name!r}", "at least one entry" if kind == "too_short" else "a text that is not empty"
    if kind in ("greater_than_equal", "less_than_equal"):
        return (
            f"{shown(value)} for {name!r}",
            f"at {'least' if 'ge' in context else 'most'} {context.get('ge', context.get('le')):,}",
        )
    return f"{shown(value)} for {name!r}", _WORDS.get(kind, detail["msg"])


def _absent(detail: dict[str, Any]) -> bool:
    return detail["loc"] in (("targets",), ("workloads",))


def _needed(name: str) -> str:
    tables = {"targets": "at least one table [targets.NAME]", "workloads": "at least one table [workloads.NAME]"}
    return tables.get(name, f"a line {name} = ...")


def _keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> tuple[str, ...]:
    """Return the keys of the model that stands at this place."""
    here: object = model
    for part in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            here = here.model_fields[str(part)].annotation if part in here.model_fields else here
        here = _inside(here)
    if not (isinstance(here, type) and issubclass(here, BaseModel)):
        return ()
    return tuple(field.alias or name for name, field in here.model_fields.items())


def _inside(annotation: object) -> object:
    """Return the model within dict[str, X], list[X] or X | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = [part for part in getattr(annotation, "__args__", ()) if isinstance(part, type) and issubclass(part, BaseModel)]
    return models[0] if models else annotation
