"""What a row is compared with to tell a hit: the players sought, the secret word, the ending.

`text_of` makes it of the row's own columns, and `of_game` of what is known of its whole game. The
files in `sql/evidence` do the same.
"""

from collections.abc import Callable

import polars as pl

from pipeline.metrics.declaration import Compared, Tables

COMPARED = "compared_with"


def text_of(text: pl.Expr) -> Compared:
    """What a row says itself."""
    return lambda rows, _: rows.with_columns(text.alias(COMPARED))


def of_game(*known: Callable[[Tables], pl.LazyFrame], text: pl.Expr | None = None) -> Compared:
    """What frames by game say, each in a column of its function's name; `text` is made of these."""

    def compared(rows: pl.LazyFrame, tables: Tables) -> pl.LazyFrame:
        for frame in known:
            rows = rows.join(frame(tables), on="game_id", how="left")
        shown = pl.col(known[0].__name__) if text is None else text
        return rows.with_columns(shown.alias(COMPARED))

    return compared


def with_role(player: pl.Expr) -> pl.Expr:
    """A player and its role, as in `Player 3 (chameleon)`."""
    return pl.format("{} ({})", player, in_words(pl.col("role")))


def in_words(name: pl.Expr) -> pl.Expr:
    return name.str.replace_all("_", " ", literal=True)


def number(value: pl.Expr) -> pl.Expr:
    """A number without the zeros at its end."""
    text = value.cast(pl.Decimal(38, 4), strict=False).cast(pl.String)
    return text.str.strip_chars_end("0").str.strip_chars_end(".")


def sought_players(tables: Tables) -> pl.LazyFrame:
    """The players of each game that a vote is right to name."""
    sought = tables("roles").filter("is_sought").select("game_type", "role")
    players = tables("players").join(sought, on=["game_type", "role"], how="semi")
    return _listed(players, with_role(_PLAYER), "seat").rename({"listed": "sought_players"})


def guessed_words(tables: Tables) -> pl.LazyFrame:
    """The guesses of each game, and its secret word."""
    guesses = tables("guesses")
    listed = _listed(guesses, pl.col("guess").fill_null("nothing"), "round", "seat")
    secret = guesses.group_by("game_id").agg(pl.col("secret").min())
    words = pl.format("guessed {}, the word: {}", "listed", "secret")
    return listed.join(secret, on="game_id").select("game_id", guessed_words=words)


def final_votes(tables: Tables) -> pl.LazyFrame:
    """Whom the votes for proposals in the last round of each game named."""
    votes = tables("proposal_votes").filter("is_final_round")
    listed = _listed(votes, pl.col("candidate").fill_null("nobody"), "seat")
    return listed.select("game_id", final_votes=pl.format("final votes: {}", "listed"))


def ending(tables: Tables) -> pl.LazyFrame:
    """How each game ended, or the points of all its players where these decide."""
    points = _listed(
        tables("players"), pl.format("{} {}", _PLAYER, number(pl.col("final_score"))), "seat"
    )
    outcome = pl.col("outcome")
    ending = pl.when(outcome == "completed").then("listed").otherwise(in_words(outcome))
    games = tables("games").filter(outcome.is_not_null()).join(points, on="game_id", how="left")
    return games.select("game_id", ending=ending)


_PLAYER = pl.coalesce("player", pl.format("seat {}", "seat"))


def _listed(rows: pl.LazyFrame, text: pl.Expr, *order: str) -> pl.LazyFrame:
    """The texts of each game's rows in this order; nulls are left out."""
    known = rows.select("game_id", *order, text=text).filter(pl.col("text").is_not_null())
    return known.group_by("game_id").agg(listed=pl.col("text").sort_by(*order).str.join(", "))
