-- The terms of one metric, summed for each group. The runner fills in what begins with a dollar:
--   $rows     the metric's rows           $terms   its declared terms, a row for each game type
--   $groups   the groups, a row each      $select  the grouping columns, `all` where rolled up
--   $sets     the grouping sets, with term $join   equality of the grouping columns
WITH sums AS (
    SELECT
        ${select}
        term,
        sum(hit) FILTER (WHERE is_counted) AS hits,
        count(*) FILTER (WHERE is_counted) AS n_counted,
        count(DISTINCT game_id) FILTER (WHERE is_counted AND hit IS NULL) AS n_unknown
    FROM ${rows}
    GROUP BY GROUPING SETS (${sets})
)
SELECT
    ${columns}
    terms.term,
    terms.place,
    terms.weight,
    CAST(coalesce(sums.hits, 0) AS DOUBLE) AS hits,
    coalesce(terms.fixed_count, sums.n_counted, 0) AS counted,
    coalesce(sums.n_unknown, 0) AS n_unknown
FROM (${groups}) AS groups
JOIN (${terms}) AS terms
    ON terms.of_type = groups.of_type
LEFT JOIN sums
    ON sums.term = terms.term
    AND ${join_sums}
