"""The load of a capture: a TOML file without anything of the capture that could name somebody."""

import re
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from assay.dissect import profile
from assay.errors import UsageError
from assay.experiment import read
from assay.settings import searches
from assay.settings.load import stages
from stage.ldap_results import found, operation, searched, used
from stage.rows import each

FILTERS = [
    used("(uid=?)", 60),
    used("(&(cn=?*)(secretattribute=*)(ou:dn:2.5.13.5:=?))", 30),
    used("(!(secretattribute>=?))", 10),
    used("(cn~=?)", 5, answered=0),
]


def of_searches(*those, **but):
    """A capture of these searches alone."""
    made = {**found().values["profile"], "searches": list(those), **but}
    return found(profile=made, filters=[used(one["filter"], one["count"]) for one in those])


def loaded(captured, attributes=False):
    """The workload of a profile, and the comments in it."""
    text = profile.toml(captured, attributes=attributes)
    comments = [line for line in text.partition("[workloads.captured]")[2].splitlines() if line.startswith("#")]
    return tomllib.loads(text)["workloads"]["captured"], comments


def test_the_mix_and_the_shapes_are_there():
    kinds = [operation("search", 90), operation("modify", 10), operation("bind", 4)]
    made = found(filters=FILTERS, operations=kinds, authentications=4)
    text = profile.toml(made, attributes=True)
    whole = tomllib.loads(text)
    read, load = whole["profile"], whole["workloads"]["captured"]
    assert read["mix"] == {"search": 0.9, "modify": 0.1}
    assert read["scopes"] == {"sub": 1.0}
    assert read["binds_per_connection"] == 2.0
    assert read["depth"] == 200 / 104 // 0.01 / 100
    assert read["filter"][0]["filter"] == "(uid=?)"
    assert abs(sum(one["share"] for one in read["filter"]) - 1) < 0.001
    assert load == {
        "kind": "ldap_load",
        "mix": ["search 900", "modify 100"],
        "searches": ["(a1=?) sub wants 2 finds 1 weight 1000"],
        "connections": 1,
        "depth": 2,
        "bind": "once",
        "schedule": ["1 s at 10 /s"] * 10,
    }


@each("wanted expected", ((60, 0), []), ((50, 0), None), ((60, 40), []), ((40, 30), None))
def test_searches_for_all_attributes_are_searches_for_all_attributes(wanted, expected):
    every, none = wanted
    asked = found().values["profile"] | {
        "attributes_all": every,
        "attributes_none": none,
        "attributes_named": [[2, 100 - every - none]],
    }
    asked["searches"] = [searched("(uid=?)", 100, attributes=None)]
    load = tomllib.loads(profile.toml(found(profile=asked), attributes=False))["workloads"]["captured"]
    assert load["searches"] == ["(a1=?) sub finds 1 weight 1000"]
    assert load.get("attributes") == expected


EXPERIMENT = (
    'title = "again"\n[targets.directory]\nkind = "ldap_openldap"\nentries = 100000\n{indexes}\n'
    '[measures]\n"captured.search.ops_per_s" = {{}}\n'
)
SEARCHES = [
    searched("(uid=?)", 400, attributes="none"),
    searched("(uid=?)", 100, scope="one", attributes="all", entries=2350, empty=0),
    searched("(&(cn=?*)(ou=?))", 90, scope="children", size_limit=2**31 - 1, entries=80, empty=10),
    searched("(memberof:1.2.840.113556.1.4.1941:=?)", 80, scope="base", entries=79, empty=1),
    searched("(|(cn~=?)(sn=?))", 70),
    searched("(objectclass=*)", 60, scope="base", attributes="all", size_limit=5),
    searched("(cn=?*?*)", 50, answered=0, entries=0),
    searched("(!(uid=*))", 40, entries=0, empty=40),
    searched("(&(a1=?)(…))", 30),
    searched("(malformed)", 20),
    searched('(q"\\\n]=?)', 10, entries=95),
    searched("(&)", 10),
    searched("(cn=)", 10),
    searched("(größe{key}=?)", 10, scope=None),
    searched("(|" + "".join(f"(b{at}=?)" for at in range(60)) + ")", 10),
]


def experiment(load):
    """The workload that an experiment makes of a profile, with the indexes that its plan names."""
    try:
        return read.parse(EXPERIMENT.format(indexes="") + load, "again").workloads[0].knobs
    except UsageError as error:
        indexes = re.findall(r"indexes = \[.*?\]", " ".join(str(error).split()))
        return read.parse(EXPERIMENT.format(indexes="".join(indexes)) + load, "again").workloads[0].knobs


