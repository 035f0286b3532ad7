-- The games of the lake that are of documents refused now, with the model that an earlier ingest was given for
-- them: where it is one. A log that does not name its models need not be given them again.
SELECT sha256, game_index, any_value(game_id) AS game_id, any_value(assigned_model) AS assigned_model
FROM lake_games
WHERE assigned_model IS NOT NULL AND sha256 IN (SELECT sha256 FROM found WHERE found = 'quarantined')
GROUP BY sha256, game_index
HAVING count(*) = 1
