"""The list of the verbs, in the order in which `assay --help` tells them."""

from __future__ import annotations

import typer

from assay.cli import looking, measuring
from assay.cli.options import INTERRUPTED

__all__ = ["INTERRUPTED", "app"]

app = typer.Typer(
    name="assay",
    help="Benchmarks that say what their numbers really are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(measuring.quick)
app.command()(looking.plan)
app.command()(measuring.run)
app.command(context_settings={"help_option_names": []})(measuring.load)
app.command(context_settings={"help_option_names": [], "ignore_unknown_options": True})(measuring.stat)
app.command()(looking.check)
app.command()(looking.audit)
app.command()(looking.compare)
app.command()(looking.report)
app.command()(looking.show)
app.command(name="list")(looking.list_)
app.command()(looking.sql)
app.command()(looking.export)
app.command()(looking.size)
app.command()(looking.predict)
app.command()(looking.survey)
app.command()(looking.explain)
app.command()(looking.catalogue)
app.command()(looking.doctor)
app.command()(measuring.selftest)
