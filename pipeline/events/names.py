"""The names of a game's own seats in its texts: each is replaced by a mark with its seat's number.

A name counts only as a whole: "Ann" is not in "Anna", nor "Agent-2" in "Agent-21". Where no blanks
part words, as in Chinese, it may stand inside of a sentence; but digits bound digits, so "3号" is
not in "13号". So each run of letters and digits is put between delimiters, in texts and in names:
what is then found is whole. Of several names at one place the longest is found.

Frames have the `game` of each row. All texts of a game are searched as one.
"""

from collections.abc import Callable

import polars as pl

from pipeline.events.ballots import PRONOUN
from pipeline.events.contracts import GAME_ROW

# A name that may be another word as well: it stands for two seats that nobody has.
_DOUBT = "\x020,00\x03"
_EDGE, _BETWEEN, _DOUBTED = "\x01", "\x04", "\x05"
# What no text has once it is searched, and what is not seen in one, such as a joiner of width 0.
_OWN_SIGNS = "[\x01-\x08\x0e]"
_UNSEEN = r"[\p{Cf}\x{fe0f}\x{20e3}]"
# All of these are a hyphen; in a class of a pattern.
HYPHENS = r"\x{2010}-\x{2013}\x{2212}-"
_WITHOUT_BLANKS = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
)
_RUN = rf"[\w--[_{_WITHOUT_BLANKS}]]+|[〇零一二三四五六七八九十]+"
# English words that are names too. Written like that, they are names only after "for" or "to".
_WORDS = (
    *("will", "may", "mark", "rose", "art", "bill", "grace", "hope", "faith", "joy", "pat", "sue"),
    *("frank", "grant", "drew", "chase", "hunter", "dawn", "summer", "rich", "guy", "rob", "an"),
    *("he", "you", "my", "so", "do", "no", "us", "it", "in", "on", "max", "jack", "dean", "page"),
)
_LETTERS = ("a", "i")
_DIGITS, _WIDE_DIGITS = "0123456789", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19"
# What may stand between the parts of a name.
_SIGNS = " _-\u2010\u2011\u2012\u2013\u2212"
_BLANKS = rf"[\p{{Zs}}\t_{HYPHENS}]+"
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# "I think", "I'm", and "A clue ..." at the beginning of a sentence; "a liar" anywhere.
_PRONOUN = r"\b[Ii](['’]|\s+[a-z])"
_VERB = r"(\s+(?:is|was|has|had|seems|looks|gave|said|lied|must|and|or|because|since)\b)"
_ARTICLES = {"A": r"(^|[.!?:\n\x04]\s*)A", "a": r"(\b)a"}

Form = Callable[[pl.Expr], pl.Expr]


def without_signs(text: pl.Expr) -> pl.Expr:
    """A text without the signs that stand for something here, and without what nobody sees."""
    return text.str.replace_all(_OWN_SIGNS, " ").str.replace_all(_UNSEEN, "")


def exact(text: pl.Expr) -> pl.Expr:
    """A text as it is written, whichever way its accents and apostrophes are encoded."""
    return _straight(text.str.normalize("NFC"))


def loose(text: pl.Expr) -> pl.Expr:
    """A text in lower case, with `player_2`, `Player two` and `player2` written alike."""
    text = _straight(text.str.normalize("NFKC").str.to_lowercase())
    for number, word in enumerate(NUMBER_WORDS, start=1):
        text = text.str.replace_all(rf"{_BLANKS}{word}\b", f" {number}")
    return text.str.replace_all(rf"{_BLANKS}#?([0-9])", "$1").str.replace_all(_BLANKS, " ")


