-- The errors found by this ingest, without the bytes, for documents that are not copies; a copy has the
-- errors of its game.
SELECT own_faults.*
FROM faults_without_raw AS own_faults
SEMI JOIN (FROM resolved WHERE is_chosen OR found = 'quarantined') AS own
    ON own_faults.location = own.location AND own_faults.sha256 IS NOT DISTINCT FROM own.sha256
