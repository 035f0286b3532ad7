-- metric: coordination
-- title: Coordination
-- order: 7
-- edition: release
-- row: one negotiation of a tested player that ended in agreement
-- value: agreements in which the first voter chose the player's own proposal / agreements
-- range: 0..1
-- source: metrics_release.py: whether the proposal that the first voter chose has the same shares, as
--   written, as the tested player's own last proposal
WITH last_shares AS (
    SELECT game_id, seat, position, share_text
    FROM proposals
    WHERE is_last
),
lengths AS (
    SELECT game_id, seat, count(*) AS n_shares
    FROM last_shares
    GROUP BY game_id, seat
),
equal_shares AS (
    SELECT results.game_id, results.seat, count(*) AS n_equal
    FROM results
    JOIN last_shares AS chosen
        ON chosen.game_id = results.game_id AND chosen.seat = results.first_choice_seat
    JOIN last_shares AS own
        ON own.game_id = results.game_id AND own.seat = results.seat
        AND own.position = chosen.position
        AND own.share_text IS NOT DISTINCT FROM chosen.share_text
    WHERE results.is_tested
        AND results.agreed
    GROUP BY results.game_id, results.seat
),
attempts AS (
    SELECT
        results.*,
        'own_proposals' AS term,
        'first choice: seat ' || results.first_choice_seat AS what,
        CAST(
            CASE
                WHEN chosen.n_shares IS NULL THEN NULL
                ELSE coalesce(
                    chosen.n_shares = own.n_shares AND chosen.n_shares = equal_shares.n_equal, FALSE
                )
            END AS DOUBLE
        ) AS hit,
        TRUE AS is_counted
    FROM results
    CROSS JOIN shared.release_parameters
    LEFT JOIN lengths AS chosen
        ON chosen.game_id = results.game_id AND chosen.seat = results.first_choice_seat
    LEFT JOIN lengths AS own
        ON own.game_id = results.game_id AND own.seat = results.seat
    LEFT JOIN equal_shares
        ON equal_shares.game_id = results.game_id AND equal_shares.seat = results.seat
    WHERE results.is_tested
        AND results.game_index < num_of_game
        AND results.game_type = 'cost_sharing'
        AND results.agreed
)
SELECT
    system,
    model,
    coalesce(game_type, 'all') AS game_type,
    -- The published script stops with an error if it cannot read the choice of one game.
    CASE WHEN count(hit) = count(*) THEN sum(hit) / count(*) END AS value,
    coalesce(sum(hit), 0) AS hits,
    count(*) AS counted,
    count(DISTINCT game_id) AS n_games
FROM attempts
WHERE is_counted
GROUP BY GROUPING SETS ((system, model, game_type), (system, model))
