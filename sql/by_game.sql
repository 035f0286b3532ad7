-- What the rows of each game count, added up.
SELECT
    ${fine},
    stratum,
    setting,
    term,
    exact_sum(h) AS h,
    sum(c) AS c,
    sum(unknown) AS unknown,
    sum(unreadable) AS unreadable
FROM told
GROUP BY ${fine}, stratum, setting, term, game
