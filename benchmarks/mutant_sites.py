"""Where the source can be changed by one small fault, and how: the mutants of a tree, and a choice among them by a seed.

A mutant's name is its file, scope, line and change, without the line's number. The choice takes the names with the lowest
digests, so a line that comes or goes elsewhere changes no other choice, and two trees can be held against each other.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

ROOMS = ("measures", "rules", "rulekit", "statistics", "analysis", "parsers", "experiment", "audit", "units.py")
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
RECKONED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
SWAPPED = {"max": "min", "min": "max", "any": "all", "all": "any"}
KEY = re.compile(r"[a-z0-9_.:/-]+")
"""A text that is a key or a unit; words for people are the frozen corpus's."""
Place = tuple[int | str, ...]
"""The way from the module's node to one below it: names of fields and numbers in lists."""


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    file: str
    line: int
    last_line: int
    scope: str
    """The function whose body has the place, '' where a module or a class has it."""
    place: Place
    number: int
    """Of the changes of this place."""
    change: str
    text: str
    nth: int = 0
    """Among equal changes of equal lines of one scope."""

    @property
    def name(self) -> str:
        return "|".join((self.file, self.scope, self.text, self.change, str(self.nth)))

    @property
    def room(self) -> str:
        return self.file.split("/")[2]


def chosen(tree: Path, seed: int, count: int, like: Path | None = None) -> list[Mutant]:
    """So many mutants of a tree by the seed, in the seed's order; of another tree only what it has as well."""
    found = mutants(tree)
    known = {mutant.name for mutant in mutants(like)} if like else {mutant.name for mutant in found}
    ranked = ((hashlib.sha256(f"{seed}|{mutant.name}".encode()).digest(), mutant) for mutant in found if mutant.name in known)
    return [mutant for _, mutant in sorted(ranked, key=lambda pair: pair[0])[:count]]


def mutants(tree: Path) -> list[Mutant]:
    """All mutants of the rooms of a tree."""
    files = [file for room in ROOMS for file in files_of(tree / "src" / "assay" / room)]
    return [mutant for file in files for mutant in of_file(tree, file)]


def files_of(room: Path) -> Sequence[Path]:
    return [room] if room.suffix else sorted(room.rglob("*.py"))


def of_file(tree: Path, file: Path) -> Iterator[Mutant]:
    """All mutants of one file."""
    lines = file.read_text().splitlines()
    seen: Counter[tuple[str, str, str]] = Counter()
    name = str(file.relative_to(tree))
    for place, scope, node in places(ast.parse(file.read_text())):
        for number, (before, after) in enumerate(changes(node)):
            change, text = f"{shown(before)} → {shown(after)}", lines[node.lineno - 1].strip()
            yield Mutant(name, node.lineno, last(node), scope, place, number, change, text, seen[scope, text, change])
            seen[scope, text, change] += 1


def last(node: ast.expr | ast.stmt) -> int:
    """The last line that belongs to the place itself: of a block, of its condition."""
    inner = node.test if isinstance(node, ast.If | ast.While) else node
    return inner.end_lineno or inner.lineno


def shown(node: ast.AST) -> str:
    """A node in one line: of a block, what decides about it."""
    node = node.test if isinstance(node, ast.If | ast.While) else node
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-36:]}"


def places(tree: ast.Module) -> Iterator[tuple[Place, str, ast.expr | ast.stmt]]:
    """Every expression and statement that is run, with its way from the top and its scope."""
    todo: list[tuple[Place, str, ast.AST]] = [((), "", tree)]
    while todo:
        way, scope, node = todo.pop()
        if way and isinstance(node, ast.expr | ast.stmt):
            yield way, scope, node
        todo += reversed([(way + step, scope_of(node, step, scope), child) for step, child in children(node)])


def scope_of(node: ast.AST, step: Place, scope: str) -> str:
    """What is inside of a function's body belongs to it; its defaults and decorators belong to who defines it."""
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda) and step[0] == "body"
    name = getattr(node, "name", "<lambda>")
    return f"{scope}.{name}".lstrip(".") if inside and not (isinstance(node, ast.ClassDef) and not scope) else scope


def children(node: ast.AST) -> Iterator[tuple[Place, ast.AST]]:
    """The nodes below that are run and say more than words: no annotation, no docstring, no assertion, no f-string."""
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom | ast.Raise):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "ctx", "type_comment"}:
            continue
        for number, child in enumerate(value if isinstance(value, list) else [value]):
            words = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not words:
                yield (field, number) if isinstance(value, list) else (field,), child


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What may stand in a node's place."""
    kinds = (compared, reckoned, constants, logic, calls, statements)
    for kind in kinds:
        yield from ((node, changed) for changed in kind(node))


def compared(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in COMPARED[type(operator)]:
                yield altered(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])


def reckoned(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in RECKONED and not (is_text(node.left) or is_text(node.right)):
        yield altered(node, op=RECKONED[type(node.op)]())
    if isinstance(node, ast.AugAssign) and type(node.op) in RECKONED and not is_text(node.value):
        yield altered(node, op=RECKONED[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def constants(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield altered(node, value=not node.value)
    elif isinstance(node.value, int):
        yield altered(node, value=node.value + 1)
    elif isinstance(node.value, float):
        yield altered(node, value=2 * node.value or 1.0)
    elif isinstance(node.value, str) and KEY.fullmatch(node.value):
        yield altered(node, value=f"{node.value}x")


def logic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield altered(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    if isinstance(node, ast.If | ast.While | ast.IfExp) and isinstance(node.test, ast.Name | ast.Call | ast.Attribute):
        yield altered(node, test=ast.UnaryOp(op=ast.Not(), operand=node.test))


def calls(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
        yield altered(node, func=altered(node.func, id=SWAPPED[node.func.id]))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
        yield altered(node, value=ast.Constant(value=None))
    if isinstance(node, ast.Break):
        yield ast.Continue()
    if isinstance(node, ast.Continue):
        yield ast.Break()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def altered(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def compiled(tree: Path, mutant: Mutant, *, changed: bool = True) -> CodeType:
    """The code of the mutant's module, with the change or without."""
    file = tree / mutant.file
    module = ast.parse(file.read_text())
    if changed:
        *way, step = mutant.place
        parent: object = module
        for one in way:
            parent = parent[one] if isinstance(one, int) and isinstance(parent, list) else getattr(parent, str(one))
        node = parent[step] if isinstance(parent, list) and isinstance(step, int) else getattr(parent, str(step))
        _, other = list(changes(node))[mutant.number]
        other = ast.copy_location(other, node)
        if isinstance(parent, list) and isinstance(step, int):
            parent[step] = other
        else:
            setattr(parent, str(step), other)
        ast.fix_missing_locations(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(module, str(file), "exec", dont_inherit=True)
