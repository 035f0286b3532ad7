-- What a document's game is known by: its id, or the half of its document's hash if it was given a
-- model, so that only such documents are looked for under all models.
SELECT game_id
FROM lake_games
UNION ALL
SELECT DISTINCT left(sha256, 32)
FROM lake_games
WHERE assigned_model IS NOT NULL
