"""Which file an external command is: path and size as facts, so that another build of it shows in a comparison."""

import dataclasses
import os
import shutil
from pathlib import Path

from assay import catalogue
from assay.records import Endpoint, EndpointKind, FactClass, WorkloadSpec
from assay.trial.trial_facts import fact_class, programs
from stage.trial_stage import HOST, Laboratory, bulk, command, trial


def told(directory, *argv, **knobs):
    spec = command("c", *argv, **knobs)
    endpoint = Endpoint(kind=EndpointKind.DIRECTORY, address=str(directory))
    return dict(programs(HOST, catalogue.find("workloads", "command"), spec, endpoint))


def script(path, text="exit 0"):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_name_is_looked_up_and_its_links_are_followed(tmp_path):
    real = Path(shutil.which("sleep")).resolve()
    assert told(tmp_path, "sleep", "1") == {"program.c": f"{real}, {real.stat().st_size} bytes"}
    (tmp_path / "link").symlink_to(real)
    assert told(tmp_path, str(tmp_path / "link")) == {"program.c": f"{real}, {real.stat().st_size} bytes"}


def test_the_commands_own_path_comes_first(tmp_path):
    own = script(tmp_path / "sleep")
    elsewhere = tmp_path / "trial"
    elsewhere.mkdir()
    assert told(elsewhere, "sleep", env=(f"PATH={tmp_path}",)) == {"program.c": f"{own}, {own.stat().st_size} bytes"}


def test_another_build_is_another_fact(tmp_path):
    tool = script(tmp_path / "tool")
    (tmp_path / "trial").mkdir()
    before = told(tmp_path / "trial", str(tool))
    script(tool, "exit 1 # another build")
    assert told(tmp_path / "trial", str(tool)) != before


def test_the_trials_own_directory_makes_no_difference(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        script(tmp_path / name / "tool")
    assert told(tmp_path / "a", "./tool") == told(tmp_path / "b", "{directory}/tool")


def test_what_is_not_there_is_told(tmp_path):
    assert told(tmp_path, "no-such-tool") == {"program.c": "no-such-tool: not found"}


def test_a_program_that_a_factor_chooses_is_no_hidden_difference():
    spec = command("c", "true")
    assert fact_class(spec, {"clients": 2, "cc.argv": ("x",)}) is FactClass.PERFORMANCE
    for levels in ({"c.argv": ("a",)}, {"c.variables.tool": "a"}, {"workload": "c"}):
        assert fact_class(spec, levels) is FactClass.IDENTITY


def of_transfer(directory, *, details=None, **knobs):
    spec = WorkloadSpec(name="f", kind="transfer", knobs=knobs)
    endpoint = Endpoint(kind=EndpointKind.DIRECTORY, address=str(directory), details=details or {})
    return dict(programs(HOST, catalogue.find("workloads", "transfer"), spec, endpoint))


def test_a_program_that_the_target_brings_is_a_fact_of_the_target(tmp_path):
    cp, dd = (f"{real}, {real.stat().st_size} bytes" for real in (Path(shutil.which(name)).resolve() for name in ("cp", "dd")))
    own = {"put": ("cp", "{source}", "{directory}/{name}")}
    assert of_transfer(tmp_path) == {"target.program.f.put": dd, "target.program.f.get": dd}, "by what it offers"
    assert of_transfer(tmp_path, details=own) == {"target.program.f.put": cp, "target.program.f.get": dd}
    assert of_transfer(tmp_path, **own) == {"program.f.put": cp, "target.program.f.get": dd}, "the workload names it"
    chosen = WorkloadSpec(name="f", kind="transfer")
    assert fact_class(chosen, {"f.put": own["put"]}) is FactClass.IDENTITY


def test_a_run_keeps_it_once(tmp_path):
    laboratory = Laboratory(tmp_path)
    lab = laboratory.lab(command("c", "true"), dataclasses.replace(bulk(operations=("write",)), name="w"))
    lab.install()
    try:
        _, observations = lab.run(trial(), 1)
    finally:
        lab.remove()
    facts = [fact for fact in observations.facts if fact.key.startswith("program.")]
    assert [fact.key for fact in facts] == ["program.c"]
    assert facts[0].value.startswith(os.path.realpath(shutil.which("true")))
    assert laboratory.left() == ([], ())
    laboratory.ledger.close()
