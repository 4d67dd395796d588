"""C07: arms with the same indexes, with one that is missing, and servers of different software."""

import dataclasses

from assay.records import Fact, FactClass, Factor, Measure, Observations, Severity, State, TargetSpec, When, WorkloadSpec
from assay.rules.index_parity import RULE
from assay.settings.filter_indexes import indexes
from stage.noise_cases import comparison_case, run
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOTES, PASS, hold

TARGET = Factor(path="target", levels=("a", "b"))
BOTH, ONE = "eq objectclass; eq uid", "eq objectclass"
OF_389 = "entryrdn subtree; nsuniqueid eq; objectclass eq; uid eq"
SLAPD, DS389 = "OpenLDAP 2.5.13", "389-ds 2.3.1"


def seen(text, software=SLAPD):
    facts = {"target.setting.indexes": text, "target.setting.software": software}
    return Observations(
        facts=tuple(
            Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE)
            for key, value in facts.items()
            if value is not None
        )
    )


def case(first, second, *, operation="search", knobs=None, factor=TARGET, implied=(), software=(SLAPD, SLAPD), kind="ldap_load"):
    arms = [[(run(), seen(text, name))] for text, name in zip((first, second), software, strict=True)]
    made = comparison_case("C07", factor, *arms)
    targets = (TargetSpec(name="a", kind="ldap_openldap"), TargetSpec(name="b", kind="ldap_openldap"))
    load = WorkloadSpec(name="w", kind=kind, knobs=knobs or {})
    return dataclasses.replace(
        made,
        experiment=dataclasses.replace(made.experiment, targets=targets, workloads=(load,), implied=implied),
        measure=Measure(workload="w", operation=operation, figure="ops_per_s"),
    )


def test_another_index_is_a_note_for_searches_and_work_for_changes():
    more = f"{BOTH}; eq mail sub"
    assert RULE.check(case(BOTH, more)).severity is Severity.NOTES
    assert RULE.check(case(BOTH, more, operation="modify")).severity is Severity.INVALIDATES
    assert RULE.check(case(BOTH, more, knobs={"filter": "(&(uid=u{key:08d})(mail=*@x))"})).severity is Severity.INVALIDATES


def test_each_of_several_searches_counts_and_a_shape_has_unknown_attributes():
    more = f"{BOTH}; eq mail sub"
    by_name, by_mail = "(uid=u{key:08d}) weight 9", "(mail=*@x) limit 5"
    assert RULE.check(case(BOTH, more, knobs={"searches": (by_name,)})).severity is Severity.NOTES
    assert RULE.check(case(BOTH, more, knobs={"searches": (by_name, by_mail)})).severity is Severity.INVALIDATES
    assert RULE.check(case(BOTH, more, knobs={"searches": (by_name, "(a1=?*)")})).severity is Severity.INVALIDATES


def test_what_is_the_factor_or_declared_or_unknown_is_not_judged():
    own = Factor(path="a.indexes", levels=(("uid:eq",), ()))
    assert "the factor" in (RULE.applies(case(BOTH, ONE, factor=own)) or "")
    assert "declared" in (RULE.applies(case(BOTH, ONE, implied=("target.setting.indexes",))) or "")
    assert RULE.applies(case(None, None)) == "no directory server that gives its indexes"
    assert RULE.applies(case(BOTH, None)) is None
    assert RULE.check(case(BOTH, None)).state is State.UNVERIFIED


@each("text", "uid eq sub", "eq sub uid", "UID SUB eq")
def test_the_words_of_an_index_come_in_any_order(text):
    assert indexes(text) == {"uid": frozenset({"eq", "sub"})}


def test_states():
    hold(
        ("equal indexes pass in whatever order", RULE.check(case(BOTH, "uid eq; objectclass eq")), PASS),
        ("the index of the filter that one arm lacks invalidates", RULE.check(case(BOTH, ONE)), FAIL, INVALIDATES),
        "a search of the entry itself has another filter",
        (RULE.check(case(BOTH, ONE, knobs={"scope": "base"})), FAIL, NOTES),
        (RULE.check(case(BOTH, "eq uid", knobs={"scope": "base"})), INVALIDATES),
        "without a known filter every difference invalidates",
        (RULE.check(case(BOTH, f"{BOTH}; eq mail", kind="command")), INVALIDATES),
        "between two kinds of software only the filter counts",
        (RULE.check(case(BOTH, OF_389, software=(SLAPD, DS389))), PASS),
        (RULE.check(case(ONE, OF_389, software=(SLAPD, DS389))), INVALIDATES),
    )
