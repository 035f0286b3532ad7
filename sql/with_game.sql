-- A table's rows with columns of their games.
SELECT
    ${columns}
FROM ${rows} AS counted
LEFT JOIN sliced_games AS games
    ON games.game_id = counted.game_id
