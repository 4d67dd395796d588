"""A job file of fio as an experiment file: each job a workload, each option its knob, and what has no counterpart in words.

Options: fio's HOWTO (fio 3.33, "Job file parameters"); sizes are powers of two there (`kb_base = 1024`), rates and times too.
What fio does by default and Assay does not is written out: random jobs touch every record once (`norandommap`), a file leaves
the page cache before a job (`invalidate`). Jobs of `numjobs` are threads. Nothing is run, no file of the job is looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.errors import InputErrors, Mistake
from assay.terminal.printable import printable
from assay.toml_document import quoted

GLOBAL = "global"
SECTION = re.compile(r"\[(.+)\]")
COMMENT = re.compile(r"\s*[;#].*|(?<=\s)[;#].*")
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?b?)?", re.IGNORECASE)
TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)?", re.IGNORECASE)
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DIRECTIONS = {
    "read": "read",
    "write": "write",
    "randread": "random_read",
    "randwrite": "random_write",
    "randrw": "random_mix",
}
ENGINES = {
    **dict.fromkeys(("libaio", "io_uring", "posixaio", "windowsaio", "solarisaio"), "io_uring"),
    **dict.fromkeys(("sync", "psync", "vsync", "pvsync", "pvsync2"), "psync"),
    "mmap": "mmap",
}
ASYNCHRONOUS = "io_uring"
ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "rate_iops": "rate_iops",
    "size": "size",
    "filesize": "size",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
}
"""Names of fio that mean the same."""
OUTPUT = re.compile(
    r"name|description|group_reporting|new_group|stonewall|wait_for|exitall\w*|write_\w+_log|log_\w+|\w*percentiles?\w*|disable_\w+"
    r"|clat_\w+|lat_percentiles|slat_percentiles|per_job_logs|gtod_\w+|clocksource|unified_rw_reporting|stats|bwavgtime|iopsavgtime"
    r"|create_\w+|unlink\w*|overwrite|fallocate|randrepeat|allrandrepeat|randseed|random_generator|refill_buffers|eta\w*|status_interval"
    r"|allow_mounted_write|thread|filename_format|do_verify|continue_on_error|kb_base|unit_base|iodepth_low|iodepth_batch\w*|nice|prio\w*"
)
"""Options that say how fio reports, makes files or starts jobs: nothing of the load is lost without them."""
REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class Place:
    """An option where it stands."""

    value: str
    line: int


Options = Mapping[str, Place]


@dataclass(frozen=True, kw_only=True)
class Translation:
    """The experiment file, and what it cannot say."""

    text: str
    left_out: tuple[str, ...]
    """`line 12: random_distribution = zipf:1.2: no counterpart`."""


@dataclass
class _Job:
    """One job while it is translated: the knobs found so far, and the options that are left."""

    name: str
    left: dict[str, Place]
    knobs: dict[str, object] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    refused: str = ""
    """Why nothing here does what it does; empty where something does."""

    def take(self, name: str, default: str = "") -> str:
        """Return an option's value and forget it; an option without a value is `1`."""
        place = self.left.pop(name, None)
        return default if place is None else place.value.strip() or "1"

    def number(self, name: str) -> int | None:
        """Return an option that is a whole number, and forget it; what is written in another way is noted. None without one."""
        line = self.left[name].line if name in self.left else 0
        text = self.take(name)
        if text and not (text.isascii() and text.isdigit()):
            self.note(f"{name} = {text}", line, "expected one whole number")
            return None
        return int(text) if text else None

    def seconds(self, name: str, unit: str = "s") -> float | None:
        """As `number`, of a time: `60`, `5m`, `250ms`; a number alone is in the unit."""
        line = self.left[name].line if name in self.left else 0
        text = self.take(name)
        found = _seconds(text, unit)
        if text and found is None:
            self.note(f"{name} = {text}", line, "expected one time: 60, 5m, 250ms")
        return found

    def note(self, name: str, line: int, why: str) -> None:
        """Keep what cannot be said."""
        self.wrong.append(printable(f"line {line}: {name}: {why}"))


