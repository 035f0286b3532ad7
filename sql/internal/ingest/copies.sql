-- The documents decoded of which none is read: another holds the same game, or the lake has it.
SELECT seen.place
FROM seen
ANTI JOIN bearers ON seen.place = bearers.place
WHERE seen.found = 'game'
