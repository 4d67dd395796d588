"""The statistical pictures: Vega-Lite specifications as plain dictionaries, each with a table of its numbers."""

from assay.report.charts import theme

__all__ = ["theme"]
