-- metric: rationality
-- title: Rationality
-- place: 8
-- edition: paper
-- row: one choice in the Prisoner's Dilemma, or one contribution to the Public Good, of a tested player
-- combine: sum
-- term: betrayals | 1 | prisoners_dilemma
-- term: least_contributions | 1 | public_good
-- range: 0..2
-- source: arXiv 2311.08562, S_R = n_b / (n_pd T_pd) + n_li / (n_pg T_pg)
SELECT
    game_id,
    game_type,
    system,
    setting_id,
    game_index,
    is_finished,
    player,
    model,
    role,
    side,
    is_tested,
    competition,
    seat,
    round,
    message_index,
    parse_status,
    text,
    'betrayals' AS term,
    choice AS what,
    CAST(choice = 'defect' AS DOUBLE) AS hit,
    parse_status <> 'outage' AS is_counted
FROM decisions
WHERE is_tested
    AND is_finished
UNION ALL
SELECT
    game_id,
    game_type,
    system,
    setting_id,
    game_index,
    is_finished,
    player,
    model,
    role,
    side,
    is_tested,
    competition,
    seat,
    round,
    message_index,
    parse_status,
    text,
    'least_contributions' AS term,
    CASE WHEN is_least THEN 'least' ELSE 'not least' END AS what,
    CAST(is_least AS DOUBLE) AS hit,
    -- A round with a contribution missing has no least.
    parse_status <> 'outage' AND is_least IS NOT NULL AS is_counted
FROM contributions
WHERE is_tested
    AND is_finished
