-- The errors of documents that are not in the quarantine in this form yet. If a game of which only a part
-- was rejected is rejected completely when it is read again, the game and the quarantine row of its part
-- stay.
SELECT own.*
FROM own_faults AS own
ANTI JOIN staying
    ON own.location = staying.location
    AND own.sha256 IS NOT DISTINCT FROM staying.sha256
    AND own.game_id IS NOT DISTINCT FROM staying.game_id
