-- The documents of an archive as they were seen when it was read last. `is_held` says whether the lake
-- still has the game of each.
SELECT
    documents.*,
    documents.game_id IS NULL OR lake_games.game_id IS NOT NULL AS is_held
FROM documents
INNER JOIN archive
    ON documents.ingest_id = archive.ingest_id
    AND documents.source = archive.source
    AND starts_with(documents.path, archive.prefix)
LEFT JOIN lake_games ON documents.game_id = lake_games.game_id
-- A file beside one of lines can be called `a.jsonl#x.json`; or `a.jsonl#1`, which is passed over.
WHERE NOT archive.is_of_lines
    OR regexp_full_match(substr(documents.path, length(archive.prefix) + 1), '[0-9]+')
    AND (documents.sha256 IS NOT NULL OR documents.status = 'quarantined')
