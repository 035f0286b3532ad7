"""What answers to the benchmark's own questions say of themselves: the edition `audited`.

The questions come with a form to answer in. A reading is strict: it takes what the form asks for,
and a text that says two things, or none, says nothing. `sql/readings/` derives the same from the
messages; `docs/audit.md` explains it.

The frames are of the games of one batch: `spoken` are the messages of one phase, with game,
message_index, round, player and content; `rows` are the rows of a table without the columns that
are read here, and `players` has game, player and side.
"""

import polars as pl

from pipeline.events.contracts import GAME_ROW, role_rows
from pipeline.vocabulary import HIDDEN_ROLE_GAMES, AnalysisKind, GameType, Side

# The questions and the forms of their answers are for players with such names.
IS_NUMBERED = pl.col("player").str.contains(r"^Player [1-9][0-9]*$")
_MESSAGE = [GAME_ROW, "message_index"]

# Over text in lower case. Classes are spelt out, since engines differ in what `\w` and `\s` are.
_NUMBER = r"player[ _]*([0-9]+)"
_DIGITS = r"([0-9]+)"
_LINE = r"(?m)^[^a-z0-9]*"
_RATINGS = ["more suspicious", "less suspicious", "no change"]
_RATED = rf"{_LINE}player[ _]*[0-9]+[^\n]{{0,20}}(?:{'|'.join(_RATINGS)})"
_SUSPECTED = rf"{_LINE}{_NUMBER}[^\n]{{0,20}}more suspicious"
_OF_ANOTHER = rf"^[^a-z0-9]*{_NUMBER}[^a-z0-9]+think"
_OF_ONESELF = rf"{_LINE}(?:as player|i think[^a-z0-9]*$)"
_IS_UNDERCOVER = r"(?:the |a |an |a possible )?[*]*undercover"
_NAMED = r"[*]*player[ _]*[0-9]+[*]* (?:is|might be|may be|could be)"
_OWN_CLAIM = rf"i think (?:(?:that )?{_NAMED}|i am) {_IS_UNDERCOVER}"
_STATED_CLAIM = (
    rf"player[ _]*[0-9]+[*]* (?:may |might )?thinks? (?:that )?{_NAMED} {_IS_UNDERCOVER}"
)

_NAME = r"(?:i am|i['’]m|as) player[ _]*([0-9]+)"
_ROLE = r"(?:role is|i am|i['’]m) (?:the |an? )?[^a-z0-9]*"
_WORD = r"(?:chameleon|undercover)"
_NON = rf"non[^a-z0-9]*{_WORD}"
_OR = r"[^a-z0-9]*(?:/|or )[^a-z0-9]*"


def stated_views(spoken: pl.DataFrame) -> pl.DataFrame:
    """The views that analyses state, with `viewer` and `suspect`, a row for each.

    `message` is the number of the message among those spoken. The suspect is null where a view
    singles out nobody, or more than one.
    """
    said = _lowered(spoken).select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("message"), _SPEAKER.alias("speaker"), "text"
    )
    # A look for plain words first spares most texts the search by patterns.
    text, first = pl.col("text"), pl.col("first")
    rating = said.filter(text.str.contains("|".join(_RATINGS)))
    claiming = said.filter(text.str.contains("undercover", literal=True))
    return (
        pl.concat([_rated(rating), _own(claiming), _stated(claiming)])
        .group_by("message", "viewer")
        .agg(first=pl.min("suspect"), last=pl.max("suspect"))
        .select(
            "message",
            viewer=pl.lit("Player ") + pl.col("viewer"),
            suspect=pl.when(first == pl.col("last")).then(pl.lit("Player ") + first),
        )
    )


def _rated(said: pl.DataFrame) -> pl.DataFrame:
    """The views in Chameleon's form, a row for each suspect, and one where there is none."""
    block, viewer = pl.col("block"), pl.col("viewer")
    blocks = said.select("message", "speaker", block=pl.col("text").str.split("i think now"))
    blocks = blocks.explode("block").filter(block.str.contains(_RATED))
    suspecting = _only_where(block.str.contains(_RATINGS[0], literal=True), block)
    rated = blocks.with_columns(
        viewer=block.str.extract(_OF_ANOTHER), suspect=suspecting.str.extract_all(_SUSPECTED)
    )
    rest = _only_where(viewer.is_null(), block)
    own = pl.when(rest.str.contains(_OF_ONESELF)).then("speaker")
    return (
        rated.select("message", viewer.fill_null(own), "suspect")
        .filter(viewer.is_not_null())
        .explode("suspect", empty_as_null=True)
        .with_columns(pl.col("suspect").str.extract(_DIGITS))
    )


def _only_where(is_searched: pl.Expr, text: pl.Expr) -> pl.Expr:
    """The text, empty where it need not be searched: polars searches what a null hides as well."""
    return pl.when(is_searched).then(text).otherwise(pl.lit(""))


def _own(said: pl.DataFrame) -> pl.DataFrame:
    """The speakers' own views in Undercover's form."""
    suspect = pl.col("claim").str.extract(_DIGITS).fill_null(pl.col("speaker"))
    return _claims(said, _OWN_CLAIM).select("message", viewer="speaker", suspect=suspect)


def _stated(said: pl.DataFrame) -> pl.DataFrame:
    """The views of others in Undercover's form: the only numbers are of viewer and suspect."""
    numbers = pl.col("claim").str.extract_all(_DIGITS)
    return _claims(said, _STATED_CLAIM).select(
        "message", viewer=numbers.list.first(), suspect=numbers.list.last()
    )


