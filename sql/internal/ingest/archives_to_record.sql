-- The archives that get a row in the table `archives`: those that this ingest read and that are new or
-- changed, and those in which a document has changed.
SELECT read_archives.*
FROM read_archives
WHERE NOT is_known
    OR archive_number IN (
        SELECT archive_number
        FROM documents_in_read_archives
        WHERE location IN (FROM changed_locations)
    )
