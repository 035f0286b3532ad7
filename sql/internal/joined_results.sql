-- The results of a lake in which model names are merged: one result per side, whatever names its seats had.
-- polars, DuckDB and Spark run the same text.
WITH others AS (
    SELECT
        game_id,
        coalesce(${joined}, '?') AS name,
        model IN (${names}) AS is_joined
    FROM (${players}) AS players
    WHERE NOT is_tested
),
opponents AS (
    SELECT
        game_id,
        string_agg(DISTINCT name, ', ' ORDER BY name) AS others
    FROM others
    GROUP BY game_id
    HAVING max(is_joined)
)
SELECT
    results.game_id,
    ${joined} AS model,
    role,
    CASE WHEN count(*) = 1 THEN min(seat) END AS seat,
    CASE WHEN count(*) = 1 THEN min(player) END AS player,
    min(CASE WHEN opponent IS NOT NULL THEN coalesce(others, opponent) END) AS opponent,
    ${columns}
FROM (${results}) AS results
LEFT JOIN opponents ON opponents.game_id = results.game_id
GROUP BY results.game_id, ${joined}, role, CASE WHEN side = 'none' THEN seat END
