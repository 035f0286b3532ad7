"""The secret words of games, as patterns that find them in what players say."""

import polars as pl

from pipeline.lake import StoredLake

_ELEMENT = pl.element()
# A word as a whole, or its plural: "carry" does not say "car". Only ASCII letters beside it make
# it a part of another word, since Chinese has no blanks between words.
_BEGIN, _END = r"(?i:(?-u:\b{start-half})(?:", r")(?:e?s)?(?-u:\b{end-half}))"


def secret_words(lake: StoredLake) -> pl.DataFrame:
    """game_id, pattern: of each game with secret words, a regular expression for any of them."""
    words = pl.concat_list("word", "other_word").list.eval(
        _ELEMENT.str.strip_chars().replace("", None).drop_nulls()
    )
    # Of two that begin alike, the longer one is tried first.
    ordered = words.list.eval(_ELEMENT.sort_by(_ELEMENT.str.len_chars(), descending=True))
    either = ordered.list.eval(_ELEMENT.str.escape_regex()).list.join("|")
    return (
        lake.table("games")
        .filter(pl.col("word").is_not_null() | pl.col("other_word").is_not_null())
        .select("game_id", pattern=either)
        .filter(pl.col("pattern") != "")
        .with_columns(pattern=pl.concat_str(pl.lit(_BEGIN), "pattern", pl.lit(_END)))
        .collect(engine="streaming")
    )


def said_secret(rows: pl.DataFrame, words: pl.DataFrame) -> pl.DataFrame:
    """The rows in which a player says a secret word of the same game, with its `pattern`."""
    # No pattern can be wrong, but of a word of megabytes it is too large to be used.
    says_it = pl.col("content").str.contains(pl.col("pattern"), strict=False)
    return (
        rows.filter(pl.col("seat").is_not_null())
        .join(words, on="game_id", how="inner", maintain_order="left")
        .filter(says_it)
    )
