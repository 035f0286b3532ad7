-- The quarantine rows of earlier ingests that this ingest does not remove.
SELECT previous_rows.*
FROM previous_quarantine_rows AS previous_rows
ANTI JOIN outdated_quarantine_rows AS outdated_rows
    ON previous_rows.location = outdated_rows.location
    AND previous_rows.sha256 IS NOT DISTINCT FROM outdated_rows.sha256
    AND (previous_rows.game_id IS NULL) = outdated_rows.is_about_whole_document
