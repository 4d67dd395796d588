"""The plug `server_command`: real servers by the recipes of experiments/servers, sealed, their files compared and read cold."""

import shutil
import tomllib
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError
from assay.experiment import read
from assay.records import EndpointKind, Outcome, TargetSpec, WorkloadSpec
from assay.targets import server_command
from stage.served_stage import NOTHING, SBIN, WAN, carried_cold, fact, needs, needs_root
from stage.targets_host import HOST, MIB, placing
from stage.trial_stage import HURRY

ROOT = Path(__file__).parents[2]
SHIPPED = tomllib.loads((ROOT / "experiments" / "protocols.toml").read_text())["targets"]
RECIPES = ("xrootd", "gridftp", "ftp")
SOFTWARE = {"xrootd": "v5", "gridftp": "globus_gridftp_server: 1", "ftp": "vsftpd: version 3"}
TARGET = catalogue.find("targets", "server_command")
ECHO = {"run": ("python3", "-m", "http.server", "--directory", "{data}", "--bind", "{server.address}", "{port}"), "port": 80}
"""A server that gives files and takes none."""
real = [pytest.mark.root, needs_root, needs("ip", "nsenter")]
of_commands = [*real, needs("python3", "curl")]


def shipped(name, **more):
    """A target as the shipped experiment has it, with the whole path of its script; skips where a program is missing."""
    table = SHIPPED[name]
    programs = {*table["needs"], table["put"][0], table["get"][0]}
    if missing := sorted(program for program in programs if shutil.which(program, path=SBIN) is None):
        pytest.skip(f"not here: {', '.join(missing)}")
    knobs = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    knobs = {key: value for key, value in knobs.items() if key not in ("kind", "on", "through", "price")}
    knobs["run"] = tuple(word.replace("experiments/", f"{ROOT}/experiments/") for word in knobs["run"])
    return TargetSpec(name=name, kind="server_command", knobs={**knobs, **more})


def load(**knobs):
    return WorkloadSpec(name="t", kind="transfer", knobs={"files": 3, "file_size": 4 * MIB, **HURRY, **knobs})


@pytest.fixture
def placed(tmp_path):
    with placing(TARGET, tmp_path, **ECHO) as place:
        yield place


class TestRecipes:
    pytestmark = real

    @pytest.mark.parametrize("name", RECIPES)
    def test_files_go_to_its_data_come_back_cold_and_are_compared_there(self, bench, name):
        run, seen = bench.conduct(shipped(name), workloads=(load(),))
        carried_cold(run, seen, 3 * 4 * MIB)
        assert run.phases[1].drain_ns > 0, "no such server flushes"
        assert fact(seen, "target.setting.software").startswith(SOFTWARE[name])
        assert (fact(seen, "target.server.route"), fact(seen, "target.server.route_kind")) == ("load0", "virtual")
        assert bench.left() == NOTHING

    def test_behind_a_path_on_another_target(self, bench):
        name = RECIPES[0]
        disk = TargetSpec(name="disk", kind="loopfs", knobs={"filesystem": "ext4", "size": 64 * MIB})
        run, seen = bench.conduct(disk, shipped(name, on="disk", through="wan"), workloads=(load(files=2),), paths=(WAN,))
        assert run.outcome is Outcome.FINISHED, run.error
        assert run.places[0].devices[0].startswith("loop"), "the server's data are on the disk"
        assert fact(seen, "target.line") == "wan"
        put = run.phases[1]
        assert put.end_ns - put.start_ns > 8 * MIB / 12_500_000 * 1e9 * 0.9, "as slow as the path"
        assert bench.left() == NOTHING

    def test_its_mounts_are_seen_by_it_alone(self, tmp_path):
        with placing(TARGET, tmp_path, **shipped(RECIPES[0]).knobs) as placed:
            made = placed()
            (pid,) = Path(made.place.server.nodes[0].pid_file).read_text().split()
            assert {point for _, _, point in _mounts(pid) - _mounts("self")} >= {"/run"}
            end = made.attached()
            assert (end.kind, end.address, end.details["data"]) == (EndpointKind.STORE, "198.18.0.2", made.place.address)


