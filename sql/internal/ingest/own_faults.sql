-- The faults told now, without bytes, of documents that are no copy: a copy's are those of its game.
SELECT told.*
FROM told_faults AS told
SEMI JOIN (FROM resolved WHERE is_bearer OR found = 'quarantined') AS own
    ON told.location = own.location AND told.sha256 IS NOT DISTINCT FROM own.sha256
