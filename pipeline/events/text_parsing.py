"""What texts say, read for all texts of a batch at once: a player named, a choice, a share.

Every reading is strict: a text that says two things is `ambiguous`, one that says none is
`unreadable`, and neither is given a value. Functions take columns of texts, most of them as
expressions, and give such; a null text says nothing.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_

import polars as pl

from pipeline import thinking_text
from pipeline.events.contracts import GAME_ROW
from pipeline.game_record import OUTAGE_MARK
from pipeline.vocabulary import Choice, ParseStatus

# The forms in which a text states a vote: only an explicit answer decides.
#
# They are sought in texts in which each player's name is a mark already, so that a player called
# Skip or Pass is none of these words. A form ends where its sentence does, has one target, and
# neither a second name nor a word of doubt. Patterns look neither ahead nor behind.

NAME_MARK = "\x02([0-9,]+)\x03"
# Stands for the pronoun "I" in games that have a seat called so.
PRONOUN_MARK = "\x0e"
# What words of doubt are replaced by, and what an answer and one that is labelled are put behind.
CONDITION_MARK, DOUBT_MARK, ANSWER_MARK, FINAL_MARK = "\x05", "\x06", "\x07", "\x08"

_CONDITION_WORDS = (
    r"(?i)\b(?:if|unless|whether|when|once|until|as\s+(?:long|soon)|wenn|falls|si|если)\b"
    r"|如果|要是|もし"
)
# A negation, an alternative, what may be, what is done for a player, or what somebody says.
_DOUBT_WORDS = (
    r"(?i)n['’]t\b|\b(?:not|never|neither|nor|cannot|without|instead|rather|than|would|could|might"
    r"|maybe|perhaps|either|sav(?:e|ed|ing)|safe|spared?|keep|stays?|lives?"
    r"|(?:protect|surviv|trust|pretend|kein)\w*|innocent|clean|all(?:y|ies)|friend|sa(?:id|ys?)|claims?"
    r"|ne|pas|non|jamais|nicht|nie|würde|não|nunca|sino|не|ни|бы)\b"
    rf"|\bagainst\s+(?:{NAME_MARK}['’]|my\s+own\b)|[不别別没沒]|ない|ません|않|안\s"
)
# Words that take an answer back.
RETRACTION = (
    rf"(?im)^[^\w\n]*(?:{CONDITION_MARK}|or\b)|\b(?:take\s+(?:it|that)\s+back|that\s+was\s+a\s+lie|jok(?:e|ing)|kidding"
    r"|changed\s+my|change\s+(?:my\s+vote|it\s+to)|make\s+(?:that|it)|on\s+(?:reflection|second)|think(?:ing)?\s+again"
    rf"|i(?:['’]d)?\s+(?:rather|prefer))\b|(?:^|[,.;:—–-])\W*(?:no\s*(?:$|[,.!:;—–-]|wait)|(?:nope|wait|well|actually"
    r"|sorry|hm+|oh|correction|scratch|on\s+second|oops|my\s+mistake)\b)"
)
# Behind a labelled answer only what votes once more is looked at.
REPEATED_VOTE_LINE = r"(?im)^[^\n]*\b(?:vote|choose|pick)\b[^\n]*$"
# Behind an answer, a name that nobody votes for: of whom a clue is compared.
COMPARED_NAME = (
    rf"(?i)\b(?:while|whereas|unlike|both)\s+{NAME_MARK}|{NAME_MARK}(?:['’]s\s+(?:\w+\s+)?(?:clues?|responses?|"
    r"messages?|statements?|answers?|descriptions?|hints?|q\b)|\s+(?:agrees?|was|gave|made|did|explained|mentioned)\b)"
)

_STOP_MARKS = f"{CONDITION_MARK}{DOUBT_MARK}{ANSWER_MARK}"
_REST_OF_SENTENCE = rf"[^\x02{_STOP_MARKS}\n?？]*"
# What may stand before a statement: words that say nothing, and what it is based on.
_STATEMENT_START = (
    r"(?:(?:so|and|but|then|now|thus|therefore|hence|ok(?:ay)?|alright|finally|personally|hm+|yes|well|still"
    r"|again|my|final|vote|answer|decision|conclusion|today|tonight|(?:(?:in|for)\s+)?this\s+(?:round|time)|i\s+think)\b[\s,:\"'“-]*)*"
    r"(?:(?:based|given|after|considering|looking|judging|overall|with\s+th(?:is|at)|in\s+(?:the\s+end|conclusion|light)"
    rf"|for\s+th\w+\s+reasons?)\b[^,\x02{_STOP_MARKS}\n]*,\s*)?"
)
_ABSTENTION = (
    r"\b(?:nobody|no[ -]?one|none(?:\s+of\s+(?:them|you|the\s+\w+))?|skip(?:ping)?|pass|no\s+vote"
    r"|abstain(?:ing)?|abstention|blank|null|n/a|niemand(?:en)?|personne|nadie)\b|弃权|棄權|棄権|기권"
)
_VOTE_TARGET = rf"(?:player\s+|@)?(\x02[0-9,]+\x03|\bmy\s+own\b|{_ABSTENTION})"
_PROPOSAL = r"(?:['’]s?)?\s+(?:\w+\s+)?(?:proposal|offer|plan|split)\b"
_HIDDEN_ROLE = r"(?:the|our)\s+(?:chameleon|undercover|spy|impost[eo]r|werewolf|mafia|traitor)\b"
# What may follow a target: nothing, a stop and a reason, or some more words of the same thing.
_AFTER_TARGET = (
    rf"((?:{_PROPOSAL})?(?:\s+(?:out|(?:in\s+)?this\s+(?:round|time|turn|vote)|again|now|today|tonight|too"
    rf"|also|as\s+well|to\s+(?:be\s+\w+ed|leave|go))\b)*(?:\s+(?:(?:as|being)\s+{_HIDDEN_ROLE}|who|as\s+(?:the(?:y|ir)"
    rf"|s?he|his|her|it|its)|for\s+(?:being|his|her|their|now))\b{_REST_OF_SENTENCE}|\s*(?-i:[^\w\s'’?？\x02{_STOP_MARKS}]){_REST_OF_SENTENCE}|\s*))$"
)
_FIRST_PERSON = rf"(?:\bI|{PRONOUN_MARK})"
_AUXILIARY_VERBS = (
    r"(?:['’](?:m|ll|ve)|\s+(?:am|be|will|shall|must|have|do|going|to|want|need|decided?|chosen?|choose"
    r"|now|hereby|therefore|thus|still|also|just|again|simply|definitely))*"
)
_WORDS_BEFORE_TARGET = (
    r"(?:\s+(?:for|to|out|off|against|the|my|final|vote|ballot|is|goes|go|will|be|this|round"
    r"|eliminate|remove|exile|execute|lynch|kick|player)\b|[\s:\"'“‘(\[-]+)*"
)
# What stands before a target, and behind one: to compile a target takes long, so few are written.
_PHRASES_BEFORE_TARGET = (
    rf"{_FIRST_PERSON}{_AUXILIARY_VERBS}\s+(?:vot(?:e|ing)|cast(?:ing)?|choos(?:e|ing)|pick|select){_WORDS_BEFORE_TARGET}",
    rf"(?:my\s+(?:final\s+)?(?:vote|choice|answer|decision|pick)|the\s+(?:final\s+)?answer\s+is){_WORDS_BEFORE_TARGET}",
    rf"{_HIDDEN_ROLE}\s+is\s+",
    r"(?:je\s+vote\s+pour|ich\s+(?:stimme\s+für|wähle)|(?:[yi]o\s+|eu\s+)?voto\s+(?:por|em|per)|(?:я\s+)?голосую\s+за)\s+",
)
_PHRASES_AFTER_TARGET = (
    r"\s+(?:gets|has|receives)\s+my\s+vote",
    rf"\s+is\s+{_HIDDEN_ROLE}",
    r"(?:さん)?に投票します",
    r"(?:에게|한테)?\s?투표(?:합니다|하겠습니다)",
)
_VOTE_STATEMENTS = (
    rf"(?:{'|'.join(_PHRASES_BEFORE_TARGET)}){_VOTE_TARGET}",
    rf"{_FIRST_PERSON}{_AUXILIARY_VERBS}\s+(abstain(?:ing)?(?:\s+from\s+(?:this\s+|the\s+)?(?:vote|voting))?"
    rf"|(?:skip|pass)(?:ping|ing)?(?:\s+(?:on\s+)?(?:this|the|my)\s+(?:vote|round|turn))?)",
    rf"{_VOTE_TARGET}(?:{'|'.join(_PHRASES_AFTER_TARGET)})",
    rf"{_FIRST_PERSON}\s+(?:think|believe|suspect)\s+(?:that\s+)?{_VOTE_TARGET}\s+is\s+{_HIDDEN_ROLE}",
    rf"{_FIRST_PERSON}(?:['’]d)?\s+(?:vote\s+for|agree\s+with)\s+{_VOTE_TARGET}{_PROPOSAL}",
    r"(ich\s+enthalte\s+mich|je\s+m['’]abstiens|me\s+abstengo|воздерживаюсь)",
    rf"我?投(?:票)?(?:[给給])?\s?{_VOTE_TARGET}(?:一票)?",
)
# A labelled line, such as "Final vote: Bob", or a field; of several the last counts.
_VOTE_LABEL = (
    r"(?:(?:my|the|final|i|player|elimination|to)[\s_]+){0,3}(?:vote|voting|answer|choice|decision"
    r"|target|pick|candidate|eliminat(?:e|ion)|nominat(?:e|ion)|nominee|voto|stimme|abstimmung|голос|投票|투표)"
    r"(?:[\s_]+(?:for|to|is|out|this|round|target|player|name))*\s*(?:[:=：—–→]|-+>?)"
)


def _statement_pattern(pattern: str) -> str:
    # Edges of words in ASCII: Unicode's make a search of other scripts slow.
    return rf"(?m)^[^\w\n\x02{_STOP_MARKS}]*(?i:{pattern}{_AFTER_TARGET})".replace(
        r"\b", r"(?-u:\b)"
    )


# Who introduces itself names nobody.
SELF_INTRODUCTION = (
    rf"(?i)\b(?:as|i am|i['’]m|ich bin|soy|je suis)\s+(?:player\s+)?{NAME_MARK}"
    rf"|(?:我是|作为){NAME_MARK}"
)
# The key of a field of JSON. To compile this takes as long as all short forms together, so it is
# looked for only where there is a key at all.
JSON_KEY = r'"\w+"\s*:'
JSON_FIELD = r'[{,\s]*"(\w{1,40})"\s*:\s*"?'
# What is looked for one after the other, and what replaces it.
REPLACEMENTS = (
    # What is quoted or struck out, and an act that is no vote.
    (r'(?m)^\s*>.*$|~~[^~\n]*~~|(?is:^\{.*"(?:action|type|move)"\s*:\s*"[^ve"][^"]*".*$)', ""),
    # A field of JSON is a labelled line.
    (r'(?i)^\{\s*"(?:name|player|id)"\s*:([^:{}]*)\}$', "vote:$1"),
    (JSON_FIELD, "\n$1: "),
    (r'"\s*[,}\]]', "\n"),
    # A tag is a label as well, and so is a box, or a name in bold that ends the text.
    (r"(?i)<(?:\w{0,8}_)?(?:vote|answer|choice|decision|target)[^<>]*>", "\nvote: "),
    (r"\[\[|\\boxed\{(?:\\text\{)?", " vote: "),
    (r"\]\]", " "),
    (r"(?i)<(?:/|\|)[^<>\n]{0,40}>|<eos>", "\n"),
    (r"([,:]\s*)\*\*(\x02[0-9,]+\x03)\*\*\W*$", f"${{1}}{PRONOUN_MARK} vote for $2"),
    (r"(?m)^#+[^\w\n]*((?i:(?:my\s+|final\s+)*(?:vote|answer|decision)))[^\w\n]*$", "$1:"),
    (r"[*`#$]+", ""),
    ("_", " "),
    # What gives a reason votes for nobody.
    (r"(?im)^\W*(?:reason\w*|explanation|rationale|justification|why)\s*:.*$", ""),
    (r"(?i)(?:\bbecause|\bsince|\bdue\s+to|因为)\b[^,;.!?\n]*", ""),
    (r"(?i)(?:['’]d|\s+would)\s+like\s+to\b", " want to"),
    (
        rf"(?i)(\bI\s+(?:think|believe|suspect)\s+(?:that\s+)?{NAME_MARK})\s+m(?:ight|ay)\s+be\b",
        "$1 is",
    ),
    # A quotation says nothing, unless it is only a name, or all.
    (r"[\"“”'‘’«»「」]\s*(\x02[0-9,]+\x03)\s*[\"“”'‘’«»「」]", "$1"),
    (r"^\W*[\"“]([^\"“”]*)[\"”]\W*$", "$1"),
    (r"[\"“「«][^\"“”「」«»\n]*[\"”」»]", "q"),
    (r"(^|[\s(:,])['‘][^'’\n]*['’]([\s.,!?)]|$)", "${1}q$2"),
    (r"([:?？])\s*\n\s*", "$1 "),
    # The whole text, or its last line behind one that ended, is only a name.
    (
        rf"(?:^\W*?(?:\d+[.)]\s*)?|[.!。)\]]\s*\n[^\w\x02\n•-]*|\n\s*\n[^\w\x02\n•-]*)"
        rf"(?i:(?:vot(?:e|ing)\s+(?:for\s+|to\s+eliminate\s+)?)?{_VOTE_TARGET})[^\w\x02?？]*$",
        f"\n{ANSWER_MARK}$1",
    ),
    (r"([.!?]+|…)[)\]]*\s|([。！？;])", "$1$2\n"),
    (_CONDITION_WORDS, CONDITION_MARK),
    # "I am not sure, but I vote for Bob".
    (
        rf"(?im)^([^\n{CONDITION_MARK}]*?)[,;]?\s+(?:but|so|therefore|hence|thus),?\s+(?:now\s+)?((?:I|my)\b)",
        "$1\n$2",
    ),
    (_DOUBT_WORDS, DOUBT_MARK),
    (
        _statement_pattern(f"{_VOTE_LABEL}{_WORDS_BEFORE_TARGET}{_VOTE_TARGET}"),
        f"{FINAL_MARK}{ANSWER_MARK}$1$2",
    ),
    (
        _statement_pattern(f"{_STATEMENT_START}(?:{'|'.join(_VOTE_STATEMENTS)})"),
        ANSWER_MARK + "".join(f"${{{n}}}" for n in range(1, len(_VOTE_STATEMENTS) + 2)),
    ),
)

# The names of a game's own seats in its texts: each is replaced by a mark with its seat's number.
#
# A name counts only as a whole: "Ann" is not in "Anna", nor "Agent-2" in "Agent-21". Where no
# blanks part words, as in Chinese, it may stand inside of a sentence; but digits bound digits, so
# "3号" is not in "13号". So each run of letters and digits is put between delimiters, in texts and
# in names: what is then found is whole. Of several names at one place the longest is found.
#
# Frames have the `game` of each row. All texts of a game are searched as one.

# A name that may be another word as well: it stands for two seats that nobody has.
_AMBIGUOUS_NAME_MARK = "\x020,00\x03"
_WORD_EDGE, _TEXT_SEPARATOR, _AMBIGUOUS_SIGN = "\x01", "\x04", "\x05"
# What no text has once it is searched, and what is not seen in one, such as a joiner of width 0.
_RESERVED_SIGNS = "[\x01-\x08\x0e]"
_INVISIBLE_SIGNS = r"[\p{Cf}\x{fe0f}\x{20e3}]"
# All of these are a hyphen; in a class of a pattern.
HYPHENS = r"\x{2010}-\x{2013}\x{2212}-"
_SCRIPTS_WITHOUT_SPACES = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
)
_WORD_OR_NUMBER = rf"[\w--[_{_SCRIPTS_WITHOUT_SPACES}]]+|[〇零一二三四五六七八九十]+"
# English words that are names too. Written like that, they are names only after "for" or "to".
_NAMES_THAT_ARE_WORDS = (
    *("will", "may", "mark", "rose", "art", "bill", "grace", "hope", "faith", "joy", "pat", "sue"),
    *("frank", "grant", "drew", "chase", "hunter", "dawn", "summer", "rich", "guy", "rob", "an"),
    *("he", "you", "my", "so", "do", "no", "us", "it", "in", "on", "max", "jack", "dean", "page"),
)
_NAMES_THAT_ARE_LETTERS = ("a", "i")
_DIGITS, _WIDE_DIGITS = "0123456789", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19"
# What may stand between the parts of a name.
_NAME_SEPARATORS = " _-\u2010\u2011\u2012\u2013\u2212"
_SEPARATOR_RUN = rf"[\p{{Zs}}\t_{HYPHENS}]+"
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# "I think", "I'm", and "A clue ..." at the beginning of a sentence; "a liar" anywhere.
_PRONOUN_I = r"\b[Ii](['’]|\s+[a-z])"
_FOLLOWING_VERB = r"(\s+(?:is|was|has|had|seems|looks|gave|said|lied|must|and|or|because|since)\b)"
_ARTICLES = {"A": r"(^|[.!?:\n\x04]\s*)A", "a": r"(\b)a"}

Normalize = Callable[[pl.Expr], pl.Expr]


def remove_reserved_signs(text: pl.Expr) -> pl.Expr:
    """A text without the signs that stand for something here, and without what nobody sees."""
    return text.str.replace_all(_RESERVED_SIGNS, " ").str.replace_all(_INVISIBLE_SIGNS, "")


def normalize_exactly(text: pl.Expr) -> pl.Expr:
    """A text as it is written, whichever way its accents and apostrophes are encoded."""
    return _straighten_apostrophes(text.str.normalize("NFC"))


def normalize_loosely(text: pl.Expr) -> pl.Expr:
    """A text in lower case, with `player_2`, `Player two` and `player2` written alike."""
    text = _straighten_apostrophes(text.str.normalize("NFKC").str.to_lowercase())
    for number, word in enumerate(NUMBER_WORDS, start=1):
        text = text.str.replace_all(rf"{_SEPARATOR_RUN}{word}\b", f" {number}")
    return text.str.replace_all(rf"{_SEPARATOR_RUN}#?([0-9])", "$1").str.replace_all(
        _SEPARATOR_RUN, " "
    )


def _straighten_apostrophes(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(r"[’‘ʼ`]", "'")


def replace_names_by_marks(texts: pl.DataFrame, seats: pl.DataFrame, form: Normalize) -> pl.Series:
    """The `text` of each row in this form, with each name of a seat of its game replaced by a mark.

    `seats` has the game, `player` and seat of each; the texts of a game follow one another.
    """
    said = remove_reserved_signs(pl.col("text").fill_null(""))
    games = texts.group_by(GAME_ROW, maintain_order=True).agg(said.str.join(_TEXT_SEPARATOR))
    games = games.with_columns(_mask_ambiguous_words(form(pl.col("text")), seats))
    # In their order, since what comes back stands beside the rows.
    games = games.with_columns(_delimit_words(pl.col("text"))).join(
        _names_by_game(seats, form), on=GAME_ROW, maintain_order="left"
    )
    text, names = pl.col("text"), pl.col("names")
    found = games.select(
        *(GAME_ROW, "text"),
        start=text.str.find_many(names, leftmost=True),
        name=text.str.extract_many(names, leftmost=True),
    ).explode("start", "name", empty_as_null=True)
    found = found.join(
        _name_marks(seats, form), on=[GAME_ROW, "name"], how="left", maintain_order="left"
    )
    whole = found.group_by(GAME_ROW, maintain_order=True).agg(_text_with_marks())
    clean = pl.col("text").str.replace_all(_WORD_EDGE, "", literal=True)
    clean = clean.str.replace_all(_AMBIGUOUS_SIGN, _AMBIGUOUS_NAME_MARK, literal=True)
    return whole.select(clean.str.split(_TEXT_SEPARATOR)).explode("text").to_series()


def _delimit_words(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(_WORD_OR_NUMBER, f"{_WORD_EDGE}$0{_WORD_EDGE}")


def _normalized_names(seats: pl.DataFrame, form: Normalize) -> pl.DataFrame:
    """What stands for a seat in a text: `name`, with delimiters, and the seat's number."""
    name = form(remove_reserved_signs(pl.col("player"))).str.strip_chars()
    names = seats.select(GAME_ROW, "seat", name=name)
    if form is normalize_loosely:
        names = names.filter(~pl.col("name").is_in(_NAMES_THAT_ARE_LETTERS))
    else:
        names = pl.concat([names, _spelling_variants(names)])
    behind = pl.concat_list(pl.lit("for ") + pl.col("name"), pl.lit("to ") + pl.col("name"))
    is_word = pl.col("name").is_in(_NAMES_THAT_ARE_WORDS)
    spelt = pl.when(is_word).then(behind).otherwise(pl.concat_list("name"))
    return (
        names.filter(pl.col("name") != "")
        .with_columns(name=spelt)
        .explode("name")
        .with_columns(_delimit_words(pl.col("name")))
    )