def _claims(said: pl.DataFrame, pattern: str) -> pl.DataFrame:
    claims = said.select("message", "speaker", claim=pl.col("text").str.extract_all(pattern))
    return claims.explode("claim").filter(pl.col("claim").is_not_null())


def read_analyses(rows: pl.DataFrame, spoken: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """The analyses of roles with `is_own_view_stated` and `is_correct_as_read`, in their order.

    The latter is null where there is nothing to judge.
    """
    views = stated_views(spoken)
    spoken = spoken.select(*_MESSAGE, "round", "player").with_row_index("message")
    own = spoken.join(views, left_on=["message", "player"], right_on=["message", "viewer"])
    is_gold = pl.col("kind") == AnalysisKind.GOLD
    is_chameleon = (pl.col("game_type") == GameType.CHAMELEON) & (pl.col("side") == Side.HIDDEN)
    # The chameleon is asked what others think, not what it knows.
    accusation = pl.col("is_hidden").fill_null(pl.when(~is_chameleon).then(pl.lit(value=False)))
    judged = pl.when(is_gold).then(accusation).otherwise("is_right")
    read = spoken
    for found in (_accused(own, players), _compared(spoken, own, views)):
        read = read.join(found, on="message", how="left")
    return _with(rows, read.select(*_MESSAGE, "is_hidden", "is_right")).with_columns(
        is_own_view_stated=pl.col("is_hidden").is_not_null(),
        is_correct_as_read=pl.when(pl.col("message_index").is_not_null(), IS_NUMBERED).then(judged),
    )


def _accused(own: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """By message that states its speaker's own view whether its suspect `is_hidden`."""
    hidden = players.filter(side=Side.HIDDEN).select(GAME_ROW, "player").unique()
    return own.join(
        hidden.with_columns(is_hidden=pl.lit(value=True)),
        left_on=[GAME_ROW, "suspect"],
        right_on=[GAME_ROW, "player"],
        how="left",
    ).select("message", pl.col("is_hidden").fill_null(value=False))


def _compared(spoken: pl.DataFrame, own: pl.DataFrame, views: pl.DataFrame) -> pl.DataFrame:
    """By message whether it tells rightly whom each of the others, by its own word, suspects."""
    theirs = own.select(GAME_ROW, "round", other="player", suspects="suspect")
    stated = views.with_columns(is_stated=pl.lit(value=True))
    is_right = pl.col("is_stated").fill_null(value=False) & pl.col("suspect").eq_missing(
        pl.col("suspects")
    )
    return (
        spoken.join(theirs, on=[GAME_ROW, "round"])
        .filter(pl.col("player") != pl.col("other"))
        .join(stated, left_on=["message", "other"], right_on=["message", "viewer"], how="left")
        .group_by("message")
        .agg(is_right=is_right.all())
    )


def read_identifications(rows: pl.DataFrame, spoken: pl.DataFrame) -> pl.DataFrame:
    """The identifications with `claimed_role` and `is_correct_as_read`, null without an answer.

    The rows have the speaker's `player` and `side`, and the game's type as well.
    """
    named = pl.col("named")
    read = _lowered(spoken).select(*_MESSAGE, named=_named(), read_side=_read_side())
    is_own_name = (named.list.len() == 1) & (
        (pl.lit("Player ") + named.list.first()) == pl.col("player")
    )
    is_right = is_own_name & (pl.col("read_side") == pl.col("side"))
    of_sides = role_rows().filter(pl.col("game_type").is_in(HIDDEN_ROLE_GAMES))
    roles = of_sides.select("game_type", read_side="side", claimed_role="role")
    read_rows = _with(rows, read).join(
        roles, on=["game_type", "read_side"], how="left", maintain_order="left"
    )
    return read_rows.with_columns(
        is_correct_as_read=pl.when(named.is_not_null(), IS_NUMBERED).then(
            is_right.fill_null(value=False)
        ),
    )


def _named() -> pl.Expr:
    """The numbers of the players that an answer says to be, a list without repetition."""
    found = pl.col("text").str.extract_all(_NAME)
    return found.list.eval(pl.element().str.extract(_DIGITS)).list.unique()


def _read_side() -> pl.Expr:
    """The side that an answer says to be on, null for both or none."""
    text = pl.col("text")
    is_hidden = text.str.contains(rf"{_ROLE}{_WORD}")
    is_civilian = text.str.contains(rf"{_ROLE}{_NON}")
    is_either = text.str.contains(rf"{_WORD}{_OR}{_NON}|{_NON}{_OR}{_WORD}")
    side = pl.when(is_hidden).then(pl.lit(str(Side.HIDDEN))).otherwise(pl.lit(str(Side.CIVILIAN)))
    return pl.when(~is_either & (is_hidden != is_civilian)).then(side)


_SPEAKER = pl.col("player").str.to_lowercase().str.replace("player ", "", literal=True)


def _lowered(spoken: pl.DataFrame) -> pl.DataFrame:
    """The messages in lower case, as `text`."""
    return spoken.select(*_MESSAGE, "player", text=pl.col("content").str.to_lowercase())


def _with(rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """The rows in their order, each with what was read of its message."""
    return rows.join(read, on=_MESSAGE, how="left", maintain_order="left")
