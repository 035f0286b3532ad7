-- row: one message of a player, with the answer in it
-- source: docs/formats.md, "Thoughts": the patterns are those of pipeline/thinking_text.py
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
        -- Most texts contain none of these, so they need not be searched with regular expressions.
        contains(content, '<')
        OR contains(content, '{')
        OR contains(content, '[')
        OR contains(content, '◁')
        OR contains(content, 'hinking.')
        OR contains(content, 'assistantfinal') AS is_marked
    FROM messages
    WHERE phase <> 'moderation'
),
cut AS (
    SELECT
        *,
        CASE
            WHEN NOT is_marked THEN content
            ELSE regexp_replace(content, '(?is)^(?:.*(?:<\|?/\s?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?\s?\|?>|\[/[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final[^<>]{0,40}<\|message\|>|<(?:final_?)?answer>|<\|begin_of_solution\|>|<channel\|>|<unused95>|\.\.\.\s?done thinking\.)|(?:assistant)?analysis.*assistantfinal|\s*<details\s[^<>]{0,60}(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[^<>]{0,60}>.*</details>)', '')
        END AS said
    FROM spoken
),
answered AS (
    SELECT
        *,
        CASE
            WHEN NOT is_marked THEN content
            WHEN regexp_matches(said, '(?i)^\s*(?:<\|?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?(?:\s[^<>]{0,60})?\|?>|\[think\]|◁think▷|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|?>(?:analysis|commentary|thought)\b|<details\s[^<>]{0,60}(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[^<>]{0,60}>|<unused94>|Thinking\.\.\.\n|(?:```[a-z]*\s*)?\{\s*"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)|why|comment|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*"(?:[^"\\]|\\.)*$)') THEN ''
            WHEN regexp_matches(said, '\S') THEN said
            ELSE regexp_replace(
                regexp_replace(content, '(?i)<[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?>[^<>]*</[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?>', '', 'g'),
                '(?is)^(?:.*(?:<\|?/\s?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?\s?\|?>|\[/[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final[^<>]{0,40}<\|message\|>|<(?:final_?)?answer>|<\|begin_of_solution\|>|<channel\|>|<unused95>|\.\.\.\s?done thinking\.)|(?:assistant)?analysis.*assistantfinal|\s*<details\s[^<>]{0,60}(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[^<>]{0,60}>.*</details>)',
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
),
valued AS (
    SELECT
        *,
        CASE
            WHEN written = '' THEN NULL
            WHEN phase IN ('vote', 'proposal_vote') THEN nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your|elimination)[ _-]?){0,2}(?:votes?|voted|voting|voto|stimme|abstimmung|голос|투표|投票先?)(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
            WHEN phase NOT IN ('contribution', 'decision', 'guess') THEN coalesce(
                nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your|elimination)[ _-]?){0,2}(?:answer|target|choice|chosen|choose|pick|decision|答案|目标|选择|回答|candidate|nominee|nominate|nomination|eliminate|elimination|accus(?:e|ed|ation)|votes?|voted|voting|voto|stimme|abstimmung|голос|투표|投票先?|contribution|contribute|amount|choice|chosen|choose|decision|选择|guess|suspect)(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), ''),
                nullif(regexp_extract(written, '(?is)^.*"(?:action|move|output|result|(?:[a-z]+[ _-])?(?:message|statement|speech|say|response|reply|发言))"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
            )
            ELSE coalesce(
                CASE phase
                    WHEN 'contribution' THEN nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your|elimination)[ _-]?){0,2}(?:contribution|contribute|amount)(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
                    WHEN 'decision' THEN nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your|elimination)[ _-]?){0,2}(?:choice|chosen|choose|decision|选择)(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
                    ELSE nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your|elimination)[ _-]?){0,2}(?:guess)(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
                END,
                nullif(regexp_extract(written, '(?is)^.*"(?:(?:(?:final|my|your|elimination)[ _-]?){0,2}(?:answer|target|choice|chosen|choose|pick|decision|答案|目标|选择|回答|candidate|nominee|nominate|nomination|eliminate|elimination|accus(?:e|ed|ation)|votes?|voted|voting|voto|stimme|abstimmung|голос|투표|投票先?|contribution|contribute|amount|choice|chosen|choose|decision|选择|guess|suspect)(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2})"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), ''),
                nullif(regexp_extract(written, '(?is)^.*"(?:action|move|output|result)"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
            )
        END AS value
    FROM objects
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
            regexp_replace(value, '(?is)(?:"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)|why|comment|理由|推理|分析|想法)[^"\\:]{0,40}?"|"(?:(?:[a-z]+[ _-])?(?:message|statement|speech|say|response|reply|发言))")\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', '', 'g'),
            concat_ws(
                chr(10),
                regexp_replace(written, '(?is)(?:"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)|why|comment|理由|推理|分析|想法)[^"\\:]{0,40}?"|"(?:(?:[a-z]+[ _-])?(?:message|statement|speech|say|response|reply|发言))")\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', '', 'g'),
                nullif(regexp_extract(written, '(?is)^.*"(?:(?:[a-z]+[ _-])?(?:message|statement|speech|say|response|reply|发言))"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)', 1), '')
            )
        )
    END AS answer,
    CASE
        WHEN NOT is_marked THEN FALSE
        ELSE regexp_matches(said, '(?i)^\s*(?:<\|?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?(?:\s[^<>]{0,60})?\|?>|\[think\]|◁think▷|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|?>(?:analysis|commentary|thought)\b|<details\s[^<>]{0,60}(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[^<>]{0,60}>|<unused94>|Thinking\.\.\.\n|(?:```[a-z]*\s*)?\{\s*"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)|why|comment|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*"(?:[^"\\]|\\.)*$)')
            OR regexp_matches(content, '(?is)^(?:(?:\s|<[^<>]{0,60}>)*[^\s<].*(?:<\|?/\s?[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?\s?\|?>|\[/[a-z0-9_:.-]{0,30}?(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[a-z0-9_:.-]{0,30}?\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final[^<>]{0,40}<\|message\|>|<(?:final_?)?answer>|<\|begin_of_solution\|>|<channel\|>|<unused95>|\.\.\.\s?done thinking\.)|(?:assistant)?analysis.*assistantfinal|\s*<details\s[^<>]{0,60}(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)[^<>]{0,60}>.*</details>)')
            OR regexp_matches(written, '(?is)"[^"\\:]{0,40}?(?:(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation|justification|思考)|why|comment|理由|推理|分析|想法)[^"\\:]{0,40}?"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]{0,100}\]|\{[^}]{0,100}\}|[^"\[{\s][^,}\]]*)')
    END AS has_thoughts
FROM valued
