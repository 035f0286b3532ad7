-- The finest groups that a tested side is of, counted or not, with the games in scope without end.
SELECT
    ${fine},
    count(DISTINCT CASE WHEN NOT is_finished AND ${is_in_scope} THEN game_id END) AS n_unfinished
FROM ${results}
CROSS JOIN release_parameters
WHERE is_tested
    AND ${is_wanted}
GROUP BY ${fine}
