-- row: one analysis of the roles, with the result of a strict reading of its text
-- source: docs/audit.md, "How analyses are read"
-- column: seat | the acting player's seat, from 1
-- column: round | the round, from 1
-- column: message_index | the message it was read from, from 0
-- column: is_own_view_stated | whether the analysis states its speaker's own view
-- column: is_correct_as_read | whether the analysis is right according to its text, null if this cannot be decided
WITH own_views AS (
    SELECT messages.game_id, messages.message_index, messages.round, messages.player, views.suspect
    FROM messages
    JOIN shared.stated_views AS views
        ON views.game_id = messages.game_id
        AND views.message_index = messages.message_index
        AND views.viewer = messages.player
),
hidden_players AS (
    SELECT DISTINCT game_id, player
    FROM players
    WHERE side = 'hidden'
),
-- Compare the views ascribed to other players with what these say themselves in the same round.
compared AS (
    SELECT
        mine.game_id,
        mine.message_index,
        count(*) AS n_views,
        count(*) FILTER (
            WHERE said.viewer IS NOT NULL AND said.suspect IS NOT DISTINCT FROM theirs.suspect
        ) AS n_right
    FROM messages AS mine
    JOIN own_views AS theirs
        ON theirs.game_id = mine.game_id
        AND theirs.round = mine.round
        AND theirs.player <> mine.player
    LEFT JOIN shared.stated_views AS said
        ON said.game_id = mine.game_id
        AND said.message_index = mine.message_index
        AND said.viewer = theirs.player
    WHERE mine.phase = 'analysis'
    GROUP BY mine.game_id, mine.message_index
)
SELECT
    role_analyses.game_id,
    role_analyses.seat,
    role_analyses.round,
    role_analyses.kind,
    role_analyses.message_index,
    own_views.player IS NOT NULL AS is_own_view_stated,
    CASE
        WHEN role_analyses.message_index IS NULL THEN NULL
        WHEN NOT regexp_matches(role_analyses.player, '^Player [1-9][0-9]*$') THEN NULL
        WHEN kind = 'inter' THEN compared.n_right = compared.n_views
        WHEN own_views.player IS NOT NULL THEN hidden_players.player IS NOT NULL
        -- The chameleon is asked what the others think, not what it knows itself.
        WHEN role_analyses.game_type = 'chameleon' AND role_analyses.side = 'hidden' THEN NULL
        ELSE FALSE
    END AS is_correct_as_read
FROM role_analyses
LEFT JOIN own_views
    ON own_views.game_id = role_analyses.game_id
    AND own_views.message_index = role_analyses.message_index
LEFT JOIN hidden_players
    ON hidden_players.game_id = own_views.game_id
    AND hidden_players.player = own_views.suspect
LEFT JOIN compared
    ON compared.game_id = role_analyses.game_id
    AND compared.message_index = role_analyses.message_index
