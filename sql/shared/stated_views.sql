-- row: one view of the roles in an analysis: the speaker's own view, or the view that it ascribes to another player
-- source: docs/audit.md, "How analyses are read"
-- column: viewer | whose view it is
-- column: suspect | the player whom the viewer thinks is hidden, null if none or several
WITH analyses AS (
    SELECT game_id, message_index, player, lower(answer) AS content
    FROM shared.answers
    WHERE phase = 'analysis'
),
-- The form of Chameleon: a heading names the viewer, then a line rates each player.
blocks AS (
    SELECT game_id, message_index, player, unnest(string_split(content, 'i think now')) AS block
    FROM analyses
),
rated AS (
    SELECT
        game_id,
        message_index,
        CASE
            WHEN regexp_matches(block, '^[^a-z0-9]*player[ _]*[0-9]+[^a-z0-9]+think')
                THEN regexp_extract(block, '^[^a-z0-9]*player[ _]*([0-9]+)', 1)
            WHEN regexp_matches(block, '(?m)^[^a-z0-9]*(as player|i think[^a-z0-9]*$)')
                THEN replace(lower(player), 'player ', '')
        END AS viewer,
        block
    FROM blocks
    WHERE regexp_matches(
        block,
        '(?m)^[^a-z0-9]*player[ _]*[0-9]+[^\n]{0,20}(more suspicious|less suspicious|no change)'
    )
),
-- The form of Undercover: one sentence per view.
own AS (
    SELECT
        game_id,
        message_index,
        player,
        unnest(
            regexp_extract_all(
                content,
                'i think ((that )?[*]*player[ _]*[0-9]+[*]* (is|might be|may be|could be)|i am) (the |a |an |a possible )?[*]*undercover',
                0
            )
        ) AS claim
    FROM analyses
),
stated_rows AS (
    SELECT
        game_id,
        message_index,
        unnest(
            regexp_extract_all(
                content,
                'player[ _]*[0-9]+[*]* (may |might )?thinks? (that )?[*]*player[ _]*[0-9]+[*]* (is|might be|may be|could be) (the |a |an |a possible )?[*]*undercover',
                0
            )
        ) AS claim
    FROM analyses
),
stated AS (
    SELECT game_id, message_index, viewer, NULL AS suspect
    FROM rated
    UNION ALL
    SELECT
        game_id,
        message_index,
        viewer,
        unnest(
            regexp_extract_all(
                block,
                '(?m)^[^a-z0-9]*player[ _]*([0-9]+)[^\n]{0,20}more suspicious',
                1
            )
        ) AS suspect
    FROM rated
    UNION ALL
    SELECT
        game_id,
        message_index,
        replace(lower(player), 'player ', '') AS viewer,
        coalesce(
            nullif(regexp_extract(claim, 'player[ _]*([0-9]+)', 1), ''),
            replace(lower(player), 'player ', '')
        ) AS suspect
    FROM own
    UNION ALL
    SELECT
        game_id,
        message_index,
        regexp_extract(claim, 'player[ _]*([0-9]+)', 1) AS viewer,
        regexp_extract(claim, 'think.*player[ _]*([0-9]+)', 1) AS suspect
    FROM stated_rows
)
SELECT
    game_id,
    message_index,
    'Player ' || viewer AS viewer,
    -- A viewer who suspects two players has no single suspect.
    CASE WHEN count(DISTINCT suspect) = 1 THEN 'Player ' || min(suspect) END AS suspect
FROM stated
WHERE viewer IS NOT NULL
GROUP BY game_id, message_index, viewer
