"""The sizes of a surveyed tree as a TOML profile, which the workload `metadata` can imitate."""

from __future__ import annotations

import json

from assay.errors import RefusedError
from assay.survey.bands import bytes_text
from assay.survey.result import Group, Survey


def text(survey: Survey) -> str:
    """The profile: title, source, facts of the survey and a row for each size band that has files.

    Raises RefusedError where there is no file: such a distribution could not be imitated.
    """
    if not survey.distribution.kept.files:
        raise RefusedError("found no file that the filters keep; expected at least one for a profile")
    return "\n\n".join((_title(survey), _sizes(survey), _facts(survey))) + "\n"


def _title(survey: Survey) -> str:
    where = ", ".join(survey.directories)
    command = " ".join(("assay survey", *survey.directories, *survey.filters))
    return f"title = {quoted(f'Files of {where}')}\nsource = {quoted(f'{command}, {survey.started_utc[:10]}')}"


def _sizes(survey: Survey) -> str:
    bands = zip(survey.size_bands, survey.distribution.sizes, strict=True)
    rows = (f"    {{ {_end(band.most_bytes)}{_counts(group)} }}," for band, group in bands if group.files)
    return "\n".join(("sizes = [", *rows, "]"))


def _end(most_bytes: int | None) -> str:
    return "" if most_bytes is None else f"up_to = {quoted(bytes_text(most_bytes))}, "


def _facts(survey: Survey) -> str:
    found = survey.distribution
    bands = zip(survey.age_bands, found.ages, strict=True)
    ages = (f"    {{ band = {quoted(band.label)}, {_counts(group)} }}," for band, group in bands if group.files)
    facts = (
        "[survey]",
        f"directories = [{', '.join(quoted(path) for path in survey.directories)}]",
        f"date = {quoted(survey.started_utc)}",
        f"filters = [{', '.join(quoted(text) for text in survey.filters)}]",
        f"clock = {quoted(survey.clock.value)}",
        f"files = {found.kept.files}",
        f"bytes = {found.kept.bytes}",
        f"allocated_bytes = {found.kept.allocated_bytes}",
        f"directories_walked = {survey.walked.directories}",
        "ages = [",
        *ages,
        "]",
    )
    return "\n".join(facts)


def _counts(group: Group) -> str:
    return f"files = {group.files}, bytes = {group.bytes}"


def quoted(text: str) -> str:
    """A basic string of TOML: as in JSON, which leaves only DEL bare where TOML does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
