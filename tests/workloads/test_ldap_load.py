"""The plug `ldap_load`: settings for a server of Assay's and for somebody else's, and the mistakes."""

import pytest

from assay.catalogue import Order
from assay.errors import UsageError
from assay.records import CacheState, Direction, Endpoint, EndpointKind, StopRule
from assay.workloads.ldap_load import WORKLOAD
from stage.rows import each

BASE = "dc=example,dc=com"
PEOPLE = f"uid=u{{key:08d}},ou=people,{BASE}"
OURS = {
    "base": BASE,
    "bind_dn": f"cn=admin,{BASE}",
    "password_file": "/private/password",
    "writable_base": BASE,
    "population": "person, 5000 entries, seed 1",
}
THEIRS = {"base": "o=theirs", "writable_base": "ou=assay-1,o=theirs", "bind_dn": "cn=x", "password_file": "/p"}


def phases(details=OURS, clients=1, **knobs):
    endpoint = Endpoint(kind=EndpointKind.URL, address="ldap://127.0.0.1:1389", details=details)
    return WORKLOAD.phases(Order(workload="people", knobs=knobs, endpoints=(endpoint,) * clients, seed=1))


def load(details=OURS, clients=1, **knobs):
    return phases(details, clients, **knobs)[-1]


def mixed(details=OURS, **knobs):
    (setting,) = load(details, **knobs).settings
    return {one["name"]: one for one in setting["operations"]}


def test_a_search_of_our_people_is_verified():
    only = load(duration=5)
    assert (only.operations, only.within) == (("search", "first_entry"), {"first_entry": "search"})
    assert set(only.directions.values()) == {Direction.REQUEST}
    (setting,) = only.settings
    assert setting["address"] == "ldap://127.0.0.1:1389"
    assert (setting["bind"], setting["password_file"], setting["part"], setting["parts"]) == ("once", "/private/password", 0, 1)
    (search,) = setting["operations"]
    assert search["dn"] == BASE
    assert search["keys"] == {"order": "uniform", "count": 5000, "skew": 0.8}
    assert search["expect"] == {"entries": 1, "dn": PEOPLE, "values": {}}


def test_what_is_verified_of_ours_and_of_a_strange_server():
    assert mixed(attributes=("uid", "mail"))["search"]["expect"]["values"] == {"uid": ["u{key:08d}"]}
    assert mixed(attributes=(), verify=("mail=a{key}",))["search"]["expect"]["values"] == {"mail": ["a{key}"]}
    search = mixed(THEIRS, population=10, filter="(cn=p{key})")["search"]
    assert search["expect"] == {"entries": None, "values": {}}
    assert mixed(THEIRS, population=10, found=3)["search"]["expect"]["entries"] == 3
    assert mixed({"base": "o=x"}, filter="(cn=printer)")["search"]["filter"] == "(cn=printer)"
    with pytest.raises(UsageError, match="found keys without a population"):
        phases({"base": "o=x"}, filter="(cn=printer)", mix=("search 1", "compare 1"))


def test_a_search_has_the_base_that_its_scope_needs():
    search = mixed(scope="base", misses=0.1)["search"]
    assert (search["dn"], search["scope"], search["filter"]) == (PEOPLE, "base", "(objectClass=*)")
    assert (search["keys"]["misses"], search["keys"]["missing"]) == (0.1, 5000)
    assert mixed(scope="one")["search"]["dn"] == f"ou=people,{BASE}"
    assert mixed(scope="one", search_base=f"ou=groups,{BASE}")["search"]["dn"] == f"ou=groups,{BASE}"
    assert mixed(THEIRS, scope="one", population=5)["search"]["dn"] == "o=theirs"


def several(*searches, details=OURS, **knobs):
    (setting,) = load(details, searches=searches, **knobs).settings
    return [one for one in setting["operations"] if one["name"] == "search"]


def test_searches_have_their_shares_of_the_weight_of_searches():
    made = several("(uid=u{key:08d}) weight 7", "(mail=*) one wants 2 finds 40 limit 40 weight 3", mix=("search 8", "bind 2"))
    assert [(one["weight"], one["share"]) for one in made] == [(8, 7), (8, 3)]
    assert made[0]["expect"] == {"entries": 1, "dn": PEOPLE}
    assert (made[1]["dn"], made[1]["scope"], made[1]["attributes"]) == (f"ou=people,{BASE}", "one", ["uid", "cn"])
    assert (made[1]["size_limit"], made[1]["expect"]) == (40, {"entries": 40, "codes": ["success", "sizeLimitExceeded"]})


