"""Captures of the kinds that people publish, each with its right values: operations, times, layers, tunnels, habits, ends."""

import json
import tomllib
from pathlib import Path

from assay.cli import dissect as verb
from assay.dissect import levels, profile, result, wording
from assay.experiment import read as experiments
from stage.ldap_traffic import NAMES, dissected
from stage.rows import each

FOLDER = Path(__file__).parents[1] / "fixtures" / "captures"
BASE = "bind=1 search=3 unbind=1 answered=4 entries=3 p50=2000000 n=3 connections=1 complete=true"
TEN = "bind=1 search=10 unbind=1 answered=11 entries=10 p50=2000000 n=10 connections=1 retransmitted=0 unanswered=0 gaps=0"
WHOLE = f"{TEN} complete=true"
SIGNED = "signed=1 opaque_connections=0 malformed=0 skipped_bytes=0 complete=true"
SAME = ("vxlan", "gre", "mpls", "pppoe", "ipip", "geneve")
RIGHT = {
    "base.pcap": f"{BASE} connect_ns/p50=100000 checksums/bad=0",
    "cldap-only.pcap": "cldap/requests=5 cldap/answered=5 cldap/entries=5 cldap/response_ns/p50=700000 connections=0",
    "cldap-mixed.pcap": f"{BASE} cldap/requests=5 cldap/answered=5",
    "refused.pcap": "connections=20 refused_connections=20 unanswered_syns=0 habits/reset=20",
    "unanswered-syn.pcap": "connections=20 refused_connections=0 unanswered_syns=20",
    "connect-only.pcap": "connections=3 without_data=3 refused_connections=0 unanswered_syns=0 opaque_connections=0",
    **{
        f"tunnel-{name}.pcap": f"{BASE} tunnels/{kind}=15 checksums/good=15 connect_ns/n=1"
        for name, kind in [*zip(SAME, SAME, strict=True), ("erspan2", "erspan"), ("gre-teb", "gre")]
    },
    **{f"{name}.pcap": BASE for name in ("tunnel-qinq", "link-sll", "link-sll2", "link-raw", "link-null", "ipv6")},
    "nano-big-endian.pcap": BASE,
    "link-nflog.pcap": BASE,
    "sasl-signed-clear.pcap": f"bind=2 search=4 unbind=1 entries=4 authentications=1 habits/rebinding=0 {SIGNED}",
    "sasl-sealed.pcap": "bind=2 authentications=1 opaque/sasl=1 signed=0 habits/rebinding=0 complete=false",
    "sasl-sealed-mid.pcap": "opaque/sasl=1 connections=1 malformed=0 complete=false",
    "sasl-signed-mid.pcap": f"search=40 unbind=1 answered=40 entries=40 {SIGNED}",
    "sasl-signed-misses.pcap": f"bind=1 search=40 unbind=1 answered=41 {SIGNED}",
    "answers-before-requests.pcap": f"{TEN.replace('p50=2000000 n=10', 'p50=null n=0')} untimed=10 backwards=10 reordered=0",
    "file-order-swapped.pcap": f"{WHOLE} untimed=0 reordered=12",
    "dir-client.pcap dir-server.pcap": WHOLE,
    "dir-server.pcap dir-client.pcap": WHOLE,
    "ten.pcap": WHOLE,
    "duplicated.pcap": f"{WHOLE} copies=23",
    "duplicated-one-side.pcap": f"{WHOLE} copies=12",
    "half-unanswered.pcap": "bind=1 search=100 unbind=1 answered=51 unanswered=50 open=0 slower_1s=50 complete=true",
    "cut-while-open.pcap": "bind=1 search=25 answered=21 unanswered=0 open=5 slower_1s=0 complete=true",
    "persistent-search.pcap": "bind=1 search=1 abandon=1 unbind=1 entries=5 unanswered=0 open=0 abandoned=1",
    "anonymised-values.pcap": "bind=1 search=5 unbind=1 answered=6 gaps=0 bad_used=5 checksums/bad=5 p50=2000000 complete=true",
    "evil-names.pcap": "bind=1 search=4 unbind=1 answered=5",
    "port-1389.pcap": f"{BASE} found_ports=[1389]",
    "port-high-server.pcap": f"{BASE} found_ports=[50041]",
    "clear-on-636.pcap": f"{BASE} opaque_connections=0",
    "client-port-3268.pcap": BASE,
    "notice.pcap": "bind=1 search=1 answered=1 notices=1 unanswered=1 open=0",
    "same-id.pcap": "bind=1 search=5 unbind=1 answered=6 p50=2000000 n=5",
    "pipelined.pcap": "bind=1 search=4 abandon=1 unbind=1 answered=5",
    "referral.pcap": "bind=1 search=1 delete=1 extended=1 unbind=1 references=1 entries=1 result_codes/10=1",
    "filters.pcap": "bind=1 search=10 unbind=1 answered=11",
    "two-interfaces.pcapng": WHOLE,
    "starttls-refused.pcap": "extended=1 bind=1 search=1 unbind=1 result_codes/2=1 opaque_connections=0 complete=true",
    "starttls.pcap": "extended=1 opaque/start_tls=1 complete=false",
    "starttls-mid.pcap": "opaque/start_tls=1 opaque_bytes=1064 complete=false",
    "habit-sasl-sealed.pcap": "search=10 bind=20 authentications=10 habits/rebinding=0 habits/one_operation=0 opaque/sasl=10",
    "habit-digest.pcap": "search=10 bind=10 unbind=5 authentications=5 habits/rebinding=0 signed=0 opaque_connections=0",
    "habit-starttls.pcap": "search=200 bind=4 extended=10 unbind=4 habits/one_operation=0 habits/readable=4 opaque/start_tls=10",
    "http-on-389.pcap": "bind=1 search=3 unbind=1 answered=4 entries=3 p50=2000000 opaque/no_ldap=1 malformed=0 complete=true",
    "two-conns.pcap": "bind=2 search=40 unbind=2 connections=2 answered=42",
    "overlap-a.pcap": "bind=1 search=20 unbind=1 connections=1 answered=21",
    "overlap-a.pcap overlap-b.pcap": "bind=2 search=40 unbind=2 connections=2 answered=42 habits/open_at_once=2 gaps=0",
    "segments-1.pcap": "bind=1 search=10 unbind=1 answered=11 gaps=0 malformed=0",
    "segments-7.pcap": "bind=1 search=10 unbind=1 answered=11 gaps=0 malformed=0",
    "paged.pcap": "bind=1 search=5 unbind=1 entries=500 paged/searches=1 paged/pages=5",
    "reset-by-server.pcap": "bind=1 search=1 unanswered=1 habits/reset=1 habits/reset_by_server=1 habits/without_unbind=0",
    "profile-binds.pcap": "bind=11 search=10 unbind=1 authentications=6 habits/rebinding=0",
    "rate-0.28.pcap": "bind=1 search=168 unbind=1 answered=169",
    "rate-0.6.pcap": "bind=1 search=360 unbind=1 answered=361",
    "rate-1.4.pcap": "bind=1 search=840 unbind=1 answered=841",
}


