-- The counted rows in strata: a game with sides of two competitions is of the stratum of both.
SELECT
    ${columns},
    counted_rows.term,
    counted_rows.hit,
    CASE
        WHEN games.first_side = games.last_side THEN games.first_side
        ELSE games.first_side || ', ' || games.last_side
    END AS stratum,
    counted_rows.setting,
    counted_rows.game
FROM counted_rows
JOIN (
    SELECT
        ${fine},
        game,
        min(stratum) AS first_side,
        max(stratum) AS last_side
    FROM counted_rows
    GROUP BY ${fine}, game
) AS games
    ON games.game = counted_rows.game
    AND ${is_same_group}
