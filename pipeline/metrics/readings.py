"""What the texts themselves say where a log asserts a judgement of them: the edition `audited`.

The benchmark's questions come with a form to answer in. A reading is strict: it takes what the form
asks for, and a text that says two things, or none, says nothing. The same is in `sql/readings/`;
`docs/audit.md` explains it.
"""

import polars as pl

from pipeline.metrics.declaration import Tables
from pipeline.vocabulary import AnalysisKind, GameType, Phase, Side

_MESSAGE = ["game_id", "message_index"]

# Over text in lower case. Classes are spelt out, since engines differ in what `\w` and `\s` are.
_NUMBER = r"player[ _]*([0-9]+)"
_LINE = r"(?m)^[^a-z0-9]*"
_RATED = rf"{_LINE}player[ _]*[0-9]+[^\n]{{0,20}}(?:more suspicious|less suspicious|no change)"
_SUSPECTED = rf"{_LINE}{_NUMBER}[^\n]{{0,20}}more suspicious"
_OF_ANOTHER = rf"^[^a-z0-9]*{_NUMBER}[^a-z0-9]+think"
_OF_ONESELF = rf"{_LINE}(?:as player|i think[^a-z0-9]*$)"
_IS_UNDERCOVER = r"(?:the |a |an |a possible )?[*]*undercover"
_NAMED = r"[*]*player[ _]*[0-9]+[*]* (?:is|might be|may be|could be)"
_OWN_CLAIM = rf"i think (?:(?:that )?{_NAMED}|i am) {_IS_UNDERCOVER}"
_TOLD_CLAIM = rf"player[ _]*[0-9]+[*]* (?:may |might )?thinks? (?:that )?{_NAMED} {_IS_UNDERCOVER}"

_NAME = r"(?:i am|i['’]m|as) player[ _]*([0-9]+)"
_ROLE = r"(?:role is|i am|i['’]m) (?:the |an? )?[^a-z0-9]*"
_WORD = r"(?:chameleon|undercover)"
_NON = rf"non[^a-z0-9]*{_WORD}"
_OR = r"[^a-z0-9]*(?:/|or )[^a-z0-9]*"


def stated_views(tables: Tables) -> pl.LazyFrame:
    """The views that analyses state, with `viewer` and `suspect`, a row for each.

    The suspect is null where a view singles out nobody, or more than one.
    """
    said = _said(tables, Phase.ANALYSIS)
    speaker = pl.col("player").str.to_lowercase().str.replace("player ", "", literal=True)
    block, claim = pl.col("block"), pl.col("claim")
    rated = (
        said.with_columns(block=pl.col("text").str.split("i think now"))
        .explode("block")
        .filter(block.str.contains(_RATED))
        .with_columns(
            viewer=block.str.extract(_OF_ANOTHER).fill_null(
                pl.when(block.str.contains(_OF_ONESELF)).then(speaker)
            )
        )
    )
    suspected = pl.element().str.extract(_NUMBER)
    suspects = block.str.extract_all(_SUSPECTED).list.eval(suspected)
    own = said.with_columns(claim=pl.col("text").str.extract_all(_OWN_CLAIM)).explode("claim")
    told = said.with_columns(claim=pl.col("text").str.extract_all(_TOLD_CLAIM)).explode("claim")
    stated = [
        rated.select(*_MESSAGE, "viewer", suspect=pl.lit(None, pl.String)),
        rated.select(*_MESSAGE, "viewer", suspect=suspects).explode("suspect"),
        own.filter(claim.is_not_null()).select(
            *_MESSAGE, viewer=speaker, suspect=claim.str.extract(_NUMBER).fill_null(speaker)
        ),
        told.filter(claim.is_not_null()).select(
            *_MESSAGE,
            viewer=claim.str.extract(_NUMBER),
            suspect=claim.str.extract(rf"think.*{_NUMBER}"),
        ),
    ]
    suspect = pl.col("suspect").drop_nulls()
    return (
        pl.concat(stated)
        .filter(pl.col("viewer").is_not_null())
        .group_by(*_MESSAGE, viewer=pl.lit("Player ") + pl.col("viewer"))
        .agg(suspect=pl.when(suspect.n_unique() == 1).then(pl.lit("Player ") + suspect.min()))
    )


