"""Are all eight metrics over ten million games as quick as a scan, in both engines?

The event rows are simulated ones multiplied under new ids, without messages. The baselines are
written by hand for these eight metrics by model and game type: for each engine one query a table,
over the same files, for the same sums (hits, counted, games counted, unreadable rows, unfinished
games), which leave out what the product does with them. And the leaderboard is to answer in two
seconds on a lake of a tenth of the games, the whole command included.
"""

import sys

import duckdb
import polars as pl
from measure import Row, magic, medians, parser, report

from data import multiplied_lake
from pipeline.lake import StoredLake
from pipeline.metrics import metrics

LIMIT = 1.5
LEADERBOARD_SECONDS = 2.0

# A table, the rows that its metric is about, and what a hit is; those of `results` are below.
TABLES = {
    "votes": ("side = 'civilian'", "is_correct"),
    "role_identifications": ("TRUE", "is_correct"),
    "role_analyses": ("TRUE", "is_correct"),
    "decisions": ("TRUE", "choice = 'defect'"),
    "contributions": ("is_least IS NOT NULL", "is_least"),
}
BY_SQL = """
SELECT
    model,
    game_type,
    count(*) FILTER (WHERE {hit} AND parse_status <> 'outage') AS hits,
    count(*) FILTER (WHERE parse_status <> 'outage') AS counted,
    count(*) FILTER (WHERE parse_status <> 'ok') AS n_unreadable,
    count(DISTINCT CASE WHEN parse_status <> 'outage' THEN game_id END) AS n_games
FROM read_parquet({files})
WHERE is_tested AND is_finished AND {where}
GROUP BY model, game_type
"""
# A game type and a side are a competition, so the wins of one are those of the other.
RESULTS_BY_SQL = """
WITH rows AS (
    SELECT
        *,
        is_finished AND parse_status <> 'outage' AND win_credit IS NOT NULL AS is_won_or_lost,
        is_finished AND parse_status <> 'outage'
            AND CASE
                WHEN side = 'hidden' THEN is_win IS NOT NULL
                ELSE side = 'civilian' AND game_type = 'chameleon' AND guess_is_correct IS NOT NULL
            END AS is_deception,
        is_finished AND parse_status <> 'outage' AND game_type = 'cost_sharing'
            AND agreed IS NOT NULL AS is_negotiation
    FROM read_parquet({files})
    WHERE is_tested
)
SELECT
    model,
    game_type,
    sum(CASE WHEN is_won_or_lost AND side = 'hidden' THEN win_credit END),
    sum(CASE WHEN is_won_or_lost AND side <> 'hidden' THEN win_credit END),
    count(*) FILTER (WHERE is_won_or_lost AND side = 'hidden'),
    count(*) FILTER (WHERE is_won_or_lost AND side <> 'hidden'),
    count(DISTINCT CASE WHEN is_won_or_lost THEN game_id END),
    count(*) FILTER (WHERE is_deception AND side = 'hidden' AND is_win),
    count(*) FILTER (WHERE is_deception AND side = 'hidden'),
    count(*) FILTER (WHERE is_deception AND side = 'civilian' AND NOT guess_is_correct),
    count(*) FILTER (WHERE is_deception AND side = 'civilian'),
    count(DISTINCT CASE WHEN is_deception THEN game_id END),
    count(*) FILTER (WHERE is_negotiation AND agreed),
    count(*) FILTER (WHERE is_negotiation),
    count(DISTINCT CASE WHEN is_negotiation THEN game_id END),
    count(*) FILTER (WHERE is_negotiation AND agreed AND proposed_agreement),
    count(*) FILTER (WHERE is_negotiation AND agreed AND proposed_agreement IS NOT NULL),
    count(DISTINCT CASE
        WHEN is_negotiation AND agreed AND proposed_agreement IS NOT NULL THEN game_id
    END),
    count(*) FILTER (WHERE is_finished AND parse_status <> 'ok'),
    count(DISTINCT CASE WHEN NOT is_finished THEN game_id END)
FROM rows
GROUP BY model, game_type
"""


def by_hand_in_duckdb(lake: StoredLake) -> None:
    """Compute the sums of all metrics with hand-written queries in DuckDB."""
    with duckdb.connect() as connection:
        connection.execute(RESULTS_BY_SQL.format(files=lake.table_files("results"))).fetchall()
        for table, (where, hit) in TABLES.items():
            query = BY_SQL.format(where=where, hit=hit, files=lake.table_files(table))
            connection.execute(query).fetchall()


