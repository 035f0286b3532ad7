-- The archives to be recorded: those that were read and are new or changed, and those in which a document
-- has changed.
SELECT archives_read.*
FROM archives_read
WHERE NOT is_known
    OR number IN (SELECT number FROM in_archives_read WHERE location IN (FROM changed))
