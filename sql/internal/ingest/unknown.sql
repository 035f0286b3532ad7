-- The numbers of the archives that have to be read, because one of their documents could not be read and
-- may be readable now, holds a game that the lake does not have, or was rejected without a reason in the
-- lake.
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
