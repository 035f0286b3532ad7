-- What each game counted where it has one row: there is nothing to sum.
SELECT
    ${fine},
    stratum,
    term,
    setting,
    game,
    coalesce(hit, 0) AS h,
    CAST(1 AS DOUBLE) AS c
FROM in_strata
