-- Each two terms that one game feeds: a term and itself, and a term and another.
SELECT
    ${columns},
    by_game.stratum,
    by_game.setting,
    by_game.term,
    by_game.h,
    by_game.c,
    others.term AS other,
    others.h AS other_h,
    others.c AS other_c
FROM by_game
JOIN by_game AS others
    ON others.stratum = by_game.stratum
    AND others.setting = by_game.setting
    AND others.game = by_game.game
    AND ${is_same_group}
