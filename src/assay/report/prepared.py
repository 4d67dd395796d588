"""Templates that are compiled once: the result is kept beside the compiled modules, and read from there.

To compile the templates of a report takes an eighth of a second of CPU time, to read them a hundredth.
Nothing of a filter gets into the result, so that it depends on the template and on the library alone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def environment(folder: Path) -> Any:  # noqa: ANN401 - jinja2 is imported in functions only
    """Give the environment of the templates in a folder: every text is escaped."""
    import jinja2
    from jinja2 import compiler, nodes

    class Unfolded(compiler.CodeGenerator):
        """Leaves every filter to the time of rendering, also one of a constant."""

        def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: Any) -> str:  # noqa: ANN401
            if not isinstance(node, nodes.TemplateData):
                raise nodes.Impossible
            return super()._output_child_to_const(node, frame, finalize)

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        optimized=False,
        bytecode_cache=kept_in(folder.parent / "__pycache__"),
    )
    made.code_generator_class = Unfolded
    return made


def compiled(made: Any) -> None:  # noqa: ANN401 - as above
    """Compile every template of an environment."""
    for name in made.list_templates(extensions=("j2",)):
        made.get_template(name)


def kept_in(folder: Path) -> Any:  # noqa: ANN401 - as above
    """Give the cache of compiled templates in a folder; where it cannot be read or written, each call compiles."""
    from jinja2 import bccache, compiler

    library = Path(compiler.__file__).stat()

    class Kept(bccache.BytecodeCache):
        """One file a template."""

        def get_source_checksum(self, source: str) -> str:
            return super().get_source_checksum(f"{library.st_mtime_ns} {library.st_size} {source}")

        def load_bytecode(self, bucket: bccache.Bucket) -> None:
            with suppress(Exception), path(bucket).open("rb") as file:  # a broken file is as good as none
                bucket.load_bytecode(file)

        def dump_bytecode(self, bucket: bccache.Bucket) -> None:
            if sys.dont_write_bytecode:
                return
            made = path(bucket).with_suffix(f".{os.getpid()}")
            try:
                folder.mkdir(exist_ok=True)
                made.write_bytes(bucket.bytecode_to_string())
                made.replace(path(bucket))
            except OSError:
                with suppress(OSError):
                    made.unlink()

    def path(bucket: bccache.Bucket) -> Path:
        return folder / f"{bucket.key}.template"

    return Kept()
