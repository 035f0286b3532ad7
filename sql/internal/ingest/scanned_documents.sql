-- The documents that workers read or that unchanged archives contain. A document that was quarantined only
-- because no model is known counts as known if an earlier ingest assigned a model to it.
SELECT
    reported_documents.* REPLACE (
        CASE
            WHEN earlier.game_id IS NULL THEN reported_documents.status_alone
            ELSE 'known'
        END AS status_alone,
        CASE WHEN earlier.game_id IS NULL THEN reported_documents.reason END AS reason,
        coalesce(earlier.game_id, reported_documents.game_id) AS game_id,
        coalesce(earlier.assigned_model, reported_documents.assigned_model) AS assigned_model
    )
FROM reported_documents
LEFT JOIN earlier_assigned_models AS earlier
    ON reported_documents.status_alone = 'quarantined'
    AND reported_documents.sha256 = earlier.sha256
    AND reported_documents.game_index IS NOT DISTINCT FROM earlier.game_index
