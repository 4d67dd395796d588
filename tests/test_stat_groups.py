"""Commands that a quota or throttle rule of their control group holds back, really run: `assay stat` names it."""

from pathlib import Path

import pytest

from stage.real_groups import entered, real_group, stopped
from stage.stat_stage import device_of, loop_disk, root, stat

pytestmark = root
BUSY = ("sh", "-c", "for i in $(seq 40); do cat data; done > /dev/null")
AS_IS = ("--claim", "tier=as-is")


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("groups"))


def judged(place, *words, through=(), before=AS_IS):
    """What is said of a command that Assay is called for through another one."""
    told = stat(place, *words, before=before, through=through)
    (finding,) = (one for one in told["findings"] if one["rule"] == "L06")
    return told, finding


def test_a_quota_is_named_where_the_command_begins_in_the_group_and_where_it_enters_it(disk):
    with real_group("cpu") as (group, unified):
        stopped(group, unified)
        _, begun = judged(disk, *BUSY, through=entered(group))
        _, moved = judged(disk, *entered(group), *BUSY)
        _, outside = judged(disk, *BUSY)
    assert {one["state"] for one in (begun, moved)} == {"fail"}
    assert {one["severity"] for one in (begun, moved)} == {"qualifies"}
    assert group.name in begun["statement"]
    assert outside["state"] == "pass"


def test_a_quota_is_named_inside_a_container_that_sees_its_own_group_alone(disk):
    with real_group("cpu") as (group, unified):
        stopped(group, unified)
        inside = ("unshare", "--mount", "sh", "-c", f'mount --bind {group} {group.parent} && exec "$@"', "sh")
        _, finding = judged(disk, *BUSY, through=(*entered(group), *inside))
    assert (finding["state"], finding["severity"]) == ("fail", "qualifies")


def test_a_throttle_rule_of_the_commands_group_is_named(disk):
    write = ("dd", "if=/dev/zero", f"of={disk}/w", "bs=1M", "count=16", "oflag=direct")
    number = Path("/sys/block", Path(device_of(disk)).name, "dev").read_text().strip()
    with real_group("io") as (group, unified):
        rule = f"{number} {'wbps=' if unified else ''}4000000"  # 4 s: a slow start of dd on a busy machine is little of that
        (group / ("io.max" if unified else "blkio.throttle.write_bps_device")).write_text(rule)
        lie, limited = judged(disk, *write, through=entered(group), before=())
        _, free = judged(disk, *write, before=())
    assert (limited["state"], "write limit of 4 MB/s" in limited["statement"]) == ("fail", True)
    assert lie["verdict"] != "SOUND"
    assert free["state"] == "pass"


HOLD = "import os, time; held = [os.open('/dev/null', os.O_RDONLY) for _ in range({})]; time.sleep(1.5); print('9 MB/s')"
TOLD = ("--direction", "read", "--reported", "([0-9]+) MB/s", "--unit", "MB/s")


def test_a_command_with_as_many_open_files_as_it_may_have_is_held_back(disk):
    """Three standard streams and 17 more are 20, the limit of the shell that it begins in."""
    ends = {}
    for name, count in (("lie", 17), ("twin", 5)):
        words = ("sh", "-c", f'ulimit -n 20; exec python3 -c "{HOLD.format(count)}"')
        _, ends[name] = judged(disk, *words, before=(*AS_IS, *TOLD))
    assert (ends["lie"]["state"], ends["lie"]["severity"]) == ("fail", "qualifies")
    assert "limit of 20 open files (ulimit -n), 20 open" in ends["lie"]["statement"]
    assert ends["twin"]["state"] == "pass"
