-- finds: a proposal that is said to be a player's last and is not, or the reverse
-- severity: error
-- by: game
SELECT game_id, seat, round, is_last, last
FROM (
    SELECT *, max(round) OVER (PARTITION BY game_id, seat) AS last FROM proposals
) AS proposals
WHERE is_last <> (round = last)
