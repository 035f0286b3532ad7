-- The versions of documents that leave the quarantine: their game is taken out, or all of it was
-- refused and their place was seen without it.
SELECT before.location, before.sha256
FROM before
SEMI JOIN superseded USING (game_id)
UNION
SELECT before.location, before.sha256
FROM before
SEMI JOIN resolved USING (location)
ANTI JOIN own_faults AS own
    ON before.location = own.location AND before.sha256 IS NOT DISTINCT FROM own.sha256
WHERE before.game_id IS NULL
