-- The same sums as in by_setting.sql where each game is of one tested side, and so of one
-- competition and one term; and what could not be read in the same rows. The runner fills in
--   $fine   the finest groups    $rows  the metric's rows
--   $games  by_game.sql, or where a game has one row, these rows as they are    $sums  sums.sql
WITH told AS (
    SELECT
        ${fine},
        competition AS stratum,
        setting_id AS setting,
        term,
        game_id AS game,
        CASE WHEN is_counted THEN coalesce(hit, 0) ELSE 0 END AS h,
        CAST(CASE WHEN is_counted THEN 1 ELSE 0 END AS DOUBLE) AS c,
        CAST(CASE WHEN is_counted AND hit IS NULL THEN 1 ELSE 0 END AS DOUBLE) AS unknown,
        CAST(CASE WHEN parse_status <> 'ok' THEN 1 ELSE 0 END AS DOUBLE) AS unreadable
    FROM ${rows}
),
by_game AS (
    ${games}
),
pairs AS (
    SELECT *, term AS other, h AS other_h, c AS other_c FROM by_game
)
SELECT
    ${fine},
    stratum,
    setting,
    term,
    other,
    ${sums},
    count(*) FILTER (WHERE unknown > 0) AS n_unknown,
    CAST(sum(unreadable) AS BIGINT) AS n_unreadable
FROM pairs
GROUP BY ${fine}, stratum, setting, term, other
