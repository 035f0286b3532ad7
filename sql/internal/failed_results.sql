-- The results of a lake, where a game that a side failed is counted as its loss, with the flag `is_failed`.
-- A side fails a game if the log says so for one of its seats (`players.failure`), or if an answer of one
-- of its seats is an outage and the log has no valid result. The results of the other sides are as logged.
WITH outage_seats AS (
    SELECT DISTINCT game_id, seat
    FROM (${messages}) AS messages
    WHERE parse_status = 'outage' AND seat IS NOT NULL
),
failed_seats AS (
    SELECT
        players.game_id,
        players.is_tested,
        coalesce(players.model, '') AS side_model,
        players.role,
        players.seat,
        CASE WHEN players.failure IS NOT NULL THEN 1 ELSE 0 END AS is_logged
    FROM (${players}) AS players
    LEFT JOIN outage_seats ON outage_seats.game_id = players.game_id AND outage_seats.seat = players.seat
    WHERE players.failure IS NOT NULL OR outage_seats.seat IS NOT NULL
),
failed_sides AS (
    SELECT game_id, is_tested, side_model, role, side_seat, max(is_logged) AS is_logged
    FROM (
        SELECT *, seat AS side_seat FROM failed_seats
        UNION ALL
        -- A result without a seat stands for all seats of its model and role.
        SELECT *, 0 AS side_seat FROM failed_seats
    ) AS failures
    GROUP BY game_id, is_tested, side_model, role, side_seat
),
result_sides AS (
    SELECT
        results.*,
        coalesce(model, '') AS side_model,
        coalesce(seat, 0) AS side_seat
    FROM (${results}) AS results
),
flagged_results AS (
    SELECT
        result_sides.*,
        coalesce(
            failed_sides.is_logged = 1
            OR (failed_sides.is_logged = 0 AND (NOT is_finished OR parse_status = 'outage')),
            FALSE
        ) AS is_failed
    FROM result_sides
    LEFT JOIN failed_sides
        ON failed_sides.game_id = result_sides.game_id
        AND failed_sides.is_tested = result_sides.is_tested
        AND failed_sides.side_model = result_sides.side_model
        AND failed_sides.role = result_sides.role
        AND failed_sides.side_seat = result_sides.side_seat
)
SELECT
    ${columns},
    is_finished OR is_failed AS is_finished,
    CASE WHEN is_failed THEN 'ok' ELSE parse_status END AS parse_status,
    CASE WHEN is_failed THEN FALSE ELSE is_win END AS is_win,
    CASE WHEN is_failed THEN 0.0 ELSE win_credit END AS win_credit,
    CASE WHEN is_failed AND game_type = 'cost_sharing' THEN FALSE ELSE agreed END AS agreed,
    -- The guess of an unfinished game is not counted, as if the game were not a loss.
    CASE WHEN is_failed AND NOT is_finished THEN NULL ELSE guess_is_correct END AS guess_is_correct,
    is_failed
FROM flagged_results
