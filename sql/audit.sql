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
    avg(hit_logged) AS as_logged,
    avg(hit_read) AS as_read,
    avg(hit_read) - avg(hit_logged) AS effect
FROM audit_${kind} AS findings
${games}
WHERE ${wanted}
${grouping}
