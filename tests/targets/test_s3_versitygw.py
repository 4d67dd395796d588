"""The plug `s3_versitygw`: a real versitygw in a namespace, its bucket used by a real rclone, every object found in its data."""

import time
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError
from assay.machine import s3
from assay.records import EndpointKind, Outcome, TargetSpec, WorkloadSpec
from assay.targets import s3_versitygw
from assay.undo.ledger import Ledger
from stage.served_stage import NOTHING, WAN, ServedBench, carried_cold, fact, needs, needs_root, versitygw
from stage.targets_host import HOST, MIB, setting
from stage.trial_stage import HURRY

TARGET = catalogue.find("targets", "s3_versitygw")
real = [pytest.mark.root, needs_root, needs("rclone", "ip", "nsenter")]


def given(undo, tmp_path, **knobs):
    return setting(undo, tmp_path, **catalogue.resolved(TARGET.knobs, {**versitygw(), **knobs}))


def spec(**knobs):
    return TargetSpec(name="objects", kind="s3_versitygw", knobs={**versitygw(), **knobs})


def load(**knobs):
    return WorkloadSpec(name="t", kind="transfer", knobs={"files": 3, "file_size": 4 * MIB, **HURRY, **knobs})


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)


class TestReal:
    pytestmark = real

    def test_it_is_up_within_three_seconds_no_secret_is_in_an_argument_and_nothing_is_left(self, tmp_path):
        ledger = Ledger(tmp_path / "ledger")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        wanted = given(ledger, scratch)
        began = time.monotonic()
        place = TARGET.prepare(HOST, wanted)
        took = time.monotonic() - began
        try:
            end = TARGET.attach(HOST, wanted, place, 0)
            assert (end.kind, end.address) == (EndpointKind.BUCKET, "http://198.18.0.2:7070")
            words = Path(str(end.details["key_file"])).read_text().split()
            told = dict(TARGET.facts(HOST, place))
            shown = [str(end), str(place), str(told), Path(str(end.details["config"])).read_text(), _arguments()]
            for secret in (words[3], words[6]):
                assert not [text for text in shown if secret in text]
            assert Path(str(end.details["key_file"])).stat().st_mode & 0o77 == 0
            assert told["setting.software"].startswith("versitygw ")
            assert (told["server.route"], told["server.route_kind"]) == ("load0", "virtual")
        finally:
            TARGET.teardown(HOST, wanted, place)
        assert took < 120, "3 s on a machine that does nothing else"
        assert [one for one in ledger.unwind() if one.state == "left"] == []
        assert list(scratch.iterdir()) == []

    def test_files_go_to_its_data_come_back_cold_and_are_compared_there(self, bench):
        run, seen = bench.conduct(spec(), workloads=(load(),))
        carried_cold(run, seen, 3 * 4 * MIB)
        assert run.phases[1].drain_ns > 0
        assert bench.left() == NOTHING

    def test_behind_a_path_on_another_target(self, bench):
        disk = TargetSpec(name="disk", kind="loopfs", knobs={"filesystem": "ext4", "size": 64 * MIB})
        run, seen = bench.conduct(disk, spec(on="disk", through="wan"), workloads=(load(files=2),), paths=(WAN,))
        assert run.outcome is Outcome.FINISHED, run.error
        assert run.places[0].devices[0].startswith("loop"), "the server's data are on the disk"
        assert fact(seen, "target.line") == "wan"
        put = run.phases[1]
        assert put.end_ns - put.start_ns > 8 * MIB / 12_500_000 * 1e9 * 0.9, "as slow as the path"
        assert bench.left() == NOTHING

    def test_a_server_that_keeps_its_objects_elsewhere_is_refused(self, bench, monkeypatch):
        def elsewhere(host, bucket, prefix, data):
            return prove(host, bucket, prefix, data.replace("/data/", "/other/"))

        prove = s3.prove
        monkeypatch.setattr(s3, "prove", elsewhere)
        run, _ = bench.conduct(spec(), workloads=(load(),))
        assert run.outcome is Outcome.FAILED
        assert "does not keep its objects in" in run.error
        assert run.phases == ()
        assert bench.left() == NOTHING

    def test_other_programs_carry_files_where_the_target_names_them(self, bench):
        words = ("rclone", "--config", "{config}", "copyto", "--s3-no-check-bucket")
        named = spec(put=(*words, "{source}", "server:{bucket}/{name}"), get=(*words, "server:{bucket}/{name}", "{destination}"))
        run, _ = bench.conduct(named, workloads=(load(files=1),))
        assert run.outcome is Outcome.FINISHED, run.error
        assert bench.left() == NOTHING


def test_what_is_missing_is_named_and_nothing_is_mounted(tmp_path, monkeypatch):
    monkeypatch.setattr(s3_versitygw, "BUILT", tmp_path / "none")
    monkeypatch.setattr("assay.machine.external_commands.location", lambda host, tool: None)
    found = TARGET.check(HOST, setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, {})))
    for part in ("versitygw: not found. Run `make servers` (needs Go)", "rclone: not found. Install rclone."):
        assert any(part in one for one in found), (part, found)
    assert not [one for one in found if "FUSE" in one]
    knobs = catalogue.resolved(TARGET.knobs, {"server.program": "/no/such", "put": ("no-such-client",)})
    found = TARGET.check(HOST, setting(None, tmp_path, **knobs))
    for part in ("/no/such: not found. Correct server.program.", "no-such-client: not found."):
        assert any(part in one for one in found), (part, found)
    with pytest.raises(TrialError, match="is not mounted"):
        s3_versitygw.mount(HOST, None, "/x", "w")
    bucket = s3.Bucket(url="http://h", name="b", config="/c", key_file="/k")
    TARGET.detach(HOST, setting(None, tmp_path), s3.endpoint(bucket, "", {}))
    assert not TARGET.mounts_each({})


def _arguments():
    """The arguments of every process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)
