"""A target that stands on another one (`on`): which targets are measured, and every mistake at once."""

from assay.experiment import read
from stage.experiment_texts import wrong
from stage.rows import each

HEAD = """title = "T"
[workloads.w]
kind = "bulk_io"
size = "1 MiB"
"""
DISK = """[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "64 MiB"
"""
FILES = """[targets.files]
kind = "sftp_openssh"
on = "disk"
"""


def test_a_target_below_another_is_prepared_and_measured_where_a_factor_names_it():
    found = read.parse(HEAD + DISK + FILES, "x.toml")
    assert found.factors == (), "one target is measured"
    assert found.first_target.name == "files"
    assert [one.name for one in found.used_targets()] == ["disk", "files"]
    text = 'title = "T"\n[factors]\ntarget = ["disk", "files"]\n' + HEAD.partition("\n")[2] + DISK + FILES
    found = read.parse(text, "x.toml")
    assert found.factors[0].levels == ("disk", "files")
    assert [one.name for one in found.used_targets()] == ["disk", "files"]
    second = DISK.replace("disk", "quick")
    text = HEAD + DISK + second + FILES.replace('on = "disk"\n', "") + '[factors]\n"files.on" = ["disk", "quick"]\n'
    found = read.parse(text, "x.toml")
    assert [one.path for one in found.factors] == ["files.on"]
    assert [one.name for one in found.used_targets()] == ["disk", "quick", "files"]


@each(
    "files found",
    (FILES.replace('"disk"', '"disc"'), "on = 'disc' of target 'files'"),
    (FILES + FILES.replace("files", "more").replace('"disk"', '"files"').replace("targets.more", "targets.more"), None),
    (FILES.replace('"disk"', '"files"'), "on = 'files' of target 'files', which is on 'files' itself"),
    (
        FILES.replace('"disk"', '"b"') + FILES.replace("files", "b").replace('"disk"', '"files"'),
        "on = 'b' of target 'files', which is on 'files' itself",
    ),
    (FILES.replace('"disk"', '"net"') + '[targets.net]\nkind = "socket"\n', "'net' offers no directory"),
)
def test_every_mistake_is_named(files, found):
    if found is None:
        assert read.parse(HEAD + DISK + files, "x.toml").first_target.name == "more"
        return
    assert any(found in one for _, one in wrong(HEAD + DISK + files)), wrong(HEAD + DISK + files)
