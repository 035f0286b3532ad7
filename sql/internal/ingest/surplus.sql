-- The games, by worker, that were decoded although no document is stored with them.
SELECT DISTINCT worker, own_id AS game_id
FROM resolved
ANTI JOIN (SELECT worker, game_id FROM resolved WHERE is_chosen) AS chosen
    ON resolved.worker = chosen.worker AND resolved.own_id = chosen.game_id
WHERE resolved.found = 'game' AND NOT resolved.is_chosen
