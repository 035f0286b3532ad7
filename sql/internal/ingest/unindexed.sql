-- The game of bytes without a game index: of all games with these bytes one of the lake first, then the one
-- with the lowest index; a game without an index only if there is no other.
WITH bytes_without_index AS (
    SELECT sha256 FROM seen WHERE game_index IS NULL AND found IN ('game', 'known')
    UNION ALL
    SELECT sha256 FROM last_seen WHERE game_index IS NULL
),
candidates AS (
    SELECT game_id, sha256, game_index, assigned_model, FALSE AS is_new FROM lake_games
    UNION ALL
    SELECT game_id, sha256, game_index, assigned_model, TRUE AS is_new FROM new_games
)
SELECT sha256, assigned_model, game_id, is_new
FROM candidates
WHERE sha256 IN (FROM bytes_without_index)
QUALIFY row_number() OVER (
    PARTITION BY sha256, assigned_model ORDER BY is_new, game_index NULLS LAST
) = 1
