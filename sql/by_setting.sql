-- Sums over the games of each setting of products of what one metric counts in each: what an
-- interval needs (pipeline/statistics/moments.py). The runner fills in
--   $fine    the finest groups    $rows   the metric's rows    $term  the term, or one for all
--   $strata  strata.sql           $pairs  pairs.sql    $sums  sums.sql
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
        coalesce(exact_sum(hit), 0) AS h,
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
    ${sums}
FROM pairs
GROUP BY ${fine}, stratum, setting, term, other
