"""A capture in words: what is there, what makes it a lower bound, and never more than 40 lines."""

from assay.cli import dissect as verb
from assay.dissect import levels, result, wording
from stage.ldap_captures import MS
from stage.ldap_results import client, found, operation, times, used
from stage.rows import each


def test_the_answer_has_the_operations_and_their_time():
    text = wording.answer(found())
    assert text == "100 operations in 10 s (10/s): 1 client, 2 connections; search p50 1 ms, p99 5 ms."


@each("years rate", (0, "10/s"), (30, "0.381/h"), (30_000, "0.00913/day"))
def test_a_rate_is_given_over_a_time_in_which_it_is_a_number(years, rate):
    second_ns = 10**9
    text = wording.answer(
        found(start_ns=0, end_ns=years * 365 * 86_400 * second_ns or 10 * second_ns, search=100_000 if years else 100)
    )
    assert f"({rate})" in text


@each("name", *result.LOSSES)
def test_a_loss_makes_a_lower_bound_and_is_named(name):
    lossy = found(**{name: 3})
    assert not lossy.complete
    assert wording.answer(lossy).startswith("At least 100 operations")
    assert len(wording.remarks(lossy)) == len(wording.remarks(found())) + 1


def test_damage_makes_a_lower_bound_and_ports_are_named_without_ldap():
    ended = {"kind": "cut", "at_byte": 4711}
    lossy = found(files=[{"path": "a.pcap", "format": "pcap", "frames": 12, "ended": ended}])
    assert not lossy.complete
    assert "a.pcap: 12 frames read, up to byte 4,711: the file ends inside a frame." in wording.remarks(lossy)[0]
    empty = found(search=0, frames=50, messages=0, connections=0, ports=[{"port": 1389, "frames": 40}])
    assert "TCP ports seen: 1389 (40 frames)" in wording.answer(empty)
    assert "--port" in wording.answer(empty)
    assert wording.answer(found(search=0, frames=0, messages=0)) == "No frames."
    opaque = found(search=0, frames=9, messages=0, opaque_connections=2, opaque={**found().values["opaque"], "ldaps": 2})
    assert "2 connections encrypted by TLS" in wording.answer(opaque)


def test_slow_filters_with_few_entries_are_candidates():
    slow = used("(mail=?)", 10, response_ns=times(10, p50=20 * MS, p99=30 * MS))
    many = used("(sn=?)", 10, entries=900, response_ns=times(10, p50=20 * MS, p99=30 * MS))
    rare = used("(cn=?)", 2, response_ns=times(2, p50=20 * MS, p99=30 * MS))
    made = found(filters=[used("(uid=?)", 90), slow, many, rare])
    assert [one.filter for one in result.unindexed(made)] == ["(mail=?)"]
    assert any("(mail=?)" in one for one in wording.candidates(made))


def test_the_terminal_has_at_most_40_lines_whatever_it_tells():
    kinds = [operation(name, 50) for name in ("search", *levels.KINDS[1:], "abandon", "unbind")]
    everything = dict.fromkeys(
        (*result.LOSSES, "answers_lost", "untimed", "retransmitted", "zero_windows", "opaque_connections"), 7
    )
    made = found(
        operations=kinds,
        filters=[used(f"(a{number}=?)", 9) for number in range(30)],
        clients=[client(f"10.0.0.{number}", 9) for number in range(30)],
        limits=[{"operation": None, "ns": 5, "n": 9, "slower": 1}],
        **everything,
    )
    resolved = verb.resolve(verb.CaptureWords(files=("x",), levels=("all p99 <= 5 ms",), link="1GbE"), verb.CaptureOutputs())
    text = verb.text(made, resolved, levels.judged(resolved.levels, made), ["a.html", "b.toml"])
    assert len(text.split("\n")) <= 40
    assert "1GbE" in text
    assert "not met" in text or "met" in text
    texts = [f"search p99 <= {20 if number < 45 else 1} ms" for number in range(50)]
    made = found(limits=[{"operation": "search", "ns": 1, "n": 100, "slower": 0 if "20" in text else 60} for text in texts])
    resolved = verb.resolve(verb.CaptureWords(files=("x",), levels=texts), verb.CaptureOutputs())
    judged = levels.judged(resolved.levels, made)
    lines = verb.text(made, resolved, judged).split("\n")
    assert len(lines) <= 40
    assert sum("not met (" in line for line in lines) == 5
    assert any(line.startswith("43 more service levels: 43 met, 0 not met") for line in lines)
    assert len([*wording.level_lines(judged)]) == 50


def test_traffic_is_rated_over_a_second_at_least():
    seen = result.traffic(found())
    assert (seen.mean_bytes_per_s, seen.highest_bytes_per_s, seen.interval_ns) == (10_000, 10_000, 10 * 10**9)
    assert result.widened([1, 2, 3, 4, 5], 10, 25) == ([6, 9], 30)