def _spelling_variants(names: pl.DataFrame) -> pl.DataFrame:
    """The names with every other blank, hyphen and width of digits, where no seat is called that.

    Else "Mary-Ann" names Ann, where there are Mary Ann and Ann.
    """
    name = pl.col("name").str.normalize("NFKC")
    widths = [name, name.str.replace_many(list(_DIGITS), list(_WIDE_DIGITS))]
    spelt = [
        one.str.replace_all(_SEPARATOR_RUN, sign) for one in widths for sign in _NAME_SEPARATORS
    ]
    respelt = names.with_columns(name=pl.concat_list(spelt)).explode("name")
    return respelt.unique().join(names, on=[GAME_ROW, "name"], how="anti")


def _name_marks(seats: pl.DataFrame, form: Normalize) -> pl.DataFrame:
    """The mark of each name; of one that several seats share, with the numbers of them all."""
    numbers = pl.col("seat").cast(pl.String).str.join(",")
    named = _normalized_names(seats, form).group_by(GAME_ROW, "name").agg(mark=numbers)
    return named.with_columns(pl.format("\x02{}\x03", "mark"))


def _names_by_game(seats: pl.DataFrame, form: Normalize) -> pl.DataFrame:
    """The names of each game as a list, the longest first; none of a game without names."""
    names = _normalized_names(seats, form).unique([GAME_ROW, "name"])
    by_length = pl.col("name").sort_by(pl.col("name").str.len_bytes(), descending=True)
    listed = names.group_by(GAME_ROW).agg(names=by_length)
    games = seats.select(GAME_ROW).unique().join(listed, on=GAME_ROW, how="left")
    return games.with_columns(pl.col("names").fill_null(pl.lit([], pl.List(pl.String))))


