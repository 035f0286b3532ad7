-- The same sums as in by_setting.sql where each game is of one tested side, and so of one
-- competition and one term; and what could not be read in the same rows. The runner fills in
--   $fine   the finest groups    $rows  the metric's rows
--   $games  by_game.sql, or where a game has one row, these rows as they are
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
)
SELECT
    ${fine},
    stratum,
    setting,
    term,
    term AS other,
    count(*) FILTER (WHERE c > 0) AS n,
    count(*) FILTER (WHERE h > 0) AS n_with_hit,
    count(*) FILTER (WHERE h < c) AS n_with_miss,
    sum(h) AS h,
    sum(c) AS c,
    sum(h) AS other_h,
    sum(c) AS other_c,
    sum(h * h) AS hh,
    sum(h * c) AS hc,
    sum(c * h) AS ch,
    sum(c * c) AS cc,
    count(*) FILTER (WHERE unknown > 0) AS n_unknown,
    CAST(sum(unreadable) AS BIGINT) AS n_unreadable
FROM by_game
GROUP BY ${fine}, stratum, setting, term
