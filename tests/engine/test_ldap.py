"""The engine `ldap` against a private slapd, and against small servers that lie."""

import socket
import threading
import time

from stage.directory_servers import BASE, LIES, monitored, slapd, small_server

__all__ = ["slapd", "small_server"]
SECOND = 1_000_000_000
DN = f"uid=u{{key:08d}},ou=people,{BASE}"
PEOPLE = 1000


def search(**other):
    wanted = {"entries": 1, "dn": DN, "values": {"uid": ["u{key:08d}"]}}
    return {
        "name": "search",
        "kind": "search",
        "dn": BASE,
        "filter": "(uid=u{key:08d})",
        "attributes": ["uid"],
        "keys": {"count": PEOPLE},
        "expect": wanted,
    } | other


def settings(server, *operations, **other):
    return {"address": server.address, "operations": operations or [search()], "patience_ns": SECOND} | other


def bound(server, **other):
    return {"bind_dn": f"cn=admin,{BASE}", "password_file": str(server.password_file), "bind": "once"} | other


def refused(engine, given):
    answer = engine.arm("ldap", given)
    assert answer["type"] == "error", answer
    return f"{answer['what']}: {answer['message']}"


def test_searches_are_verified_and_counted(engine, slapd):
    result = engine.run("ldap", settings(slapd, connections=4, depth=4, ops=500))
    found, directory = result["operations"], result["directory"]
    assert (found["search"]["count"], found["search"]["errors"], result["errors"]) == (500, 0, [])
    assert found["first_entry"]["count"] == 500
    assert found["first_entry"]["max_ns"] <= found["search"]["max_ns"]
    assert directory["operations"]["search"] == {
        "kind": "search",
        "refused": [],
        "requests": 500,
        "entries": 500,
        "references": 0,
        "misses": 0,
        "codes": {"success": 500},
        "wrong": {},
    }
    assert (directory["connections"], directory["lost"], directory["own"]) == (4, 0, {"search": 1, "unbind": 4})
    assert found["search"]["bytes"] < directory["received_bytes"]


def everything():
    own = f"{{key:08d}},{BASE}"
    person = {"objectClass": ["inetOrgPerson"], "cn": ["x"], "sn": ["x"]}
    keys = {"order": "forward", "count": 40}
    return [
        search(weight=4),
        search(name="lookup", scope="base", dn=DN, filter="(objectClass=*)", keys={"count": PEOPLE, "order": "skewed"}),
        {
            "name": "compare",
            "kind": "compare",
            "dn": DN,
            "attribute": "uid",
            "value": "u{key:08d}",
            "keys": {"count": PEOPLE, "misses": 0.5, "missing": PEOPLE},
        },
        {"name": "add", "kind": "add", "dn": f"uid=a{own}", "entry": {"uid": ["a{key:08d}"]} | person, "keys": keys},
        {
            "name": "modify",
            "kind": "modify",
            "dn": DN,
            "changes": [{"how": "replace", "attribute": "description", "values": ["changed {n}"]}],
            "keys": {"count": PEOPLE},
        },
    ]


def test_all_kinds_are_counted_as_the_server_counts_them(subtests, engine, slapd):
    for way in ["address", "ldapi", "tls", "starttls"]:
        with subtests.test(way=way):
            after = [
                {"name": "rename", "kind": "rename", "dn": f"uid=a{{key:08d}},{BASE}", "new_rdn": "uid=b{key:08d}"},
                {"name": "delete", "kind": "delete", "dn": f"uid=b{{key:08d}},{BASE}"},
            ]
            keys = {"order": "once", "count": 40}
            address = {"address": slapd.address if way == "starttls" else getattr(slapd, way), "starttls": way == "starttls"}
            trust = {"ca_file": str(slapd.certificate)} if way in ("tls", "starttls") else {}
            whole = bound(slapd, **address, **trust)
            before = monitored(slapd)
            results = [engine.run("ldap", settings(slapd, *everything(), connections=3, ops=320, **whole))]
            bind = {"name": "bind", "kind": "bind"}
            results += [engine.run("ldap", settings(slapd, one | {"keys": keys}, workers=2, **whole)) for one in after]
            results.append(engine.run("ldap", settings(slapd, bind, ops=7, **whole)))
            assert [result["errors"] for result in results] == [[], [], [], []]
            done = {name: found["count"] for result in results for name, found in result["operations"].items()}
            # Decks of eight: four searches, one of each other.
            assert done | {"first_entry": 0, "lookup_first_entry": 0} == {
                "search": 160,
                "lookup": 40,
                "compare": 40,
                "add": 40,
                "modify": 40,
                "rename": 40,
                "delete": 40,
                "bind": 7,
                "first_entry": 0,
                "lookup_first_entry": 0,
            }
            codes = results[0]["directory"]["operations"]["compare"]["codes"]
            misses = results[0]["directory"]["operations"]["compare"]["misses"]
            assert codes == {"compareTrue": 40 - misses, "noSuchObject": misses}
            own = {}
            for result in results:
                for name, count in result["directory"]["own"].items():
                    own[name] = own.get(name, 0) + count
            counted = {name: count - before[name] for name, count in monitored(slapd).items()}
            client = {"search": 200 + own["search"], "bind": 7 + own["bind"], "extended": own.get("extended", 0)}
            expected = {"compare": 40, "add": 40, "modify": 40, "modrdn": 40, "delete": 40, "unbind": own["unbind"], **client}
            look = {"bind": 1, "search": 1, "unbind": 1}  # ldapsearch of the first look; the second one is under way
            assert {name: counted[name] - look.get(name, 0) for name in expected} == expected


