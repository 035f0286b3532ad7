-- row: one accusation of a tested player
-- column: hit | whether it is right, null if Judgement does not count it
SELECT
    *,
    CASE
        WHEN is_finished
            AND side = 'civilian'
            AND parse_status <> 'outage'
            AND game_type IN (SELECT game_type FROM roles WHERE is_sought)
            THEN CAST(is_correct AS DOUBLE)
    END AS hit
FROM votes
WHERE is_tested
