-- order: 13
-- title: analyses of the roles whose logged judgement contradicts their text
-- metric: reasoning
-- row: one analysis of the roles whose text can be judged
-- needs: role_analyses
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    kind || CASE WHEN is_correct THEN ': right' ELSE ': wrong' END AS logged,
    kind || CASE WHEN is_correct_as_read THEN ': right' ELSE ': wrong' END AS says,
    is_correct <> is_correct_as_read AS is_found,
    CAST(is_correct AS DOUBLE) AS hit_logged,
    CAST(is_correct_as_read AS DOUBLE) AS hit_read
FROM main.role_analyses
WHERE is_tested
    AND is_finished
    AND system = 'magic'
    AND parse_status <> 'outage'
    AND is_correct_as_read IS NOT NULL
