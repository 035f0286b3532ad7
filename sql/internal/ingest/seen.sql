-- The documents that were read or recalled; of those refused, some are known from before.
SELECT
    found.* REPLACE (
        CASE WHEN before.game_id IS NULL THEN found.found ELSE 'known' END AS found,
        CASE WHEN before.game_id IS NULL THEN found.reason END AS reason,
        coalesce(before.game_id, found.game_id) AS game_id,
        coalesce(before.assigned_model, found.assigned_model) AS assigned_model
    )
FROM found
LEFT JOIN named_before AS before
    ON found.found = 'quarantined'
    AND found.sha256 = before.sha256
    AND found.game_index IS NOT DISTINCT FROM before.game_index
