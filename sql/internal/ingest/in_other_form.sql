-- How many new games have the content of another game of the lake whose JSON is written otherwise. Documents
-- that state different numbers of their games are no two forms of one.
WITH chosen AS (
    SELECT content_id, sha256, stated_index FROM resolved WHERE is_chosen
),
there AS (
    SELECT
        content_id,
        sha256,
        -- Of all formats this one alone has it in the document.
        CASE WHEN format = 'interchange' THEN game_index END AS stated_index
    FROM lake_games
    ANTI JOIN superseded USING (game_id)
    WHERE content_id IN (SELECT content_id FROM chosen)
    UNION ALL
    FROM chosen
),
lowest AS (
    SELECT content_id, coalesce(min(stated_index), -1) AS lowest FROM there GROUP BY content_id
),
in_several_forms AS (
    SELECT content_id, coalesce(stated_index, lowest) AS number
    FROM there
    JOIN lowest USING (content_id)
    GROUP BY content_id, number
    HAVING count(DISTINCT sha256) > 1
)
SELECT count(*)
FROM chosen
JOIN lowest USING (content_id)
SEMI JOIN in_several_forms
    ON in_several_forms.content_id = chosen.content_id
    AND in_several_forms.number = coalesce(stated_index, lowest)
