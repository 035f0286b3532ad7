-- finds: a player whose side does not follow from the role, or whose competition does not follow from game type and role
-- severity: error
-- by: game
SELECT game_id, seat, game_type, role, side, is_tested, competition
FROM players
WHERE side IS DISTINCT FROM CASE
        WHEN role IN ('chameleon', 'undercover') THEN 'hidden'
        WHEN role IN ('non_chameleon', 'civilian') THEN 'civilian'
        ELSE 'none'
    END
    OR competition IS DISTINCT FROM CASE
        WHEN NOT is_tested THEN NULL
        WHEN role = 'player' THEN game_type
        ELSE game_type || '_as_' || role
    END
