-- The errors that the quarantine does not have yet. If a part of a game was quarantined, and the complete
-- document is quarantined when it is read again, the game and the row of its part stay.
SELECT errors.*
FROM errors_without_copies AS errors
ANTI JOIN kept_quarantine_rows AS kept_rows
    ON errors.location = kept_rows.location
    AND errors.sha256 IS NOT DISTINCT FROM kept_rows.sha256
    AND errors.game_id IS NOT DISTINCT FROM kept_rows.game_id
