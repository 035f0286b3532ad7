-- The quarantine rows that are kept.
SELECT before.*
FROM before
ANTI JOIN outdated
    ON before.location = outdated.location
    AND before.sha256 IS NOT DISTINCT FROM outdated.sha256
    AND (before.game_id IS NULL) = outdated.is_whole