def _mask_ambiguous_words(text: pl.Expr, seats: pl.DataFrame) -> pl.Expr:
    """The text without the pronoun "I" and the article "A" where seats have such names."""
    for name in ("I", "i", *_ARTICLES):
        games = seats.filter(player=name)[GAME_ROW].implode()
        if games.item().is_empty():
            continue
        plain = (
            text.str.replace_all(_PRONOUN_I, f"{PRONOUN_MARK}$1")
            if name in "Ii"
            else _mask_article(text, name)
        )
        text = pl.when(pl.col(GAME_ROW).is_in(games)).then(plain).otherwise(text)
    return text


def _mask_article(text: pl.Expr, name: str) -> pl.Expr:
    before, kept = _ARTICLES[name], "\x06"
    text = text.str.replace_all(before + _FOLLOWING_VERB, f"${{1}}{kept}${{2}}")
    text = text.str.replace_all(rf"{before}(\s+[a-z])", f"${{1}}{_AMBIGUOUS_SIGN}${{2}}")
    return text.str.replace_all(kept, name, literal=True)


def _text_with_marks() -> pl.Expr:
    """The text of a game, of its matches: what stands before each and its mark, and the rest."""
    written = pl.col("text").cast(pl.Binary)
    start, end = pl.col("start").cast(pl.Int64), pl.col("start") + pl.col("name").str.len_bytes()
    end = end.cast(pl.Int64)
    last = end.shift(1).fill_null(0)
    piece = written.bin.slice(last, start - last).cast(pl.String)
    rest = written.last().bin.slice(end.max().fill_null(0), None).cast(pl.String)
    return ((piece + pl.col("mark")).drop_nulls().str.join("") + rest).alias("text")


