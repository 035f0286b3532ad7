-- The terms of one metric, summed for each group. It reads `counts` (counts.sql) and `sides`
-- (sides.sql), and the runner fills in what begins with a dollar:
--   $terms   the declared terms, a row for each game type
--   $groups  the groups, a row each      $select  the grouping columns, `all` where rolled up
--   $sets    the grouping sets, with term $join   equality of the grouping columns
-- column: game_type | the game type, or `all` for over all those that the metric is of
-- column: term | the term, as docs/metrics.md names it
-- column: place | the term's place in the metric's formula, from 0
-- column: weight | what the term's ratio is multiplied by where the terms are added up
-- column: hits | the term's numerator
-- column: counted | the term's denominator
-- column: n_unknown | games with a counted row whose hit cannot be told
WITH sums AS (
    SELECT
        ${select}
        term,
        exact_sum(hits) AS hits,
        CAST(sum(counted) AS BIGINT) AS counted,
        CAST(sum(n_unknown) AS BIGINT) AS n_unknown
    FROM counts
    GROUP BY GROUPING SETS (${sets})
)
SELECT
    ${columns}
    terms.term,
    terms.place,
    terms.weight,
    CAST(coalesce(sums.hits, 0) AS DOUBLE) AS hits,
    coalesce(terms.fixed_count, sums.counted, 0) AS counted,
    coalesce(sums.n_unknown, 0) AS n_unknown
FROM (${groups}) AS groups
JOIN (${terms}) AS terms
    ON terms.of_type = groups.of_type
LEFT JOIN sums
    ON sums.term = terms.term
    AND ${join_sums}
