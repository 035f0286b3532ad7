-- order: 17
-- title: games that the lake also has in another JSON form
-- metric: win_rate
-- row: the result of one game for one tested side
WITH games_with_stated_index AS (
    SELECT
        game_id,
        content_id,
        sha256,
        source,
        path,
        -- Logs that state different game indexes are different games.
        CASE WHEN format = 'interchange' THEN game_index END AS stated_index
    FROM games
    -- Most contents occur only once, so they are filtered out first.
    WHERE content_id IN (
        SELECT content_id FROM games GROUP BY content_id HAVING min(sha256) < max(sha256)
    )
),
candidate_games AS (
    SELECT
        *,
        coalesce(stated_index, min(stated_index) OVER (PARTITION BY content_id), -1) AS game
    FROM games_with_stated_index
),
games_in_several_forms AS (
    SELECT content_id, game
    FROM candidate_games
    GROUP BY content_id, game
    HAVING count(DISTINCT sha256) > 1
),
numbered_games AS (
    SELECT
        candidate_games.game_id,
        candidate_games.content_id,
        candidate_games.game,
        candidate_games.source || '/' || candidate_games.path AS location,
        row_number() OVER (
            PARTITION BY candidate_games.content_id, candidate_games.game
            ORDER BY candidate_games.source, candidate_games.path, candidate_games.game_id
        ) AS number
    FROM candidate_games
    JOIN games_in_several_forms
        ON games_in_several_forms.content_id = candidate_games.content_id
        AND games_in_several_forms.game = candidate_games.game
),
repeated_games AS (
    SELECT
        *,
        -- The first game is the one to keep; its own row names the next one.
        max(CASE WHEN number = 1 THEN location END) OVER (PARTITION BY content_id, game) AS first,
        max(CASE WHEN number = 2 THEN location END) OVER (PARTITION BY content_id, game) AS next
    FROM numbered_games
)
SELECT
    results.game_id,
    results.player,
    results.seat,
    results.model,
    results.role,
    results.round,
    results.message_index,
    repeated_games.location AS logged,
    CASE WHEN repeated_games.number = 1 THEN repeated_games.next ELSE repeated_games.first END AS says,
    repeated_games.game_id IS NOT NULL AS is_found,
    results.win_credit AS hit_logged,
    CASE WHEN repeated_games.number > 1 THEN NULL ELSE results.win_credit END AS hit_read
FROM results
LEFT JOIN repeated_games
    ON repeated_games.game_id = results.game_id
WHERE results.is_tested
