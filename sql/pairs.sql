-- Each two terms that one game, or one setting, feeds: a term and itself, and a term and another.
SELECT
    ${columns},
    units.stratum,
    units.term,
    units.unit,
    units.h,
    units.c,
    others.term AS other,
    others.h AS other_h,
    others.c AS other_c
FROM units
JOIN units AS others
    ON others.unit = units.unit
    AND others.stratum = units.stratum
    AND others.setting = units.setting
    AND others.game IS NOT DISTINCT FROM units.game
    AND ${is_same_group}