def translated(text: str, name: str) -> Translation:
    """Translate a job file. Raises InputErrors for what is no job file, and for jobs that have no counterpart at all."""
    jobs = sections(text, name)
    done = [_translate(job, options) for job, options in zip(_names(jobs), (options for _, options in jobs), strict=True)]
    directory = _directory(options for _, options in jobs)
    title = re.sub(r"\.(fio|job|ini)$", "", name.rpartition("/")[2])
    lines = [f"title = {quoted(title)}", f"repeats = {REPEATS}", ""]
    if len(done) > 1 and not all("stonewall" in options or at == 0 for at, (_, options) in enumerate(jobs)):
        lines.insert(0, "# fio runs these jobs at the same time; here they run one after the other.")
    lines += ["[targets.disk]", 'kind = "directory"', f"path = {quoted(directory)}", ""]
    if all(job.refused for job in done):
        raise InputErrors(
            Mistake(
                file=name,
                line=None,
                column=None,
                found=f"job {job.name}, {job.refused}",
                expected="a job that reads or writes files",
            )
            for job in done
        )
    left_out: list[str] = []
    for job in done:
        wrong = [printable(f"{job.refused}: the job is left out")] if job.refused else job.wrong
        left_out += [f"job {job.name}, {one}" for one in wrong]
        lines += [f"# {'' if not job.refused else f'job {job.name}, '}{one}" for one in wrong]
        if not job.refused:
            lines += [f"[workloads.{job.name}]", 'kind = "bulk_io"']
            lines += [f"{knob} = {_value(value)}" for knob, value in job.knobs.items()]
        lines += [""]
    return Translation(text="\n".join(lines), left_out=tuple(dict.fromkeys(left_out)))


# --------------------------------------------------------------------------------------------- the file


def sections(text: str, name: str) -> Sequence[tuple[str, Options]]:
    """The jobs with all options that hold for them, those of `[global]` before it included. Raises InputErrors."""
    jobs: list[tuple[str, dict[str, Place]]] = []
    shared: dict[str, Place] = {}
    here: dict[str, Place] | None = None
    errors: list[Mistake] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = COMMENT.sub("", raw).strip()
        if not line:
            continue
        if section := SECTION.fullmatch(line):
            here = shared if section[1] == GLOBAL else dict(shared)
            if here is not shared:
                jobs.append((section[1], here))
            continue
        option, _, value = (part.strip() for part in line.partition("="))
        if option.split()[:1] == ["include"]:
            errors.append(
                Mistake(
                    file=name,
                    line=number,
                    column=None,
                    found="include",
                    expected="the options themselves: include is not followed",
                )
            )
        elif here is None or not re.fullmatch(r"[\w.-]+", option):
            errors.append(
                Mistake(file=name, line=number, column=None, found=raw.strip()[:60], expected="[JOB], or an option of fio: bs=4k")
            )
        else:
            here[ALIASES.get(option, option)] = Place(value=value, line=number)
    if not jobs and not errors:
        errors.append(
            Mistake(file=name, line=1, column=None, found="no [JOB]", expected="a job file of fio with at least one job")
        )
    if errors:
        raise InputErrors(errors)
    return jobs


# --------------------------------------------------------------------------------------------- one job


def _translate(name: str, options: Options) -> _Job:
    job = _Job(name=name, left=dict(options))
    _operations(job)
    _sizes(job)
    _engine(job)
    _caches(job)
    _flushes(job)
    _durations(job)
    _pace(job)
    _content(job)
    for option in sorted(job.left, key=lambda one: job.left[one].line):
        if not OUTPUT.fullmatch(option):
            place = job.left[option]
            job.note(f"{option} = {place.value}" if place.value else option, place.line, "no counterpart")
    return job


