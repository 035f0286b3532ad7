-- The groups that have a row: those of all tested sides, counted or not.
SELECT
    ${select}
    ${of_type} AS of_type,
    CAST(coalesce(sum(CASE WHEN ${is_mine} THEN n_unfinished END), 0) AS BIGINT) AS n_unfinished
FROM sides
WHERE ${is_wanted}
GROUP BY GROUPING SETS (${sets})
HAVING ${is_shown}
