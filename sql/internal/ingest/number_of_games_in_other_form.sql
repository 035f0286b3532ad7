-- The number of added games whose content equals the content of another game although their bytes differ.
-- Documents that state different game indexes are different games.
WITH added_games AS (
    SELECT content_id, sha256, stated_index FROM documents_with_status WHERE is_game_added
),
all_games AS (
    SELECT
        content_id,
        sha256,
        -- Only this format states the game index in the document.
        CASE WHEN format = 'interchange' THEN game_index END AS stated_index
    FROM lake_games
    ANTI JOIN superseded_games USING (game_id)
    WHERE content_id IN (SELECT content_id FROM added_games)
    UNION ALL
    FROM added_games
),
lowest_indexes AS (
    SELECT content_id, coalesce(min(stated_index), -1) AS lowest_index
    FROM all_games
    GROUP BY content_id
),
games_in_several_forms AS (
    SELECT content_id, coalesce(stated_index, lowest_index) AS game_number
    FROM all_games
    JOIN lowest_indexes USING (content_id)
    GROUP BY content_id, game_number
    HAVING count(DISTINCT sha256) > 1
)
SELECT count(*)
FROM added_games
JOIN lowest_indexes USING (content_id)
SEMI JOIN games_in_several_forms
    ON games_in_several_forms.content_id = added_games.content_id
    AND games_in_several_forms.game_number = coalesce(stated_index, lowest_index)
