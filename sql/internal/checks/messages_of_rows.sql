-- finds: a row read from a message that the game does not have, or that another seat wrote
-- severity: error
-- by: game
-- tables: of seats
SELECT row.game_id, row.seat, row.message_index, messages.seat AS said_by
FROM ${table} AS row
LEFT JOIN messages USING (game_id, message_index)
WHERE row.message_index IS NOT NULL
    AND messages.seat IS DISTINCT FROM row.seat