class TestAnyCommand:
    pytestmark = of_commands

    def test_a_file_that_the_server_keeps_elsewhere_has_no_figure(self, bench):
        """The client's put succeeds, and nothing is at the server."""
        knobs = {**ECHO, "put": ("cp", "{source}", "{instance}/{name}"), "get": ("cp", "{instance}/{name}", "{destination}")}
        run, _ = bench.conduct(TargetSpec(name="files", kind="server_command", knobs=knobs), workloads=(load(files=1),))
        assert run.outcome is Outcome.FAILED
        assert "No such file" in run.error
        assert bench.left() == NOTHING

    def test_a_server_that_ends_says_why_and_leaves_nothing(self, bench):
        knobs = {**ECHO, "run": ("sh", "-c", "echo the licence is over >&2; exit 3")}
        run, _ = bench.conduct(TargetSpec(name="files", kind="server_command", knobs=knobs), workloads=(load(files=1),))
        assert run.outcome is Outcome.FAILED
        assert "server has ended instead of starting: the licence is over" in run.error
        assert bench.left() == NOTHING

    def test_variables_are_given_and_the_command_runs_where_assay_was_started(self, placed, tmp_path, monkeypatch):
        (tmp_path / "here.sh").write_text('echo "$2" > "$1/seen"; exec python3 -m http.server --bind "$3" 80\n')
        monkeypatch.chdir(tmp_path)
        run = ("sh", "./here.sh", "{instance}", "{variables.size}", "{server.address}")
        made = placed(run=run, version=("echo", "files {variables.size}"), variables__size="64M")
        assert Path(str(made.place.private["directory"]), "seen").read_text() == "64M\n"
        assert made.facts()["setting.software"] == "files 64M"

    def test_a_killed_one_is_started_again(self, placed):
        made = placed()
        kill, load_of = next(iter(TARGET.events)), str(made.place.private["network.load"])
        fetch = ("nsenter", f"--net={load_of}", "--", "curl", "-fsS", "-o", "/dev/null", "http://198.18.0.2/")
        assert HOST.run(fetch, check=False).status == 0
        made.event(kill)
        assert HOST.run(fetch, check=False).status != 0
        made.event(kill, "back")
        assert HOST.run(fetch, check=False).status == 0


def test_everything_that_is_wrong_is_said_at_once(placed, monkeypatch):
    knobs = {"run": ("no-such-server", "./no/script.sh", "{date}"), "needs": ("xrootd",), "put": ("/no/such/copy",)}
    found = placed.check(**knobs)
    for part in ("no-such-server: not found.", "/no/such/copy: not found.", "./no/script.sh: not found.", "found {date} in run"):
        assert any(part in one for one in found), (part, found)
    assert any("found no command in run" in one for one in placed.check(run=()))
    assert not [one for one in found if "FUSE" in one]
    monkeypatch.setattr("assay.machine.external_commands.location", lambda host, tool: None)
    wanted = {"xrootd": "xrootd-server", "xrdcp": "xrootd-client", "globus-gridftp-server": "globus-gridftp-server-progs"}
    for name in RECIPES:
        table = SHIPPED[name]
        knobs = {"needs": tuple(table["needs"]), "put": tuple(table["put"]), "run": ("sh", "x")}
        found = placed.check(**knobs)
        for program in (*table["needs"], table["put"][0]):
            package = wanted.get(program, {"globus-url-copy": "globus-gass-copy-progs"}.get(program, program))
            assert f"{program}: not found. Install {package}." in found


def test_a_load_that_needs_a_directory_is_refused_in_the_file():
    text = (
        (ROOT / "experiments" / "protocols.toml")
        .read_text()
        .replace('kind = "transfer"\nfiles = 10', 'kind = "bulk_io"\nfiles = 10')
    )
    with pytest.raises(Exception, match="which offers a store"):
        read.parse(text, "e.toml")
    with pytest.raises(TrialError, match="is not mounted"):
        server_command.mount(HOST, None, "/x", "w")
    assert not TARGET.mounts_each({})


def _mounts(pid):
    """(file system, what of it, point) of each mount that a process sees."""
    rows = (row.split() for row in Path(f"/proc/{pid}/mountinfo").read_text().splitlines())
    return {(row[2], row[3], row[4]) for row in rows}