def _straight(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(r"[’‘ʼ`]", "'")


def marked(texts: pl.DataFrame, seats: pl.DataFrame, form: Form) -> pl.Series:
    """The `text` of each row in this form, with each name of a seat of its game replaced by a mark.

    `seats` has the game, `player` and seat of each; the texts of a game follow one another.
    """
    said = without_signs(pl.col("text").fill_null(""))
    games = texts.group_by(GAME_ROW, maintain_order=True).agg(said.str.join(_BETWEEN))
    games = games.with_columns(_without_doubt(form(pl.col("text")), seats))
    # In their order, since what comes back stands beside the rows.
    games = games.with_columns(_delimited(pl.col("text"))).join(
        _patterns(seats, form), on=GAME_ROW, maintain_order="left"
    )
    text, names = pl.col("text"), pl.col("names")
    found = games.select(
        *(GAME_ROW, "text"),
        start=text.str.find_many(names, leftmost=True),
        name=text.str.extract_many(names, leftmost=True),
    ).explode("start", "name", empty_as_null=True)
    found = found.join(
        _marks(seats, form), on=[GAME_ROW, "name"], how="left", maintain_order="left"
    )
    whole = found.group_by(GAME_ROW, maintain_order=True).agg(_rebuilt())
    clean = pl.col("text").str.replace_all(_EDGE, "", literal=True)
    clean = clean.str.replace_all(_DOUBTED, _DOUBT, literal=True)
    return whole.select(clean.str.split(_BETWEEN)).explode("text").to_series()


def _delimited(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(_RUN, f"{_EDGE}$0{_EDGE}")


def _names(seats: pl.DataFrame, form: Form) -> pl.DataFrame:
    """What stands for a seat in a text: `name`, with delimiters, and the seat's number."""
    name = form(without_signs(pl.col("player"))).str.strip_chars()
    names = seats.select(GAME_ROW, "seat", name=name)
    if form is loose:
        names = names.filter(~pl.col("name").is_in(_LETTERS))
    else:
        names = pl.concat([names, _respelt(names)])
    behind = pl.concat_list(pl.lit("for ") + pl.col("name"), pl.lit("to ") + pl.col("name"))
    is_word = pl.col("name").is_in(_WORDS)
    spelt = pl.when(is_word).then(behind).otherwise(pl.concat_list("name"))
    return (
        names.filter(pl.col("name") != "")
        .with_columns(name=spelt)
        .explode("name")
        .with_columns(_delimited(pl.col("name")))
    )


def _respelt(names: pl.DataFrame) -> pl.DataFrame:
    """The names with every other blank, hyphen and width of digits, where no seat is called that.

    Else "Mary-Ann" names Ann, where there are Mary Ann and Ann.
    """
    name = pl.col("name").str.normalize("NFKC")
    widths = [name, name.str.replace_many(list(_DIGITS), list(_WIDE_DIGITS))]
    spelt = [one.str.replace_all(_BLANKS, sign) for one in widths for sign in _SIGNS]
    respelt = names.with_columns(name=pl.concat_list(spelt)).explode("name")
    return respelt.unique().join(names, on=[GAME_ROW, "name"], how="anti")


def _marks(seats: pl.DataFrame, form: Form) -> pl.DataFrame:
    """The mark of each name; of one that several seats share, with the numbers of them all."""
    numbers = pl.col("seat").cast(pl.String).str.join(",")
    named = _names(seats, form).group_by(GAME_ROW, "name").agg(mark=numbers)
    return named.with_columns(pl.format("\x02{}\x03", "mark"))


def _patterns(seats: pl.DataFrame, form: Form) -> pl.DataFrame:
    """The names of each game as a list, the longest first; none of a game without names."""
    names = _names(seats, form).unique([GAME_ROW, "name"])
    by_length = pl.col("name").sort_by(pl.col("name").str.len_bytes(), descending=True)
    listed = names.group_by(GAME_ROW).agg(names=by_length)
    games = seats.select(GAME_ROW).unique().join(listed, on=GAME_ROW, how="left")
    return games.with_columns(pl.col("names").fill_null(pl.lit([], pl.List(pl.String))))


def _without_doubt(text: pl.Expr, seats: pl.DataFrame) -> pl.Expr:
    """The text without the pronoun "I" and the article "A" where seats have such names."""
    for name in ("I", "i", *_ARTICLES):
        games = seats.filter(player=name)[GAME_ROW].implode()
        if games.item().is_empty():
            continue
        plain = (
            text.str.replace_all(_PRONOUN, f"{PRONOUN}$1") if name in "Ii" else _article(text, name)
        )
        text = pl.when(pl.col(GAME_ROW).is_in(games)).then(plain).otherwise(text)
    return text


def _article(text: pl.Expr, name: str) -> pl.Expr:
    before, kept = _ARTICLES[name], "\x06"
    text = text.str.replace_all(before + _VERB, f"${{1}}{kept}${{2}}")
    text = text.str.replace_all(rf"{before}(\s+[a-z])", f"${{1}}{_DOUBTED}${{2}}")
    return text.str.replace_all(kept, name, literal=True)


def _rebuilt() -> pl.Expr:
    """The text of a game, of its matches: what stands before each and its mark, and the rest."""
    written = pl.col("text").cast(pl.Binary)
    start, end = pl.col("start").cast(pl.Int64), pl.col("start") + pl.col("name").str.len_bytes()
    end = end.cast(pl.Int64)
    last = end.shift(1).fill_null(0)
    piece = written.bin.slice(last, start - last).cast(pl.String)
    rest = written.last().bin.slice(end.max().fill_null(0), None).cast(pl.String)
    return ((piece + pl.col("mark")).drop_nulls().str.join("") + rest).alias("text")
