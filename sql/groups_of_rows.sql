-- The groups that have a row where a grouping column is none of a result's: those with rows.
SELECT
    ${select}
    ${of_type} AS of_type,
    CAST(NULL AS BIGINT) AS n_unfinished
FROM counts
GROUP BY GROUPING SETS (${sets})
-- The set of no column would give a row of nothing.
HAVING count(*) > 0
