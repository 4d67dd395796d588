"""Service levels: what is one, and whether it was kept."""

from assay.dissect import levels
from assay.dissect.levels import Kept, ServiceLevel
from assay.units import Refusal
from stage.ldap_captures import MS
from stage.ldap_results import found
from stage.rows import each


@each(
    "text operation figure limit_ns",
    ("search p99 <= 50 ms", "search", "p99", 50 * MS),
    ("  all   max<=1 s ", "all", "max", 1000 * MS),
    ("bind p99.9 <= 250 us", "bind", "p99.9", MS // 4),
)
def test_a_level_is_read(text, operation, figure, limit_ns):
    level = levels.parse(text)
    assert isinstance(level, ServiceLevel)
    assert (level.operation, level.figure, level.limit_ns) == (operation, figure, limit_ns)


@each("text", "", "fast", "search p95 <= 5 ms", "read p99 <= 5 ms", "search p99 < 5 ms", "search p99 >= 5 ms")
def test_what_is_no_level_is_answered_with_one(text):
    refusal = levels.parse(text)
    assert isinstance(refusal, Refusal)
    assert "search p99 <= 50 ms" in refusal.expected


@each("text", "search p99 <= 5", "search p99 <= 5 MB", "search p99 <= soon")
def test_a_limit_is_a_time(text):
    refusal = levels.parse(text)
    assert isinstance(refusal, Refusal)
    assert "a time such as" in refusal.expected


@each(
    "figure n slower state",
    ("p99", 100, 1, Kept.MET),
    ("p99", 100, 2, Kept.NOT_MET),
    ("p99", 99, 0, Kept.MET),
    ("p99", 99, 1, Kept.NOT_MET),
    ("p50", 3, 1, Kept.MET),
    ("max", 1000, 0, Kept.MET),
    ("max", 1000, 1, Kept.NOT_MET),
    ("p99", 0, 0, Kept.UNKNOWN),
)
def test_the_exact_count_decides(figure, n, slower, state):
    level = ServiceLevel(text="x", operation="search", figure=figure, limit_ns=5)
    (result,) = levels.judged([level], found(search=n, limits=[{"operation": "search", "ns": 5, "n": n, "slower": slower}]))
    assert (result.state, result.n) == (state, n)
