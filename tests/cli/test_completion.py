"""Completion as a shell asks for it: each test writes part of a line and reads what the shell would offer."""

import shlex
import shutil
import subprocess

import pytest

from assay_process import Bench

OFFERED = [
    ("assay ru", {"run"}),
    ("assay run --res", {"--resume"}),
    ("assay run --progress ", {"auto", "json", "none"}),
    ("assay hosts e.toml cl", {"clean"}),
    ("assay explain T0", {f"T0{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9)}),
    ("assay load ldap_", {"ldap_import", "ldap_load"}),
    ("assay stat --prep", {"--prepare"}),
]


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script of a shell, in a file."""

    def made(shell, name="script"):
        folder = tmp_path_factory.mktemp(shell)
        (folder / name).write_text(Bench(folder).run("completion", shell).stdout)
        return folder / name

    return made


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"needs {shell}")


BASH = """
source {script}
COMP_LINE={line}
IFS=' ' read -ra COMP_WORDS <<< "$COMP_LINE"
[[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_assay
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; zstyle ":completion:*" list-separator "#"'
zpty -w z 'zstyle ":completion:*" menu no; unsetopt ZLE; setopt ZLE NO_ALWAYS_LAST_PROMPT NO_LIST_BEEP; LISTMAX=1000; print READY'
while zpty -r z line; do [[ $line == READY* ]] && break; done
zpty -n -w z {line}$'\\t\\t'
sleep {pause}
zpty -rt z all; while zpty -rt z more; do all+=$more; done
print -r -- $all
"""


@needs("bash")
def test_bash_offers_what_fits_and_leaves_files_and_commands_to_the_shell(script, subtests):
    place = shlex.quote(str(script("bash")))
    nothing = [(line, set()) for line in ("assay run x", "assay run --lab ", "assay stat -- l")]
    for line, words in (*OFFERED, *nothing):
        with subtests.test(line=line):
            text = BASH.format(script=place, line=shlex.quote(line))
            done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, check=False)
            offered = done.stdout.split()
            assert (done.stderr, words - set(offered)) == ("", set())
            assert all(word.startswith(line.rpartition(" ")[2]) for word in offered)
            assert words or not offered, "nothing of its own, so that -o default offers files"


@needs("fish")
def test_fish_offers_what_fits(script, subtests):
    place = shlex.quote(str(script("fish")))
    for line, words in OFFERED:
        with subtests.test(line=line):
            text = f"source {place}; complete -C {shlex.quote(line)}"
            done = subprocess.run(["fish", "--no-config", "-c", text], capture_output=True, text=True, check=True)
            assert words <= {offered.partition("\t")[0] for offered in done.stdout.splitlines()}


@needs("zsh")
def test_zsh_offers_what_fits(script, subtests):
    folder = shlex.quote(str(script("zsh", "_assay").parent))
    for line, words in OFFERED:
        with subtests.test(line=line):
            for pause in (1, 10, 60):  # a busy machine may need longer for its offers
                text = ZSH.format(folder=folder, line=shlex.quote(line), pause=pause)
                done = subprocess.run(["zsh", "-f", "-c", text], capture_output=True, text=True, check=True, timeout=300)
                if not (missing := [word for word in words if word not in done.stdout]):
                    break
            assert not missing, done.stdout


def test_another_shell_is_refused(bench):
    done = bench.run("completion", "csh")
    assert (done.returncode, "bash" in done.stderr) == (2, True)
