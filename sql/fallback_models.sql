-- row: one model that answered calls in place of the requested model in one game of an Inspect log
-- source: docs/inspect.md, "Fallback models": the parts in quarantine that pipeline/formats/inspect.py names
-- column: game_id | the game
-- column: model | the requested model, for which the game counts
-- column: fallback_model | the model that answered in its place
-- column: n_calls | how many calls it answered, null for no number that there can be
-- A message that an ingest truncated because its names are too long names neither model.
WITH named AS (
    SELECT
        game_id,
        regexp_extract(message, '(?s)^(.*) answered -?[0-9]+ calls of .*$', 1) AS fallback_model,
        regexp_extract(message, '(?s)^.* answered (-?[0-9]+) calls of .*$', 1) AS n_calls,
        regexp_extract(message, '(?s)^.* answered -?[0-9]+ calls of (.*)$', 1) AS model
    FROM quarantine
    WHERE rule = 'every call is answered by the model that was requested'
)
SELECT
    games.game_id,
    games.game_type,
    games.system,
    games.source,
    games.path,
    nullif(named.model, '') AS model,
    nullif(named.fallback_model, '') AS fallback_model,
    TRY_CAST(named.n_calls AS BIGINT) AS n_calls
FROM named
JOIN games
    ON games.game_id = named.game_id
