-- Sums over the games of each setting of products of what one metric counts in each: what an
-- interval needs (pipeline/statistics/moments.py). The runner fills in
--   $fine    the finest groups    $rows   the metric's rows    $term  the term, or one for all
--   $strata  strata.sql           $pairs  pairs.sql
WITH counted_rows AS (
    SELECT
        ${fine},
        ${term} AS term,
        hit,
        competition AS stratum,
        setting_id AS setting,
        game_id AS game
    FROM ${rows}
    WHERE is_counted
),
in_strata AS (
    ${strata}
),
by_game AS (
    SELECT
        ${fine},
        stratum,
        term,
        setting,
        game,
        coalesce(sum(hit), 0) AS h,
        CAST(count(*) AS DOUBLE) AS c
    FROM in_strata
    GROUP BY ${fine}, stratum, term, setting, game
),
pairs AS (
    ${pairs}
)
SELECT
    ${fine},
    stratum,
    setting,
    term,
    other,
    count(*) AS n,
    count(*) FILTER (WHERE h > 0) AS n_with_hit,
    count(*) FILTER (WHERE h < c) AS n_with_miss,
    sum(h) AS h,
    sum(c) AS c,
    sum(other_h) AS other_h,
    sum(other_c) AS other_c,
    sum(h * other_h) AS hh,
    sum(h * other_c) AS hc,
    sum(c * other_h) AS ch,
    sum(c * other_c) AS cc
FROM pairs
GROUP BY ${fine}, stratum, setting, term, other
