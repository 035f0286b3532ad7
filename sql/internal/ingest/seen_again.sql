-- The recalled documents in the form in which a worker that knows all of their games would report them.
-- They contain no first copy of a game, so their order does not matter.
SELECT
    CAST(-1 AS BIGINT) AS source_order,
    source,
    path,
    n_bytes,
    sha256,
    game_index,
    assigned_model,
    CASE WHEN game_id IS NULL THEN status ELSE 'known' END AS found,
    CASE WHEN game_id IS NULL THEN format END AS format,
    CASE WHEN game_id IS NULL THEN reason END AS reason,
    game_id,
    CAST(NULL AS VARCHAR) AS game_type,
    CAST(NULL AS VARCHAR) AS content_id,
    CAST(NULL AS BIGINT) AS stated_index,
    CAST(0 AS BIGINT) AS n_read_votes,
    CAST(0 AS BIGINT) AS n_undecided_votes,
    CAST(0 AS INTEGER) AS worker
FROM recalled