def _operations(job: _Job) -> None:
    line = job.left["rw"].line if "rw" in job.left else 0
    written = job.take("rw", "read")
    kind = written.partition(":")[0]
    job.knobs["operations"] = [DIRECTIONS.get(kind, "read")]
    if kind not in DIRECTIONS:
        job.refused = f"line {line}: rw = {written}: no counterpart; random_mix (randrw) is the mix that Assay has"
    elif ":" in written:
        job.note(f"rw = {written}", line, "the numbers behind the colon have no counterpart")
    share, writes = job.number("rwmixread"), job.number("rwmixwrite")
    if kind == "randrw":
        reads = 100 - writes if writes is not None else 50
        job.knobs["read_share"] = f"{reads if share is None else share} %"
    if kind.startswith("rand"):
        job.knobs["order"] = "uniform" if job.take("norandommap", "0") != "0" else "permutation"
    job.take("norandommap")


def _sizes(job: _Job) -> None:
    for option, knob, default in (("bs", "record_size", "4k"), ("size", "size", "")):
        line = job.left[option].line if option in job.left else 0
        text = job.take(option, default)
        found = _bytes(text.partition(",")[0])
        if found is not None:
            job.knobs[knob] = _sized(found)
            job.bytes[option] = found
        if text and (found is None or "," in text):
            job.note(f"{option} = {text}", line, "expected one size: 4k, 1m")
    many = job.number("numjobs") or 1
    if many > 1:
        job.knobs["workers"] = many
        if "filename" in job.left:
            job.knobs["sharing"] = "one-file"
    if _device(job.left):
        place = job.left["filename"]
        job.note(f"filename = {place.value}", place.line, "no counterpart: a file below the target takes its place")
    job.take("filename")
    job.take("directory")
    if "nrfiles" in job.left and job.left["nrfiles"].value == "1":
        job.take("nrfiles")
    if (most := _bytes(job.take("io_size"))) is not None:
        job.knobs["ops"] = max(1, most // job.bytes.get("bs", 4096))
    if ops := job.number("number_ios"):
        job.knobs["ops"] = ops


def _engine(job: _Job) -> None:
    line = job.left["ioengine"].line if "ioengine" in job.left else 0
    named = job.take("ioengine", "psync")
    engine, depth = ENGINES.get(named), job.number("iodepth") or 1
    if engine is None:
        job.refused = job.refused or f"line {line}: ioengine = {named}: no counterpart"
    job.knobs["ioengine"] = engine or "psync"
    if engine == ASYNCHRONOUS:
        job.knobs["depth"] = depth
        if batch := job.number("iodepth_batch_complete_min"):
            job.knobs["batch"] = batch
    elif depth > 1:
        job.note(f"iodepth = {depth}", line, f"{named} has one request in flight, in fio, too")
    if engine == ASYNCHRONOUS and named != ASYNCHRONOUS:
        job.note(f"ioengine = {named}", line, "io_uring takes its place")
    direct = job.take("direct", "0") != "0" or job.take("buffered", "1") == "0"
    job.take("buffered")
    if direct:
        job.knobs["direct"] = True
    if job.take("sync", "0") not in ("0", "none"):
        job.knobs["sync"] = "dsync"
    for option in ("registerfiles", "fixedbufs"):
        if job.take(option, "0") != "0":
            job.knobs["register"] = "on"


def _caches(job: _Job) -> None:
    reads = any(one in ("read", "random_read", "random_mix") for one in _list(job.knobs["operations"]))
    leaves, warm = job.take("invalidate", "1") != "0", job.take("pre_read", "0") != "0"
    if reads:
        job.knobs["cache"] = "warm" if warm else "cold" if leaves else "unchanged"


def _flushes(job: _Job) -> None:
    for option in ("fsync", "fdatasync"):
        if every := job.number(option):
            job.knobs |= {"flush": "each"} if every == 1 else {"flush_every": every}
            job.knobs["flush_call"] = option
    ends = [job.take(option, "0") != "0" for option in ("end_fsync", "fsync_on_close")]
    if any(ends) and "flush_call" not in job.knobs:
        job.knobs["flush"] = "end"


def _durations(job: _Job) -> None:
    line = job.left["runtime"].line if "runtime" in job.left else 0
    runtime, based = job.seconds("runtime"), job.take("time_based", "0") != "0"
    if runtime:
        job.knobs["duration"] = f"{runtime:g} s"
        if not based and "size" in job.knobs:
            job.note("runtime", line, "without time_based fio ends earlier where all records are done; here the time counts")
    line = job.left["loops"].line if "loops" in job.left else 0
    if (loops := job.take("loops", "1")) != "1":
        job.note(f"loops = {loops}", line, "set `repeats` of the file: each repeat is a run of its own")
    line = job.left["startdelay"].line if "startdelay" in job.left else 0
    if (delay := job.seconds("startdelay")) is not None and delay > 0:
        job.note(f"startdelay = {delay:g} s", line, "no counterpart: workloads of a trial start one after the other")


def _pace(job: _Job) -> None:
    rate = job.number("rate_iops")
    if rate:
        job.knobs["rate"] = f"{rate * int(str(job.knobs.get('workers', 1)))} /s"
        if not {"duration", "ops"} & job.knobs.keys() and "size" in job.bytes:
            job.knobs["ops"] = max(1, job.bytes["size"] // job.bytes.get("bs", 4096))  # fio ends with the file
        if job.take("rate_process") == "poisson":
            job.knobs["arrivals"] = "poisson"
    job.take("rate_process")
    think = job.seconds("thinktime", unit="us")
    if think:
        job.knobs["think"] = f"{think * 1e6:g} us"


def _content(job: _Job) -> None:
    share = job.take("buffer_compress_percentage", "0").rstrip("%")
    if share.isdigit() and 0 < int(share) < 100:
        job.knobs["compressible"] = round(100 / (100 - int(share)), 2)
    if (copies := job.take("dedupe_percentage", "0").rstrip("%")) != "0":
        job.knobs["duplicates"] = f"{copies} %"
    if job.take("zero_buffers", "0") != "0":
        job.knobs["zeros"] = "100 %"
    if (cpus := job.take("cpus_allowed")) and re.fullmatch(r"[\d,-]+", cpus):
        job.knobs["cpus"] = [cpu for part in cpus.split(",") for cpu in _span(part)]


# --------------------------------------------------------------------------------------------- values


def _directory(jobs: Iterable[Options]) -> str:
    """The directory of the first job that names one, or in which its file is."""
    for options in jobs:
        if "directory" in options:
            return options["directory"].value
        if "filename" in options and "/" in options["filename"].value and not _device(options):
            return options["filename"].value.partition(":")[0].rpartition("/")[0] or "/"
    return "scratch"


def _device(options: Options) -> bool:
    return "filename" in options and options["filename"].value.startswith(("/dev/", "\\\\"))


def _sized(number: int) -> str:
    """`64 KiB`: the largest unit that leaves a whole number."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number} B"


def _bytes(text: str) -> int | None:
    """Bytes of `4k`, `1m`, `1GiB`; None for any other text."""
    match = SIZE.fullmatch(text.strip())
    return None if match is None else int(float(match[1]) * UNITS[match[2].lower()])


def _seconds(text: str, unit: str = "s") -> float | None:
    """Seconds of `60`, `5m`, `250ms`; a number alone is in the unit. None for any other text."""
    match = TIME.fullmatch(text.strip())
    return None if match is None else float(match[1]) * SECONDS[(match[2] or unit).lower()]


def _span(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1)) if first.isdigit() else []


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]


def _value(value: object) -> str:
    """As TOML writes it; sizes in bytes with their unit."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value)


def _names(jobs: Iterable[tuple[str, Options]]) -> list[str]:
    """Names of workloads: letters, digits, `_` and `-`, each once."""
    found: list[str] = []
    for name, _ in jobs:
        bare = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-") or "job"
        found.append(bare if bare not in found else f"{bare}-{len(found)}")
    return found
