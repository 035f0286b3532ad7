-- One metric's value for each group, from its terms (by_term.sql) and what it counts (counts.sql,
-- games.sql, sides.sql).
-- column: edition | the edition that the value is of: paper, release or audited
-- column: metric | the metric's name
-- column: game_type | the game type, or `all` for over all those that the metric is of
-- column: value | the metric's value, null where `reason` says why
-- column: hits | the value's numerator, null where it is of several ratios
-- column: counted | the value's denominator, null where it is of several ratios
-- column: n_games | games with a counted row
-- column: n_unfinished | games that have no end
-- column: n_unreadable | rows whose text could not be read for sure
-- column: reason | why there is no value
WITH counts AS (
    ${counts}
),
counted_games AS (
    ${games}
),
sides AS (
    ${sides}
),
by_term AS (
    ${by_term}
),
sizes AS (
    SELECT
        ${select}
        CAST(sum(n_games) AS BIGINT) AS n_games,
        CAST(sum(n_unreadable) AS BIGINT) AS n_unreadable
    FROM (
        SELECT ${fine}, n_games, 0 AS n_unreadable FROM counted_games
        UNION ALL
        SELECT ${fine}, n_games, n_unreadable FROM counts
    ) AS parts
    GROUP BY GROUPING SETS (${sets})
),
combined AS (
    SELECT
        ${columns_of_by_term}
        CASE
            WHEN sum(n_unknown) > 0 THEN NULL
            WHEN '${combine}' = 'sum' AND min(counted) > 0
                THEN exact_sum(weight * hits / nullif(counted, 0))
            WHEN '${combine}' = 'mean'
                THEN exact_sum(hits / nullif(counted, 0)) / count(hits / nullif(counted, 0))
            WHEN '${combine}' = 'pooled'
                THEN exact_sum(hits) / nullif(sum(counted), 0)
            WHEN '${combine}' = 'pooled over all' AND min(counted) > 0
                THEN exact_sum(hits) / nullif(sum(counted), 0)
        END AS value,
        -- Whether the value is hits over counted: of one term, or the mean of one ratio alone.
        ${is_pooled}
            OR count(*) = 1
            OR ('${combine}' = 'mean' AND count(hits / nullif(counted, 0)) = 1) AS is_one_ratio,
        exact_sum(hits) AS hits,
        sum(counted) > 0 AS has_some,
        CAST(sum(counted) AS BIGINT) AS counted,
        CAST(sum(n_unknown) AS BIGINT) AS n_unknown,
        string_agg(CASE WHEN counted = 0 THEN term END, ', ' ORDER BY place) AS missing
    FROM by_term
    GROUP BY GROUPING SETS ((${group_by}))
)
SELECT
    '${edition}' AS edition,
    '${metric}' AS metric,
    ${columns}
    combined.value,
    CASE WHEN combined.is_one_ratio THEN combined.hits END AS hits,
    CASE WHEN combined.is_one_ratio THEN combined.counted END AS counted,
    coalesce(sizes.n_games, 0) AS n_games,
    groups.n_unfinished,
    coalesce(sizes.n_unreadable, 0) AS n_unreadable,
    CASE
        WHEN combined.value IS NOT NULL THEN NULL
        WHEN combined.n_unknown > 0
            THEN replace(${unknown}, '{}', CAST(combined.n_unknown AS VARCHAR))
        WHEN combined.has_some THEN 'nothing to count: ' || combined.missing || '${hint}'
        ELSE 'nothing to count: ' || combined.missing
    END AS reason
FROM (${groups}) AS groups
JOIN combined
    ON ${join_combined}
LEFT JOIN sizes
    ON ${join_sizes}
