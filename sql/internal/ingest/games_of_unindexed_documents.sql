-- The game of each document without a game index. It is one of the games with the same bytes and model:
-- preferably one of the lake, and of these the one with the lowest index, or else one without an index.
WITH bytes_without_index AS (
    SELECT sha256
    FROM scanned_documents
    WHERE game_index IS NULL AND status_alone IN ('game', 'known')
    UNION ALL
    SELECT sha256 FROM last_documents_with_game WHERE game_index IS NULL
),
candidates AS (
    SELECT game_id, sha256, game_index, assigned_model, FALSE AS is_new FROM lake_games
    UNION ALL
    SELECT game_id, sha256, game_index, assigned_model, TRUE AS is_new FROM documents_with_new_game
)
SELECT sha256, assigned_model, game_id, is_new
FROM candidates
WHERE sha256 IN (FROM bytes_without_index)
QUALIFY row_number() OVER (
    PARTITION BY sha256, assigned_model ORDER BY is_new, game_index NULLS LAST
) = 1
