"""Another address of a host: the same experiment, the same notebook, and the addresses of the newest call."""

import json
from pathlib import Path

from assay.cli import run as verb
from assay.experiment import plan, read
from assay.experiment.named_hosts import readdressed
from assay.laboratory.gate import Gate
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.terminal.progress import ProgressMode

FILE = """title = "Borrowed"
repeats = 1
observers = ["cpu"]
[targets.here]
kind = "existing"
path = "/proc"
[workloads.w]
kind = "null"
ops = 1000
quiesce = "0 s"
[factors.system]
levels = ["old", "new"]
change = "manual"
[hosts]
s = { address = "filer", control = "filer-adm" }
"""


def sit(file: Path, level: str, *hosts: str, resume: bool = False) -> None:
    verb.run(
        verb.Request(
            file=file,
            lab=file.parent / "lab",
            resume=resume,
            sitting=level,
            hosts=hosts,
            json_to=str(file.parent / "answer.json"),
            gate=Gate.OFF,
            progress=ProgressMode.NONE,
        )
    )


def test_sittings_with_different_addresses_come_into_one_notebook(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILE)
    sit(file, "old")
    sit(file, "new", "s=borrowed:2222", resume=True)
    (folder,) = (tmp_path / "lab").iterdir()
    assert [run.trial.levels["system"] for run in notebook.runs(folder)] == ["old", "new"]
    assert (folder / "experiment.toml").read_text() == FILE
    (_, kept) = json.loads((folder / "plan.json").read_text())["experiment"]["hosts"]
    assert (kept["address"], kept["control"]) == ("filer", "filer-adm"), "what was stored first stays"


def test_a_call_works_with_its_own_addresses(tmp_path: Path) -> None:
    first = read.parse(FILE, "x.toml")
    Store.create(tmp_path, first, plan.plan(first), FILE).close()
    later = readdressed(first, ["s=borrowed"])
    with verb.opened(tmp_path, later, plan.plan(later), FILE, fresh=False) as store:
        assert store.resumed
        assert store.experiment.hosts[1].address == "borrowed"
        assert store.experiment.digest == first.digest
