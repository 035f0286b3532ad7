-- Locations outside of the scanned ones that once had the bytes of a replaced document, so they may still
-- contain its game.
WITH replaced_bytes AS (
    SELECT last_documents.sha256
    FROM last_documents_at_scanned_locations AS last_documents
    INNER JOIN scanned_documents ON last_documents.location = scanned_documents.location
    WHERE scanned_documents.status_alone IN ('game', 'known')
        AND scanned_documents.game_id <> last_documents.game_id
),
locations_with_same_bytes AS (
    SELECT DISTINCT source || '/' || path AS location
    FROM documents
    WHERE sha256 IN (FROM replaced_bytes)
)
FROM locations_with_same_bytes
ANTI JOIN scanned_documents USING (location)