def captured(names, **options):
    return dissected(*(FOLDER / one for one in names.split()), **options)


def figures(found):
    """What the table names: a kind's requests, answers of all kinds, searches with a time, and every field."""
    kinds = {one["operation"]: one for one in found["operations"]}
    times = kinds.get("search", {}).get("response_ns", {"n": 0, "p50": None})
    return {
        **found,
        **{name: one["requests"] for name, one in kinds.items()},
        "answered": sum(one["answered"] for one in kinds.values()),
        "p50": times["p50"],
        "n": times["n"],
        "complete": result.read(found).complete,
    }


def at(values, path):
    for part in path.split("/"):
        values = values[part]
    return values


@each("names", *RIGHT)
def test_each_capture_has_its_right_values(names):
    found = captured(names)
    expected = {path: json.loads(value) for path, value in (word.split("=") for word in RIGHT[names].split())}
    seen = figures(found)
    assert {path: at(seen, path) for path in expected} == expected
    kinds = set(NAMES.values())
    assert kinds & expected.keys() == {one["operation"] for one in found["operations"]}


def test_there_is_no_capture_without_right_values():
    assert {one.name for one in FOLDER.iterdir()} == {name for names in RIGHT for name in names.split()} | {"overlap-b.pcap"}


def said(name, *texts):
    """What the terminal says of a capture with service levels, and how they were kept."""
    resolved = verb.resolve(verb.CaptureWords(files=(name,), levels=texts), verb.CaptureOutputs())
    limits = [{"operation": None if one.operation == "all" else one.operation, "ns": one.limit_ns} for one in resolved.levels]
    found = result.read(captured(name, limits=limits))
    judged = levels.judged(resolved.levels, found)
    return verb.text(found, resolved, judged), judged


