-- How many new games have the content of another game of the lake whose JSON is written otherwise.
WITH chosen AS (
    SELECT content_id, sha256 FROM resolved WHERE is_chosen
),
there AS (
    SELECT content_id, sha256
    FROM lake_games
    ANTI JOIN superseded USING (game_id)
    WHERE content_id IN (SELECT content_id FROM chosen)
    UNION ALL
    FROM chosen
),
in_several_forms AS (
    SELECT content_id FROM there GROUP BY content_id HAVING count(DISTINCT sha256) > 1
)
SELECT count(*)
FROM chosen
SEMI JOIN in_several_forms USING (content_id)
