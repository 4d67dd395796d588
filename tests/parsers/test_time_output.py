import pytest

from assay import catalogue
from assay.catalogue import printed
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "time_output")


@pytest.mark.parametrize(
    ("name", "seconds", "half"),
    [
        ("bash-5.2-time.txt", 0.007, 0.0005),
        ("bash-5.2-time-de.txt", 0.051, 0.0005),
        ("bash-5.2-time-posix.txt", 1.10, 0.005),
        ("time-1.9-default.txt", 1.10, 0.005),
        ("time-1.9-verbose.txt", 1.10, 0.005),
        ("time-1.9-posix.txt", 1.01, 0.005),
    ],
)
def test_each_form(name, seconds, half):
    assert PARSER.parse(recorded(name)) == {"command.elapsed_ns": pytest.approx(seconds * 1e9)}
    assert PARSER.resolution(recorded(name)) == {"command.elapsed_ns": pytest.approx(half * 1e9)}


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("real\t61m1.500s", 3661.5),
        ("1.00user 0.50system 1:02.03elapsed 2%CPU (0avgtext+0avgdata 1maxresident)k", 62.03),
        ("1.00user 0.50system 1:02:03elapsed 2%CPU (0avgtext+0avgdata 1maxresident)k", 3723),
        ("\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03", 3723),
        ("    0m01.05s real     0m00.00s user     0m00.42s system", 1.05),
        ("0.00u 0.42s 1.05r \t dd -if x", 1.05),
        ("TotalSeconds      : 1,0512", 1.0512),
        ("real 12", None),
        ("unreal 1.0", None),
    ],
)
def test_minutes_and_hours(line, seconds):
    found = printed.real_time([line])
    assert (found.value if found else None) == (pytest.approx(seconds * 1e9) if seconds else None)


def test_of_several_the_last_counts_and_zero_is_below_its_digits():
    assert PARSER.parse("real\t0m1.000s\nreal\t0m2.000s\n")["command.elapsed_ns"] == 2e9
    with pytest.raises(EvidenceError, match="above 0"):
        PARSER.parse(recorded("time-1.9-too-short.txt"))


def test_a_command_that_failed_has_no_time():
    by_others = (
        "ldap_bind: Invalid credentials (49)",
        "cp: cannot create 'x': No space left on device",
        "sh: 1: fi: not found",
        "Killed",
    )
    for said in ("Command exited with non-zero status 2", "Command terminated by signal 9", "\tExit status: 1", *by_others):
        with pytest.raises(EvidenceError, match="did its work"):
            PARSER.parse(f"{said}\n{recorded('time-1.9-default.txt')}")