_PLAYER = r"(?i)(?-u:\b)player[\s_-]*#?"
_NUMBER = r"\d+(?:[.,]\d+)*"
_UNAMBIGUOUS_SHARE = r"^(?:\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|\d+[.]\d+)$"
_COOPERATE = r"(?i)\bcooperat"
_DEFECT = r"(?i)\b(?:defect|betray)"


def is_outage(text: pl.Expr) -> pl.Expr:
    """Whether the text stands where a player's API failed to answer; false for no text."""
    return text.str.starts_with(OUTAGE_MARK).fill_null(value=False)


def remove_thoughts_before_answers(texts: pl.Series, phase: str = "") -> pl.Series:
    """Return the texts without the thoughts before their answers (see `remove_thoughts`)."""
    may_think = contains_any(texts, thinking_text.THOUGHT_SIGNS)
    if not may_think.any():
        return texts
    # One by one, since polars takes ten times as long for an expression of so many patterns.
    read = [thinking_text.remove_thoughts(text, phase) for text in texts.filter(may_think)]
    return texts.clone().scatter(may_think.arg_true(), pl.Series(read, dtype=pl.String))


def contains_any(texts: pl.Series, patterns: Iterable[str]) -> pl.Series:
    """Whether each text has any of the patterns; null for no text.

    Looking for one after the other is faster than for all of them at once.
    """
    return reduce(or_, [texts.str.contains(pattern) for pattern in patterns])


