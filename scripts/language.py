"""Check the English of the pages and of every text in the code that a user can read.

python scripts/language.py             every violation, and the count of each folder (tests/test_language.py wants none)
python scripts/language.py PATH...     only these files and folders; status 1 where a violation is left

The rules: at most 25 words a sentence, one sentence a line in the pages, no opening and no word of the lists below.
A question may open with any word.
A code span or a link counts as one word. Code blocks, headings, tables and lists of literature are one-line texts
of their own: their words are checked, and in tables the length of each sentence too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 25
OPENINGS = ("Of", "Where", "What", "Whoever")
WORDS = r"told|said|stands|meant|looked at|others|meanwhile|whoever|processors?|runs an arm"
EVERYWHERE = ("README.md", "CHANGELOG.md", "DEVELOP.md", "ARCHITECTURE.md", "docs", "experiments", "src/assay")
PLUGS = ("targets", "workloads", "observers", "rules", "parsers")  # the first line of a plug's docstring is its help
HELP = ("cli/verbs.py", "laboratory/api.py", "__init__.py")  # docstrings a user reads
NOT_PROSE = ("sources", "literature", "argv", "pattern")  # keyword arguments that are no sentences

BANNED = re.compile(rf"\b({WORDS})\b", re.IGNORECASE)
OPENING = re.compile(rf"[\"'(*_]*({'|'.join(OPENINGS)})\b")
ABBREVIATED = re.compile(r"(\b[A-Z]|\b(?:e\.g|i\.e|cf|vs|al|ed|pp|No|Fig|Vol|Proc|approx|Trans|Stat|Comput|Conf))\.$")
END = re.compile(r"[.!?][\"')\]*_]*(\s+)(?=[\"'(\[*_]*[A-Z0-9])")
ENDED = re.compile(r"[.!?][\"')\]*_]*$")
MARKER = re.compile(r"^\s*(?:>\s*)?(?:[-*+]|\d+\.)\s+")
LABEL = re.compile(r"^(?:\*\*[^*]{1,60}[.:]\*\*|\*\*[^*]{1,60}\*\*:)\s*")
LITERATURE = re.compile(r"(?i)\W*(literature|sources?|references)\b")
QUANTITY = re.compile(r"\b\d[\d.,]* ([kKMGT]?i?B(it)?(/s)?|[nµum]?s|min|h)\b")
SQL_OR_LIST = re.compile(r"\s*(SELECT|CREATE|COPY|INSERT|WITH|DELETE|UPDATE|PRAGMA|SET|DESCRIBE)\s|.* \| .* \| |.* VARCHAR\b")


@dataclass(frozen=True)
class Violation:
    """One place where a text breaks a rule."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        """Say it as `file:line: what`."""
        return f"{self.path}:{self.line}: {self.problem}"


def sentences(text: str) -> list[str]:
    """Cut a text without markup into sentences."""
    found, start = [], 0
    for match in END.finditer(text):
        if not ABBREVIATED.search(text[: match.start() + 1]):
            found.append(text[start : match.start(1)])
            start = match.end()
    return [part for part in (*found, text[start:]) if part.strip()]


def words(sentence: str) -> int:
    """Count the words: whatever holds a letter or a digit; a number and its unit are one."""
    return sum(1 for part in QUANTITY.sub("1", sentence).split() if any(letter.isalnum() for letter in part))


def problems(text: str) -> Iterator[str]:
    """Name each rule that a text without markup breaks."""
    for word in BANNED.findall(text):
        yield f"the word '{word}'"
    for sentence in sentences(text):
        if (match := OPENING.match(sentence.strip())) and not sentence.rstrip().endswith("?"):
            yield f"a sentence opens with '{match[1]}'"
        if (count := words(sentence)) > LONGEST:
            yield f"{count} words in a sentence: {sentence.strip()[:60]}"


def plain(line: str) -> str:
    """Leave the words of a line of Markdown: a code span is one word, a link its text."""
    line = re.sub(r"(`+)(.+?)\1", "CODE", line)
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    line = re.sub(r"<?https?://\S+", "URL", line)
    return re.sub(r"<[^>]+>", " ", line)


@dataclass(frozen=True)
class Line:
    """A line of a page that is not in a block of code."""

    number: int
    text: str
    literature: bool

    def is_prose(self) -> bool:
        """Whether the line is neither blank nor a heading, a row of a table, a picture or HTML."""
        return bool(self.text.strip()) and not re.match(r"\s*([|#<]|!\[|---)", self.text)


def lines(text: str) -> Iterator[Line]:
    """Give the lines of a page, with those of a code block and of a comment blank."""
    fenced = literature = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
            yield Line(number, "", literature=False)
            continue
        if line.startswith("#"):
            literature = bool(LITERATURE.match(line))
        cited = literature or bool(LITERATURE.match(MARKER.sub("", line, count=1)))
        yield Line(number, "" if fenced else line, literature=cited)


def of_row(line: Line) -> Iterator[str]:
    """Check a row of a table, cell by cell."""
    for cell in re.split(r"(?<!\\)\|", plain(line.text)):
        yield from problems(cell.strip())


def of_prose(line: Line, following: Line | None) -> Iterator[str]:
    """Check a line of running text: the sentence, and that it is one and ends here."""
    text = plain(LABEL.sub("", MARKER.sub("", line.text, count=1).strip(), count=1))
    if line.literature:
        yield from (f"the word '{word}'" for word in BANNED.findall(text))
        return
    yield from problems(text)
    if (count := len(sentences(text))) > 1:
        yield f"{count} sentences on one line"
    goes_on = following and following.is_prose() and not MARKER.match(following.text)
    if text.strip() and goes_on and not ENDED.search(text.rstrip()):
        yield "a sentence goes on in the next line"


def of_page(text: str, path: str) -> Iterator[Violation]:
    """Check a page."""
    everything = list(lines(text))
    for line, following in zip(everything, [*everything[1:], None], strict=True):
        if line.text.startswith("#"):
            found = (f"the word '{word}'" for word in BANNED.findall(plain(line.text)))
        elif line.text.lstrip().startswith("|"):
            found = of_row(line)
        elif line.is_prose():
            found = of_prose(line, following)
        else:
            continue
        yield from (Violation(path, line.number, problem) for problem in found)


def joined(node: ast.AST) -> str | None:
    """Give the text of a string constant or of an f-string with a word for each value; nothing for any other node."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values)
    return None


