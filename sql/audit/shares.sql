-- order: 10
-- title: proposals whose shares do not add up to 1
-- metric: coordination
-- row: one proposal of a tested player whose shares are known
-- needs: proposals
WITH share_totals AS (
    SELECT
        game_id,
        any_value(player) AS player,
        seat,
        any_value(model) AS model,
        any_value(role) AS role,
        round,
        any_value(message_index) AS message_index,
        any_value(system) AS system,
        sum(share) AS total
    FROM proposals
    WHERE is_tested
    GROUP BY game_id, seat, round
    HAVING count(share) = count(*)
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    '1' AS logged,
    CAST(round(total, 4) AS VARCHAR) AS says,
    -- Thirds are rounded, and proposals of `bargain` can leave items unassigned.
    total > 1.015 OR (total < 0.985 AND system <> 'bargain') AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM share_totals
