-- row: one game type that a system plays: those of its games, and of MAgIC always all five
-- A value over several game types exists only if the model has games of all types that the system plays.
SELECT DISTINCT system, game_type
FROM games
UNION
SELECT 'magic' AS system, game_type
FROM (
    VALUES
        ('chameleon'), ('undercover'), ('cost_sharing'), ('prisoners_dilemma'), ('public_good')
) AS magic(game_type)
