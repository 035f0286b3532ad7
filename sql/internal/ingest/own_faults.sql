-- The faults found now, without bytes, of documents that are no copy: a copy has those of its game.
SELECT own_faults.*
FROM faults_without_raw AS own_faults
SEMI JOIN (FROM resolved WHERE is_chosen OR found = 'quarantined') AS own
    ON own_faults.location = own.location AND own_faults.sha256 IS NOT DISTINCT FROM own.sha256