def docstrings(tree: ast.AST) -> set[int]:
    """Give the identity of every string that is a statement of its own: docstrings of modules, classes, functions and fields."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and joined(node.value) is not None}


def skipped(node: ast.AST) -> Iterator[ast.AST]:
    """Give the parts of a node that are no prose: patterns, citations, argument lists and the pieces of an f-string."""
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
            yield from node.args
        yield from (keyword.value for keyword in node.keywords if keyword.arg in NOT_PROSE)
    elif isinstance(node, ast.JoinedStr):
        yield from (part for part in node.values if isinstance(part, ast.Constant))


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Give every string constant with a blank that is no docstring, with its line."""
    apart = docstrings(tree)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in apart:
            continue
        apart.update(map(id, skipped(node)))
        text = joined(node)
        if text is not None and " " in text.strip() and not SQL_OR_LIST.match(text):
            yield node.lineno, text  # type: ignore[attr-defined]
        waiting.extend(ast.iter_child_nodes(node))


def helps(tree: ast.Module, path: str) -> Iterator[tuple[int, str]]:
    """Give the docstrings that a user reads: the help of verbs, the public functions, the first line of a plug."""
    room = path.removeprefix("src/assay/")
    if room in HELP:
        for node in ast.walk(tree):
            public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
            if public and (text := ast.get_docstring(node)):
                yield from ((node.lineno, " ".join(part.split())) for part in text.split("\n\n"))
    elif room.split("/")[0] in PLUGS and (text := ast.get_docstring(tree)):
        yield 1, text.splitlines()[0]


def of_code(text: str, path: str) -> Iterator[Violation]:
    """Check the strings of a Python file."""
    tree = ast.parse(text)
    for number, constant in sorted((*strings(tree), *helps(tree, path))):
        for line in constant.splitlines():
            text = plain(LABEL.sub("", line, count=1))
            yield from (Violation(path, number, problem) for problem in problems(text))


def of_template(text: str, path: str) -> Iterator[Violation]:
    """Check the words of a template of the report."""
    text = re.sub(
        r"(?s)\{#.*?#\}|\{%.*?%\}|<style.*?</style>|<script.*?</script>", lambda found: "\n" * found[0].count("\n"), text
    )
    text = re.sub(r"(?s)\{\{.*?\}\}", "N", text)
    for number, line in enumerate(text.splitlines(), 1):
        yield from (Violation(path, number, problem) for problem in problems(plain(line).strip()))


def of_toml(text: str, path: str) -> Iterator[Violation]:
    """Check the comments of a TOML file, joined over their lines, and the values that are prose."""
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("#"):
            block.append(line.lstrip("# "))
            continue
        if block:
            yield from (Violation(path, number - len(block), problem) for problem in problems(plain(" ".join(block))))
            block = []
        prose = re.match(r'(title|question|source|applies|label) = "(.*)"', line)
        behind = re.search(r"\s#\s(.*)$", re.sub(r'"[^"]*"', "CODE", line))
        for part in (prose[2] if prose else "", behind[1] if behind else ""):
            yield from (Violation(path, number, problem) for problem in problems(plain(part)))


CHECKS = {".md": of_page, ".py": of_code, ".j2": of_template, ".toml": of_toml}


def violations(path: Path) -> list[Violation]:
    """Check a file, or every file of a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    found: list[Violation] = []
    for file in files:
        if file.suffix in CHECKS and file.is_file():
            name = str(file.resolve().relative_to(ROOT)) if file.resolve().is_relative_to(ROOT) else str(file)
            found.extend(CHECKS[file.suffix](file.read_text(), name))
    return found


def folder(path: str) -> str:
    """Name the folder that a file is counted under."""
    parts = Path(path).parts
    return "/".join(parts[:3] if parts[0] == "src" else parts[:-1] if len(parts) > 2 else parts[-2:])


def main(names: list[str]) -> int:
    """Print what is wrong in the files named, or everywhere with the count of each folder."""
    found = [
        violation for path in (map(Path, names) if names else map(ROOT.joinpath, EVERYWHERE)) for violation in violations(path)
    ]
    print(*found, sep="\n", end="\n" if found else "")
    if not names:
        for name, count in sorted(Counter(folder(violation.path) for violation in found).items()):
            print(f"{count:6} {name}")
        print(f"{len(found):6} in all")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
