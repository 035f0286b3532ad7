-- The lake's games of documents that are quarantined in this ingest, if an earlier ingest assigned a model to
-- them. Because of these rows, the model need not be given again for a log that names none.
SELECT sha256, game_index, any_value(game_id) AS game_id, any_value(assigned_model) AS assigned_model
FROM lake_games
WHERE assigned_model IS NOT NULL
    AND sha256 IN (SELECT sha256 FROM reported_documents WHERE status_alone = 'quarantined')
GROUP BY sha256, game_index
HAVING count(*) = 1
