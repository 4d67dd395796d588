"""N07: which messages are held against which claim, whose device they name, and what is not known."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import Claim, Durability, Fact, FactClass, Observations, Path, Severity, State, Tier, When
from assay.rules.kernel_log import RULE, same
from stage.noise_cases import run, series, trial_case
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, QUALIFIES, UNVERIFIED, hold

DEVICE, MEDIA, WIRE, CACHE = (
    Claim(tier=Tier.DEVICE),
    Claim(durability=Durability.STABLE_MEDIA),
    Claim(path=Path.WIRE),
    Claim(tier=Tier.CLIENT_CACHE),
)
OURS = "<3> I/O error, dev vda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"


def judged(*messages, claim=DEVICE, devices=("loop0", "vda"), phase="write", lost=0.0):
    facts = tuple(
        Fact(host="local", when=When.AFTER, key=f"kernel.log.{phase}.{place}", value=text, fact_class=FactClass.NOISE)
        for place, text in enumerate(messages)
    )
    points = (("messages", float(len(messages))), ("program_messages", 0.0), ("lost", lost))
    counts = tuple(series("kernel", metric, [(-1, 0.0), (11, value)]) for metric, value in points)
    return RULE.check(replace(trial_case("N07", run(devices=devices), Observations(facts=facts, series=counts)), claim=claim))


@each(
    "claim severity",
    (DEVICE, Severity.QUALIFIES),
    (MEDIA, Severity.QUALIFIES),
    (Claim(), Severity.QUALIFIES),
    (WIRE, Severity.QUALIFIES),
    (CACHE, Severity.NOTES),
)
def test_an_error_of_our_own_disk_qualifies_what_rests_on_it(claim, severity):
    found = judged(OURS, claim=claim)
    assert (found.state, found.severity) == (State.FAIL, severity)


@each(
    "text",
    "<2> EXT4-fs error (device loop0): ext4_find_entry:1611: inode #2: comm sh: reading directory lblock 0",
    "<1> XFS (loop0): log I/O error -5",
    "<3> BTRFS error (device loop0): bdev /dev/loop0 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0",
    "<4> BTRFS warning (device loop0): csum failed root 5 ino 257 off 0 csum 0x1 expected csum 0x2 mirror 1",
    "<3> Buffer I/O error on dev loop0, logical block 12, lost async page write",
    "<3> critical medium error, dev vda, sector 12",
    "<2> EXT4-fs (loop0): Remounting filesystem read-only",
    "<1> XFS (loop0): Filesystem has been shut down due to log error (0x2).",
    "<3> sd 2:0:0:0: [vda] tag#1 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK",
)
def test_what_kernels_say_of_a_disk_is_known(text):
    assert judged(text).severity is Severity.QUALIFIES


@each("text", OURS.replace("vda", "sdb"), OURS.replace("vda", "loop1"), OURS.replace("vda", "vdaa"))
def test_an_error_of_another_disk_is_a_note(text):
    found = judged(text)
    assert (found.state, found.severity, found.relabel) == (State.FAIL, Severity.NOTES, None)


@each("name severity", ("loop0-8", Severity.QUALIFIES), ("loop1-8", Severity.NOTES))
def test_a_journal_is_named_by_its_disk_and_inode(name, severity):
    assert judged(f"<3> Aborting journal on device {name}.").severity is severity
    assert judged(f"<3> JBD2: I/O error when updating journal superblock for {name}.").severity is severity


@each(
    "text",
    "<3> INFO: task jbd2/vda-8:123 blocked for more than 120 seconds.",
    "<0> watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [dd:77]",
    "<3> rcu: INFO: rcu_preempt self-detected stall on CPU",
    "<0> mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: bea0000000000108",
    "<2> mce: CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
)
def test_processors_that_stood_still_qualify_every_claim(text):
    assert {judged(text, claim=claim).severity for claim in (DEVICE, CACHE, Claim())} == {Severity.QUALIFIES}


def test_a_link_that_went_down_matters_to_what_goes_over_a_wire():
    text = "<6> e1000e 0000:00:19.0 eth0: NIC Link is Down"
    assert judged(text, claim=WIRE).severity is Severity.QUALIFIES
    assert judged(text).severity is Severity.NOTES


def test_other_warnings_are_notes_and_the_gravest_decides():
    warning = "<4> python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
    assert (judged(warning).state, judged(warning).severity) == (State.FAIL, Severity.NOTES)
    both = judged(warning, OURS)
    assert (both.severity, both.observed["something else"]) == (Severity.QUALIFIES, 1.0)
    assert "oom-killer" not in both.statement


@each(
    "name device is_same",
    ("sda", "sda1", True),
    ("sda1", "sda", False),
    ("sda2", "sda1", False),
    ("nvme0", "nvme0n1", True),
    ("nvme0", "nvme0n1p2", True),
    ("nvme0n1", "nvme0n1p2", True),
    ("nvme0", "nvme1n1", False),
    ("loop1", "loop10", False),
    ("loop0", "loop0p1", True),
    ("vda", "vdaa", False),
    ("md1", "md127", False),
)
def test_a_disk_stands_for_its_parts_and_a_controller_for_its_disks(name, device, is_same):
    assert same(name, device) is is_same


@given(st.text(max_size=80))
def test_any_text_is_judged(text):
    assert judged(f"<3> {text}").state is State.FAIL


def test_states():
    hold(
        "a kernel that keeps still passes",
        (judged(), PASS),
        (
            judged(
                "<6> EXT4-fs (loop0): mounted filesystem r/w with ordered data mode. Quota mode: none.", "<6> loop1: detected"
            ),
            PASS,
        ),
        "an error that names no disk may be ours",
        (judged("<3> ata1.00: failed command: READ FPDMA QUEUED"), QUALIFIES),
        (judged("<3> ata1.00: failed command: READ FPDMA QUEUED", devices=()), NOTES),
        ("messages of another phase are none of this one", judged(OURS, phase="read"), PASS),
        "what was overwritten is not known",
        (judged(lost=1.0), UNVERIFIED),
        (judged(OURS, lost=1.0), FAIL),
    )
