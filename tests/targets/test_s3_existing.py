"""The plug `s3_existing`: an S3 server of somebody else; Assay writes below a prefix that it marked, and nothing else changes."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import RefusedError, UsageError
from assay.machine import s3
from assay.records import CacheState, EndpointKind, Outcome, TargetSpec, WorkloadSpec
from assay.targets import s3_versitygw
from assay.undo.ledger import Ledger
from stage.assay_process import listens, wait_until
from stage.served_stage import NOTHING, SBIN, ServedBench, needs, versitygw
from stage.targets_host import HOST, MIB, refused_elsewhere, setting
from stage.trial_stage import HURRY

TARGET = catalogue.find("targets", "s3_existing")
ACCESS, SECRET = "somebody", "else-s-secret-word"


@pytest.fixture
def server(tmp_path):
    """A versitygw that stands for that of somebody else: its URL, its data, its file of keys, an object in its bucket."""
    versitygw()
    data, keys = tmp_path / "store", tmp_path / "keys"
    (data / "archive").mkdir(parents=True)
    (data / "archive" / "theirs").write_text("precious")
    keys.write_text(f"[default]\naws_access_key_id = {ACCESS}\naws_secret_access_key = {SECRET}\n")
    keys.chmod(0o600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = shutil.which("versitygw", path=SBIN) or str(s3_versitygw.BUILT)
    env = {**os.environ, "ROOT_ACCESS_KEY": ACCESS, "ROOT_SECRET_KEY": SECRET}
    argv = [program, "--port", f"127.0.0.1:{port}", "--keep-alive", "posix", str(data)]
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(port))
        yield {"url": f"http://127.0.0.1:{port}", "bucket": "archive", "key_file": str(keys)}
        assert (data / "archive" / "theirs").read_text() == "precious"
        left = [path.name for path in (data / "archive").iterdir() if not path.name.startswith(".sgw")]
        assert left == ["theirs"], "nothing of ours is left"
    finally:
        process.kill()
        process.wait()


def given(undo, tmp_path, server, **knobs):
    return setting(undo, tmp_path, **catalogue.resolved(TARGET.knobs, {**server, **knobs}))


def load(**knobs):
    return WorkloadSpec(name="t", kind="transfer", knobs={"files": 3, "file_size": MIB, **HURRY, **knobs})


def spec(server, **knobs):
    return TargetSpec(name="archive", kind="s3_existing", knobs={**server, **knobs})


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "scratch").mkdir(exist_ok=True)
    made = Ledger(tmp_path / "ledger")
    yield made
    assert [one for one in made.unwind() if one.state == "left"] == []


@needs("rclone")
def test_only_a_marked_prefix_is_written_and_removed_and_data_of_another_bucket_are_refused(server, ledger, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(Exception, match="does not keep its objects in"):
        TARGET.prepare(HOST, given(ledger, tmp_path / "scratch", server, data=str(other)))
    assert list((tmp_path / "scratch").iterdir()) == []
    wanted = given(ledger, tmp_path / "scratch", server, prefix="bench/")
    assert TARGET.check(HOST, wanted) == ()
    place = TARGET.prepare(HOST, wanted)
    try:
        end = TARGET.attach(HOST, wanted, place, 0)
        prefix = str(end.details["prefix"])
        assert prefix.startswith("bench/assay-")
        assert (tmp_path / "store" / "archive" / prefix / s3.MARKER).is_file()
        shown = (str(end), str(place), str(TARGET.facts(HOST, place)), Path(str(end.details["config"])).read_text())
        assert not [text for text in shown if SECRET in text], "the secret stays in the file of its owner"
        with pytest.raises(RefusedError, match="the server's data are not known"):
            TARGET.drop_caches(HOST, place)
    finally:
        TARGET.teardown(HOST, wanted, place)
    assert list((tmp_path / "scratch").iterdir()) == []


@needs("rclone")
def test_a_prefix_whose_mark_somebody_changed_is_left_alone(server, ledger, tmp_path):
    wanted = given(ledger, tmp_path / "scratch", server)
    place = TARGET.prepare(HOST, wanted)
    where = tmp_path / "store" / "archive" / str(place.private["prefix"])
    (where / s3.MARKER).write_text("mine now")
    (where / "kept").write_text("x")
    TARGET.teardown(HOST, wanted, place)
    assert (where / "kept").is_file()
    shutil.rmtree(where)


@needs("rclone")
def test_what_a_killed_lab_left_is_removed_and_stays_in_the_ledger_while_the_server_is_away(server, ledger, tmp_path):
    wanted = given(ledger, tmp_path / "scratch", server)
    place = TARGET.prepare(HOST, wanted)
    back = json.loads(str(place.private["undo"]))
    away = [word.replace("cat", "cat --s3-endpoint http://127.0.0.1:1") for word in back]
    assert HOST.run(away, check=False).status == 1, "not done: the server did not answer"
    left = tmp_path / "store" / "archive" / str(place.private["prefix"]) / "object"
    left.write_text("x")
    assert [one.state for one in ledger.unwind()] == ["undone", "undone"]
    assert not left.exists()


@needs("rclone")
def test_without_the_servers_data_files_are_fetched_once_more_and_cold_is_not_proved(server, tmp_path):
    bench = ServedBench(tmp_path)
    run, seen = bench.conduct(spec(server), workloads=(load(),))
    assert run.outcome is Outcome.FINISHED, run.error
    assert [phase.name for phase in run.phases] == ["t.make", "t.put", "t.fetch", "t.compare", "t.get", "t.compare_got"]
    assert run.phases[4].cache_proved is None
    assert "server's data are not known" in (run.phases[4].not_cold or "")
    assert run.phases[1].drain_ns is None, "nobody can flush it"
    assert SECRET not in str((run, seen))
    assert bench.left() == NOTHING


@needs("rclone")
def test_with_its_data_it_is_compared_made_cold_and_drained_there(server, tmp_path):
    bench = ServedBench(tmp_path)
    run, _ = bench.conduct(spec(server, data=str(tmp_path / "store" / "archive")), workloads=(load(),))
    assert run.outcome is Outcome.FINISHED, run.error
    assert [phase.name for phase in run.phases][2] == "t.compare"
    assert run.phases[3].cache_proved is CacheState.COLD
    assert run.phases[1].drain_ns > 0
    assert bench.left() == NOTHING


@needs("rclone")
def test_wrong_keys_and_a_server_that_is_not_there_are_said_before_anything_is_made(server, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("[default]\naws_access_key_id = somebody\naws_secret_access_key = wrong\n")
    wrong.chmod(0o600)
    (found,) = TARGET.check(HOST, given(None, tmp_path, server, key_file=str(wrong)))
    assert "Correct url, bucket or key_file." in found
    (found,) = TARGET.check(HOST, given(None, tmp_path, server, url="http://127.0.0.1:1"))
    assert "http://127.0.0.1:1: " in found


@needs("rclone")
def test_all_mistakes_come_at_once(tmp_path):
    open_to_all = tmp_path / "keys"
    open_to_all.write_text("aws_access_key_id = x\n")
    open_to_all.chmod(0o644)
    knobs = {"url": "s3.example.com", "bucket": "No", "key_file": str(open_to_all), "prefix": "/a", "data": "/no/such"}
    knobs |= {"put": ("no-such-copy", "{source}", "{name}"), "get": ("/no/such/fetch", "{name}", "{destination}")}
    found = TARGET.check(HOST, given(None, tmp_path, knobs))
    for part in (
        "found url = 's3.example.com'; expected http://",
        "found bucket = 'No'; expected 3 to 63",
        "other users may read it (mode 644)",
        "no aws_secret_access_key",
        "found prefix = '/a'; expected a text that ends with one slash",
        "/no/such: no directory. Correct data",
        "no-such-copy: not found. Install no-such-copy.",
        "/no/such/fetch: not found. Correct the path.",
    ):
        assert any(part in one for one in found), (part, found)
    absent = TARGET.check(HOST, given(None, tmp_path, {**knobs, "key_file": str(tmp_path / "none")}))
    assert any("no such file. Correct key_file." in one for one in absent)
    with pytest.raises(UsageError, match="the key file is there"):
        refused_elsewhere(TARGET, setting(None, tmp_path), EndpointKind.BUCKET)
