-- The views over a notebook, made in memory over the files that were found whole. Every table has the experiment's folder
-- name and, where it belongs to one, the run with its two parts, trial and
-- attempt. The tables with `_rows` hold one row a record with list columns.

CREATE VIEW series AS
SELECT experiment, run, trial, attempt, phase, source, layer, host, subject, metric, unit,
       unnest(at_ns) AS at_ns, unnest(value) AS value
FROM series_rows;

CREATE VIEW histograms AS
SELECT experiment, run, trial, attempt, phase, host, subject, operation,
       unnest(upper_ns) AS upper_ns, unnest(count) AS count
FROM histogram_rows;
