"""L21: filters that indexes serve, that they do not, and servers that do not give their indexes."""

from dataclasses import replace

from assay.records import Fact, FactClass, When, WorkloadSpec
from assay.rules.unserved_filter import RULE
from assay.settings import filter_indexes
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold

INDEXES = "eq objectclass; eq uid; eq mail sub"


def case(indexes=INDEXES, operation="search", kind="ldap_load", **knobs):
    made = case_of(Made(), "L21")
    made = replace(made, measure=replace(made.measure, operation=operation))
    told = {"target.setting.indexes": indexes} if indexes else {}
    facts = tuple(
        Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE)
        for key, value in told.items()
    )
    load = WorkloadSpec(name=made.measure.workload, kind=kind, knobs=knobs)
    experiment = replace(made.experiment, workloads=(load,))
    return replace(made, experiment=experiment, observations=replace(made.observations, facts=facts))


def test_states():
    no_index = "(employeeNumber={key})"
    hold(
        ("the usual filter", RULE.check(case()), PASS),
        ("an attribute without an index", RULE.check(case(filter=no_index)), FAIL, NOTES, "no index serves employeeNumber"),
        (
            "one of several searches",
            RULE.check(case(searches=("(uid=u{key:08d}) weight 9", f"{no_index} weight 1"))),
            FAIL,
            NOTES,
        ),
        ("a server that does not give its indexes", RULE.check(case(indexes=None)), UNVERIFIED),
        (RULE.applies(case(operation="modify")), NOT_ASKED),
        (RULE.applies(case(kind="command")), NOT_ASKED),
        (RULE.applies(case(scope="base")), NOT_ASKED),
        (RULE.applies(case(searches=("(a1=?)",))), NOT_ASKED),
        (RULE.applies(case()), ASKED),
    )


@each(
    "written lacking",
    ("(uid=x)", ()),
    ("(mail=*@x)", ()),
    ("(uid=*)", ("uid",)),
    ("(&(uid=x)(employeeNumber=1))", ()),
    ("(|(uid=x)(employeeNumber=1))", ("employeeNumber",)),
    ("(&(objectClass=person)(!(uid=x)))", ("uid",)),
    ("(&(objectClass=person)(uid=x))", ()),
    ("(!(uid=x))", ("uid",)),
    ("(sn>=a)", ("sn",)),
    ("(objectClass=*)", ()),
)
def test_which_attributes_make_a_server_read_every_entry(written, lacking):
    assert filter_indexes.unserved(written, filter_indexes.indexes(INDEXES)) == lacking
