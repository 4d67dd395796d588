import os
import pwd
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.survey.bands import DAY_NS
from assay.survey.filters import FileTime, Filters, Words, keeper, resolve
from stage.rows import each
from stage.survey_trees import NOW_NS, distribution, made


def nobody(name):
    return {"root": 0, "daemon": 1}.get(name)


def test_words_become_filters_and_every_mistake_is_told():
    words = Words(owners=("root", "4711"), patterns=("*.c", "*.h"), newer="year", older="2 weeks", least="1 KiB", most="1 MiB")
    filters, mistakes = resolve(words, nobody)
    assert mistakes == ()
    assert (filters.owners, filters.patterns) == (frozenset({0, 4711}), ("*.c", "*.h"))
    assert (filters.newer_ns, filters.older_ns) == (365 * DAY_NS, 14 * DAY_NS)
    assert (filters.least_bytes, filters.most_bytes) == (1024, 1 << 20)
    assert filters.typed[0] == "--owner root"
    assert filters.typed[-1] == "--most 1 MiB"
    words = Words(owners=("nonesuch",), patterns=("a/b", ""), newer="1y", older="x", least="4k", most="1")
    _, mistakes = resolve(words, nobody)
    assert len(mistakes) == 7
    assert all("found" in one and "expected" in one for one in mistakes)


@each(
    "words option",
    (Words(newer="day", older="week"), "--newer"),
    (Words(newer="7 d", older="week"), "--newer"),
    (Words(least="2 B", most="1 B"), "--most"),
)
def test_filters_that_nothing_can_pass_are_refused(words, option):
    (mistake,) = resolve(words, nobody)[1]
    assert option in mistake


def test_names_that_are_no_text_are_matched_too_and_no_filter_keeps_all():
    keep = keeper(Filters(patterns=("*.tif", os.fsdecode(b"\xff*"))), FileTime.MODIFIED, NOW_NS)
    names = ["a.tif", "a.TIF", ".tif", os.fsdecode(b"\xfe.tif"), os.fsdecode(b"\xff\n"), "b"]
    assert [keep(name, None) for name in names] == [True, False, True, True, True, False]
    assert keeper(Filters(), FileTime.MODIFIED, NOW_NS) is None


def test_each_filter_on_real_files(tmp_path):
    made(tmp_path / "old", 5000, days=400, accessed=1)
    made(tmp_path / "new", 100, days=3)

    def kept(clock=FileTime.MODIFIED, **filters):
        return distribution(tmp_path, clock=clock, keep=keeper(Filters(**filters), clock, NOW_NS)).kept.bytes

    assert kept(older_ns=365 * DAY_NS) == 5000
    assert kept(newer_ns=365 * DAY_NS) == 100
    assert kept(FileTime.ACCESSED, older_ns=2 * DAY_NS) == 100
    assert kept(least_bytes=5000) == kept(least_bytes=101) == 5000
    assert kept(most_bytes=100) == 100
    assert kept(most_bytes=99) == 0
    assert kept(patterns=("o*", "x*"), least_bytes=1) == 5000
    assert kept(owners=frozenset({os.geteuid()})) == 5100
    assert kept(owners=frozenset({os.geteuid() + 1})) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="another owner needs root")
def test_owners(tmp_path):
    daemon = pwd.getpwnam("daemon").pw_uid
    os.chown(made(tmp_path / "theirs", 7), daemon, -1)
    made(tmp_path / "ours", 9)
    keep = keeper(Filters(owners=frozenset({daemon})), FileTime.MODIFIED, NOW_NS)
    found = distribution(tmp_path, keep=keep)
    assert (found.kept.files, found.kept.bytes, found.tree.files, found.tree.bytes) == (1, 7, 2, 16)


@given(st.text(alphabet="ab*?[]-!.", min_size=1, max_size=6))
def test_a_pattern_never_fails(glob):
    keep = keeper(Filters(patterns=(glob,)), FileTime.MODIFIED, NOW_NS)
    assert keep("ab.a", None) in (True, False)
    assert keep(re.sub(r"[*?\[\]!]", "a", glob), None) in (True, False)