def has_reasoning_text(text: pl.Expr) -> pl.Expr:
    """Whether texts hold thoughts, before an answer or in place of one."""
    rest = text.str.replace(thinking_text.BEFORE_ANSWER_PATTERN, "")
    marks = rest.str.contains(thinking_text.TRUNCATED_THOUGHT_PATTERN) | text.str.contains(
        thinking_text.THOUGHT_PATTERN
    )
    written = rest.str.extract(thinking_text.OBJECT_PATTERN).fill_null("")
    return marks | written.str.contains(thinking_text.THOUGHT_FIELD_PATTERN)


def stated_players(rows: pl.DataFrame) -> pl.Series:
    """The players that votes' texts name, as `Player N`, in lists as `_decided` makes them.

    `rows` have `answer`, the text, and its speaker, `player`.
    """
    text = remove_reserved_signs(pl.col("answer").str.normalize("NFKC"))
    for number, word in enumerate(NUMBER_WORDS, start=1):
        text = text.str.replace_all(rf"{_PLAYER}{word}(?-u:\b)", f"\x02{number}\x03")
    text = text.str.replace_all(rf"{_PLAYER}([0-9]+)(?-u:\b)", "\x02$1\x03")
    speaker = pl.col("player").str.extract("([0-9]+)$")
    stated = _parse_votes(rows.select("answer", text=text, speaker=speaker))
    name = pl.when(pl.element() == "").then(pl.element()).otherwise("Player " + pl.element())
    return stated.list.eval(name)