def test_each_search_has_its_own_expectation():
    (only,) = several("(uid=u{key:08d}) base wants all misses 5 %")
    assert (only["dn"], only["attributes"], only["expect"]["values"]) == (PEOPLE, [], {"uid": ["u{key:08d}"]})
    assert (only["keys"]["misses"], only["keys"]["missing"]) == (0.05, 5000)
    (only,) = several("(&(a1=?)(a2=*)) wants none finds 1 misses 10 %", keys="skewed")
    assert only["filter"] == "(&(uid=u{key:08d})(cn=*))"
    assert only["keys"] == {"order": "skewed", "first": 0, "count": 5000, "skew": 0.8, "misses": 0.1, "missing": 5000}
    assert only["expect"] == {"entries": 1, "dn": PEOPLE}
    found, missed = several("(a1=?) finds 50 misses 25 % weight 4")
    assert [(one["filter"], one["share"]) for one in (found, missed)] == [("(l=London)", 3), ("(mail=nobody)", 1)]
    assert missed["keys"] == {"misses": 1.0, "missing": 5000}
    (only,) = several("(cn=p{key}) one finds 3", details=THEIRS, population=10)
    assert (only["dn"], only["filter"], only["expect"]) == ("o=theirs", "(cn=p{key})", {"entries": 3})


def test_writes_are_on_entries_of_the_load():
    mix = ("search 6", "add 1", "delete 1", "rename 1", "modify 1", "compare 2", "bind 1")
    made = mixed(mix=mix, ops=1300)
    assert {name: one["weight"] for name, one in made.items()} == {
        "search": 6,
        "add": 1,
        "delete": 1,
        "rename": 1,
        "modify": 1,
        "compare": 2,
        "bind": 1,
    }
    assert made["modify"]["dn"] == PEOPLE
    assert made["add"]["dn"] == f"uid=a{{key:08d}},{BASE}"
    assert made["rename"]["new_rdn"] == "uid=s{key:08d}"
    assert made["delete"]["keys"] == {"order": "forward", "count": 101}
    layout, _ = phases(mix=mix, ops=1300)
    assert (layout.measured, layout.operations) == (False, ("delete", "rename"))
    (setting,) = layout.settings
    assert [one["kind"] for one in setting["operations"]] == ["add", "add"]
    assert {one["keys"]["count"] for one in setting["operations"]} == {101}


def test_of_a_strange_server_only_own_entries_are_changed():
    made = mixed(THEIRS, mix=("modify 1",))
    assert made["modify"]["dn"] == "uid=m{key:08d},ou=assay-1,o=theirs"
    layout, _ = phases(THEIRS, mix=("modify 1",))
    assert layout.settings[0]["operations"][0]["dn"] == "uid=m{key:08d},ou=assay-1,o=theirs"


def test_clients_share_a_rate_and_keys_that_come_once():
    only = load(clients=2, keys="once", rate=100, bind="each")
    assert [(one["part"], one["parts"], one["load"]["rate"]) for one in only.settings] == [(0, 2, 50.0), (1, 2, 50.0)]
    assert only.within == {"first_entry": "search", "bind": "search"}
    assert [one["duration_ns"] for one in only.settings] == [10_000_000_000] * 2
    assert only.stop is StopRule.TIME


def test_any_certificate_is_accepted_where_the_target_or_the_load_says_so():
    assert load().settings[0]["insecure"] is False
    assert load(any_certificate=True).settings[0]["insecure"] is True
    assert load({**OURS, "any_certificate": "on"}).settings[0]["insecure"] is True


def test_an_amount_ends_the_work():
    assert (load(ops=5).stop, load(ops=5).settings[0]["duration_ns"]) == (StopRule.WORK, None)
    assert load(ops=5, cache="cold").cache is CacheState.COLD


@each(
    "details knobs text",
    ({"base": "o=x"}, {"mix": ("add 1",)}, "found add in mix on a target that is only read"),
    (OURS, {"population": 6000}, "found population 6,000; expected at most the 5,000 entries"),
    ({"base": "o=x"}, {}, "found keys without a population"),
    ({"base": "o=x"}, {"bind": "once", "population": 5}, "found bind without a password"),
    ({**OURS, "starttls": "on"}, {"depth": 4}, "found depth with StartTLS; expected depth = 1"),
    (THEIRS, {"searches": ("(a1=?)",), "population": 5}, r"found the shape \(a1=\?\) for entries that are not Assay's"),
    (OURS, {"searches": ("(!(&(a1=?)(a2=?))) misses 10 %",)}, r"found so many parts like \(a2=\?\)"),
    (OURS, {"searches": ("(a1=?) finds 6000",)}, r"found finds 6,000 for \(a1=\?\) in a population of 5,000"),
)
def test_what_a_server_cannot_do_is_refused(details, knobs, text):
    with pytest.raises(UsageError, match=f"workload people: {text}"):
        phases(details, **knobs)