@each("open_at_once", 0, 5000)
@each("binds", 0, 4, 200)
@each("attributes", False, True)
@each("wants", {"attributes_all": 100, "attributes_named": []}, {"depth_sum": 500_000}, {"searches": SEARCHES})
def test_every_load_is_one_that_an_experiment_takes(open_at_once, binds, wants, attributes):
    made = found()
    captured = found(
        operations=[operation("search", 90), operation("modify", 10), *([operation("bind", binds)] if binds else [])],
        profile={**made.values["profile"], **wants, "authentications": binds},
        authentications=binds,
        habits={**made.values["habits"], "open_at_once": open_at_once},
    )
    load = profile.toml(captured, attributes=attributes).partition("\n[profile]")[0]
    knobs = experiment(load)
    assert knobs["bind"] == {0: "never", 4: "once", 200: "each"}[binds]
    assert knobs["depth"] == (1 if binds == 200 else min(1024, round(captured.values["profile"]["depth_sum"] / (100 + binds))))
    assert len(searches.searches(knobs)) == (10 if "searches" in wants else 1)


YEAR_NS = 31_557_600 * 10**9


@each(
    "interval_ns counts",
    (2**30 * 10**6, [0, 3, 0, 1]),
    (YEAR_NS // 60, [1] * 60),
    (2**20 * 10**6, [0] * 9 + [7]),
    (2**22, [50_000] * 1024),
    (10**6, [1]),
)
def test_every_schedule_is_one_that_an_experiment_takes_with_all_operations(interval_ns, counts):
    made = found()
    timeline = {**made.values["timeline"], "interval_ns": interval_ns, "requests": {"search": counts}}
    load = profile.toml(found(timeline=timeline, start_ns=0, end_ns=interval_ns * len(counts)), attributes=False)
    knobs = experiment(load.partition("\n[profile]")[0])
    assert round(sum(one.operations for one in stages(knobs))) == sum(counts)


def test_searches_keep_filter_scope_attributes_entries_misses_and_size_limit():
    load, comments = loaded(of_searches(*SEARCHES))
    assert load["searches"] == [
        "(a1=?) sub wants none finds 1 weight 482",
        "(&(a2=?*)(a3=?)) sub wants 2 finds 1 misses 11.1 % limit 999999999 weight 108",
        "(a4:rule:=?) base wants 2 finds 1 misses 1.2 % weight 96",
        "(a6=*) base wants all finds 1 limit 5 weight 72",
        "(a1=?) one wants all finds 23 weight 60",
        "(a1=?) one wants all finds 24 weight 60",
        "(a2=?*?*) sub wants 2 finds 1 weight 60",
        "(!(a1=*)) sub wants 2 finds 1 misses 100 % weight 48",
        "(a9=?) sub wants 2 finds 9 weight 6",
        "(a9=?) sub wants 2 finds 10 weight 6",
    ]
    assert comments == [
        f"# {100 * 160 / 990:.1f} % of the searches are left out: cut off, malformed, rare, or not for ldap_load."
    ]


def test_searches_are_split_joined_or_left_out_with_their_share():
    load, _ = loaded(
        of_searches(searched("(cn=?)", 90, entries=130, answered=110, empty=10), searched("(sn=?)", 10, entries=999))
    )
    assert load["searches"] == [
        "(a1=?) sub wants 2 finds 1 misses 9.1 % weight 630",
        "(a1=?) sub wants 2 finds 2 misses 9.1 % weight 270",
        "(a2=?) sub wants 2 finds 100 weight 100",
    ]
    both = [
        searched("(cn=?)", 30, scope="children", entries=0, empty=30),
        searched("(CN=?)".lower(), 60, scope="sub", entries=60),
    ]
    load, comments = loaded(of_searches(*both))
    assert load["searches"] == ["(a1=?) sub wants 2 finds 1 misses 33.3 % weight 1000"]
    assert comments == []
    wrong = ["(…)", "(malformed)", "(&(cn=?)(…))", "(&(cn=?)(s…", "(cn=)", "(cn~=?)", "()", "(&(cn=?)", "(cn)(uid=?)", "(=?)"]
    load, comments = loaded(of_searches(searched("(uid=?)", 30), *(searched(one, 1) for one in wrong), searches_together=10))
    assert load["searches"] == ["(a1=?) sub wants 2 finds 1 weight 1000"]
    assert comments == ["# 40 % of the searches are left out: cut off, malformed, rare, or not for ldap_load."]
    shape = "(!(&(cn=?)(sn=?)))"
    assert loaded(of_searches(searched(shape, 10)))[0]["searches"] == ["(!(&(a1=?)(a2=?))) sub wants 2 finds 1 weight 1000"]
    assert "searches" not in loaded(of_searches(searched(shape, 10, entries=9, empty=1)))[0]
    load, comments = loaded(of_searches(*(searched(f"(n{at}=?)", 100 - at) for at in range(40))))
    assert len(load["searches"]) == 32
    assert (sum(range(61, 69)), sum(range(61, 101))) == (516, 3220)
    assert comments == ["# 16 % of the searches are left out: cut off, malformed, rare, or not for ldap_load."]
    load, comments = loaded(of_searches(searched("(…)", 100)))
    assert "searches" not in load
    assert comments == ["# 100 % of the searches are left out: cut off, malformed, rare, or not for ldap_load."]
    assert experiment(profile.toml(of_searches(searched("(…)", 100)), attributes=False).partition("\n[profile]")[0])


def test_numbers_are_those_of_the_filters_and_names_are_known_only_if_wanted():
    captured = of_searches(searched("(cn=?)", 60), searched("(uid=?)", 40), searched('(e"vil=?)', 5))
    text = profile.toml(captured, attributes=False)
    values = tomllib.loads(text)
    assert [one["filter"] for one in values["profile"]["filter"]] == ["(a1=?)", "(a2=?)", "(a3=?)"]
    assert [one.split()[0] for one in values["workloads"]["captured"]["searches"]] == ["(a1=?)", "(a2=?)", "(a3=?)"]
    assert not [name for name in ("cn", "uid", "vil") if name in text]
    named = tomllib.loads(profile.toml(captured, attributes=True))
    assert named["profile"]["names"] == {"a1": "cn", "a2": "uid"}
    assert named["workloads"] == values["workloads"]


NAMES = st.text(st.sampled_from("ab1()&|!=?*~<>:…\"'\\\n[]#{}. é"), max_size=12)


@given(names=st.lists(NAMES, min_size=1, max_size=4), attributes=st.booleans())
def test_no_name_leaves_its_quotes(names, attributes):
    shapes = [shape for name in names for shape in (f"({name}=?)", f"(&(cn=?)({name}=?*))", f"(:{name}:=?)")]
    captured = of_searches(*(searched(shape, 1) for shape in dict.fromkeys(shapes)))
    values = tomllib.loads(profile.toml(captured, attributes=attributes))
    load = values["workloads"]["captured"]
    assert set(load) <= {"kind", "mix", "searches", "connections", "depth", "bind", "schedule"}
    assert all(re.fullmatch(r"[()&|!=?*<>:adnrule0-9]+ sub wants 2 finds 1 weight \d+", one) for one in load.get("searches", ()))
    assert set(values["profile"].get("names", {}).values()) <= {name.lower() for name in names} | {"cn", *parts(names)}


def parts(names):
    """What a name can be taken for that looks like several."""
    return {part for name in names for part in re.findall(r"[a-z0-9.]+", name)}


def test_names_are_numbered_and_none_leaves_its_quotes():
    text = profile.toml(found(filters=FILTERS), attributes=False)
    shapes = [one["filter"] for one in tomllib.loads(text)["profile"]["filter"]]
    assert shapes == ["(a1=?)", "(&(a2=?*)(a3=*)(a4:dn:rule:=?))", "(!(a3>=?))", "(a2~=?)"]
    assert "secretattribute" not in text
    assert "10.0.0.1" not in text
    hostile = [used(f"({name}=?)", 1) for name in ("größe", "a(b", "cn)(uid", "x\u00e9", 'q"', "a\nb")]
    text = profile.toml(found(filters=hostile), attributes=False)
    assert all(re.fullmatch(r"\(a\d=\?\)|\(…\)", one["filter"]) for one in tomllib.loads(text)["profile"]["filter"])
    hostile = used('(a"\n[mix]\nsearch=?)', 1)
    read = tomllib.loads(profile.toml(found(filters=[hostile]), attributes=True))
    assert read["profile"]["filter"][0]["filter"] == "(a__[mix]_search=?)"
    assert "workloads" not in tomllib.loads(profile.toml(found(operations=[operation("bind", 4)]), attributes=False))
