"""Event tables: their schemas and rules, and the conversion of games into their rows.

Used by `pipeline.ingest`, `pipeline.conversion` and the readers of lakes; depends on
`pipeline.game_record` and the game definitions in `pipeline.games`.
"""
