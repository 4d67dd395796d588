"""T14: a directory server whose caches are as claimed, and one that is warm or cold against the claim."""

from dataclasses import replace

from assay.records import Claim, Direction, Regime, Severity, State
from assay.rules.directory_cache import RULE
from stage.directory_cases import NAMELESS, loaded, reported
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold

COLD, WARM = Claim(regime=Regime.COLD), Claim(regime=Regime.WARM)
PAGE = 4096


def case(claim, *, resident=0.0, pages=0, hits=None, tries=1000, **more):
    counted = {"search": 1000} | ({} if hits is None else {"cache_hits": hits, "cache_tries": tries})
    rungs = (("L6", Direction.READ, pages * PAGE, 0), ("L9", Direction.READ, pages * PAGE, pages))
    made = loaded("T14", {"search": 1000}, counted=counted, claim=claim, rungs=rungs, **more)
    hosts = tuple(replace(one, server_cached_before=resident) for one in made.phase.hosts)
    return replace(made, phase=replace(made.phase, hosts=hosts))


@each("resident state", (0.0, State.PASS), (0.04, State.PASS), (0.06, State.FAIL), (1.0, State.FAIL))
def test_files_in_memory_contradict_a_claim_of_cold(resident, state):
    found = RULE.check(case(COLD, resident=resident, pages=1000))
    assert (found.state, found.severity) == (state, Severity.INVALIDATES)


@each("hits tries state", (0, 2000, State.PASS), (1000, 3000, State.PASS), (2900, 3000, State.FAIL))
def test_hits_of_the_entry_cache_do_too(hits, tries, state):
    assert RULE.check(case(COLD, pages=1000, hits=hits, tries=tries)).state is state


@each("pages state", (0, State.PASS), (9, State.PASS), (11, State.FAIL), (2000, State.FAIL))
def test_reads_of_storage_contradict_a_claim_of_warm(pages, state):
    found = RULE.check(case(WARM, resident=1.0, pages=pages))
    assert (found.state, found.severity) == (state, Severity.INVALIDATES)


def test_states():
    hold(
        "misses of the entry cache do too",
        (RULE.check(case(WARM, hits=960)), PASS),
        (RULE.check(case(WARM, hits=900)), FAIL, "10 %"),
        "what nobody saw is unverified",
        (RULE.check(case(COLD, resident=None)), UNVERIFIED),
        (RULE.check(loaded("T14", {"search": 1000}, claim=WARM)), UNVERIFIED),
        (RULE.check(loaded("T14", {"search": 5}, claim=WARM, server=NAMELESS)), UNVERIFIED),
        (RULE.check(loaded("T14", {"add": 5}, operation="add", claim=WARM)), UNVERIFIED),
        "it needs a claim of cold or warm",
        (RULE.applies(case(Claim())), NOT_ASKED),
        (RULE.applies(case(COLD)), ASKED),
        (RULE.applies(reported("T14", "search", 5, claim=COLD, direction=Direction.READ)), ASKED),
        (RULE.applies(reported("T14", "search", 5, claim=COLD, direction=Direction.READ, server=NAMELESS)), NOT_ASKED),
    )
