-- The games, by worker, that were decoded for no document that bears one.
SELECT DISTINCT worker, own_id AS game_id
FROM resolved
ANTI JOIN (SELECT worker, game_id FROM resolved WHERE is_bearer) AS borne
    ON resolved.worker = borne.worker AND resolved.own_id = borne.game_id
WHERE resolved.found = 'game' AND NOT resolved.is_bearer
