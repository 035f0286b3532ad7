-- The quarantine rows, with the bytes, of recalled documents that were rejected.
SELECT quarantine.* EXCLUDE (ingest_id)
FROM quarantine
SEMI JOIN (FROM recalled WHERE status = 'quarantined') AS refused
    ON quarantine.source = refused.source
    AND quarantine.path = refused.path
    AND quarantine.sha256 = refused.sha256
WHERE quarantine.game_id IS NULL
