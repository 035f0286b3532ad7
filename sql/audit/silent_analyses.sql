-- order: 12
-- title: analyses counted as a chameleon's own view, although it states none
-- metric: reasoning
-- row: one analysis of the roles that the metric counts
-- needs: role_analyses
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    CASE WHEN is_correct THEN 'right' ELSE 'wrong' END AS logged,
    CAST(NULL AS VARCHAR) AS says,
    is_silent AS is_found,
    CAST(is_correct AS DOUBLE) AS hit_logged,
    CASE WHEN NOT is_silent THEN CAST(is_correct AS DOUBLE) END AS hit_read
FROM (
    SELECT
        *,
        kind = 'gold' AND side = 'hidden' AND game_type = 'chameleon' AND NOT is_own_view_stated
            AS is_silent
    FROM main.role_analyses
) AS analyses
WHERE is_tested
    AND is_finished
    AND system = 'magic'
    AND parse_status <> 'outage'
