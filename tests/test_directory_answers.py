"""What the answers of directory servers become: records, words of errors, sums of a run, and keys that a plan refuses."""

from types import SimpleNamespace

from assay.evidence import reports
from assay.experiment import consistency
from assay.measures import directory
from assay.records import DirectoryEnd, EngineError, ErrorSpace, Outcome
from assay.toml_document import Document
from assay.trial import harvest

ANSWERS = {
    "connections": 2,
    "lost": 1,
    "own": {"bind": 2, "search": 1},
    "sent_bytes": 10,
    "received_bytes": 20,
    "unasked": 3,
    "notices": 0,
    "operations": {
        "search": {
            "requests": 12,
            "entries": 9,
            "references": 0,
            "misses": 1,
            "codes": {"success": 10, "busy": 1},
            "wrong": {"entry missing": 1},
        }
    },
}


def client(answers):
    operations = [SimpleNamespace(operation=name, count=9, bytes=90) for name in ("search", "first_entry")]
    return SimpleNamespace(directory=harvest.directory_end(answers, ({"depth": 4},)), operations=operations)


def run(*phases):
    return SimpleNamespace(phases=[SimpleNamespace(measured=measured, clients=clients) for measured, *clients in phases])


def test_the_answers_of_a_run_are_summed_up():
    found = directory.counted(run((False, client(ANSWERS)), (True, client(ANSWERS), client(ANSWERS))))
    assert (found.ops, found.entries, found.wrong) == (18, 18, 8)
    assert found.result_codes == {"success": 20, "busy": 2}
    (search,) = found.operations.values()
    assert (search.ops, search.entries, search.bytes, search.misses, search.wrong) == (18, 18, 180, 2, 2)
    assert search.result_codes == found.result_codes
    # The layout is Assay's own, too: it creates entries.
    assert found.own_operations == {"add": 9, "bind": 6, "search": 3}


def test_a_run_without_a_directory_has_no_answers():
    assert directory.counted(run((True, client(None)))) is None
    end = harvest.directory_end(ANSWERS, ({"depth": 4},))
    assert isinstance(end, DirectoryEnd)
    assert end.places == 8


def test_first_entries_are_parts_of_searches_and_no_operations():
    (phase,) = run((True, client(ANSWERS))).phases
    assert [name for name in ("search", "first_entry") if directory.is_part(phase, name)] == ["first_entry"]
    assert not directory.is_part(SimpleNamespace(clients=[client(None)]), "first_entry")


def test_entries_that_were_refused_fail_a_phase_by_name():
    refused = [{"dn": "uid=a,dc=x", "code": 17, "what": "undefinedAttributeType", "words": "shoeSize"}]
    answers = {"operations": {"import": {"refused": refused}}}
    result = {"stopped_by": "work", "directory": answers, "operations": {"import": {"errors": 2}}, "errors": []}
    assert harvest.judge({0: result}, {}, frozenset()) == (
        Outcome.FAILED,
        "client 0: import: the server refused 2 entries: uid=a,dc=x: undefinedAttributeType (17), shoeSize ...",
    )


def test_errors_of_directories_have_their_own_names():
    found = harvest.error({"operation": "search", "errno": 51, "space": "ldap", "what": "busy", "count": 2, "path": "ldap://x"})
    assert found == EngineError(operation="search", code=51, count=2, path="ldap://x", space=ErrorSpace.LDAP, what="busy")
    assert reports.error_reason(found) == "busy (51)"
    wrong = harvest.error({"operation": "search", "errno": 0, "space": "ldap", "what": "entry missing", "count": 1, "path": "x"})
    assert reports.error_reason(wrong) == "entry missing"
    lost = harvest.error({"operation": "search", "errno": 104, "count": 1, "path": "x"})
    assert reports.error_reason(lost) == "Connection reset by peer"


def part(name, table, **values):
    return SimpleNamespace(name=name, at=(table, name), settings=SimpleNamespace(values=values, complete=True))


def refused(**values):
    document = Document(file="x.toml", values={}, places={})
    targets = {"small": part("small", "targets", entries=100), "own": part("own", "targets", entries=5, ldif="/x.ldif")}
    consistency.keys_fit(document, targets, {"load": part("load", "workloads", **values)}, ())
    return [(one.found, one.expected) for one in document.mistakes]


def test_keys_beyond_a_population_are_refused_before_anything_is_made():
    assert refused(population=101) == [("population = 101 of workload 'load'", "at most the 100 entries of target 'small'")]
    assert refused(population=100) == refused() == []