def stated_seats(rows: pl.DataFrame, seats: pl.DataFrame) -> pl.Series:
    """The numbers of the seats that votes' texts name, in lists as `_decided` makes them.

    The same for seats of any names. `rows` have game, `text` and the speaker's `seat`, those of a
    game one after the other; `seats` have game, `player` and `seat`. Names count in any case only
    where none is written as its seat has it.
    """
    rows = rows.with_columns(answer="text", speaker=pl.col("seat").cast(pl.String))
    stated = _parse_votes(
        rows.with_columns(text=replace_names_by_marks(rows, seats, normalize_exactly))
    )
    is_open = stated.list.len() == 0
    texts = pl.Series([None] * rows.height, dtype=pl.String)
    texts = texts.scatter(
        is_open.arg_true(), replace_names_by_marks(rows.filter(is_open), seats, normalize_loosely)
    )
    spoken = _parse_votes(rows.with_columns(text=texts))
    first = pl.when(pl.col("spoken").list.len() > 0).then("spoken").otherwise("stated")
    return pl.DataFrame({"stated": stated, "spoken": spoken}).select(stated=first).to_series()


def _parse_votes(texts: pl.DataFrame) -> pl.Series:
    """What votes with marks for names decide, as lists of the players' numbers.

    One number is the vote. An empty text alone is a vote for nobody; beside numbers it says that
    the text names them without a decision. A text that names nobody has an empty list. `texts` have
    `answer`, as written, `text`, with marks, and `speaker`, the speaker's own number.
    """
    text, said, last = pl.col("text"), pl.col("said"), pl.col("last")
    # In steps, since polars takes longer to plan an expression that is in itself again and again.
    read = texts.with_columns(text.str.replace_all(SELF_INTRODUCTION, ""))
    read = read.with_columns(said=text)
    for pattern, value in REPLACEMENTS:
        if pattern == JSON_FIELD and not read["said"].str.contains(JSON_KEY).any():
            continue
        read = read.with_columns(said.str.replace_all(pattern, value))
    given = said.str.extract_all(
        rf"(?m){ANSWER_MARK}(?:{NAME_MARK}|\w)|^(?:[^\n\x02]{{0,40}}:)?[^\w\n\x02]*{NAME_MARK}[^\w\n]*$"
    )
    given = given.list.eval(pl.element().str.extract(r"(\w[0-9,]*)")).list.n_unique()
    is_final = said.str.contains(f"{FINAL_MARK}{ANSWER_MARK}[^{ANSWER_MARK}]*$")
    read = read.with_columns(
        last=said.str.extract(f"(?s)^.*{ANSWER_MARK}(.*)$"), is_torn=(given > 1) & ~is_final
    )
    chosen = (
        pl.when(last.str.starts_with("\x02"))
        .then(_marked_numbers(last.str.extract(f"^({NAME_MARK})")))
        .when(last.str.contains("(?i)^my"))
        .then(pl.concat_list("speaker"))
        .otherwise(pl.concat_list(pl.lit("")))
    )
    read = read.with_columns(chosen=chosen, named=_marked_numbers(text))
    rest = (
        pl.when(is_final)
        .then(last.str.extract_all(REPEATED_VOTE_LINE).list.join(""))
        .otherwise(last)
    )
    others = (
        _marked_numbers(rest.str.replace_all(COMPARED_NAME, ""))
        .list.set_difference("chosen")
        .list.len()
        > 0
    )
    is_open = last.is_null() | pl.col("is_torn") | others | last.str.contains(RETRACTION)
    names = pl.when(pl.col("named").list.len() > 0).then(pl.concat_list("named", pl.lit("")))
    stated = pl.when(is_open | (pl.col("chosen").list.len() != 1)).then(names).otherwise("chosen")
    is_silent = is_outage(pl.col("answer")) | pl.col("answer").is_null()
    nobody = pl.lit([], pl.List(pl.String))
    return read.select(stated=pl.when(~is_silent).then(stated).fill_null(nobody)).to_series()


