-- The number of findings of one kind by group, and the metric's value as logged and as read from the text.
SELECT
    ${columns}
    '${kind}' AS kind,
    '${title}' AS title,
    count(*) AS checked,
    count(*) FILTER (WHERE is_found) AS found,
    found / CAST(checked AS DOUBLE) AS share,
    count(DISTINCT CASE WHEN is_found THEN findings.game_id END) AS n_games,
    '${metric}' AS metric,
    avg(CAST(hit_logged AS DECIMAL(38, 18))) AS as_logged,
    avg(CAST(hit_read AS DECIMAL(38, 18))) AS as_read,
    as_read - as_logged AS effect
FROM (${rows}) AS findings
${games}
WHERE ${wanted}
${grouping}