def test_a_bind_before_each_operation_is_in_its_time(engine, slapd):
    result = engine.run("ldap", settings(slapd, ops=50, **bound(slapd, bind="each")))
    found = result["operations"]
    assert (found["search"]["count"], found["bind"]["count"], result["errors"]) == (50, 50, [])
    assert found["bind"]["busy_ns"] < found["search"]["busy_ns"]


def test_a_bind_that_is_refused_before_an_operation_is_an_error_and_its_operation_is_not_sent(engine, small_server, tmp_path):
    (tmp_path / "password").write_text("secret")
    server = small_server(refuses=lambda count: count % 5 == 0)
    each = {"bind": "each", "bind_dn": f"cn=admin,{BASE}", "password_file": str(tmp_path / "password")}
    result = engine.run("ldap", settings(server, ops=200, connections=3, **each))
    (error,) = result["errors"]
    assert (error["operation"], error["what"], error["errno"], error["count"]) == ("bind", "invalidCredentials", 49, 40)
    found, answers = result["operations"], result["directory"]["operations"]["search"]
    assert (found["bind"]["count"], found["bind"]["errors"], found["search"]["count"], found["search"]["errors"]) == (
        160,
        40,
        160,
        0,
    )
    assert (answers["requests"], answers["entries"], server.count) == (160, 160, 160)
    assert result["stopped_by"] == "work", "other binds succeed, so the load goes on"


def test_keys_that_come_once_end_the_work(engine, slapd):
    once = search(keys={"count": 100, "order": "once"})
    result = engine.run("ldap", settings(slapd, once, workers=3, duration_ns=60 * SECOND))
    assert (result["stopped_by"], result["operations"]["search"]["count"]) == ("work", 100)


def test_keys_that_come_once_have_misses_between_them(engine, slapd):
    """Each of 300 entries has its turn, and of all operations a quarter is for an entry that is not there."""
    once = search(keys={"count": 300, "order": "once", "misses": 0.25, "missing": 1000}, expect={"entries": 1})
    result = engine.run("ldap", settings(slapd, once, workers=3, duration_ns=60 * SECOND))
    answers = result["directory"]["operations"]["search"]
    assert (result["stopped_by"], result["errors"], answers["entries"]) == ("work", [], 300)
    assert answers["requests"] == 300 + answers["misses"]
    assert 50 < answers["misses"] < 170


def test_expected_misses_are_work_and_do_not_end_a_phase(engine, slapd):
    missing = {"count": PEOPLE, "misses": 1.0, "missing": PEOPLE}
    gone = {"name": "lookup", "kind": "search", "dn": DN, "scope": "base", "keys": missing}
    result = engine.run("ldap", settings(slapd, search(keys=missing), gone, ops=1000))
    answers = result["directory"]["operations"]
    assert result["errors"] == []
    assert (answers["search"]["codes"], answers["search"]["entries"]) == ({"success": 500}, 0)
    assert answers["lookup"]["codes"] == {"noSuchObject": 500}
    assert result["operations"]["first_entry"]["count"] == 0


def test_what_is_not_there_is_an_error_under_its_name(engine, slapd):
    lookup = {"name": "lookup", "kind": "search", "dn": DN, "scope": "base", "keys": {"first": PEOPLE, "count": 5}}
    result = engine.run("ldap", settings(slapd, lookup, ops=300))
    assert [(one["what"], one["space"], one["errno"], one["count"]) for one in result["errors"]] == [
        ("noSuchObject", "ldap", 32, 300)
    ]
    assert (result["operations"]["lookup"]["count"], result["stopped_by"]) == (0, "work")


