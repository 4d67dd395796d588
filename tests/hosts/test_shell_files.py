"""What a look at a host without the engine finds, by a shell of this machine."""

import subprocess
import time

from assay.hosts.far_shell import Printout
from assay.hosts.shell_files import FUNCTIONS, Files, Wishes
from stage.rows import each


class Shell:
    """Answers each script by a new shell that knows what was defined before."""

    def __init__(self):
        self.known = FUNCTIONS

    def ask(self, script):
        asked_ns = time.monotonic_ns()
        done = subprocess.run(["/bin/sh", "-c", f"{self.known}\n{script}"], capture_output=True, text=True, check=True)
        self.known += script.rpartition("\n")[0] if "() {" in script else ""
        return Printout(text=done.stdout, asked_ns=asked_ns, answered_ns=time.monotonic_ns())


@each(
    "read list exists",
    ((), ("full", "empty", "nowhere"), ("full",)),
    (("full/a",), ("full", "full"), ()),
    (("full/a", "full/gone"), (), ("full/a", "full/gone")),
    ((), ("empty",), ()),
    ((), (), ("nowhere",)),
)
def test_a_look_finds_what_it_wishes_whatever_it_leaves_out(read, list, exists, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "full" / "a").write_text("content\n")
    (tmp_path / "full" / ".b").touch()
    names = {"full": (".b", "a"), "empty": (), "nowhere": ()}
    files = Files(Shell())
    wishes = Wishes(**{kind: tuple(f"{tmp_path}/{name}" for name in found) for kind, found in locals_of(read, list, exists)})
    found = files.all_of("look", wishes)
    assert {path.rpartition("/")[2]: tuple(sorted(entries)) for path, entries in found.names.items()} == {
        name: names[name] for name in list
    }
    assert found.there == {f"{tmp_path}/{name}": (tmp_path / name).exists() for name in exists}
    assert [found.texts[f"{tmp_path}/{name}"] for name in read if name == "full/a"] == ["content\n"] * ("full/a" in read)
    assert all(isinstance(found.texts[f"{tmp_path}/{name}"], OSError) for name in read if name == "full/gone")
    assert found.asked_ns <= found.answered_ns


def locals_of(read, list, exists):
    return (("read", read), ("list", list), ("exists", exists))