def analyses(tables: Tables) -> pl.LazyFrame:
    """The analyses of roles with `is_correct_as_read`, null where there is nothing to judge."""
    views = stated_views(tables)
    spoken = (
        tables("messages")
        .filter(pl.col("phase") == Phase.ANALYSIS)
        .select(*_MESSAGE, "round", "player")
    )
    own = spoken.join(views, left_on=[*_MESSAGE, "player"], right_on=[*_MESSAGE, "viewer"])
    hidden = (
        tables("players").filter(pl.col("side") == Side.HIDDEN).select("game_id", "player").unique()
    )
    accused = own.join(
        hidden.with_columns(is_hidden=pl.lit(value=True)),
        left_on=["game_id", "suspect"],
        right_on=["game_id", "player"],
        how="left",
    ).select(*_MESSAGE, pl.col("is_hidden").fill_null(value=False))
    is_gold = pl.col("kind") == AnalysisKind.GOLD
    is_chameleon = (pl.col("game_type") == GameType.CHAMELEON) & (pl.col("side") == Side.HIDDEN)
    # The chameleon is asked what others think, not what it knows.
    accusation = pl.col("is_hidden").fill_null(pl.when(~is_chameleon).then(pl.lit(value=False)))
    judged = pl.when(is_gold).then(accusation).otherwise("is_right")
    return (
        tables("role_analyses")
        .join(accused, on=_MESSAGE, how="left")
        .join(_compared(spoken, own, views), on=_MESSAGE, how="left")
        .with_columns(
            is_correct_as_read=pl.when(pl.col("message_index").is_not_null()).then(judged)
        )
    )


def _compared(spoken: pl.LazyFrame, own: pl.LazyFrame, views: pl.LazyFrame) -> pl.LazyFrame:
    """By message whether it tells rightly whom each of the others, by its own word, suspects."""
    theirs = own.select("game_id", "round", other="player", suspects="suspect")
    told = views.with_columns(is_told=pl.lit(value=True))
    is_right = pl.col("is_told").fill_null(value=False) & pl.col("suspect").eq_missing(
        pl.col("suspects")
    )
    return (
        spoken.join(theirs, on=["game_id", "round"])
        .filter(pl.col("player") != pl.col("other"))
        .join(told, left_on=[*_MESSAGE, "other"], right_on=[*_MESSAGE, "viewer"], how="left")
        .group_by(_MESSAGE)
        .agg(is_right=is_right.all())
    )


def identifications(tables: Tables) -> pl.LazyFrame:
    """The identifications with `is_correct_as_read`, null where the log has no answer."""
    text, named = pl.col("text"), pl.col("named")
    is_hidden = text.str.contains(rf"{_ROLE}{_WORD}")
    is_civilian = text.str.contains(rf"{_ROLE}{_NON}")
    is_either = text.str.contains(rf"{_WORD}{_OR}{_NON}|{_NON}{_OR}{_WORD}")
    read = _said(tables, Phase.IDENTIFICATION).select(
        *_MESSAGE,
        named=text.str.extract_all(_NAME)
        .list.eval(pl.element().str.extract(_NUMBER))
        .list.unique(),
        read_side=pl.when(is_either | (is_hidden == is_civilian))
        .then(None)
        .when(is_hidden)
        .then(pl.lit(str(Side.HIDDEN)))
        .otherwise(pl.lit(str(Side.CIVILIAN))),
    )
    is_own_name = (named.list.len() == 1) & (
        (pl.lit("Player ") + named.list.first()) == pl.col("player")
    )
    is_right = is_own_name & (pl.col("read_side") == pl.col("side"))
    return (
        tables("role_identifications")
        .join(read, on=_MESSAGE, how="left")
        .with_columns(
            is_correct_as_read=pl.when(named.is_not_null()).then(is_right.fill_null(value=False))
        )
    )


def _said(tables: Tables, phase: Phase) -> pl.LazyFrame:
    """The phase's messages in lower case, as `text`."""
    told = tables("messages").filter(pl.col("phase") == phase)
    return told.select(*_MESSAGE, "player", text=pl.col("content").str.to_lowercase())
