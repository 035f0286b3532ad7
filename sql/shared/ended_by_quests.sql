-- row: one finished Avalon with quests, which decide it
-- column: outcomes | the outcomes that are possible
-- Evil wins by three failed quests, by five rejected teams for a quest, or by finding Merlin after
-- three quests that succeeded.
WITH quest_actions AS (
    SELECT
        game_id,
        round,
        is_quest_failed,
        is_approved IS FALSE AS is_rejected,
        NULL AS is_merlin
    FROM team_proposals
    WHERE is_finished
    UNION ALL
    SELECT game_id, round, is_quest_failed, FALSE, NULL
    FROM quest_plays
    WHERE is_finished
    UNION ALL
    SELECT game_id, round, NULL, FALSE, is_correct
    FROM assassinations
    WHERE is_finished
),
quests AS (
    SELECT
        game_id,
        bool_or(is_quest_failed) AS is_failed,
        count(*) FILTER (WHERE is_rejected) AS n_rejected,
        bool_or(is_merlin) AS is_merlin
    FROM quest_actions
    GROUP BY game_id, round
),
quest_counts AS (
    SELECT
        game_id,
        count(*) FILTER (WHERE is_failed) AS n_failed,
        count(*) FILTER (WHERE NOT is_failed) AS n_succeeded,
        max(n_rejected) AS n_rejected,
        bool_or(is_merlin) AS is_merlin
    FROM quests
    GROUP BY game_id
)
SELECT
    game_id,
    CASE
        WHEN n_failed >= 3 THEN ['quests_failed', 'evil_won']
        WHEN is_merlin THEN ['merlin_found', 'evil_won']
        WHEN n_rejected >= 5 THEN ['teams_rejected', 'evil_won']
        WHEN n_succeeded < 3 THEN []
        WHEN NOT is_merlin THEN ['good_won']
        ELSE ['good_won', 'merlin_found', 'evil_won']
    END AS outcomes
FROM quest_counts
