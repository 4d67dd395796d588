"""The engine `ldap` adds the entries of an LDIF file to a private slapd, and names those that it does not take."""

from stage.directory_servers import BASE, monitored, slapd

__all__ = ["slapd"]
SECOND = 1_000_000_000


def unit(name):
    return f"dn: ou={name},{BASE}\nobjectClass: organizationalUnit\nou: {name}\n\n"


def person(name, below, more=""):
    return f"dn: uid={name},ou={below},{BASE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn:: w6TDtg==\n{more}\n"


def settings(server, path, **other):
    operation = {"name": "import", "kind": "add", "ldif": str(path)}
    who = {"bind_dn": f"cn=admin,{BASE}", "password_file": str(server.password_file), "bind": "once"}
    return {"address": server.address, "operations": [operation], "patience_ns": 5 * SECOND} | who | other


def written(tmp_path, text):
    path = tmp_path / "x.ldif"
    path.write_text(text)
    return path


def test_every_entry_is_added_and_a_parent_before_its_children(subtests, engines, slapd, tmp_path_factory):
    for name, connections, depth in [("one", 1, 1), ("many", 8, 1), ("deep", 2, 16)]:
        with subtests.test(name=name, connections=connections, depth=depth):
            engine, tmp_path = engines(), tmp_path_factory.mktemp("case")
            text = "".join(unit(f"{name}{number}") + person(f"p{number}", f"{name}{number}") for number in range(100))
            before = monitored(slapd)
            result = engine.run(
                "ldap", settings(slapd, written(tmp_path, text), connections=connections, depth=depth), interval_ns=5_000_000
            )
            found, directory = result["operations"]["import"], result["directory"]
            assert (found["count"], found["errors"], result["errors"], result["stopped_by"]) == (200, 0, [], "work")
            assert found["bytes"] == len(text)
            answers = directory["operations"]["import"]
            assert (answers["kind"], answers["requests"], answers["codes"], answers["refused"]) == (
                "add",
                200,
                {"success": 200},
                [],
            )
            assert monitored(slapd)["add"] - before["add"] == 200
            places = [one["operations"]["import"] for one in engine.progress]
            assert [one["bytes"] for one in places] == sorted(one["bytes"] for one in places)


def test_entries_that_the_server_refuses_are_named_with_its_words(engine, slapd, tmp_path):
    text = (
        unit("some") + person("a", "some") + person("b", "some", "shoeSize: 9\n") + person("c", "elsewhere") + person("d", "some")
    )
    result = engine.run("ldap", settings(slapd, written(tmp_path, text), connections=2))
    assert (result["operations"]["import"]["count"], result["operations"]["import"]["errors"]) == (3, 2)
    refused = {
        one["dn"]: (one["code"], one["what"], one["words"]) for one in result["directory"]["operations"]["import"]["refused"]
    }
    assert refused[f"uid=b,ou=some,{BASE}"] == (17, "undefinedAttributeType", "shoeSize: attribute type undefined")
    assert refused[f"uid=c,ou=elsewhere,{BASE}"][:2] == (32, "noSuchObject")


def test_a_flush_belongs_to_the_last_add(engine, slapd, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "deep").mkdir()
    (tmp_path / "files" / "deep" / "data").write_bytes(bytes(1 << 20))
    path = written(tmp_path, unit("flushed"))
    result = engine.run("ldap", settings(slapd, path, flush_directory=str(tmp_path / "files")))
    found = result["operations"]["import"]
    assert found["busy_ns"] > found["max_ns"], "the flush is no latency of an add, and in the time of the work"
    assert found["last_ns"] - found["first_ns"] >= found["busy_ns"]


def test_a_file_that_is_no_ldif_is_refused_at_its_line(engine, slapd, tmp_path):
    answer = engine.arm("ldap", settings(slapd, written(tmp_path, "uid: x\n")))
    assert 'x.ldif, line 1: found "uid: x"; expected an entry that begins with dn:' in answer["message"]
    answer = engine.arm("ldap", settings(slapd, tmp_path / "none"))
    assert (answer["what"], answer["path"]) == ("open", str(tmp_path / "none"))
    answer = engine.arm("ldap", settings(slapd, written(tmp_path, "\n\n")))
    assert "found no entry" in answer["message"]
    result = engine.run("ldap", settings(slapd, written(tmp_path, unit("before") + "nonsense\n")))
    (error,) = result["errors"]
    assert error["what"] == "file unreadable"
    assert 'line 5: found "nonsense"; expected an entry' in error["path"] or "ATTRIBUTE: VALUE" in error["path"]
    assert (result["operations"]["import"]["count"], result["stopped_by"]) == (1, "error")


def test_what_cannot_be_with_a_file_is_refused(subtests, engine, slapd, tmp_path_factory):
    for change, text in [
        ({"workers": 2}, "found ldif beside other operations, workers or clients"),
        ({"bind": "each"}, "found ldif with bind each"),
        ({"flush_directory": "/no/such"}, "found a flush_directory that is no directory of this host"),
    ]:
        with subtests.test(change=change, text=text):
            tmp_path = tmp_path_factory.mktemp("case")
            answer = engine.arm("ldap", settings(slapd, written(tmp_path, unit("never")), **change))
            assert text in answer["message"]
