-- order: 10
-- title: games that the lake also has in another JSON form
-- metric: win_rate
-- row: the result of one game for one tested side
WITH in_several_forms AS (
    SELECT content_id
    FROM games
    GROUP BY content_id
    HAVING count(DISTINCT sha256) > 1
),
numbered AS (
    SELECT
        games.game_id,
        games.content_id,
        games.source || '/' || games.path AS location,
        row_number() OVER (
            PARTITION BY games.content_id
            ORDER BY games.source, games.path, games.game_id
        ) AS number
    FROM games
    JOIN in_several_forms
        ON in_several_forms.content_id = games.content_id
),
repeated AS (
    SELECT
        *,
        -- The one to keep is the first; of the first itself, the next is named.
        max(CASE WHEN number = 1 THEN location END) OVER (PARTITION BY content_id) AS first,
        max(CASE WHEN number = 2 THEN location END) OVER (PARTITION BY content_id) AS next
    FROM numbered
)
SELECT
    results.game_id,
    results.player,
    results.seat,
    results.model,
    results.role,
    results.round,
    results.message_index,
    repeated.location AS logged,
    CASE WHEN repeated.number = 1 THEN repeated.next ELSE repeated.first END AS says,
    repeated.game_id IS NOT NULL AS is_found,
    results.win_credit AS hit_logged,
    CASE WHEN repeated.number > 1 THEN NULL ELSE results.win_credit END AS hit_read
FROM results
LEFT JOIN repeated
    ON repeated.game_id = results.game_id
WHERE results.is_tested
