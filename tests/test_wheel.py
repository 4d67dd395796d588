"""The wheel in an empty environment, without Rust and without privileges: an experiment runs from it, with its report."""

import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from stage.assay_process import Bench, as_nobody

REPOSITORY = Path(__file__).parent.parent
ENGINE, LINE = "assay/bin/assay-engine", "assay/bin/assay-line"
BARE_PATH = "/usr/bin:/bin"
UV = REPOSITORY / ".build" / "uv" / "bin" / "uv"
UNREACHED = ("onnection", "Temporary failure", "timed out", "error sending request", "dns error")
EXPERIMENT = """
title = "From the wheel"
question = "Does all of it travel?"
repeats = 1
[targets.here]
kind = "directory"
path = "."
[workloads.stream]
kind = "bulk_io"
size = "16 MiB"
cache = "cold"
flush = "end"
[measures]
"stream.read.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
"""
"""One trial: `assay quick` itself runs in test_quick.py."""


def done(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """What `make dist` builds, built beside the tree's own `dist/`."""
    tools = [Path(sys.prefix) / "bin" / "maturin", REPOSITORY / "src" / ENGINE]
    if lacking := [str(tool) for tool in tools if not tool.exists()]:
        pytest.skip(f"not here: {', '.join(lacking)} (make build, and the group dev)")
    out = tmp_path_factory.mktemp("dist")
    built = done(tools[0], "build", "--release", "--locked", "--quiet", "--out", out, cwd=REPOSITORY)
    assert built.returncode == 0, built.stderr
    (found,) = out.glob("assay_lab-*.whl")
    return found


@pytest.fixture(scope="module")
def place(wheel, tmp_path_factory):
    """The environment that has the wheel, and the bench of a user who may call it."""
    if os.geteuid() != 0:
        yield installed(wheel, tmp_path_factory.mktemp("venv") / "venv"), Bench(tmp_path_factory.mktemp("home"))
        return
    with as_nobody() as bench:
        venv = installed(wheel, bench.home / "venv")
        owned = done("chown", "-R", "65534:65534", venv)
        assert owned.returncode == 0, owned.stderr
        yield venv, bench


def installed(wheel, venv):
    """Install the wheel and what it requires: by uv, where `make` has it, in a twentieth of pip's CPU time."""
    steps = by_uv(wheel, venv) if UV.exists() else by_pip(wheel, venv)
    for step in steps:
        got = done(*step, env={**os.environ, "UV_LINK_MODE": "copy", "UV_COMPILE_BYTECODE": "0"})
        if got.returncode != 0 and any(word in got.stderr for word in UNREACHED):
            pytest.skip(f"no registry can be reached: {got.stderr.strip().splitlines()[-1]}")
        assert got.returncode == 0, got.stdout + got.stderr
    return venv


def by_pip(wheel, venv):
    yield sys.executable, "-m", "venv", venv
    yield venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel


def by_uv(wheel, venv):
    """The wheel itself comes last, from no cache and without a network: so it fits what was installed, and no cache grows."""
    into = (UV, "pip", "install", "--quiet", "--python", venv / "bin" / "python")
    yield UV, "venv", "--quiet", "--python", sys.executable, venv
    yield *into, *requirements(wheel)
    yield *into, "--no-cache", "--offline", wheel


def requirements(wheel):
    """What the wheel says that it requires, without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = message_from_bytes(archive.read(name)).get_all("Requires-Dist")
    return [one for one in told if "extra ==" not in one]


@pytest.mark.slow
def test_the_engine_travels_in_the_wheel_executable_and_static(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        assert archive.getinfo(ENGINE).external_attr >> 16 & 0o111 == 0o111
        assert archive.getinfo(LINE).external_attr >> 16 & 0o111 == 0o111
        programs = [Path(archive.extract(name, tmp_path)) for name in (ENGINE, LINE)]
        assert {"assay/controls/quick.toml", "assay/casebook/stage.sh", "assay/casebook/own_address.md"} <= {*archive.namelist()}
        assert {"assay/serve/static/htmx.min.js", "assay/serve/static/htmx.LICENSE", "assay/serve/templates/base.html.j2"} <= {
            *archive.namelist()
        }
        assert "assay/profiles/file_server.toml" in archive.namelist()
        assert "assay/size_distributions/debian_usr.toml" in archive.namelist()
        assert not [name for name in archive.namelist() if name.startswith(("tests/", "benchmarks/")) or name.endswith(".rs")]
    assert not [one for one in programs if b"/lib64/ld-linux" in one.read_bytes()], "no loader is asked for"


@pytest.mark.slow
def test_an_experiment_runs_from_it(place):
    venv, bench = place
    environment = {"PATH": BARE_PATH, "HOME": str(bench.home)}
    for tool in ("cargo", "rustc"):
        assert not any(Path(folder, tool).exists() for folder in BARE_PATH.split(":"))
    work = bench.home / "work"
    work.mkdir()
    if os.geteuid() == 0:
        os.chown(work, 65534, 65534)
    (work / "wheel.toml").write_text(EXPERIMENT)
    ran = done(*bench.through, venv / "bin" / "assay", "run", "wheel.toml", cwd=work, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if not line.startswith("trial ")] == [], "progress alone, a line every 10 s"
    assert "stream.read.bytes_per_s" in ran.stdout
    reported = done(*bench.through, venv / "bin" / "assay", "report", cwd=work, env=environment)
    assert reported.returncode == 0, reported.stderr
    (report,) = work.glob("lab/*/report.html")
    assert 0 < report.stat().st_size < 2_000_000
