-- order: 17
-- title: games that the lake also has in another JSON form
-- metric: win_rate
-- row: the result of one game for one tested side
WITH stated AS (
    SELECT
        game_id,
        content_id,
        sha256,
        source,
        path,
        -- Logs that state different numbers of their games are no two forms of one.
        CASE WHEN format = 'interchange' THEN game_index END AS stated_index
    FROM games
    -- Most contents are there once.
    WHERE content_id IN (
        SELECT content_id FROM games GROUP BY content_id HAVING min(sha256) < max(sha256)
    )
),
known AS (
    SELECT
        *,
        coalesce(stated_index, min(stated_index) OVER (PARTITION BY content_id), -1) AS game
    FROM stated
),
in_several_forms AS (
    SELECT content_id, game
    FROM known
    GROUP BY content_id, game
    HAVING count(DISTINCT sha256) > 1
),
numbered AS (
    SELECT
        known.game_id,
        known.content_id,
        known.game,
        known.source || '/' || known.path AS location,
        row_number() OVER (
            PARTITION BY known.content_id, known.game
            ORDER BY known.source, known.path, known.game_id
        ) AS number
    FROM known
    JOIN in_several_forms
        ON in_several_forms.content_id = known.content_id
        AND in_several_forms.game = known.game
),
repeated AS (
    SELECT
        *,
        -- The one to keep is the first; of the first itself, the next is named.
        max(CASE WHEN number = 1 THEN location END) OVER (PARTITION BY content_id, game) AS first,
        max(CASE WHEN number = 2 THEN location END) OVER (PARTITION BY content_id, game) AS next
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
