-- The messages that each tested seat received or wrote, in order, with the result of its side. A row is a
-- message of a seat, or a seat without messages.
SELECT
    players.game_id,
    players.seat,
    players.player,
    players.model,
    players.role,
    players.side,
    players.competition,
    players.game_type,
    players.system,
    players.setting_id,
    players.game_index,
    players.final_score,
    games.outcome,
    games.ended_by,
    games.started_at,
    results.win_credit,
    results.is_win,
    messages.message_index,
    messages.seat AS speaker_seat,
    messages.player AS speaker,
    messages.phase,
    messages.round,
    ${content} AS content
FROM players
INNER JOIN games ON games.game_id = players.game_id
LEFT JOIN results
    ON results.game_id = players.game_id
    AND results.role = players.role
    AND results.model IS NOT DISTINCT FROM players.model
    AND (results.side <> 'none' OR results.seat = players.seat)
LEFT JOIN messages
    ON messages.game_id = players.game_id
    AND (
        messages.seat = players.seat
        OR list_contains(messages.visible_to, 'all')
        OR list_contains(messages.visible_to, players.player)
    )
WHERE players.is_tested
ORDER BY players.game_id, players.seat, messages.message_index
