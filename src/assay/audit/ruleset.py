"""The name of a rule set: version and digest of all that verdicts and answers depend on, and of no word of a sentence.

The digest is of the syntax trees of the modules that judge. Docstrings, comments and layout are no part of it; a text with a
blank counts as a sentence, and only its place is part of it. Texts that are compared or matched (`"write back"`, a pattern)
are data and count as they are.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from assay._core import parse_toml

ROOT = Path(__file__).parent.parent
"""The package: found without importlib's own libraries, which cost more than all that is read here."""
JUDGING = (
    *("audit", "rules", "rulekit", "evidence", "measures", "statistics", "analysis", "analysis/scaling", "prediction"),
    *("links.py", "links.toml"),
)
"""What verdicts, and the answers that are kept with them, depend on, beside the raw data."""
MATCHING = frozenset(
    (
        *("compile", "search", "match", "fullmatch", "finditer", "findall", "split", "rsplit", "partition", "rpartition"),
        *("startswith", "endswith", "removeprefix", "removesuffix", "find", "index", "count", "strptime"),
    )
)
"""Methods whose arguments are data."""
SENTENCE = "a sentence"
"""Stands for any text of several words."""


@functools.cache
def ruleset() -> str:
    """Give version and digest: a change of either judges old trials under a new name."""
    try:
        release = version("assay-lab")
    except PackageNotFoundError:
        release = "0"
    return f"{release}-{remembered([(file.name, file.read_bytes()) for file in judging(ROOT)])}"


def judging(root: Path) -> Iterator[Path]:
    """List the files of a package that judge."""
    for name in JUDGING:
        entry = root / name
        files = sorted(entry.iterdir(), key=lambda item: item.name) if entry.is_dir() else [entry]
        yield from (file for file in files if file.is_file() and file.name.endswith((".py", ".toml")))


def remembered(files: list[tuple[str, bytes]]) -> str:
    """Give the digest of files; where the very same ones were asked before, from beside the compiled modules.

    To parse them takes a third of a second of CPU time, to read them a hundredth.
    """
    exact = hashlib.sha256()
    for name, content in files:
        exact.update(name.encode() + b"\0" + content + b"\0")
    kept = ROOT / "__pycache__" / "ruleset"
    with suppress(OSError, ValueError):
        known, found = kept.read_text(encoding="ascii").split()
        if known == exact.hexdigest():
            return found
    found = digest((name, content.decode()) for name, content in files)
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            kept.write_text(f"{exact.hexdigest()} {found}\n", encoding="ascii")
    return found


def digest(files: Iterable[tuple[str, str]]) -> str:
    """Give the digest of files by name and text."""
    whole = hashlib.sha256()
    for name, text in files:
        parts = module(text) if name.endswith(".py") else values(parse_toml(text)[0])
        whole.update("\0".join((name, *parts, "")).encode())
    return whole.hexdigest()[:12]


def values(value: object) -> Iterator[str]:
    """Give the parts of a TOML table that count."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield str(name)
            yield from values(value[name])
    elif isinstance(value, list):
        for item in value:
            yield from values(item)
    else:
        yield SENTENCE if isinstance(value, str) and " " in value else repr(value)


def module(text: str) -> list[str]:
    """Give the parts of a module that count."""
    tree = ast.parse(text)
    parts: list[str] = []
    data = set(data_of(tree))
    emit(tree, parts, data | {id(one) for one in constants_of(tree, {one.id for one in named(tree, data)})})
    return parts


def data_of(tree: ast.AST) -> Iterator[int]:
    """Identify the operands of comparisons, the arguments of methods that match texts, and the elements of both."""
    for node in ast.walk(tree):
        operands: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MATCHING:
            operands = node.args
        for operand in operands:
            yield id(operand)
            yield from (id(one) for one in getattr(operand, "elts", ()))


def named(tree: ast.AST, data: set[int]) -> Iterator[ast.Name]:
    """Give the names among the data."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) in data)


def constants_of(tree: ast.Module, names: set[str]) -> Iterator[ast.AST]:
    """Give all that a module assigns to these names."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and names & {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}:
            yield from ast.walk(node.value)


def emit(node: ast.AST, parts: list[str], data: set[int]) -> None:
    """Append the parts of a tree that count."""
    if isinstance(node, ast.Constant):
        is_sentence = isinstance(node.value, str) and " " in node.value and id(node) not in data
        parts.append(SENTENCE if is_sentence else repr(node.value))
        return
    if isinstance(node, ast.JoinedStr) and id(node) not in data and (inside := sentence(node)) is not None:
        parts.append(SENTENCE)
        parts.extend(sorted(inside))
        return
    parts.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name, None)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, ast.AST):
                if not is_docstring(item):
                    emit(item, parts, data)
            elif name != "kind":
                parts.append(repr(item))
        parts.append(";")


def sentence(node: ast.JoinedStr) -> list[str] | None:
    """Give the values in a sentence that is put together, whatever their order; None where it is no sentence."""
    words = (one.value for one in node.values if isinstance(one, ast.Constant))
    if not any(" " in str(word) for word in words):
        return None
    return [ast.dump(one.value) for one in node.values if isinstance(one, ast.FormattedValue)]


def is_docstring(node: ast.AST) -> bool:
    """Tell whether a statement is nothing but a text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