@each(
    "knobs text",
    ({"filter": "(uid=u{key:08d}"}, "found the end at place 15 of the filter '(uid=u{key:08d}'; expected ')'"),
    ({"filter": "uid=1"}, "found 'u' at place 0 of the filter 'uid=1'; expected '('"),
    ({"filter": "(uid={kye})"}, "found {kye} in filter"),
    ({"mix": ("walk 1",)}, "found mix entry 'walk 1'"),
    ({"mix": ("search 1", "search 2")}, "found search twice in mix"),
    ({"mix": ()}, "found an empty mix"),
    ({"depth": 2, "bind": "each"}, "found depth 2 with a bind between operations"),
    ({"connections": 4096, "workers": 2}, "found 8,192 connections of a client"),
    ({"verify": ("mail=x",)}, "found verify of mail; expected attributes that the search asks for"),
    ({"compare": "uid"}, "found compare 'uid'; expected ATTRIBUTE=VALUE"),
    ({"keys": "once", "misses": 1.0}, "found misses of 100 % with keys once"),
    ({"skew": 0.2}, "found skew 20 %"),
    ({"think": 5, "depth": 2}, "found think with several requests"),
    ({"bind": "each", "mix": ("bind 1",)}, "found bind each with bind in mix"),
    ({"searches": ("uid=1",)}, "found search 'uid=1'; expected FILTER [base|one|sub]"),
    ({"searches": ("(uid=1) weight 2 one",)}, "found search '(uid=1) weight 2 one'; expected FILTER"),
    ({"searches": ("(uid=1)))",)}, "found ')' at place 7 of the filter '(uid=1)))'"),
    ({"searches": ("(uid={n})",)}, "found {n} in search '(uid={n})'"),
    ({"searches": ("(uid=1) weight 0",)}, "found weight 0"),
    ({"searches": ("(uid=1) weight 9999", "(uid=2) weight 2")}, "found searches with a weight of 10,001 together"),
    ({"searches": ("(uid=1) misses 5 %",)}, "found misses without a key"),
    ({"searches": ("(uid=?) misses 101 %",)}, "found misses 101 %"),
    ({"searches": ("(uid=?) base finds 2",)}, "found finds 2 with scope base"),
    ({"searches": ("(a1~=?)",)}, "found ~= in the shape (a1~=?)"),
    ({"searches": ("(uid=?)",), "filter": "(uid=1)", "found": 2}, "found filter and found beside searches"),
    ({"searches": ("(uid=?)",), "mix": ("compare 1",)}, "found searches with a mix without search"),
)
def test_mistakes(knobs, text):
    found = WORKLOAD.check(knobs)
    assert any(one.startswith(text) for one in found), found


def test_figures_of_a_plan_and_only_a_mix_without_writes_reads():
    assert WORKLOAD.only_reads({"mix": ("search 1", "compare 1", "bind 1")})
    assert not WORKLOAD.only_reads({"mix": ("search 1", "modify 1")})
    assert WORKLOAD.operations({}) == {"search": "ops_per_s", "first_entry": "latency_p99_ns"}
    assert WORKLOAD.seconds({"duration": 5 * 10**9}, None) == 5.0
    assert WORKLOAD.check({"filter": "(cn=äöü"})[0].startswith("found the end at place 7 ")


SPARES = [
    ({"mix": ("delete 1",)}, 10_000),
    ({"mix": ("search 98", "delete 1", "rename 1")}, 2_000),
    ({"mix": ("search 999", "delete 1"), "duration": 10**9}, 100),
    ({"mix": ("search 9", "delete 1"), "rate": 1000, "duration": 60 * 10**9}, 6410),
    ({"mix": ("search 1", "delete 1"), "schedule": ("10 s at 100 /s", "5 s pause", "10 s from 100 /s to 300 /s")}, 1755),
    ({"mix": ("search 1", "delete 1"), "spare": 7}, 7),
]


@each("knobs count", *SPARES)
def test_own_entries_suffice_for_a_rate_and_are_few_where_nobody_says_how_many(knobs, count):
    assert mixed(**knobs)["delete"]["keys"]["count"] == count
    assert WORKLOAD.own_entries(knobs)["d"] == count


def test_a_directory_that_was_filled_with_own_entries_needs_no_layout():
    knobs = {"mix": ("search 8", "delete 1", "rename 1"), "ops": 1000, "clients": 1}
    assert WORKLOAD.own_entries(knobs) == {"d": 101, "r": 101}
    assert WORKLOAD.own_entries({"mix": ("search 1", "add 1", "modify 1")}) == {}
    filled = {**OURS, "own_entries": ("d 101", "r 101")}
    assert [plan.name for plan in phases(filled, **knobs)] == ["load"]
    layout, _ = phases({**OURS, "own_entries": ("d 101", "r 99")}, **knobs)
    assert layout.operations == ("rename",)