def test_writes_without_a_bind_are_refused_by_name(engine, slapd):
    change = {"how": "replace", "attribute": "sn", "values": ["x"]}
    modify = {"name": "modify", "kind": "modify", "dn": DN, "changes": [change], "keys": {"count": 9}}
    result = engine.run("ldap", settings(slapd, modify, ops=3))
    assert [one["what"] for one in result["errors"]] == ["strongerAuthRequired"]


def test_lies_are_errors_and_no_work(subtests, engine, small_server):
    for name, what, count in [
        ("empty", "entry missing", 200),
        ("another", "entry of another name", 200),
        ("attribute", "attribute differs", 200),
        ("twice", "entry repeated", 200),
        ("busy", "busy", 20),
        ("limited", "sizeLimitExceeded", 200),
        ("referred", "reference instead of entries", 200),
        ("unasked", "answer to no request", 400),
        ("closing", None, 1),
    ]:
        with subtests.test(name=name, what=what, count=count):
            result = engine.run("ldap", settings(small_server(LIES[name]), ops=200))
            (error,) = result["errors"]
            assert (error.get("what"), error["count"]) == (what, count)
            done = {"busy": 180, "unasked": 200, "closing": 49}.get(name, 0)
            assert result["operations"]["search"]["count"] == done
            assert result["stopped_by"] == ("error" if name == "closing" else "work")
            if name == "unasked":
                assert result["directory"]["unasked"] == 400


def test_an_honest_small_server_is_clean(engine, small_server):
    result = engine.run("ldap", settings(small_server(), ops=200, connections=3, depth=2))
    assert (result["operations"]["search"]["count"], result["errors"]) == (200, [])


def test_a_server_that_falls_silent_is_an_error_after_a_while(engine, small_server):
    result = engine.run("ldap", settings(small_server(lambda uid, count: []), connections=2, ops=5))
    assert [(one["what"], one["count"]) for one in result["errors"]] == [("no answer", 2)]
    assert (result["stopped_by"], result["directory"]["lost"]) == ("error", 2)


def test_stop_ends_a_phase_during_its_operations(engine, slapd):
    assert engine.arm("ldap", settings(slapd, connections=2))["type"] == "armed"
    engine.go()
    engine.send(type="stop")
    result = engine.result()
    assert (result["stopped_by"], result["errors"]) == ("stop", [])


def test_an_open_loop_counts_from_the_time_that_was_due(engine, slapd):
    load = {"rate": 500.0}
    result = engine.run("ldap", settings(slapd, connections=4, duration_ns=SECOND, load=load))
    assert result["load"]["unstarted"] + result["operations"]["search"]["count"] == 500
    assert result["errors"] == []


def percentile_ns(found, share):
    left = share * found["count"]
    for upper_ns, count in zip(found["histogram"]["upper_ns"], found["histogram"]["count"], strict=True):
        left -= count
        if left <= 0:
            return upper_ns
    return found["max_ns"]


def test_an_open_loop_over_a_silence_counts_the_wait_of_each(engine, small_server):
    """A second of silence in four, 1,000 /s due: a quarter waits, evenly from 0 to 1 s; what is due is not left out."""
    server = small_server()
    lasts = {"duration_ns": 4 * SECOND, "load": {"rate": 1000.0}}
    assert engine.arm("ldap", settings(server, search(attributes=["1.1"], expect={"entries": 1}), connections=64, **lasts))
    at = time.monotonic() + 0.05
    server.silent_from, server.silent_until = at + 0.5, at + 1.5
    engine.go(50_000_000)
    result = engine.result()
    found = result["operations"]["search"]
    assert found["count"] + result["load"]["unstarted"] == 4000
    assert found["max_ns"] >= 0.95 * SECOND
    assert percentile_ns(found, 0.9) >= 0.5 * SECOND
    assert percentile_ns(found, 0.5) <= 0.5 * SECOND


def test_five_hundred_connections_are_armed_by_one_client(engine, slapd):
    before = monitored(slapd)
    assert engine.arm("ldap", settings(slapd, connections=500, ops=500, **bound(slapd)))["type"] == "armed"
    engine.go()
    result = engine.result()
    assert (result["operations"]["search"]["count"], result["errors"]) == (500, [])
    assert (result["directory"]["connections"], result["directory"]["own"]["bind"]) == (500, 500)
    assert monitored(slapd)["bind"] - before["bind"] == 501  # the look before has a bind of its own


