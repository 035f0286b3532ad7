-- finds: a proposal that is wrongly marked as a player's last, or wrongly not marked
-- severity: contradiction
-- by: game
SELECT game_id, seat, round, is_last, last
FROM (
    SELECT *, max(round) OVER (PARTITION BY game_id, seat) AS last FROM proposals
) AS proposals
WHERE is_last <> (round = last)
