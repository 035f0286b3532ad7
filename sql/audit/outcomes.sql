-- order: 3
-- title: outcomes and winners that do not follow from what was played
-- metric: win_rate
-- row: the result of one finished game for one tested side
-- severity: contradiction
WITH possible_outcomes AS (
    SELECT game_id, outcomes FROM shared.ended_by_votes
    UNION ALL
    SELECT game_id, outcomes FROM shared.ended_by_players_left
    UNION ALL
    SELECT game_id, outcomes FROM shared.ended_by_agreement
    UNION ALL
    SELECT game_id, outcomes FROM shared.ended_by_quests
),
credited_results AS (
    SELECT
        results.*,
        games.outcome,
        possible_outcomes.outcomes,
        CASE WHEN side = 'hidden' THEN credits.hidden ELSE credits.others END AS credit,
        CASE WHEN side = 'hidden' THEN credits.hidden_wins ELSE credits.others = 1 END AS has_won,
        CASE WHEN side = 'hidden' THEN read.hidden ELSE read.others END AS credit_read
    FROM results
    JOIN games
        ON games.game_id = results.game_id
    JOIN shared.credits AS credits
        ON credits.game_type = games.game_type
        AND credits.outcome = games.outcome
    LEFT JOIN possible_outcomes
        ON possible_outcomes.game_id = results.game_id
    -- If several outcomes are possible, all of them give the same credit, except if it depends on a
    -- guess of the chameleon that is unknown.
    LEFT JOIN shared.credits AS read
        ON read.game_type = games.game_type
        AND read.outcome = possible_outcomes.outcomes[1]
        AND NOT (
            list_contains(possible_outcomes.outcomes, 'guessed_wrong')
            AND possible_outcomes.outcomes[1] <> 'guessed_wrong'
        )
    WHERE results.is_tested
        AND results.is_finished
),
compared_results AS (
    SELECT
        *,
        -- A draw is consistent with a game that nobody has won.
        outcomes IS NOT NULL
        AND NOT list_contains(outcomes, outcome)
        AND NOT (outcomes = [] AND outcome = 'draw') AS is_other,
        -- Only interchange JSON states results in addition to the outcome.
        is_win <> has_won OR abs(win_credit - credit) > 1e-9 AS is_other_win
    FROM credited_results
),
findings AS (
    SELECT
        game_id,
        player,
        seat,
        model,
        role,
        round,
        message_index,
        CASE
            WHEN is_other OR NOT is_other_win THEN outcome
            ELSE outcome || CASE WHEN is_win THEN ', won ' ELSE ', lost ' END || win_credit
        END AS logged,
        CASE
            WHEN NOT is_other AND is_other_win
                THEN outcome || CASE WHEN has_won THEN ', won ' ELSE ', lost ' END || credit
            WHEN NOT is_other THEN outcome
            WHEN outcomes = [] THEN 'nobody has won'
            ELSE array_to_string(outcomes, ' or ')
        END AS says,
        is_other OR is_other_win AS is_found,
        win_credit AS hit_logged,
        CASE WHEN is_other THEN credit_read ELSE credit END AS hit_read
    FROM compared_results
    WHERE outcomes IS NOT NULL OR is_other_win
    UNION ALL
    SELECT
        results.game_id,
        player,
        seat,
        model,
        role,
        round,
        message_index,
        CASE WHEN is_win THEN 'won' ELSE 'lost' END AS logged,
        CASE
            WHEN list_contains(others, seat) THEN 'lost'
            -- If several players have the most points, the log decides who won; in MAgIC all win.
            WHEN is_whole AND list_contains(best, seat) AND (array_length(best) = 1 OR system = 'magic')
                THEN 'won'
            ELSE logged
        END AS says,
        says <> logged AS is_found,
        win_credit AS hit_logged,
        CASE WHEN says = logged THEN win_credit ELSE 1 - win_credit END AS hit_read
    FROM results
    JOIN shared.ended_by_points AS points
        ON points.game_id = results.game_id
    WHERE is_tested
        AND is_win IS NOT NULL
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    logged,
    says,
    is_found,
    CASE WHEN hit_read IS NOT NULL THEN hit_logged END AS hit_logged,
    hit_read
FROM findings