def _marked_numbers(text: pl.Expr) -> pl.Expr:
    numbers = text.str.extract_all(NAME_MARK).list.join(",").str.replace_all(r"[\x02\x03]", "")
    return numbers.str.split(",").list.eval(pl.element().filter(pl.element() != "")).list.unique()


def single_element(found: pl.Expr) -> pl.Expr:
    """The one thing in a list of what was found, null where there is none or another."""
    return pl.when(found.list.len() == 1).then(found.list.first())


def status_by_count(found: pl.Expr) -> pl.Expr:
    """The parse status of what was found in a text, outages apart."""
    return (
        pl.when(found.list.len() == 1)
        .then(_status_literal(ParseStatus.OK))
        .when(found.list.len() > 1)
        .then(_status_literal(ParseStatus.AMBIGUOUS))
        .otherwise(_status_literal(ParseStatus.UNREADABLE))
    )


def status_unless_outage(text: pl.Expr, status: pl.Expr) -> pl.Expr:
    """`outage` where the text stands for one, else the status."""
    return pl.when(is_outage(text)).then(_status_literal(ParseStatus.OUTAGE)).otherwise(status)


def extract_numbers(text: pl.Expr) -> pl.Expr:
    """The numbers in a text as written, a list."""
    return text.str.extract_all(_NUMBER)


