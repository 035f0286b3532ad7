-- The faults of documents that are not in quarantine as they are now. Of a game that only a part was refused
-- of, all can be refused when it is read again: it stays, and so does what is said of its part.
SELECT own.*
FROM own_faults AS own
ANTI JOIN staying
    ON own.location = staying.location
    AND own.sha256 IS NOT DISTINCT FROM staying.sha256
    AND own.game_id IS NOT DISTINCT FROM staying.game_id
