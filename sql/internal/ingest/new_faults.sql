-- The faults of documents that are not in quarantine as they are now.
SELECT own.*
FROM own_faults AS own
ANTI JOIN staying
    ON own.location = staying.location AND own.sha256 IS NOT DISTINCT FROM staying.sha256
