-- How many new games have the content of another game of the lake whose JSON is written otherwise.
WITH borne AS (
    SELECT content_id, sha256 FROM resolved WHERE is_bearer
),
there AS (
    SELECT content_id, sha256
    FROM lake_games
    ANTI JOIN superseded USING (game_id)
    WHERE content_id IN (SELECT content_id FROM borne)
    UNION ALL
    FROM borne
),
in_several_forms AS (
    SELECT content_id FROM there GROUP BY content_id HAVING count(DISTINCT sha256) > 1
)
SELECT count(*)
FROM borne
SEMI JOIN in_several_forms USING (content_id)