@each(
    "name text state counts",
    ("half-unanswered.pcap", "search p90 <= 50 ms", "not met", (100, 50)),
    ("half-unanswered.pcap", "search p50 <= 50 ms", "met", (100, 50)),
    ("cut-while-open.pcap", "search max <= 50 ms", "met", (20, 0)),
    ("reset-by-server.pcap", "search p50 <= 1 s", "not met", (1, 1)),
    ("persistent-search.pcap", "search p50 <= 1 s", "unknown", (0, 0)),
)
def test_service_levels_count_what_was_never_answered(name, text, state, counts):
    _, (judged,) = said(name, text)
    assert (judged.state.value, (judged.n, judged.slower)) == (state, counts)


EXPERIMENT = 'title = "again"\n[targets.directory]\nkind = "ldap_openldap"\nentries = 100000\n'
MEASURED = '[measures]\n"captured.search.ops_per_s" = {}\n'


@each("name operations", ("rate-0.28.pcap", 168), ("rate-0.6.pcap", 360), ("rate-1.4.pcap", 840))
def test_the_schedule_has_every_operation_and_an_experiment_takes_it(name, operations):
    text = profile.toml(result.read(captured(name)), attributes=False)
    schedule = tomllib.loads(text)["workloads"]["captured"]["schedule"]
    steps = [step.split() for step in schedule]
    assert sum(float(step[0]) * float(step[3]) for step in steps if step[2] == "at") == operations
    load = text.partition("\n[profile]")[0]
    assert experiments.parse(EXPERIMENT + MEASURED + load, "again").workloads[0].knobs["schedule"]


@each(
    "name binds bind",
    ("profile-binds.pcap", 1.0, "once"),
    ("habit-digest.pcap", 1.0, "once"),
    ("ten.pcap", 1.0, "once"),
    ("habit-sasl-sealed.pcap", 1.0, "once"),
)
def test_the_profile_counts_authentications(name, binds, bind):
    values = tomllib.loads(profile.toml(result.read(captured(name)), attributes=False))
    assert (values["profile"]["binds_per_connection"], values["workloads"]["captured"]["bind"]) == (binds, bind)


@each("name", *(one for one in RIGHT if " " not in one))
def test_no_name_of_a_capture_steers_the_terminal(name):
    text, _ = said(name)
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]
    assert len(text.split("\n")) <= 40


@each(
    "name lacking", ("habit-sasl-sealed.pcap", True), ("sasl-sealed.pcap", True), ("cldap-mixed.pcap", True), ("ten.pcap", False)
)
def test_the_profile_says_what_it_lacks(name, lacking):
    lines = profile.toml(result.read(captured(name)), attributes=False).splitlines()
    assert (len([one for one in lines if one.startswith("#")]) > 2) is lacking


def test_the_slowest_operations_have_the_numbers_of_their_frames():
    found = captured("ten.pcap")
    slowest = found["slowest"][0]
    assert (slowest["operation"], slowest["ns"]) == ("search", 2_000_000)
    assert slowest["answer_frame"] == slowest["request_frame"] + 1
    assert wording.slowest_rows(result.read(found))
