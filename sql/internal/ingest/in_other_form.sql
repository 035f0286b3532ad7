-- The number of new games with the content of another game of the lake whose JSON has another form.
-- Documents that state different game indexes are different games.
WITH new_games_read AS (
    SELECT content_id, sha256, stated_index FROM resolved WHERE is_chosen
),
all_games AS (
    SELECT
        content_id,
        sha256,
        -- Only this format states the game index in the document.
        CASE WHEN format = 'interchange' THEN game_index END AS stated_index
    FROM lake_games
    ANTI JOIN superseded USING (game_id)
    WHERE content_id IN (SELECT content_id FROM new_games_read)
    UNION ALL
    FROM new_games_read
),
lowest AS (
    SELECT content_id, coalesce(min(stated_index), -1) AS lowest FROM all_games GROUP BY content_id
),
in_several_forms AS (
    SELECT content_id, coalesce(stated_index, lowest) AS number
    FROM all_games
    JOIN lowest USING (content_id)
    GROUP BY content_id, number
    HAVING count(DISTINCT sha256) > 1
)
SELECT count(*)
FROM new_games_read
JOIN lowest USING (content_id)
SEMI JOIN in_several_forms
    ON in_several_forms.content_id = new_games_read.content_id
    AND in_several_forms.number = coalesce(stated_index, lowest)
