-- row: one message of a player, with the answer in it
-- source: docs/formats.md, "Thoughts": the patterns are those of pipeline/thoughts.py
-- column: answer | the text without the thoughts before it, empty if there is no answer
-- column: has_thoughts | whether the text holds thoughts
WITH spoken AS (
    SELECT
        game_id,
        message_index,
        phase,
        round,
        player,
        seat,
        model,
        role,
        content,
        -- Most texts have none of these, and need not be searched by patterns.
        contains(content, '<')
        OR contains(content, '{')
        OR contains(content, '[')
        OR contains(content, '◁')
        OR starts_with(content, 'analysis') AS is_marked
    FROM messages
    WHERE phase <> 'moderation'
),
cut AS (
    SELECT
        *,
        CASE
            WHEN NOT is_marked THEN content
            ELSE regexp_replace(content, '(?is)^(?:.*(?:<\|?/\s?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?\s?\|?>|\[/[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final[^<>]{0,40}<\|message\|>|<(?:final_?)?answer>|<\|begin_of_solution\|>)|analysis.*assistantfinal)', '')
        END AS said
    FROM spoken
),
answered AS (
    SELECT
        *,
        CASE
            WHEN NOT is_marked THEN content
            WHEN regexp_matches(said, '(?i)^\s*(?:<\|?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?(?:\s[^<>]{0,60})?\|?>|\[think\]|◁think▷|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b|(?:```[a-z]*\s*)?\{\s*"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)|why|comment|思考|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*"(?:[^"\\]|\\.)*$)') THEN ''
            WHEN regexp_matches(said, '\S') THEN said
            ELSE regexp_replace(
                regexp_replace(content, '(?i)<[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?>[^<>]*</[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?>', '', 'g'),
                '(?is)^(?:.*(?:<\|?/\s?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?\s?\|?>|\[/[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final[^<>]{0,40}<\|message\|>|<(?:final_?)?answer>|<\|begin_of_solution\|>)|analysis.*assistantfinal)',
                ''
            )
        END AS outside
    FROM cut
),
objects AS (
    SELECT
        *,
        CASE
            WHEN NOT is_marked THEN ''
            ELSE regexp_extract(outside, '(?s)^(?:[^`]*```[a-z]*)?\s*(\{\s*".*)$', 1)
        END AS written
    FROM answered
)
SELECT
    game_id,
    message_index,
    phase,
    round,
    player,
    seat,
    model,
    role,
    CASE
        WHEN written = '' THEN outside
        ELSE coalesce(
            nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your)[ _-]?)?(?:votes?|voted|voting|answer|target|choice|chosen|choose|pick|decision|投票|答案|目标|选择|回答|contribution|contribute|amount|guess|candidate|nominee|suspect|accus(?:e|ed|ation))(?:[ _-]?(?:for|to|player|name|id|target|amount|points|word))?)"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), ''),
            nullif(regexp_extract(written, '(?is)^.*"(?:(?:public[ _-]?)?(?:action|move|response|reply|output|result|message|statement|speech|say))"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), ''),
            regexp_replace(written, '(?is)"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)|why|comment|思考|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', '', 'g')
        )
    END AS answer,
    CASE
        WHEN NOT is_marked THEN FALSE
        ELSE regexp_matches(said, '(?i)^\s*(?:<\|?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?(?:\s[^<>]{0,60})?\|?>|\[think\]|◁think▷|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b|(?:```[a-z]*\s*)?\{\s*"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)|why|comment|思考|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*"(?:[^"\\]|\\.)*$)')
            OR regexp_matches(content, '(?is)^(?:(?:\s|<[^<>]{0,60}>)*[^\s<].*(?:<\|?/\s?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?\s?\|?>|\[/[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)[a-z0-9_:.-]{0,30}?\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final[^<>]{0,40}<\|message\|>|<(?:final_?)?answer>|<\|begin_of_solution\|>)|analysis.*assistantfinal)')
            OR regexp_matches(written, '(?is)"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification)|why|comment|思考|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)')
    END AS has_thoughts
FROM objects