def parse_share(numbers: pl.Expr) -> pl.Expr:
    """The fraction of the whole (0..1) that a share's numbers give in percent, else null.

    There has to be one, a decimal comma allowed; not more than all, and not one that may be a
    thousand as well as a decimal.
    """
    percent = _unambiguous_share(numbers).str.replace(",", ".", literal=True)
    # By its exponent, since polars divides by 100 as it multiplies by 0.01: 35 % is then not 0.35.
    fraction = (percent + "e-2").cast(float, strict=False)
    return pl.when(fraction <= 1).then(fraction)


def share_status(numbers: pl.Expr, share: pl.Expr) -> pl.Expr:
    """The parse status of a share: several numbers, or one with two meanings, are ambiguous."""
    return (
        pl.when(share.is_not_null())
        .then(_status_literal(ParseStatus.OK))
        .when((numbers.list.len() > 0) & _unambiguous_share(numbers).is_null())
        .then(_status_literal(ParseStatus.AMBIGUOUS))
        .otherwise(_status_literal(ParseStatus.UNREADABLE))
    )


def _unambiguous_share(numbers: pl.Expr) -> pl.Expr:
    number = single_element(numbers)
    return pl.when(number.str.contains(_UNAMBIGUOUS_SHARE)).then(number)


def amount_status(amount: pl.Expr, written: pl.Expr, stated: pl.Expr) -> pl.Expr:
    """Whether the amount that the game registered is the one that the text plainly states."""
    return (
        pl.when(amount.is_null() & written.is_null())
        .then(_status_literal(ParseStatus.UNREADABLE))
        .when(amount == stated)
        .then(_status_literal(ParseStatus.OK))
        .otherwise(_status_literal(ParseStatus.AMBIGUOUS))
    )


def choice_status(text: pl.Expr, choice: pl.Expr) -> pl.Expr:
    """Whether the text plainly says the choice that the game registered."""
    cooperates, defects = text.str.contains(_COOPERATE), text.str.contains(_DEFECT)
    is_plain = (
        pl.when(choice == str(Choice.COOPERATE))
        .then(cooperates & ~defects)
        .otherwise(defects & ~cooperates)
    )
    return (
        pl.when(is_plain)
        .then(_status_literal(ParseStatus.OK))
        .when(cooperates | defects)
        .then(_status_literal(ParseStatus.AMBIGUOUS))
        .otherwise(_status_literal(ParseStatus.UNREADABLE))
    )


def _status_literal(status: ParseStatus) -> pl.Expr:
    return pl.lit(str(status))
