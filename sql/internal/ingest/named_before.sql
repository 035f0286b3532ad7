-- The games of the lake whose documents are rejected now, with the model that an earlier ingest assigned to
-- them, if there was one. For a log that does not name its models, the model need not be given again.
SELECT sha256, game_index, any_value(game_id) AS game_id, any_value(assigned_model) AS assigned_model
FROM lake_games
WHERE assigned_model IS NOT NULL AND sha256 IN (SELECT sha256 FROM found WHERE found = 'quarantined')
GROUP BY sha256, game_index
HAVING count(*) = 1
