"""The engine on a far host: where it is put, that it is the right one, and that its agent starts."""

import hashlib
import json
import queue
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.errors import MissingError, RefusedError
from assay.hosts.addresses import parsed
from assay.hosts.placing import place, start_agent
from assay.hosts.ssh import Door
from assay.machine.engine_file import engine_path

pytestmark = pytest.mark.root
ENGINE = engine_path()
DIGEST = hashlib.sha256(ENGINE.read_bytes()).hexdigest()
NAME = f"assay-engine-{DIGEST}"


@pytest.fixture
def machine(far):
    return far(1)[0]


@pytest.fixture
def door(machine):
    door = Door("c.1", parsed(machine.address))
    yield door
    door.close()


def test_it_comes_once_into_a_private_directory_under_its_digest(machine, door):
    first, second = place(door, ENGINE), place(door, ENGINE)
    assert first.path == second.path == f"/root/.cache/assay/{NAME}"
    assert (first.fresh, second.fresh) == (True, False)
    directory = machine.home / ".cache" / "assay"
    assert [path.name for path in directory.iterdir()] == [NAME]
    assert hashlib.sha256((directory / NAME).read_bytes()).hexdigest() == DIGEST
    assert stat.S_IMODE(directory.stat().st_mode) == stat.S_IMODE((directory / NAME).stat().st_mode) == 0o700


def test_its_agent_speaks_first_unless_its_file_was_changed(door, machine):
    channel, placed = start_agent(door, ENGINE)
    lines = queue.Queue()
    channel.listen(lambda line, at_ns: lines.put(line))
    hello = json.loads(lines.get(timeout=120))
    assert placed.fresh
    assert hello["type"] == "hello"
    assert hello["uid"] == 0
    channel.close()
    place(door, ENGINE)
    path = machine.home / ".cache" / "assay" / NAME
    with path.open("ab") as file:
        file.write(b"#")
    with pytest.raises(RefusedError, match="SHA-256") as refused:
        start_agent(door, ENGINE)
    assert "Remove the file" in str(refused.value)
    assert "assay hosts FILE install" in str(refused.value)


def test_what_a_login_shell_prints_is_no_answer(machine, door):
    (machine.home / ".bashrc").write_text("echo welcome\necho 'path /evil'\n")
    assert place(door, ENGINE).path == f"/root/.cache/assay/{NAME}"


def test_engines_of_another_architecture_and_broken_ones_are_refused(machine, door, tmp_path):
    other = bytearray(ENGINE.read_bytes()[:4096])
    other[18:20] = (243).to_bytes(2, "little")
    (tmp_path / "engine").write_bytes(other)
    with pytest.raises(RefusedError, match="the engine of this laboratory is for Linux riscv64") as refused:
        place(door, tmp_path / "engine")
    assert "engine = false" in str(refused.value)
    assert not (machine.home / ".cache" / "assay").exists()
    broken = ENGINE.read_bytes()[:4096]
    (tmp_path / "engine").write_bytes(broken)
    with pytest.raises(RefusedError, match="its agent did not start"):
        start_agent(door, tmp_path / "engine")


def test_a_directory_of_others_or_without_the_right_to_execute_is_not_used(machine, door):
    cache = machine.home / ".cache"
    cache.mkdir()
    machine.run("mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", "/root/.cache")
    machine.run("mount", "-t", "tmpfs", "tmpfs", "/tmp")
    assert place(door, ENGINE).path == f"/tmp/assay-0/{NAME}"
    machine.run("chown", "-R", "65534", "/tmp/assay-0")
    with pytest.raises(MissingError, match="no private directory"):
        place(door, ENGINE)


def test_names_are_taken_literally(machine, door):
    home = "/root/it's $(touch pwned) `touch pwned`"
    machine.run("mkdir", home)
    machine.run("sh", "-c", f'sed "s,:/root:,:$1:," {machine.directory}/passwd > /run/passwd', "sh", home)
    machine.run("mount", "--bind", "/run/passwd", "/etc/passwd")
    assert place(door, ENGINE).path == f"{home}/.cache/assay/{NAME}"
    assert "pwned" not in machine.run("find", "/root").stdout.replace(home, "")


def test_several_at_once_on_one_machine(machine):
    doors = [Door(f"c.{number}", parsed(machine.address)) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        placed = list(pool.map(lambda door: place(door, ENGINE), doors))
    for door in doors:
        door.close()
    assert len({one.path for one in placed}) == 1
    assert [path.name for path in (machine.home / ".cache" / "assay").iterdir()] == [NAME]
