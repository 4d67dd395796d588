"""Shapes of searches find on real servers what they say, and the plan names the indexes that they need."""

import json
import re

import pytest

from stage.directory_stage import both, needs

FOUND = (
    ("(a1=?) sub wants none finds 1", 1),
    ("(a1=?) wants all finds 12", 12),
    ("(a1=?) wants 2 finds 7", 7),
    ("(a1=?) finds 40", 40),
    ("(&(a1=?)(a2=?)) one finds 30", 30),
    ("(&(a1=?)(a2=?)(a3=?)) wants 5 finds 1", 1),
    ("(a1=?*) finds 1", 1),
    ("(a1=?*) one finds 100", 100),
    ("(a1=*?*) finds 15", 15),
    ("(a1=*?) finds 1", 1),
    ("(a1=*?) finds 20", 20),
    ("(a1=?*?) finds 9", 9),
    ("(|(a1=?)(a2=?)(a3=?)) finds 1", 1),
    ("(&(a1=?)(|(a2=?*)(a3=?*))) finds 1", 1),
    ("(&(a1=?)(a2=?*)(a3=*?*)(a4=*?)) finds 12", 12),
    ("(&(a1=?)(!(a2=*))) finds 1", 1),
    ("(&(a1=*)(!(a1=?))) finds 8", 8),
    ("(&(a1=?)(a2:rule:=?)) finds 1", 1),
    ("(&(a1=?)(a2>=?)(a2<=?)) finds 1", 1),
    ("(a1=*) base wants all finds 1", 1),
    ("(a1=?) base finds 1", 1),
    ("(a1=*) finds 25 limit 60", 25),
    ("(a1=?) finds 1 misses 100 %", 0),
    ("(a1=?*) finds 10 misses 100 %", 0),
    ("(|(a1=?)(a2=?)) finds 0", 0),
    ("(&(a1=?)(a2=?)) finds 60 misses 100 %", 0),
    ("(uid=u{key:08d}) base wants all", 1),
    ("(departmentNumber=4300) one finds 11 limit 11", 11),
)
"""Each search with the entries that it finds."""
TIMES = 3
EXPERIMENT = """
title = "Searches"
question = "What do they find?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
entries = 20000
{indexes}
[workloads.load]
kind = "ldap_load"
searches = [
{searches}
]
attributes = ["uid"]
ops = {ops}
[measures]
"load.search.ops_per_s" = {{}}
"""


def written(bench, kind, indexes="", found=FOUND):
    searches = ",\n".join(f'    "{text}"' for text, _ in found)
    ops = TIMES * len(found)
    (bench.home / "e.toml").write_text(EXPERIMENT.format(kind=kind, indexes=indexes, searches=searches, ops=ops))
    return "e.toml"


@pytest.mark.slow
@both
def test_each_search_finds_what_it_says(bench, kind):
    refused = bench.run("run", written(bench, kind))
    assert refused.returncode == 2
    fix = re.search(r"indexes = \[.*\]", re.sub(r"\s+", " ", refused.stderr))
    assert fix, refused.stderr
    done = bench.run("run", written(bench, kind, fix[0]), "--progress", "none", "--json")
    assert done.returncode == 0, (done.stderr, [one["run"]["error"] for one in json.loads(done.stdout)["runs"]])
    (found,) = json.loads(done.stdout)["directory"].values()
    answers = found["operations"]["search"]
    assert (found["wrong"], answers["ops"]) == (0, TIMES * len(FOUND)), answers
    assert answers["entries"] == TIMES * sum(entries for _, entries in FOUND)
    assert answers["misses"] == TIMES * sum(not entries for _, entries in FOUND)


@needs("slapd")
def test_shapes_are_for_entries_of_assay(bench):
    (bench.home / "e.toml").write_text(
        'title = "e"\nrepeats = 1\n[targets.people]\nkind = "ldap_existing"\nurl = "ldap://127.0.0.1:9"\nbase = "o=x"\n'
        '[workloads.load]\nkind = "ldap_load"\nsearches = ["(a1=?)"]\npopulation = 10\n[measures]\n"load.search.ops_per_s" = {}\n'
    )
    done = bench.run("plan", "e.toml")
    assert "the shape (a1=?) for entries that are not Assay's" in done.stdout + done.stderr
