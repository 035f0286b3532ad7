-- The documents of an archive as they were seen when it was read last.
FROM documents
WHERE ingest_id = ${ingest_id}
    AND source = ${source}
    AND starts_with(path, ${prefix})
    -- A file beside one of lines can be called `a.jsonl#x.json`; or `a.jsonl#1`, which is passed over.
    AND (
        NOT ${is_of_lines}
        OR regexp_full_match(substr(path, length(${prefix}) + 1), '[0-9]+')
        AND (sha256 IS NOT NULL OR status = 'quarantined')
    )
