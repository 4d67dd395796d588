"""The statistical pictures: Vega-Lite specifications as plain dictionaries, each with a table of its numbers."""
