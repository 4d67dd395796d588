import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue, plain
from assay.errors import RefusedError, TrialError, UsageError
from assay.records import Place, Server, ServerNode
from assay.undo.ledger import Ledger
from stage.targets_host import HOST, setting

TARGET = catalogue.find("targets", "commands")


@pytest.fixture
def undo(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    ledger.unwind()
    ledger.close()


def shell(text):
    return ("sh", "-c", text)


def test_life_of_a_system_that_is_set_up_by_commands(undo, tmp_path):
    given = setting(
        undo,
        tmp_path,
        prepare=shell("mkdir '{scratch}/{name}-{trial}-{seed}' && echo noise && echo '{scratch}/{name}-{trial}-{seed}'"),
        attach=shell("mkdir '{path}/c{client}' && echo '{path}/c{client}'"),
        drop_caches=shell("echo cold > '{path}/cold'"),
        facts=shell("echo 'version = {variables.version}'; echo 'mode: fast'; echo nonsense; awk 'BEGIN {{ print \"a = b\" }}'"),
        teardown=shell("rm -r '{scratch}/{name}-{trial}-{seed}'"),
        variables__version="2.1",
    )
    assert TARGET.check(HOST, given) == ()
    place = TARGET.prepare(HOST, given)
    assert place.address == f"{tmp_path}/t-1-7"
    assert TARGET.attach(HOST, given, place, 2).address == f"{tmp_path}/t-1-7/c2"
    TARGET.drop_caches(HOST, place)
    assert Path(place.address, "cold").read_text() == "cold\n"
    told = dict(TARGET.facts(HOST, place))
    assert (told["version"], told["mode"], told["a"]) == ("2.1", "fast", "b")
    assert "filesystem" in told
    TARGET.teardown(HOST, given, place)
    assert not Path(place.address).exists()
    TARGET.teardown(HOST, given, place)


def test_a_path_from_the_file_needs_no_command_and_without_processes_there_is_no_server(undo, tmp_path):
    given = setting(undo, tmp_path, path="{scratch}")
    place = TARGET.prepare(HOST, given)
    assert place.address == str(tmp_path)
    assert TARGET.attach(HOST, given, place, 0).address == str(tmp_path)
    with pytest.raises(RefusedError, match="drop_caches"):
        TARGET.drop_caches(HOST, place)
    assert TARGET.prepare(HOST, setting(undo, tmp_path, path="{scratch}")).server is None
    given = setting(undo, tmp_path, path="/tmp", server__data=("/var",), server__address="{adress}")
    found = TARGET.check(HOST, given)
    assert any("server.pid_file" in mistake for mistake in found)
    assert any("adress" in mistake for mistake in found)


def test_a_client_is_attached_and_detached_on_its_own_host(undo, tmp_path):
    for name in ("server", "client"):
        (tmp_path / name).mkdir()
    given = setting(
        undo,
        tmp_path / "server",
        path="{scratch}",
        server__pid_file="{scratch}/pid",
        server__address="192.0.2.7",
        attach=shell(
            "mkdir '{scratch}/{client}' && echo {server.address} > '{scratch}/{client}/to' && echo '{scratch}/{client}'"
        ),
        detach=shell("rm -r '{scratch}/{client}'"),
    )
    assert TARGET.check(HOST, given) == ()
    there = replace(given, scratch=str(tmp_path / "client"))
    endpoint = TARGET.attach(HOST, there, TARGET.prepare(HOST, given), 2)
    assert endpoint.address == f"{tmp_path}/client/2"
    assert Path(endpoint.address, "to").read_text() == "192.0.2.7\n"
    TARGET.detach(HOST, there, endpoint)
    assert not Path(endpoint.address).exists()
    TARGET.detach(HOST, there, endpoint)
    assert undo.unwind() == ()


def test_what_was_attached_is_undone_after_a_crash(undo, tmp_path):
    given = setting(
        undo, tmp_path, path="{scratch}", attach=shell("touch '{scratch}/mounted'"), detach=shell("rm '{scratch}/mounted'")
    )
    TARGET.attach(HOST, given, TARGET.prepare(HOST, given), 0)
    assert [one.state for one in undo.unwind()] == ["undone"]
    assert not (tmp_path / "mounted").exists()


def test_clients_enter_the_group_that_prepare_made(undo, tmp_path):
    made = shell("mkdir {scratch}/v1 && ln -s {scratch}/v1 {scratch}/group && echo {scratch}")
    place = TARGET.prepare(HOST, setting(undo, tmp_path, prepare=made, cgroup="{path}/group"))
    assert place.private["cgroup"] == str(tmp_path / "v1")
    assert "cgroup" not in TARGET.prepare(HOST, setting(undo, tmp_path, path="{scratch}")).private
    assert "nmae" in str(TARGET.check(HOST, setting(undo, tmp_path, path="{scratch}", cgroup="{nmae}")))


def test_every_mistake_at_once_and_a_command_that_fails_fails_the_trial(undo, tmp_path):
    given = setting(undo, tmp_path, attach=("x", "{nmae}"), facts=("y", "{variables.size}"))
    found = TARGET.check(HOST, given)
    assert len(found) == 3
    with pytest.raises(UsageError, match="nmae"):
        TARGET.prepare(HOST, given)
    with pytest.raises(TrialError, match="exit status 3: no licence"):
        TARGET.prepare(HOST, setting(undo, tmp_path, prepare=shell("echo no licence >&2; exit 3")))
    with pytest.raises(TrialError, match="'/nowhere'"):
        TARGET.prepare(HOST, setting(undo, tmp_path, prepare=("echo", "/nowhere")))


def test_teardown_runs_after_a_kill(tmp_path):
    done = tmp_path / "done"
    code = (
        "import os, sys\nsys.path.insert(0, sys.argv[1])\n"
        "from stage.targets_host import HOST, setting\nfrom assay import catalogue\nfrom assay.undo.ledger import Ledger\n"
        "given = setting(Ledger(sys.argv[2]), '/tmp', path='/tmp', teardown=('touch', sys.argv[3]))\n"
        "catalogue.find('targets', 'commands').prepare(HOST, given)\nos.kill(os.getpid(), 9)\n"
    )
    tests = Path(__file__).parent.parent
    subprocess.run([sys.executable, "-c", code, str(tests), str(tmp_path / "ledger"), str(done)], check=False)
    assert not done.exists()
    (cleaned,) = Ledger(tmp_path / "ledger").clean(HOST)
    assert cleaned.state == "undone"
    assert json.loads(cleaned.entry.details["argv"]) == ["touch", str(done)]
    assert done.exists()


def test_a_server_is_named_with_its_processes_data_and_address(undo, tmp_path):
    given = setting(
        undo,
        tmp_path,
        path="{scratch}",
        server__pid_file="{scratch}/{name}.pid",
        server__data=("{path}/store", "/var/log/x"),
        server__address="127.0.0.1",
        server__requests=("cat", "{path}/answered"),
    )
    (tmp_path / "t.pid").write_text(str(os.getpid()))
    place = TARGET.prepare(HOST, given)
    node = ServerNode(
        host="local",
        pid_file=f"{tmp_path}/t.pid",
        data=(f"{tmp_path}/store", "/var/log/x"),
        address="127.0.0.1",
        requests=("cat", f"{tmp_path}/answered"),
    )
    assert place.server == Server(nodes=(node,))
    told = dict(TARGET.facts(HOST, place))
    assert (told["server.route"], told["server.route_kind"]) == ("lo", "loopback")
    assert plain.from_plain(Place, plain.to_plain(place)) == place


def test_the_address_of_a_server_may_be_in_a_file_that_prepare_wrote(undo, tmp_path):
    given = setting(
        undo,
        tmp_path,
        prepare=shell("echo 127.0.0.1 > '{scratch}/address'; echo {scratch}"),
        server__pid_file="{scratch}/pid",
        server__address="{scratch}/address",
    )
    assert TARGET.prepare(HOST, given).server.nodes[0].address == "127.0.0.1"
    (tmp_path / "address").unlink()
    with pytest.raises(TrialError, match=r".*/address: no address"):
        TARGET.prepare(HOST, setting(undo, tmp_path, path="/tmp", server__pid_file="p", server__address=f"{tmp_path}/address"))