def served(reply):
    """A server that answers anything with these bytes, once; None closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection, listener:
            connection.recv(4096)
            if reply:
                connection.sendall(reply)
                connection.recv(4096)

    threading.Thread(target=serve, daemon=True).start()
    return f"ldap://127.0.0.1:{listener.getsockname()[1]}"


def test_what_cannot_work_is_refused_while_it_is_armed(engine, slapd, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong")
    denied = refused(engine, settings(slapd, **bound(slapd, password_file=str(wrong))))
    assert "the server refused the bind as" in denied
    assert "invalidCredentials (49). Correct the bind DN, or the password in its file" in denied
    both = (search(dn="dc=elsewhere"), search(name="second", dn=f"ou=nobody,{BASE}"))
    missing = refused(engine, settings(slapd, *both))
    assert 'a search below "dc=elsewhere": noSuchObject (32)' in missing
    assert f'a search below "ou=nobody,{BASE}": noSuchObject (32). Use bases that it has' in missing
    assert "UnknownIssuer" in refused(engine, settings(slapd, address=slapd.tls)) or "certificate" in refused(
        engine, settings(slapd, address=slapd.tls)
    )
    assert "no TLS with this server" in refused(engine, settings(slapd, address=slapd.address.replace("ldap:", "ldaps:")))
    assert "No such file" in refused(engine, settings(slapd, **bound(slapd, password_file="/no/such")))
    web = settings(slapd, address=served(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    assert 'the server answers no LDAP: found "HTTP/1.1 400' in refused(engine, web)
    assert "closed the connection without an answer" in refused(engine, settings(slapd, address=served(None)))
    closed = settings(slapd, address="ldap://127.0.0.1:1")
    assert "Connection refused" in refused(engine, closed)


def test_searches_of_one_name_have_their_shares_within_its_weight(engine, slapd):
    people = "(&(objectClass=inetOrgPerson)(uid=u0000000*))"
    several = search(
        share=1, weight=3, filter=people, size_limit=4, keys={}, expect={"entries": 4, "codes": ["sizeLimitExceeded"]}
    )
    compare = {
        "name": "compare",
        "kind": "compare",
        "dn": DN,
        "attribute": "uid",
        "value": "u{key:08d}",
        "keys": {"count": PEOPLE},
    }
    result = engine.run("ldap", settings(slapd, search(share=3, weight=3), compare, several, ops=400))
    counts = {name: found["count"] for name, found in result["operations"].items()}
    assert (counts, result["errors"]) == ({"search": 300, "first_entry": 300, "compare": 100}, [])
    answers = result["directory"]["operations"]["search"]
    assert answers["codes"] == {"success": 225, "sizeLimitExceeded": 75}
    assert (answers["requests"], answers["entries"], answers["wrong"]) == (300, 225 + 4 * 75, {})


def test_settings_that_cannot_be_are_refused(subtests, engine, slapd):
    for change, text in [
        ({"address": "http://x"}, "expected ldap://HOST:PORT"),
        ({"depth": 2, "starttls": True}, "found depth with starttls; expected depth 1"),
        ({"bind": "once"}, "found bind without password_file"),
        ({"operations": []}, "found no operations"),
        ({"operations": [search(filter="(uid=1")]}, "found the end at place 6 of \"(uid=1\"; expected ')'"),
        ({"operations": [search(), search(weight=2)]}, "found operations of one name with different kinds or weights"),
        ({"operations": [search(), search(name="first_entry")]}, 'found two operations "first_entry"'),
        ({"operations": [search(share=0)]}, "found shares outside 1 to 1,000,000"),
        ({"operations": [search(filter="(uid=u{key:02d})")]}, "found key 999; expected a placeholder with room for it"),
        ({"operations": [search(keys={"misses": 0.1})]}, "found misses without keys.missing"),
        ({"operations": [search(expect={"codes": ["fine"]})]}, 'found result code "fine"; expected a name of RFC 4511'),
        ({"connections": 5000}, "found workers x connections outside 1 to 4,096"),
        ({"load": {"think_ns": 5}, "connections": 2}, "found think_ns; expected one connection of each worker"),
    ]:
        with subtests.test(change=change, text=text):
            assert text in refused(engine, settings(slapd) | change)


def test_any_certificate_is_believed_where_that_is_allowed(engine, slapd):
    result = engine.run("ldap", settings(slapd, address=slapd.tls, insecure=True, ops=20, depth=4, connections=2))
    assert (result["operations"]["search"]["count"], result["errors"]) == (20, [])
