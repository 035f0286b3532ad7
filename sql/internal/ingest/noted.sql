-- The archives read that are to be noted: those that are not known as they are, and those in which a document
-- is not as it was.
SELECT archives_read.*
FROM archives_read
WHERE NOT is_known
    OR number IN (SELECT number FROM in_archives_read WHERE location IN (FROM changed))
