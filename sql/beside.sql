-- Of the rows that sums by setting (by_setting.sql) do not tell all of: one that is not counted,
-- whose hit is unknown, or whose text was not read for sure. Each game is of one tested side.
SELECT
    ${fine},
    term,
    count(DISTINCT CASE WHEN is_counted AND hit IS NULL THEN game_id END) AS n_unknown,
    count(*) FILTER (WHERE parse_status <> 'ok') AS n_unreadable
FROM ${rows}
WHERE NOT is_counted
    OR hit IS NULL
    OR parse_status <> 'ok'
GROUP BY ${fine}, term
