"""Every way back is run for real, by each shell that is here, also where the thing is no longer ours."""

import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.catalogue import FAMILY
from assay.errors import UsageError
from assay.hosts.local import Local
from assay.machine import kernel_settings, ownership
from assay.undo.kinds import KINDS, process_state
from assay.undo.ways_back import WAYS, escaped, way_back
from stage.assay_process import wait_until

HOST = Local()
HOSTILE = [
    "plain",
    "it's",
    'a "quote"',
    "$(touch CANARY)",
    "`touch CANARY`",
    "a\nb; touch CANARY\n",
    "sp ace\ttab",
    "back\\sl#sh",
    "[x]*?",
    "-rf",
]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount and attach")


SHELLS = {name: path for name in ("dash", "bash", "busybox") if (path := shutil.which(name))}
"""Those that are here."""


@pytest.fixture(scope="session")
def applets(tmp_path_factory):
    """A directory with the tools of busybox."""
    place = tmp_path_factory.mktemp("applets")
    if "busybox" not in SHELLS:
        return place
    subprocess.run([SHELLS["busybox"], "--install", "-s", str(place)], check=True)
    (place / "setpriv").unlink(missing_ok=True)  # ours of this machine knows more
    return place


class Walker:
    """Walks ways back with one shell, which must never execute a name."""

    def __init__(self, shell, called, path, home):
        self.shell, self._called, self._path = shell, called, path
        self._home, self._made = home / shell, itertools.count()
        self._cwd = self._home / "cwd"
        self._cwd.mkdir(parents=True)

    def __call__(self, kind, details, by="-c"):
        """The last word, or why it could not be walked."""
        script = way_back(kind, details)
        given = {"input": script} if by == "input" else {"stdin": subprocess.DEVNULL, "args": [*self._called, "-c", script]}
        environment = {**os.environ, "IFS": "/", "PATH": self._path}
        more = {"args": self._called, "cwd": self._cwd, "env": environment, "timeout": 300, **given}
        done = subprocess.run(**more, capture_output=True, text=True, check=False)
        assert list(self._cwd.iterdir()) == []
        if done.returncode == 0:
            assert done.stdout in ("undone\n", "gone\n")
            assert done.stderr == "" or kind == "command"
            return done.stdout.strip()
        return f"left: {done.stderr}"

    def fresh(self):
        """A directory that nothing was in."""
        path = self._home / str(next(self._made))
        path.mkdir()
        return path

    @contextlib.contextmanager
    def own_files(self):
        """Make files that are ours, with the tools of the machine that will undo them; gives their entries."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", self._path)
            yield lambda path: noted(ownership.make_file, str(path))


def noted(make, *words):
    """What is written to a ledger when something is made."""
    found = {}
    make(HOST, SimpleNamespace(add=lambda kind, **details: found.update(details)), *words)
    return found


@pytest.fixture
def walks(room, applets):
    """One walker for each shell that is here, on the disk; busybox has its own tools alone."""
    paths = {"busybox": str(applets)}
    calls = {"busybox": [SHELLS.get("busybox"), "sh"]}
    return [Walker(name, calls.get(name, [path]), paths.get(name, os.environ["PATH"]), room) for name, path in SHELLS.items()]


def test_every_kind_has_its_way_back():
    assert set(WAYS) == set(KINDS)


def test_a_directory_goes_while_it_has_our_marker(subtests, walks):
    for walked, name in itertools.product(walks, HOSTILE):
        with subtests.test(shell=walked.shell, name=name):
            tmp_path = walked.fresh()
            path = tmp_path / name / ".assay-1"
            (path / "sub" / name).mkdir(parents=True)
            for file in (path / ownership.MARKER, path / "sub" / ownership.MARKER, path / "data"):
                file.write_text("ours")
            assert walked("directory", {"path": str(path), "marker": "another's"}) == "gone"
            assert (path / "data").exists()
            assert walked("directory", {"path": str(path), "marker": "ours"}) == "undone"
            assert not path.exists()
            assert path.parent.exists()
            assert walked("directory", {"path": str(path), "marker": "ours"}) == "gone"


def test_a_directory_whose_maker_was_killed_early_goes_and_a_link_to_one_stays(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell):
            tmp_path = walked.fresh()
            for name in (".assay-a", ".assay-b", "empty", "foreign"):
                (tmp_path / name).mkdir()
            (tmp_path / ".assay-b" / ownership.MARKER).touch()
            (tmp_path / "foreign" / ownership.MARKER).touch()
            (tmp_path / "foreign" / "\n").touch()
            (tmp_path / ".assay-link").symlink_to(tmp_path / "empty")
            said = {
                path.name: walked("directory", {"path": str(path), "marker": "m"})
                for path in sorted(tmp_path.iterdir())
                if path.name != "cwd"
            }
            assert said == {".assay-a": "undone", ".assay-b": "undone", "empty": "gone", "foreign": "gone", ".assay-link": "gone"}


def test_a_file_goes_from_a_marked_directory_alone(subtests, walks):
    for walked, name in itertools.product(walks, HOSTILE):
        with subtests.test(shell=walked.shell, name=name):
            tmp_path = walked.fresh()
            (tmp_path / "sub").mkdir()
            for place in (tmp_path, tmp_path / "sub"):
                (place / name).write_text("x")
            (tmp_path / ownership.MARKER).write_text("m")
            assert walked("file", {"path": str(tmp_path / name), "marker": "m"}) == "undone"
            assert walked("file", {"path": str(tmp_path / name), "marker": "m"}) == "gone"
            assert walked("file", {"path": str(tmp_path / "sub" / name), "marker": "m"}) == "gone"
            assert (tmp_path / "sub" / name).exists()


def test_a_file_of_ours_goes_with_its_marker(subtests, walks):
    for walked, name in itertools.product(walks, HOSTILE):
        with subtests.test(shell=walked.shell, name=name), walked.own_files() as own_file:
            room = walked.fresh()
            details = own_file(room / name)
            assert walked("own_file", details) == "undone"
            assert list(room.iterdir()) == []
            assert walked("own_file", details) == "gone"


def test_a_file_that_took_the_place_of_ours_stays(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell), walked.own_files() as own_file:
            room = walked.fresh()
            details = own_file(room / "f")
            (room / "stranger").write_text("x")
            (room / "stranger").rename(room / "f")
            assert walked("own_file", details) == "undone", "its marker goes"
            assert [path.name for path in room.iterdir()] == ["f"]
            assert (room / "f").read_text() == "x"


def test_a_kept_file_stays_and_an_unfinished_one_goes(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell), walked.own_files() as own_file:
            room = walked.fresh()
            kept, unfinished = own_file(room / "kept"), {"path": str(room / "new"), "marker": "ab12"}
            ownership.keep_file(HOST, str(room / "kept"))
            assert walked("own_file", kept) == "gone"
            (room / f"{ownership.PREFIX}ab12").touch()
            os.link(room / f"{ownership.PREFIX}ab12", room / "new")
            assert walked("own_file", unfinished) == "undone"
            assert sorted(path.name for path in room.iterdir()) == [".kept.assay-marker", "kept"]


@pytest.mark.root
@needs_root
def test_a_mount_goes_while_point_and_device_are_ours(subtests, walks):
    for walked, name in itertools.product(walks, HOSTILE):
        with subtests.test(shell=walked.shell, name=name):
            tmp_path = walked.fresh()
            point, source = tmp_path / name, f"assay {name}"
            point.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "--", source, str(point)], check=True)
            try:
                assert walked("mount", {"path": str(point), "device": "another"}) == "gone"
                assert walked("mount", {"path": f"{point}x", "device": source}) == "gone"
                assert point.is_mount()
                assert walked("mount", {"path": str(point), "device": source}, by="input") == "undone"
                assert not point.is_mount()
                assert walked("mount", {"path": str(point), "device": source}) == "gone"
            finally:
                subprocess.run(["umount", "-q", str(point)], check=False)


@contextlib.contextmanager
def mount_of_ours(place):
    point = place / ".assay-point"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "ours", str(point)], check=True)
    try:
        yield point
    finally:
        while point.is_mount():
            subprocess.run(["umount", "-l", str(point)], check=True)


@pytest.mark.root
@needs_root
def test_a_mount_that_is_covered_or_busy_is_left_with_the_reason(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell), mount_of_ours(walked.fresh()) as mounted:
            details = {"path": str(mounted), "device": "ours"}
            subprocess.run(["mount", "-t", "tmpfs", "stranger", str(mounted)], check=True)
            assert "covered by another mount" in walked("mount", details)
            assert "stranger" in Path("/proc/self/mountinfo").read_text()
            subprocess.run(["umount", str(mounted)], check=True)
            with (mounted / "open").open("w"):
                assert "busy" in walked("mount", details)
            assert walked("mount", details) == "undone"


@pytest.mark.root
@needs_root
def test_a_directory_with_a_mount_below_is_left(subtests, walks):
    """Also where the mount is of the same file system, which `find -xdev` would walk into."""
    for walked, name in itertools.product(walks, HOSTILE):
        with subtests.test(shell=walked.shell, name=name), mount_of_ours(walked.fresh()) as mounted:
            tmp_path = walked.fresh()
            path = tmp_path / name / ".assay-1"
            inner = path / name
            inner.mkdir(parents=True)
            (path / ownership.MARKER).write_text("m")
            (mounted / "data").touch()
            (tmp_path / "link").symlink_to(tmp_path / name)
            subprocess.run(["mount", "--bind", str(mounted), str(inner)], check=True)
            try:
                for way in (path, tmp_path / "link" / ".assay-1"):
                    assert "still mounted" in walked("directory", {"path": str(way), "marker": "m"})
                assert (mounted / "data").exists()
            finally:
                subprocess.run(["umount", str(inner)], check=True)
            assert walked("directory", {"path": str(path), "marker": "m"}) == "undone"


def test_a_setting_goes_back_while_it_says_what_we_wrote(subtests, walks):
    for walked, (now, value) in itertools.product(
        walks, [("10\n", "10"), ("always [madvise] never\n", "madvise"), ("1\t2 3\n", "1 2 3")]
    ):
        with subtests.test(shell=walked.shell, now=now):
            place = walked.fresh()
            path, other = place / "set", place / "other"
            other.write_text("0\n")
            details = {"path": str(path), "value": value, "back_path": str(other), "back": "20"}
            assert walked("setting", details) == "gone"
            path.write_text("another's\n")
            assert walked("setting", details) == "gone"
            assert not kernel_settings.put_back(HOST, details)
            assert other.read_text() == "0\n"
            path.write_text(now)
            assert walked("setting", details) == "undone"
            assert other.read_text() == "20\n"
            assert kernel_settings.put_back(HOST, details)
            assert other.read_text() == "20"
            other.unlink()
            other.mkdir()
            assert "does not take 20" in walked("setting", details)


@pytest.mark.root
@needs_root
def test_a_loop_device_is_detached_while_it_has_our_image(subtests, walks):
    for walked, name in itertools.product(walks, ["plain", "it's $(touch CANARY)", "sp ace\n#x"]):
        with subtests.test(shell=walked.shell, name=name):
            room = walked.fresh()
            image = room / name
            image.write_bytes(bytes(1 << 20))
            device = HOST.run(["losetup", "-f", "--show", str(image)]).stdout.strip()
            ahead = Path(f"/sys/block/{Path(device).name}/queue/read_ahead_kb")
            before, backing = ahead.read_text().strip(), Path(f"/sys/block/{Path(device).name}/loop/backing_file")
            details = {"device": device, "image": str(image), "read_ahead_kb": before}
            try:
                ahead.write_text("4096")
                assert walked("loop", {**details, "image": f"{image}.other"}) == "gone"
                assert backing.exists()
                image.unlink()
                assert walked("loop", details) == "undone"
                assert not held(backing, image)
                assert walked("loop", details) == "gone"
            finally:
                if held(backing, image):
                    subprocess.run(["losetup", "-d", device], check=True)


def held(backing, image):
    """Whether the device still has the image: once it is free, another test may take it."""
    with contextlib.suppress(OSError):
        return backing.read_text().startswith(str(image))
    return False


def test_a_process_ends_with_its_group_while_it_is_the_same(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell):
            leader = subprocess.Popen(
                ["sh", "-c", "sleep 600 & echo $!; wait"], process_group=0, stdout=subprocess.PIPE, text=True
            )
            child = int(leader.stdout.readline())
            ticks, _, _ = process_state(HOST, str(leader.pid))
            assert walked("process", {"pid": str(leader.pid), "start_ticks": str(int(ticks) + 1)}) == "gone"
            assert leader.poll() is None
            assert walked("process", {"pid": str(leader.pid), "start_ticks": ticks}) == "undone"
            assert leader.wait(300) == -signal.SIGKILL
            leader.stdout.close()
            wait_until(lambda child=child: (found := process_state(HOST, str(child))) is None or found[2] in "ZX")
            assert walked("process", {"pid": str(leader.pid), "start_ticks": ticks}) == "gone"


def test_a_process_with_an_odd_name_is_read_rightly(subtests, walks):
    """The name of a command stands in brackets, and may have brackets, spaces and line ends itself."""
    for walked in walks:
        with subtests.test(shell=walked.shell):
            tmp_path = walked.fresh()
            odd = tmp_path / "a) 1 S\n("
            shutil.copy(shutil.which("sleep"), odd)
            sleeper = subprocess.Popen([str(odd), "600"])
            ticks, group, _ = process_state(HOST, str(sleeper.pid))
            assert group != str(sleeper.pid), "it leads no group: ours must not be ended"
            assert walked("process", {"pid": str(sleeper.pid), "start_ticks": ticks}) == "undone"
            assert sleeper.wait(300) == -signal.SIGKILL


def test_a_family_ends_with_all_that_inherited_its_token(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell):
            token = secrets.token_hex(8)
            environments = [{FAMILY: token}, {FAMILY: token + "0"}, {f"X{FAMILY}": token}]
            ours, *strangers = (
                subprocess.Popen(["setsid", "-w", "sleep", "600"], env={**os.environ, **more}) for more in environments
            )
            try:
                assert walked("family", {"token": token}) == "undone"
                assert ours.wait(300) == -signal.SIGKILL
                assert [stranger.poll() for stranger in strangers] == [None, None]
                assert walked("family", {"token": token}) == "gone"
            finally:
                for other, more in zip(strangers, environments[1:], strict=True):
                    assert walked("family", {"token": more.get(FAMILY, "none")}) in ("undone", "gone")
                    other.kill()
                    other.wait()


def test_a_throttle_rule_goes_while_it_is_unchanged(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell):
            tmp_path = walked.fresh()
            file = tmp_path / "it's $(touch CANARY)"
            for content, said, then in (
                ("8:0 5\n7:3 100\n", "undone", "7:3 0\n"),
                ("7:3 1000\n", "gone", "7:3 1000\n"),
                ("17:3 100\n", "gone", "17:3 100\n"),
            ):
                file.write_text(content)
                assert walked("throttle", {"file": str(file), "device": "7:3", "value": "100"}) == said
                assert file.read_text() == then
            file.unlink()
            assert walked("throttle", {"file": str(file), "device": "7:3", "value": "100"}) == "gone"


GROUPS = [
    path
    for path in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
    if (path / "cgroup.procs").exists()
]


@pytest.mark.root
def test_a_group_goes_and_its_processes_go_up(subtests, walks):
    for walked, root in itertools.product(walks, GROUPS):
        with subtests.test(shell=walked.shell, root=root):
            path = root / f"assay-test's {secrets.token_hex(3)}"
            try:
                (path / "inner").mkdir(parents=True)
            except OSError as error:
                pytest.skip(f"{root}: {error.strerror}")
            sleeper = subprocess.Popen(["sleep", "600"])
            try:
                (path / "cgroup.procs").write_text(str(sleeper.pid))
                assert walked("cgroup", {"path": str(path)}) == "gone", "another group is in it"
                (path / "inner").rmdir()
                assert walked("cgroup", {"path": str(path)}) == "undone"
                assert not path.exists()
                assert sleeper.poll() is None
                assert walked("cgroup", {"path": str(path)}) == "gone"
                assert walked("cgroup", {"path": str(root / "foreign")}) == "gone"
            finally:
                sleeper.kill()
                sleeper.wait()
                for group in (path / "inner", path):
                    with contextlib.suppress(FileNotFoundError):
                        group.rmdir()


def test_a_command_gets_its_words_literally_and_nothing_of_the_script(subtests, walks):
    for walked, by, words in itertools.product(walks, ["-c", "input"], [HOSTILE, ["undone"], [""]]):
        with subtests.test(shell=walked.shell, by=by, words=words):
            tmp_path = walked.fresh()
            out = tmp_path / "it's out"
            argv = ["sh", "-c", 'cat > "$0"; printf "%s\\0" "$@" >> "$0"; echo gone', str(out), *words]
            assert walked("command", {"argv": json.dumps(argv)}, by=by) == "undone"
            assert out.read_bytes().split(b"\0") == [*(word.encode() for word in words), b""]


def test_a_command_is_a_program_and_never_a_word_of_the_shell(subtests, walks):
    for walked, name in itertools.product(walks, ["exit", "undone", "left", "it's $(touch CANARY)"]):
        with subtests.test(shell=walked.shell, name=name):
            assert walked("command", {"argv": json.dumps([name])}).startswith("left: ")


def test_a_command_that_fails_is_left_with_what_it_said(subtests, walks):
    for walked in walks:
        with subtests.test(shell=walked.shell):
            said = walked("command", {"argv": json.dumps(["sh", "-c", "echo stuck >&2; exit 7"])})
            assert "stuck" in said
            assert "exit status 7" in said


TEXTS = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]) | st.sampled_from("'\"$`();&|<>\n\\*?[]# "),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(name=TEXTS, marker=TEXTS)
def test_no_name_is_ever_executed(tmp_path_factory, name, marker):
    """Every script is the text around its names and nothing more: a shell that is asked gives back the very names."""
    place = tmp_path_factory.mktemp("names")
    details = {"path": f"/nowhere/{name}", "marker": marker, "device": f"assay {name}", "image": f"/nowhere/{name}"}
    for kind in ("directory", "file", "mount"):
        script = way_back(kind, details)
        head, _, _ = script.partition("cd /\n")
        asked = 'printf "%s\\0" "$path" "$0"; exit 0\n)'
        done = subprocess.run(["sh", "-c", head + asked, "own"], capture_output=True, cwd=place, check=True)
        assert done.stdout.split(b"\0")[:2] == [details["path"].encode(), b"own"]
        assert subprocess.run(["sh", "-c", script], capture_output=True, cwd=place, check=True).stdout == b"gone\n"
    assert list(place.iterdir()) == []


def test_details_that_no_honest_entry_has_are_refused(subtests):
    for kind, details in [
        ("directory", {"path": "relative", "marker": "m"}),
        ("directory", {"path": "/a\0b", "marker": "m"}),
        ("process", {"pid": "1; reboot", "start_ticks": "1"}),
        ("process", {"pid": "-1", "start_ticks": "1"}),
        ("family", {"token": "a\nb"}),
        ("loop", {"device": "/dev/sda", "image": "/x"}),
        ("loop", {"device": "/dev/loop0", "image": "/x", "read_ahead_kb": "1\n2"}),
        ("throttle", {"file": "/x", "device": "7:0\n", "value": "1"}),
        ("own_file", {"path": "/x", "marker": "../y"}),
    ]:
        with subtests.test(kind=kind, details=details), pytest.raises(UsageError, match="ledger entry"):
            way_back(kind, details)


def test_names_are_written_as_in_mountinfo():
    assert escaped("/a b\tc\nd\\e#f") == "/a\\040b\\011c\\012d\\134e#f"
    assert escaped("a#b", "#") == "a\\043b"


def test_a_way_back_inside_a_trap_is_walked_when_the_shell_ends(tmp_path):
    """As one shell without anything installed keeps it."""
    path = tmp_path / ".assay-1"
    path.mkdir()
    shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, text=True)
    shell.stdin.write(f"back() {{ {way_back('directory', {'path': str(path), 'marker': 'm'})} }}\ntrap back EXIT\n")
    shell.stdin.flush()
    assert path.exists()
    shell.stdin.close()
    assert shell.wait(300) == 0
    assert not path.exists()
