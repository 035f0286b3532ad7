-- row: one answer to 'who are you and what is your role', with the result of a strict reading of its text
-- source: docs/audit.md, "How identifications are read"
-- column: seat | the acting player's seat, from 1
-- column: round | the round, from 1
-- column: message_index | the message it was read from, from 0
-- column: claimed_role | the role that the text claims, null if it names none or both
-- column: is_correct_as_read | whether the answer is right according to its text, null if this cannot be decided
WITH answers AS (
    SELECT game_id, message_index, lower(answer) AS content
    FROM shared.answers
    WHERE phase = 'identification'
),
stated AS (
    SELECT
        game_id,
        message_index,
        unnest(
            regexp_extract_all(content, '(i am|i[''’]m|as) player[ _]*([0-9]+)', 2)
        ) AS named
    FROM answers
),
named AS (
    SELECT game_id, message_index, min(named) AS lowest, max(named) AS highest
    FROM stated
    GROUP BY game_id, message_index
),
roles AS (
    SELECT
        game_id,
        message_index,
        regexp_matches(
            content,
            '(role is|i am|i[''’]m) (the |an? )?[^a-z0-9]*(chameleon|undercover)'
        ) AS is_hidden,
        regexp_matches(
            content,
            '(role is|i am|i[''’]m) (the |an? )?[^a-z0-9]*non[^a-z0-9]*(chameleon|undercover)'
        ) AS is_civilian,
        regexp_matches(
            content,
            '(chameleon|undercover)[^a-z0-9]*(/|or )[^a-z0-9]*non[^a-z0-9]*(chameleon|undercover)'
        )
        OR regexp_matches(
            content,
            'non[^a-z0-9]*(chameleon|undercover)[^a-z0-9]*(/|or )[^a-z0-9]*(chameleon|undercover)'
        ) AS is_either
    FROM answers
)
SELECT
    role_identifications.game_id,
    role_identifications.seat,
    role_identifications.round,
    role_identifications.message_index,
    CASE
        WHEN roles.message_index IS NULL OR is_either OR is_hidden = is_civilian THEN NULL
        WHEN role_identifications.game_type = 'chameleon'
            THEN CASE WHEN is_hidden THEN 'chameleon' ELSE 'non_chameleon' END
        WHEN role_identifications.game_type = 'undercover'
            THEN CASE WHEN is_hidden THEN 'undercover' ELSE 'civilian' END
    END AS claimed_role,
    CASE
        WHEN roles.message_index IS NULL THEN NULL
        WHEN NOT regexp_matches(role_identifications.player, '^Player [1-9][0-9]*$') THEN NULL
        WHEN is_either OR is_hidden = is_civilian THEN FALSE
        ELSE coalesce(
            named.lowest = named.highest
                AND 'Player ' || named.lowest = role_identifications.player
                AND CASE WHEN is_hidden THEN 'hidden' ELSE 'civilian' END = side,
            FALSE
        )
    END AS is_correct_as_read
FROM role_identifications
LEFT JOIN roles
    ON roles.game_id = role_identifications.game_id
    AND roles.message_index = role_identifications.message_index
LEFT JOIN named
    ON named.game_id = role_identifications.game_id
    AND named.message_index = role_identifications.message_index
