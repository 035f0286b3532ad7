-- What each game counted, for each stratum and term: the sums over its rows.
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
