-- order: 9
-- title: teams, quests and assassinations whose results do not follow from votes, plays and roles
-- metric: win_rate
-- row: one team, with its leader, one play on a quest, or the assassin's choice
-- severity: contradiction
-- needs: team_proposals, team_votes, quest_plays, assassinations
WITH vote_counts AS (
    SELECT
        game_id,
        round,
        attempt,
        count(*) FILTER (WHERE approves) AS n_for,
        count(*) FILTER (WHERE NOT approves) AS n_against
    FROM team_votes
    GROUP BY game_id, round, attempt
),
teams AS (
    SELECT game_id, round, attempt, seat, message_index, is_approved
    FROM team_proposals
    WHERE is_voted_on
    UNION ALL
    SELECT DISTINCT game_id, round, attempt, leader_seat, NULL, is_approved
    FROM team_votes
),
-- A team needs the votes of more than half of all players.
team_findings AS (
    SELECT
        teams.game_id,
        teams.seat,
        teams.round,
        max(message_index) AS message_index,
        CASE WHEN is_approved THEN 'approved' ELSE 'rejected' END AS logged,
        CASE
            WHEN n_for * 2 > n_players THEN 'approved'
            WHEN n_against * 2 >= n_players THEN 'rejected'
            WHEN is_approved THEN 'approved'
            ELSE 'rejected'
        END || ', by ' || n_for || ' of ' || n_players AS says
    FROM teams
    JOIN vote_counts
        ON vote_counts.game_id = teams.game_id
        AND vote_counts.round = teams.round
        AND vote_counts.attempt = teams.attempt
    JOIN games
        ON games.game_id = teams.game_id
    WHERE is_approved IS NOT NULL
    GROUP BY teams.game_id, teams.seat, teams.round, is_approved, n_for, n_against, n_players
),
quest_teams AS (
    SELECT
        game_id,
        round,
        arg_max(team, attempt) AS team,
        arg_max(is_quest_failed, attempt) AS is_quest_failed
    FROM team_proposals
    WHERE is_approved
    GROUP BY game_id, round
),
plays_with_totals AS (
    SELECT
        plays.*,
        quest_teams.team,
        coalesce(quest_teams.is_quest_failed, plays.is_quest_failed) AS is_failed,
        n_players,
        count(*) FILTER (WHERE is_fail) OVER quest AS n_fails,
        count(*) OVER quest AS n_plays
    FROM quest_plays AS plays
    JOIN games
        ON games.game_id = plays.game_id
    LEFT JOIN quest_teams
        ON quest_teams.game_id = plays.game_id
        AND quest_teams.round = plays.round
    WINDOW quest AS (PARTITION BY plays.game_id, plays.round)
),
plays AS (
    SELECT
        game_id,
        seat,
        round,
        message_index,
        CASE WHEN coalesce(is_failed, n_fails > 0) THEN 'quest failed' ELSE 'quest succeeded' END
            AS logged,
        CASE
            WHEN NOT list_contains(team, player) THEN 'the player is not on the team'
            WHEN is_fail AND side = 'civilian' THEN 'good players fail no quest'
            WHEN n_fails = 0 AND n_plays >= array_length(team) THEN 'quest succeeded'
            -- With seven players or more, some variants require two fails for the fourth quest to fail.
            WHEN n_fails > 1 OR (n_fails = 1 AND (round <> 4 OR n_players < 7)) THEN 'quest failed'
            ELSE logged
        END || ', with ' || n_fails || ' fails' AS says
    FROM plays_with_totals
),
assassination_findings AS (
    SELECT
        chosen.game_id,
        chosen.seat,
        chosen.round,
        chosen.message_index,
        CASE WHEN is_correct THEN 'Merlin' ELSE 'not Merlin' END AS logged,
        CASE WHEN targets.role = 'merlin' THEN 'Merlin' ELSE 'not Merlin' END AS says
    FROM assassinations AS chosen
    JOIN players AS targets
        ON targets.game_id = chosen.game_id
        AND targets.seat = chosen.target_seat
),
findings AS (
    SELECT *, NOT starts_with(says, logged) AS is_found
    FROM (
        SELECT * FROM team_findings
        UNION ALL
        SELECT * FROM plays
        UNION ALL
        SELECT * FROM assassination_findings
    ) AS compared
)
SELECT
    findings.game_id,
    players.player,
    findings.seat,
    players.model,
    players.role,
    findings.round,
    findings.message_index,
    logged,
    says,
    is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM findings
LEFT JOIN players
    ON players.game_id = findings.game_id
    AND players.seat = findings.seat
