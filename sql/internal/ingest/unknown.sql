-- The numbers of archives that have to be read: a document of theirs could not be read then and may be now,
-- holds a game that the lake does not have, or was refused and the lake does not say what is wrong with it.
SELECT number FROM inside WHERE sha256 IS NULL AND status = 'quarantined'
UNION
SELECT number FROM inside ANTI JOIN lake_games USING (game_id) WHERE game_id IS NOT NULL
UNION
SELECT number
FROM (FROM inside WHERE status = 'quarantined') AS refused
ANTI JOIN (FROM quarantine WHERE game_id IS NULL) AS explained
    ON refused.source = explained.source
    AND refused.path = explained.path
    AND refused.sha256 = explained.sha256
