"""What the tests of directory servers share: a setting with the engine, LDIF of a few people, and why a server is missing."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue import resolved
from targets_host import setting

ENGINE = Path(__file__).parent.parent / "src" / "assay" / "bin" / "assay-engine"
PATHS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
PEOPLE = """\
dn: dc=example,dc=com
objectClass: top
objectClass: organization
objectClass: dcObject
o: example
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: uid=u00000000,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: u00000000
cn: Ann Able
sn: Able
mail: ann@example.com
"""


def needs(*tools):
    """Skip where a program is missing, naming it."""
    missing = [tool for tool in tools if shutil.which(tool, path=PATHS) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def given(target, undo, scratch, **knobs):
    """A setting of a target with the defaults of its other knobs."""
    made = setting(undo, scratch, **knobs)
    return replace(made, knobs=resolved(catalogue.find("targets", target).knobs, made.knobs), engine=str(ENGINE))


def people(tmp_path, text=PEOPLE, name="people.ldif"):
    """A file of a few people."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)
