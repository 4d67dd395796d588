"""Completion of the verbs, options and fixed values in bash, zsh and fish.

The scripts hold every word, so a shell answers at once and starts nothing; a new version of Assay needs a new script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, EnumType

from typer.core import TyperArgument, TyperGroup

from assay import catalogue
from assay.cli.options import ALONE, ALONE_OF, LAB, Shell
from assay.cli.stat import words as of_stat
from assay.terminal.output import STANDARD_OUTPUT, write


@dataclass(frozen=True, kw_only=True)
class VerbOption:
    """One option of a verb."""

    names: tuple[str, ...]
    takes: bool
    """Whether the word after it is its value."""
    values: tuple[str, ...] = ()
    """All values that there are; empty where there are too many."""
    help: str = ""


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One verb with its options, and the fixed words that can follow it."""

    name: str
    help: str
    options: tuple[VerbOption, ...]
    words: tuple[str, ...] = ()


def completion(shell: Shell, group: object) -> int:
    """Print the script of a shell for the verbs of this command."""
    write(STANDARD_OUTPUT, script(shell, verbs(group)))
    return 0


def script(shell: Shell, every: Sequence[Verb]) -> str:
    """Return the script of a shell for these verbs."""
    return "\n".join(SCRIPTS[shell](every))


def verbs(group: object) -> tuple[Verb, ...]:
    """Return every verb of the command, with the options of `stat`, which reads its words itself."""
    assert isinstance(group, TyperGroup)
    return tuple(_verb(name, command) for name, command in sorted(group.commands.items()) if not command.hidden)


def _verb(name: str, command: object) -> Verb:
    options, words = [], list(_words(name))
    for one in getattr(command, "params", ()):
        values = _values(one)
        if isinstance(one, TyperArgument):
            words += values
            continue
        alone = {**ALONE, **ALONE_OF.get(name, {})}
        takes = not getattr(one, "is_flag", False) and not any(each in alone for each in one.opts)
        options.append(VerbOption(names=tuple(one.opts), takes=takes, values=values if takes else (), help=one.help or ""))
    if name == "stat":
        options = [VerbOption(names=(f"--{each}",), takes=each in of_stat.VALUED) for each in (*of_stat.VALUED, *of_stat.ALONE)]
    text = str(getattr(command, "help", "") or "").partition("\n")[0].rstrip(".")
    return Verb(name=name, help=text, options=tuple(options), words=tuple(words))


def _values(one: object) -> tuple[str, ...]:
    """Return the values of an option or argument whose type is an enumeration."""
    kind = getattr(getattr(one, "type_descriptor", None), "annotation", None)
    if not isinstance(kind, EnumType):
        return ()
    members: Mapping[str, Enum] = kind.__members__
    return tuple(str(each.value) for each in members.values())


def _words(name: str) -> Iterator[str]:
    if name == "explain":
        yield from (catalogue.find("rules", one).id for one in catalogue.names("rules"))
    elif name == "load":
        yield from catalogue.names("workloads")


BASH_HEAD = """\
_assay() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= place words=
    for ((place = 1; place < COMP_CWORD; place++)); do
        case ${COMP_WORDS[place]} in
            --) COMPREPLY=(); return ;;
            --lab) [[ -n $verb ]] || ((place++)) ;;
            -*) ;;
            *) [[ -n $verb ]] || verb=${COMP_WORDS[place]} ;;
        esac
    done
    case "$verb $before" in\
"""
BASH_TAIL = """\
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o bashdefault -o default -F _assay assay\
"""


def bash(every: Sequence[Verb]) -> Iterator[str]:
    """Yield the lines for bash: values after their option, options behind a dash, else the words of the verb."""
    yield BASH_HEAD
    for verb in every:
        for option in verb.options:
            if option.takes:
                pattern = "|".join(f"'{verb.name} {name}'" for name in option.names)
                wanted = f'words="{" ".join(option.values)}"' if option.values else "COMPREPLY=(); return"
                yield f"        {pattern}) {wanted} ;;"
    yield "    esac"
    yield '    [[ -n $words ]] || case "$verb" in'
    yield f"        '') words=\"{' '.join(verb.name for verb in every)} {LAB}\" ;;"
    for verb in every:
        names = " ".join(name for option in verb.options for name in option.names)
        yield f'        \'{verb.name}\') if [[ $word == -* ]]; then words="{names}"; else words="{" ".join(verb.words)}"; fi ;;'
    yield BASH_TAIL


ZSH_HEAD = """\
#compdef assay
_assay() {
    if ((CURRENT == 2)); then
        local -a verbs=(\
"""


ZSH_MIDDLE = """\
        )
        _describe verb verbs
        return
    fi
    local verb=$words[2]
    shift words
    ((CURRENT--))\
"""


def zsh(every: Sequence[Verb]) -> Iterator[str]:
    """Yield the lines for zsh, each verb and option with its help."""
    yield ZSH_HEAD
    yield from (f"            {_quoted(f'{verb.name}:{verb.help}')}" for verb in every)
    yield ZSH_MIDDLE
    yield "    case $verb in"
    for verb in every:
        yield f"        {verb.name})\n            _arguments -S \\"
        yield from (f"                {_quoted(text)} \\" for option in verb.options for text in _zsh_option(option))
        rest = f"*:word:({' '.join(verb.words)})" if verb.words else "*:file:_files"
        yield f"                {_quoted(rest)}\n            ;;"
    yield '    esac\n}\nif [[ $funcstack[1] == _assay ]]; then\n    _assay "$@"\nelse\n    compdef _assay assay\nfi'


def _zsh_option(option: VerbOption) -> Iterator[str]:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = f":value:({' '.join(option.values)})" if option.values else ":value:_files"
    yield from (f"*{name}[{text}]{value * option.takes}" for name in option.names)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish(every: Sequence[Verb]) -> Iterator[str]:
    """Yield the lines for fish, each verb and option with its help."""
    for verb in every:
        yield f"complete -c assay -f -n __fish_use_subcommand -a {verb.name} -d {_fish_text(verb.help)}"
        here = f"complete -c assay -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.words:
            yield f"{here} -f -a '{' '.join(verb.words)}'"
        for option in verb.options:
            names = " ".join(f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in option.names)
            value = f" -x -a '{' '.join(option.values)}'" if option.values else " -r" * option.takes
            yield f"{here} {names}{value} -d {_fish_text(option.help)}"


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[Shell, Callable[[Sequence[Verb]], Iterable[str]]] = {Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}
