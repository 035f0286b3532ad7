-- finds: a round of the Public Good whose total or least contributors do not follow from the amounts
-- severity: contradiction
-- by: game
SELECT game_id, seat, round, amount, is_least, round_total, least, total
FROM (
    SELECT
        *,
        min(amount) OVER its_round AS least,
        sum(amount) OVER its_round AS total
    FROM contributions
    WINDOW its_round AS (PARTITION BY game_id, round)
) AS rounds
WHERE abs(round_total - total) > 1e-6
    OR is_least <> (amount = least)
    OR (is_least IS NULL) <> (round_total IS NULL)
