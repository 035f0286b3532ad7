-- The documents in the archives that are not read again, with the columns of a worker's report. The worker
-- would know all of their games, so none is new and their order does not matter.
SELECT
    CAST(-1 AS BIGINT) AS source_order,
    source,
    path,
    n_bytes,
    sha256,
    game_index,
    assigned_model,
    CASE WHEN game_id IS NULL THEN status ELSE 'known' END AS status_alone,
    CASE WHEN game_id IS NULL THEN format END AS format,
    CASE WHEN game_id IS NULL THEN reason END AS reason,
    game_id,
    CAST(NULL AS VARCHAR) AS game_type,
    CAST(NULL AS VARCHAR) AS content_id,
    CAST(NULL AS BIGINT) AS stated_index,
    CAST(0 AS BIGINT) AS n_read_votes,
    CAST(0 AS BIGINT) AS n_undecided_votes,
    CAST(0 AS INTEGER) AS worker
FROM skipped_documents
