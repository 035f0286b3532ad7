-- The models that were given for games whose logs name none.
SELECT DISTINCT assigned_model
FROM lake_games
WHERE assigned_model IS NOT NULL
ORDER BY assigned_model
