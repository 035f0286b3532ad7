-- How often one kind of finding occurs, by group, and what its metric's rows come to either way.
SELECT
    ${columns}
    '${kind}' AS kind,
    '${title}' AS title,
    count(*) AS checked,
    count(*) FILTER (WHERE is_found) AS found,
    count(*) FILTER (WHERE is_found) / CAST(count(*) AS DOUBLE) AS share,
    count(DISTINCT CASE WHEN is_found THEN findings.game_id END) AS n_games,
    '${metric}' AS metric,
    exact_sum(hit_logged) / nullif(count(hit_logged), 0) AS as_logged,
    exact_sum(hit_read) / nullif(count(hit_read), 0) AS as_read,
    exact_sum(hit_read) / nullif(count(hit_read), 0)
        - exact_sum(hit_logged) / nullif(count(hit_logged), 0) AS effect
FROM audit_${kind} AS findings
JOIN games
    ON games.game_id = findings.game_id
WHERE ${wanted}
${grouping}
