-- The results where a game that a side failed is its loss, and `is_failed`, whether that is so.
-- A side fails a game if the log says so of one of its seats (`players.failure`), or if an answer of one is
-- an outage and the log has no result that counts. The other sides have what the log says.
WITH outages AS (
    SELECT DISTINCT game_id, seat
    FROM (${messages}) AS messages
    WHERE parse_status = 'outage' AND seat IS NOT NULL
),
seats AS (
    SELECT
        players.game_id,
        players.is_tested,
        coalesce(players.model, '') AS side_model,
        players.role,
        players.seat,
        CASE WHEN players.failure IS NOT NULL THEN 1 ELSE 0 END AS is_logged
    FROM (${players}) AS players
    LEFT JOIN outages ON outages.game_id = players.game_id AND outages.seat = players.seat
    WHERE players.failure IS NOT NULL OR outages.seat IS NOT NULL
),
failed AS (
    SELECT game_id, is_tested, side_model, role, side_seat, max(is_logged) AS is_logged
    FROM (
        SELECT *, seat AS side_seat FROM seats
        UNION ALL
        -- A result without a seat stands for all of its model and role.
        SELECT *, 0 AS side_seat FROM seats
    ) AS failures
    GROUP BY game_id, is_tested, side_model, role, side_seat
),
sides AS (
    SELECT
        results.*,
        coalesce(model, '') AS side_model,
        coalesce(seat, 0) AS side_seat
    FROM (${results}) AS results
),
decided AS (
    SELECT
        sides.*,
        coalesce(
            failed.is_logged = 1
            OR (failed.is_logged = 0 AND (NOT is_finished OR parse_status = 'outage')),
            FALSE
        ) AS is_failed
    FROM sides
    LEFT JOIN failed
        ON failed.game_id = sides.game_id
        AND failed.is_tested = sides.is_tested
        AND failed.side_model = sides.side_model
        AND failed.role = sides.role
        AND failed.side_seat = sides.side_seat
)
SELECT
    ${columns},
    is_finished OR is_failed AS is_finished,
    CASE WHEN is_failed THEN 'ok' ELSE parse_status END AS parse_status,
    CASE WHEN is_failed THEN FALSE ELSE is_win END AS is_win,
    CASE WHEN is_failed THEN 0.0 ELSE win_credit END AS win_credit,
    CASE WHEN is_failed AND game_type = 'cost_sharing' THEN FALSE ELSE agreed END AS agreed,
    -- The guess of a game that did not end counts for nobody, as without the loss.
    CASE WHEN is_failed AND NOT is_finished THEN NULL ELSE guess_is_correct END AS guess_is_correct,
    is_failed
FROM decided
