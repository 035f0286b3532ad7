-- The documents that were read or recalled; some of the rejected ones are known from an earlier ingest.
SELECT
    found.* REPLACE (
        CASE WHEN earlier.game_id IS NULL THEN found.found ELSE 'known' END AS found,
        CASE WHEN earlier.game_id IS NULL THEN found.reason END AS reason,
        coalesce(earlier.game_id, found.game_id) AS game_id,
        coalesce(earlier.assigned_model, found.assigned_model) AS assigned_model
    )
FROM found
LEFT JOIN named_before AS earlier
    ON found.found = 'quarantined'
    AND found.sha256 = earlier.sha256
    AND found.game_index IS NOT DISTINCT FROM earlier.game_index
