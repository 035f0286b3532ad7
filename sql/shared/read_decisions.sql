-- row: one decision, with what MAgIC's engine would read in its answer without the thoughts
-- source: docs/audit.md, "The edition `audited`"
-- column: choice_read | the choice as the answer alone makes it, where the engine read a text that holds thoughts
-- column: text | the text of the decision's message, null if the log has none
WITH answers AS (
    SELECT game_id, message_index, answer
    FROM shared.answers
    WHERE has_thoughts
        AND phase = 'decision'
)
SELECT
    decisions.*,
    CASE
        WHEN answers.answer IS NULL OR decisions.system NOT IN ('magic', 'chatarena') THEN choice
        WHEN contains(lower(answers.answer), 'cooperate') THEN 'cooperate'
        WHEN regexp_matches(answers.answer, '\S') THEN 'defect'
    END AS choice_read
FROM decisions
LEFT JOIN answers
    ON answers.game_id = decisions.game_id
    AND answers.message_index = decisions.message_index
