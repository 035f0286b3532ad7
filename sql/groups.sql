-- The groups that have a row: those of all tested sides, counted or not.
SELECT
    ${select}
    ${of_type} AS of_type,
    count(DISTINCT game_id) FILTER (WHERE NOT is_finished AND ${is_in_scope}) AS n_unfinished
FROM results
CROSS JOIN release_parameters
WHERE is_tested
    AND ${is_wanted}
GROUP BY GROUPING SETS (${sets})
HAVING ${is_shown}
