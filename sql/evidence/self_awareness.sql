-- row: one answer, compared with who the player is
SELECT attempts.*, player || ' (' || replace(role, '_', ' ') || ')' AS compared_with
FROM attempts