def by_hand_in_polars(lake: StoredLake) -> None:
    """Compute the sums of all metrics with hand-written queries in polars."""
    pl.collect_all(
        [
            _results_in_polars(lake),
            *(_in_polars(lake, table, *result) for table, result in TABLES.items()),
        ],
        engine="streaming",
    )


def _in_polars(lake: StoredLake, table: str, where: str, hit: str) -> pl.LazyFrame:
    is_readable = pl.col("parse_status") != "outage"
    rows = pl.scan_parquet(lake.table_files(table), glob=False)
    return (
        rows.filter(pl.sql_expr(f"is_tested AND is_finished AND {where}"))
        .group_by("model", "game_type")
        .agg(
            hits=(pl.sql_expr(hit) & is_readable).sum(),
            counted=is_readable.sum(),
            n_unreadable=(pl.col("parse_status") != "ok").sum(),
            n_games=_n_games(is_readable),
        )
    )


def _results_in_polars(lake: StoredLake) -> pl.LazyFrame:
    is_over = pl.col("is_finished") & (pl.col("parse_status") != "outage")
    is_hidden, is_civilian = pl.col("side") == "hidden", pl.col("side") == "civilian"
    is_scored = is_over & pl.col("win_credit").is_not_null()
    is_hidden_end = is_over & is_hidden & pl.col("is_win").is_not_null()
    is_guessed = pl.col("guess_is_correct").is_not_null()
    is_guess = is_over & is_civilian & (pl.col("game_type") == "chameleon") & is_guessed
    is_talk = is_over & (pl.col("game_type") == "cost_sharing") & pl.col("agreed").is_not_null()
    is_agreed = is_talk & pl.col("agreed") & pl.col("proposed_agreement").is_not_null()
    return (
        pl.scan_parquet(lake.table_files("results"), glob=False)
        .filter("is_tested")
        .group_by("model", "game_type")
        .agg(
            wins_hidden=pl.when(is_scored & is_hidden).then("win_credit").sum(),
            wins_other=pl.when(is_scored & ~is_hidden).then("win_credit").sum(),
            scored_hidden=(is_scored & is_hidden).sum(),
            scored_other=(is_scored & ~is_hidden).sum(),
            scored_games=_n_games(is_scored),
            hidden_wins=(is_hidden_end & pl.col("is_win")).sum(),
            hidden=is_hidden_end.sum(),
            wrong_guesses=(is_guess & ~pl.col("guess_is_correct")).sum(),
            guesses=is_guess.sum(),
            deception_games=_n_games(is_hidden_end | is_guess),
            agreements=(is_talk & pl.col("agreed")).sum(),
            talks=is_talk.sum(),
            talk_games=_n_games(is_talk),
            own=(is_agreed & pl.col("proposed_agreement")).sum(),
            agreed=is_agreed.sum(),
            agreed_games=_n_games(is_agreed),
            n_unreadable=(pl.col("is_finished") & (pl.col("parse_status") != "ok")).sum(),
            n_unfinished=_n_games(~pl.col("is_finished")),
        )
    )


def _n_games(wanted: pl.Expr) -> pl.Expr:
    return pl.when(wanted).then("game_id").drop_nulls().n_unique()


def main() -> int:
    """Measure the metrics against hand-written queries, and write the results."""
    options = parser(__doc__, games=10_000_000).parse_args()
    lake = multiplied_lake(options.games)
    by_hand = {"polars": by_hand_in_polars, "duckdb": by_hand_in_duckdb}
    rows = []
    for engine, own in by_hand.items():
        found = medians(
            {
                "by hand": lambda own=own: own(lake),
                "metrics": lambda engine=engine: metrics(lake, engine=engine, confidence=None),
            },
            options.runs,
        )
        case = f"all metrics, {engine}"
        rows.append(Row(case, found["metrics"], found["by hand"], LIMIT))
    small = multiplied_lake(max(1, options.games // 10))
    for engine in by_hand:
        command = ("leaderboard", "--lake", small.path, "--engine", engine)
        found = medians({"leaderboard": lambda command=command: magic(*command)}, options.runs)
        case = f"leaderboard of a tenth of the games, {engine} (of 2 s)"
        rows.append(Row(case, found["leaderboard"], LEADERBOARD_SECONDS, 1.0))
    baseline = "the same sums by hand-written queries, one a table, in the same engine"
    n_games = lake.table("games").select(pl.len()).collect().item()
    return report(
        "metrics", __doc__, baseline, rows, options.results, f"{n_games:,} games in the lake."
    )


if __name__ == "__main__":
    sys.exit(main())
