"""Parse votes, choices and shares from the texts of a batch of games.

Parsing is strict: a text with two answers is `ambiguous` and one without an answer `unreadable`,
and neither has a value. A null text has no answer. Most functions take and return expressions.

Used by `pipeline.events.frames`, `pipeline.events.readings` and `pipeline.metrics.rationality`;
depends on `pipeline.thinking_text`.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_

import polars as pl

from pipeline import thinking_text
from pipeline.events.contracts import GAME_ROW
from pipeline.game_record import OUTAGE_MARK
from pipeline.vocabulary import Choice, ParseStatus

# Regular expressions for statements of a vote; only an explicit statement decides a vote.
#
# Marks have already replaced the players' names in the texts, so a player called Skip or Pass is
# not confused with these words. A statement ends with its sentence and has one target, without a
# second name or a word of doubt. The engine supports neither lookahead nor lookbehind.

NAME_MARK = "\x02([0-9,]+)\x03"
# Replaces the pronoun "I" in games that have a player of this name.
PRONOUN_MARK = "\x0e"
# Replace conditions and words of doubt, and precede answers and labelled answers.
CONDITION_MARK, DOUBT_MARK, ANSWER_MARK, FINAL_MARK = "\x05", "\x06", "\x07", "\x08"

_CONDITION_WORDS = (
    r"(?i)\b(?:if|unless|whether|when|once|until|as\s+(?:long|soon)|wenn|falls|si|если)\b"
    r"|如果|要是|もし"
)
# Negations, alternatives, possibilities, actions in favour of a player, and reported speech.
_DOUBT_WORDS = (
    r"(?i)n['’]t\b|\b(?:not|never|neither|nor|cannot|without|instead|rather|than|would|could|might"
    r"|maybe|perhaps|either|sav(?:e|ed|ing)|safe|spared?|keep|stays?|lives?"
    r"|(?:protect|surviv|trust|pretend|kein)\w*|innocent|clean|all(?:y|ies)|friend|sa(?:id|ys?)|claims?"
    r"|ne|pas|non|jamais|nicht|nie|würde|não|nunca|sino|не|ни|бы)\b"
    rf"|\bagainst\s+(?:{NAME_MARK}['’]|my\s+own\b)|[不别別没沒]|ない|ません|않|안\s"
)
# Words that retract an answer.
RETRACTION = (
    rf"(?im)^[^\w\n]*(?:{CONDITION_MARK}|or\b)|\b(?:take\s+(?:it|that)\s+back|that\s+was\s+a\s+lie|jok(?:e|ing)|kidding"
    r"|changed\s+my|change\s+(?:my\s+vote|it\s+to)|make\s+(?:that|it)|on\s+(?:reflection|second)|think(?:ing)?\s+again"
    rf"|i(?:['’]d)?\s+(?:rather|prefer))\b|(?:^|[,.;:—–-])\W*(?:no\s*(?:$|[,.!:;—–-]|wait)|(?:nope|wait|well|actually"
    r"|sorry|hm+|oh|correction|scratch|on\s+second|oops|my\s+mistake)\b)"
)
# After a labelled answer, only lines that vote again are searched.
REPEATED_VOTE_LINE = r"(?im)^[^\n]*\b(?:vote|choose|pick)\b[^\n]*$"
# A name after an answer that is not a target, for example of a player whose clue is compared.
COMPARED_NAME = (
    rf"(?i)\b(?:while|whereas|unlike|both)\s+{NAME_MARK}|{NAME_MARK}(?:['’]s\s+(?:\w+\s+)?(?:clues?|responses?|"
    r"messages?|statements?|answers?|descriptions?|hints?|q\b)|\s+(?:agrees?|was|gave|made|did|explained|mentioned)\b)"
)

_STOP_MARKS = f"{CONDITION_MARK}{DOUBT_MARK}{ANSWER_MARK}"
_REST_OF_SENTENCE = rf"[^\x02{_STOP_MARKS}\n?？]*"
# Text that may precede a statement: filler words and reasons.
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
# Text that may follow a target: nothing, punctuation and a reason, or words that add nothing.
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
# Phrases before and after a target. They share one target, which takes long to compile.
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
# A label such as "Final vote: Bob", or a JSON field; the last one counts.
_VOTE_LABEL = (
    r"(?:(?:my|the|final|i|player|elimination|to)[\s_]+){0,3}(?:vote|voting|answer|choice|decision"
    r"|target|pick|candidate|eliminat(?:e|ion)|nominat(?:e|ion)|nominee|voto|stimme|abstimmung|голос|投票|투표)"
    r"(?:[\s_]+(?:for|to|is|out|this|round|target|player|name))*\s*(?:[:=：—–→]|-+>?)"
)


def _pattern_of_statement_at_line_start(pattern: str) -> str:
    # ASCII word boundaries, because Unicode boundaries slow down the search in other scripts.
    return rf"(?m)^[^\w\n\x02{_STOP_MARKS}]*(?i:{pattern}{_AFTER_TARGET})".replace(
        r"\b", r"(?-u:\b)"
    )


# A player's introduction of itself does not name a target.
SELF_INTRODUCTION = (
    rf"(?i)\b(?:as|i am|i['’]m|ich bin|soy|je suis)\s+(?:player\s+)?{NAME_MARK}"
    rf"|(?:我是|作为){NAME_MARK}"
)
# The key of a JSON field. `JSON_FIELD` takes as long to compile as all short patterns together, so
# it is used only if a text contains a key.
JSON_KEY = r'"\w+"\s*:'
JSON_FIELD = r'[{,\s]*"(\w{1,40})"\s*:\s*"?'
# The patterns that are replaced one after another, with their replacements.
REPLACEMENTS = (
    # Remove quoted and struck-out text, and JSON of an action that is not a vote.
    (r'(?m)^\s*>.*$|~~[^~\n]*~~|(?is:^\{.*"(?:action|type|move)"\s*:\s*"[^ve"][^"]*".*$)', ""),
    # Convert JSON fields to labelled lines.
    (r'(?i)^\{\s*"(?:name|player|id)"\s*:([^:{}]*)\}$', "vote:$1"),
    (JSON_FIELD, "\n$1: "),
    (r'"\s*[,}\]]', "\n"),
    # Convert tags, boxes, and a bold name at the end of the text to labels.
    (r"(?i)<(?:\w{0,8}_)?(?:vote|answer|choice|decision|target)[^<>]*>", "\nvote: "),
    (r"\[\[|\\boxed\{(?:\\text\{)?", " vote: "),
    (r"\]\]", " "),
    (r"(?i)<(?:/|\|)[^<>\n]{0,40}>|<eos>", "\n"),
    (r"([,:]\s*)\*\*(\x02[0-9,]+\x03)\*\*\W*$", f"${{1}}{PRONOUN_MARK} vote for $2"),
    (r"(?m)^#+[^\w\n]*((?i:(?:my\s+|final\s+)*(?:vote|answer|decision)))[^\w\n]*$", "$1:"),
    (r"[*`#$]+", ""),
    ("_", " "),
    # Remove reasons, because they do not vote.
    (r"(?im)^\W*(?:reason\w*|explanation|rationale|justification|why)\s*:.*$", ""),
    (r"(?i)(?:\bbecause|\bsince|\bdue\s+to|因为)\b[^,;.!?\n]*", ""),
    (r"(?i)(?:['’]d|\s+would)\s+like\s+to\b", " want to"),
    (
        rf"(?i)(\bI\s+(?:think|believe|suspect)\s+(?:that\s+)?{NAME_MARK})\s+m(?:ight|ay)\s+be\b",
        "$1 is",
    ),
    # Remove quotations, except for a single name or the whole text.
    (r"[\"“”'‘’«»「」]\s*(\x02[0-9,]+\x03)\s*[\"“”'‘’«»「」]", "$1"),
    (r"^\W*[\"“]([^\"“”]*)[\"”]\W*$", "$1"),
    (r"[\"“「«][^\"“”「」«»\n]*[\"”」»]", "q"),
    (r"(^|[\s(:,])['‘][^'’\n]*['’]([\s.,!?)]|$)", "${1}q$2"),
    (r"([:?？])\s*\n\s*", "$1 "),
    # Mark a name as an answer if it is the whole text or the last line after a complete one.
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
        _pattern_of_statement_at_line_start(f"{_VOTE_LABEL}{_WORDS_BEFORE_TARGET}{_VOTE_TARGET}"),
        f"{FINAL_MARK}{ANSWER_MARK}$1$2",
    ),
    (
        _pattern_of_statement_at_line_start(f"{_STATEMENT_START}(?:{'|'.join(_VOTE_STATEMENTS)})"),
        ANSWER_MARK + "".join(f"${{{group}}}" for group in range(1, len(_VOTE_STATEMENTS) + 2)),
    ),
)

# The search for players' names in the texts of their game. Marks with seat numbers replace them.
#
# Only complete names count: "Ann" is not in "Anna", nor "Agent-2" in "Agent-21". In scripts without
# spaces, such as Chinese, a name can be inside of a sentence, but digits delimit digits: "3号" is
# not in "13号". Therefore delimiters enclose each run of letters and digits in texts and names, so
# that only complete names match. Of several names at one position, the longest matches.
#
# Frames have the column `game`. All texts of a game are searched as one string.

# The mark of a name that may be another word: it refers to two seats that do not exist.
_AMBIGUOUS_NAME_MARK = "\x020,00\x03"
_WORD_EDGE, _TEXT_SEPARATOR, _AMBIGUOUS_SIGN = "\x01", "\x04", "\x05"
# Characters that are removed from texts before the search: the marks of this module, and invisible
# characters such as the zero-width joiner.
_RESERVED_SIGNS = "[\x01-\x08\x0e]"
_INVISIBLE_SIGNS = r"[\p{Cf}\x{fe0f}\x{20e3}]"
# The characters that count as a hyphen, for use in a character class.
HYPHENS = r"\x{2010}-\x{2013}\x{2212}-"
_SCRIPTS_WITHOUT_SPACES = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
)
_WORD_OR_NUMBER = rf"[\w--[_{_SCRIPTS_WITHOUT_SPACES}]]+|[〇零一二三四五六七八九十]+"
# English words that are also names. In lower case, they count as names only after "for" or "to".
_NAMES_THAT_ARE_WORDS = (
    *("will", "may", "mark", "rose", "art", "bill", "grace", "hope", "faith", "joy", "pat", "sue"),
    *("frank", "grant", "drew", "chase", "hunter", "dawn", "summer", "rich", "guy", "rob", "an"),
    *("he", "you", "my", "so", "do", "no", "us", "it", "in", "on", "max", "jack", "dean", "page"),
)
_NAMES_THAT_ARE_LETTERS = ("a", "i")
_DIGITS, _WIDE_DIGITS = "0123456789", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19"
# Characters that can separate the parts of a name.
_NAME_SEPARATORS = " _-\u2010\u2011\u2012\u2013\u2212"
_SEPARATOR_RUN = rf"[\p{{Zs}}\t_{HYPHENS}]+"
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# "I think", "I'm", and "A clue ..." at the beginning of a sentence; "a liar" anywhere.
_PRONOUN_I = r"\b[Ii](['’]|\s+[a-z])"
_FOLLOWING_VERB = r"(\s+(?:is|was|has|had|seems|looks|gave|said|lied|must|and|or|because|since)\b)"
_ARTICLES = {"A": r"(^|[.!?:\n\x04]\s*)A", "a": r"(\b)a"}

NormalizeText = Callable[[pl.Expr], pl.Expr]


def remove_mark_and_invisible_characters(text: pl.Expr) -> pl.Expr:
    """Remove invisible characters, and replace the characters that this module uses as marks.

    Args:
        text: Texts or names.

    Returns:
        The texts, with a space for each mark.
    """
    return text.str.replace_all(_RESERVED_SIGNS, " ").str.replace_all(_INVISIBLE_SIGNS, "")


def normalize_unicode_but_keep_spelling(text: pl.Expr) -> pl.Expr:
    """Unify the encodings of accents and apostrophes, without changing case or spelling.

    Args:
        text: Texts or names.

    Returns:
        The normalized texts.
    """
    return _straighten_apostrophes(text.str.normalize("NFC"))


def normalize_case_and_number_spelling(text: pl.Expr) -> pl.Expr:
    """Convert texts to lower case and unify how names with numbers are written.

    `player_2`, `Player two` and `player2` become equal.

    Args:
        text: Texts or names.

    Returns:
        The normalized texts.
    """
    text = _straighten_apostrophes(text.str.normalize("NFKC").str.to_lowercase())
    for number, word in enumerate(NUMBER_WORDS, start=1):
        text = text.str.replace_all(rf"{_SEPARATOR_RUN}{word}\b", f" {number}")
    return text.str.replace_all(rf"{_SEPARATOR_RUN}#?([0-9])", "$1").str.replace_all(
        _SEPARATOR_RUN, " "
    )


def _straighten_apostrophes(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(r"[’‘ʼ`]", "'")


def replace_player_names_by_seat_marks(
    texts: pl.DataFrame, seats: pl.DataFrame, normalize: NormalizeText
) -> pl.Series:
    """Replace the names of players in texts by marks with the numbers of their seats.

    Args:
        texts: Rows with `game` and `text`; the rows of a game are consecutive.
        seats: The seats of the games, with `game`, `player` and `seat`.
        normalize: The normalization of texts and names, `normalize_unicode_but_keep_spelling` or
            `normalize_case_and_number_spelling`.

    Returns:
        The normalized texts with marks, in the order of the rows.
    """
    clean_text = remove_mark_and_invisible_characters(pl.col("text").fill_null(""))
    games = texts.group_by(GAME_ROW, maintain_order=True).agg(clean_text.str.join(_TEXT_SEPARATOR))
    games = games.with_columns(_mask_words_equal_to_names_i_and_a(normalize(pl.col("text")), seats))
    # Keep the order, because the result is used beside the rows.
    games = games.with_columns(_delimit_words(pl.col("text"))).join(
        _names_by_game_longest_first(seats, normalize), on=GAME_ROW, maintain_order="left"
    )
    text, names = pl.col("text"), pl.col("names")
    matches = games.select(
        *(GAME_ROW, "text"),
        start=text.str.find_many(names, leftmost=True),
        name=text.str.extract_many(names, leftmost=True),
    ).explode("start", "name", empty_as_null=True)
    matches = matches.join(
        _seat_mark_of_each_name(seats, normalize),
        on=[GAME_ROW, "name"],
        how="left",
        maintain_order="left",
    )
    marked_games = matches.group_by(GAME_ROW, maintain_order=True).agg(
        _replace_matched_names_by_marks()
    )
    marked_text = pl.col("text").str.replace_all(_WORD_EDGE, "", literal=True)
    marked_text = marked_text.str.replace_all(_AMBIGUOUS_SIGN, _AMBIGUOUS_NAME_MARK, literal=True)
    return marked_games.select(marked_text.str.split(_TEXT_SEPARATOR)).explode("text").to_series()


def _delimit_words(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(_WORD_OR_NUMBER, f"{_WORD_EDGE}$0{_WORD_EDGE}")


def _normalized_names_with_delimiters(
    seats: pl.DataFrame, normalize: NormalizeText
) -> pl.DataFrame:
    """Return the spellings of each player's name that are searched in texts, as `name`."""
    name = normalize(remove_mark_and_invisible_characters(pl.col("player"))).str.strip_chars()
    names = seats.select(GAME_ROW, "seat", name=name)
    if normalize is normalize_case_and_number_spelling:
        names = names.filter(~pl.col("name").is_in(_NAMES_THAT_ARE_LETTERS))
    else:
        names = pl.concat([names, _name_variants_with_other_separators(names)])
    after_preposition = pl.concat_list(
        pl.lit("for ") + pl.col("name"), pl.lit("to ") + pl.col("name")
    )
    is_word = pl.col("name").is_in(_NAMES_THAT_ARE_WORDS)
    spellings = pl.when(is_word).then(after_preposition).otherwise(pl.concat_list("name"))
    return (
        names.filter(pl.col("name") != "")
        .with_columns(name=spellings)
        .explode("name")
        .with_columns(_delimit_words(pl.col("name")))
    )


def _name_variants_with_other_separators(names: pl.DataFrame) -> pl.DataFrame:
    """Return names with other separators or digits, except for names of other seats.

    For example, "Mary-Ann" does not stand for "Mary Ann" if another seat has that name.
    """
    name = pl.col("name").str.normalize("NFKC")
    names_by_digit_width = [name, name.str.replace_many(list(_DIGITS), list(_WIDE_DIGITS))]
    variants = [
        spelling.str.replace_all(_SEPARATOR_RUN, separator)
        for spelling in names_by_digit_width
        for separator in _NAME_SEPARATORS
    ]
    names_of_variants = names.with_columns(name=pl.concat_list(variants)).explode("name")
    return names_of_variants.unique().join(names, on=[GAME_ROW, "name"], how="anti")


def _seat_mark_of_each_name(seats: pl.DataFrame, normalize: NormalizeText) -> pl.DataFrame:
    """Return the mark that replaces each name, with the numbers of all seats of this name."""
    marks = (
        _normalized_names_with_delimiters(seats, normalize)
        .group_by(GAME_ROW, "name")
        .agg(mark=pl.col("seat").cast(pl.String).str.join(","))
    )
    return marks.with_columns(pl.format("\x02{}\x03", "mark"))


def _names_by_game_longest_first(seats: pl.DataFrame, normalize: NormalizeText) -> pl.DataFrame:
    """Return the list of names for each game, the longest name first."""
    names = _normalized_names_with_delimiters(seats, normalize).unique([GAME_ROW, "name"])
    by_length = pl.col("name").sort_by(pl.col("name").str.len_bytes(), descending=True)
    games = (
        seats.select(GAME_ROW)
        .unique()
        .join(names.group_by(GAME_ROW).agg(names=by_length), on=GAME_ROW, how="left")
    )
    return games.with_columns(pl.col("names").fill_null(pl.lit([], pl.List(pl.String))))


def _mask_words_equal_to_names_i_and_a(text: pl.Expr, seats: pl.DataFrame) -> pl.Expr:
    """Mask the pronoun "I" and the article "A" in games that have players of these names."""
    for name in ("I", "i", *_ARTICLES):
        games = seats.filter(player=name)[GAME_ROW].implode()
        if games.item().is_empty():
            continue
        masked = (
            text.str.replace_all(_PRONOUN_I, f"{PRONOUN_MARK}$1")
            if name in "Ii"
            else _mask_possible_article(text, name)
        )
        text = pl.when(pl.col(GAME_ROW).is_in(games)).then(masked).otherwise(text)
    return text


def _mask_possible_article(text: pl.Expr, name: str) -> pl.Expr:
    """Replace "A" or "a" by a sign for ambiguous names where it may be an article."""
    pattern, name_sign = _ARTICLES[name], "\x06"
    text = text.str.replace_all(pattern + _FOLLOWING_VERB, f"${{1}}{name_sign}${{2}}")
    text = text.str.replace_all(rf"{pattern}(\s+[a-z])", f"${{1}}{_AMBIGUOUS_SIGN}${{2}}")
    return text.str.replace_all(name_sign, name, literal=True)


def _replace_matched_names_by_marks() -> pl.Expr:
    """Build the text of a game, with the marks of names in place of the matched names."""
    text_bytes = pl.col("text").cast(pl.Binary)
    start, end = pl.col("start").cast(pl.Int64), pl.col("start") + pl.col("name").str.len_bytes()
    end = end.cast(pl.Int64)
    previous_end = end.shift(1).fill_null(0)
    text_before_match = text_bytes.bin.slice(previous_end, start - previous_end).cast(pl.String)
    text_after_matches = text_bytes.last().bin.slice(end.max().fill_null(0), None).cast(pl.String)
    return (
        (text_before_match + pl.col("mark")).drop_nulls().str.join("") + text_after_matches
    ).alias("text")


_PLAYER = r"(?i)(?-u:\b)player[\s_-]*#?"
_NUMBER = r"\d+(?:[.,]\d+)*"
_UNAMBIGUOUS_SHARE = r"^(?:\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|\d+[.]\d+)$"
_COOPERATE = r"(?i)\bcooperat"
_DEFECT = r"(?i)\b(?:defect|betray)"


def is_outage_message(text: pl.Expr) -> pl.Expr:
    """Return whether a text says that a player's API failed, in place of an answer.

    Args:
        text: Texts of messages.

    Returns:
        A boolean expression; false for a null text.
    """
    return text.str.starts_with(OUTAGE_MARK).fill_null(value=False)


def remove_thoughts_before_answers(texts: pl.Series, phase: str = "") -> pl.Series:
    """Return the answers in texts, without the model's thoughts before them.

    `thinking_text.remove_thoughts` defines what counts as thoughts.

    Args:
        texts: Texts of messages.
        phase: The phase of the messages, which selects the answer fields of JSON.

    Returns:
        The answers, in the order of the texts.
    """
    may_have_thoughts = contains_any(texts, thinking_text.THOUGHT_SIGNS)
    if not may_have_thoughts.any():
        return texts
    # One text at a time, because polars takes ten times as long for so many patterns.
    answers = [
        thinking_text.remove_thoughts(text, phase) for text in texts.filter(may_have_thoughts)
    ]
    return texts.clone().scatter(may_have_thoughts.arg_true(), pl.Series(answers, dtype=pl.String))


def contains_any(texts: pl.Series, patterns: Iterable[str]) -> pl.Series:
    """Return whether each text matches at least one of the patterns.

    The patterns are searched one after another, which is faster than one pattern with alternatives.

    Args:
        texts: Texts to search.
        patterns: Regular expressions.

    Returns:
        A boolean per text; null for a null text.
    """
    return reduce(or_, [texts.str.contains(pattern) for pattern in patterns])


def has_reasoning_text(text: pl.Expr) -> pl.Expr:
    """Return whether a text contains thoughts of the model, with or without an answer.

    Args:
        text: Texts of messages.

    Returns:
        A boolean expression.
    """
    answer = text.str.replace(thinking_text.BEFORE_ANSWER_PATTERN, "")
    has_thoughts = answer.str.contains(thinking_text.TRUNCATED_THOUGHT_PATTERN) | text.str.contains(
        thinking_text.THOUGHT_PATTERN
    )
    json_object = answer.str.extract(thinking_text.OBJECT_PATTERN).fill_null("")
    return has_thoughts | json_object.str.contains(thinking_text.THOUGHT_FIELD_PATTERN)


def parse_numbered_players_in_votes(rows: pl.DataFrame) -> pl.Series:
    """Parse which players the texts of votes name, if all players are called `Player N`.

    Args:
        rows: The votes, with the text `answer` and the speaker `player`.

    Returns:
        Lists of names, as defined by `_parse_player_numbers_in_votes` for numbers.
    """
    text = remove_mark_and_invisible_characters(pl.col("answer").str.normalize("NFKC"))
    for number, word in enumerate(NUMBER_WORDS, start=1):
        text = text.str.replace_all(rf"{_PLAYER}{word}(?-u:\b)", f"\x02{number}\x03")
    text = text.str.replace_all(rf"{_PLAYER}([0-9]+)(?-u:\b)", "\x02$1\x03")
    speaker = pl.col("player").str.extract("([0-9]+)$")
    named_numbers = _parse_player_numbers_in_votes(
        rows.select("answer", text=text, speaker=speaker)
    )
    name = pl.when(pl.element() == "").then(pl.element()).otherwise("Player " + pl.element())
    return named_numbers.list.eval(name)


def parse_seats_of_custom_names_in_votes(rows: pl.DataFrame, seats: pl.DataFrame) -> pl.Series:
    """Parse which seats the texts of votes name, if players have any other names.

    Names are compared exactly. If a text contains no exact name, they are compared in lower case.

    Args:
        rows: The votes, with `game`, `text` and the speaker's `seat`; the rows of a game are
            consecutive.
        seats: The seats of the games, with `game`, `player` and `seat`.

    Returns:
        Lists of seat numbers, as defined by `_parse_player_numbers_in_votes`.
    """
    rows = rows.with_columns(answer="text", speaker=pl.col("seat").cast(pl.String))
    exact_numbers = _parse_player_numbers_in_votes(
        rows.with_columns(
            text=replace_player_names_by_seat_marks(
                rows, seats, normalize_unicode_but_keep_spelling
            )
        )
    )
    is_undecided = exact_numbers.list.len() == 0
    texts = pl.Series([None] * rows.height, dtype=pl.String)
    texts = texts.scatter(
        is_undecided.arg_true(),
        replace_player_names_by_seat_marks(
            rows.filter(is_undecided), seats, normalize_case_and_number_spelling
        ),
    )
    loose_numbers = _parse_player_numbers_in_votes(rows.with_columns(text=texts))
    return (
        pl.DataFrame({"exact": exact_numbers, "loose": loose_numbers})
        .select(stated=pl.when(pl.col("loose").list.len() > 0).then("loose").otherwise("exact"))
        .to_series()
    )


def _parse_player_numbers_in_votes(texts: pl.DataFrame) -> pl.Series:
    """Parse votes from texts in which marks replace names, as lists of player numbers.

    A list with one number is a vote for that player, and one with only an empty string is a vote
    for nobody. A list with numbers and an empty string means that the text names these players but
    does not decide. The list is empty if the text names nobody.

    Args:
        texts: Rows with the original `answer`, the `text` with marks, and the number of the
            `speaker`.
    """
    text, marked_text, last_answer = pl.col("text"), pl.col("marked_text"), pl.col("last_answer")
    # In steps, because polars takes longer to plan an expression that contains itself repeatedly.
    parsed = texts.with_columns(text.str.replace_all(SELF_INTRODUCTION, ""))
    parsed = parsed.with_columns(marked_text=text)
    for pattern, value in REPLACEMENTS:
        if pattern == JSON_FIELD and not parsed["marked_text"].str.contains(JSON_KEY).any():
            continue
        parsed = parsed.with_columns(marked_text.str.replace_all(pattern, value))
    n_answers = marked_text.str.extract_all(
        rf"(?m){ANSWER_MARK}(?:{NAME_MARK}|\w)|^(?:[^\n\x02]{{0,40}}:)?[^\w\n\x02]*{NAME_MARK}[^\w\n]*$"
    )
    n_answers = n_answers.list.eval(pl.element().str.extract(r"(\w[0-9,]*)")).list.n_unique()
    is_final = marked_text.str.contains(f"{FINAL_MARK}{ANSWER_MARK}[^{ANSWER_MARK}]*$")
    parsed = parsed.with_columns(
        last_answer=marked_text.str.extract(f"(?s)^.*{ANSWER_MARK}(.*)$"),
        has_several_answers=(n_answers > 1) & ~is_final,
    )
    chosen_numbers = (
        pl.when(last_answer.str.starts_with("\x02"))
        .then(_distinct_numbers_in_marks(last_answer.str.extract(f"^({NAME_MARK})")))
        .when(last_answer.str.contains("(?i)^my"))
        .then(pl.concat_list("speaker"))
        .otherwise(pl.concat_list(pl.lit("")))
    )
    parsed = parsed.with_columns(
        chosen_numbers=chosen_numbers, named_numbers=_distinct_numbers_in_marks(text)
    )
    later_text = (
        pl.when(is_final)
        .then(last_answer.str.extract_all(REPEATED_VOTE_LINE).list.join(""))
        .otherwise(last_answer)
    )
    names_other_players = (
        _distinct_numbers_in_marks(later_text.str.replace_all(COMPARED_NAME, ""))
        .list.set_difference("chosen_numbers")
        .list.len()
        > 0
    )
    is_undecided = (
        last_answer.is_null()
        | pl.col("has_several_answers")
        | names_other_players
        | last_answer.str.contains(RETRACTION)
    )
    named_numbers = pl.when(pl.col("named_numbers").list.len() > 0).then(
        pl.concat_list("named_numbers", pl.lit(""))
    )
    result = (
        pl.when(is_undecided | (pl.col("chosen_numbers").list.len() != 1))
        .then(named_numbers)
        .otherwise("chosen_numbers")
    )
    is_silent = is_outage_message(pl.col("answer")) | pl.col("answer").is_null()
    nobody = pl.lit([], pl.List(pl.String))
    return parsed.select(stated=pl.when(~is_silent).then(result).fill_null(nobody)).to_series()


def _distinct_numbers_in_marks(text: pl.Expr) -> pl.Expr:
    numbers = text.str.extract_all(NAME_MARK).list.join(",").str.replace_all(r"[\x02\x03]", "")
    return numbers.str.split(",").list.eval(pl.element().filter(pl.element() != "")).list.unique()


def only_element_or_null(elements: pl.Expr) -> pl.Expr:
    """Return the element of each list that has exactly one element, else null.

    Args:
        elements: Lists.

    Returns:
        The elements.
    """
    return pl.when(elements.list.len() == 1).then(elements.list.first())


def parse_status_by_value_count(elements: pl.Expr) -> pl.Expr:
    """Return `ok` for one parsed value, `ambiguous` for several, and `unreadable` for none.

    Args:
        elements: Lists of the values that each text states.

    Returns:
        The parse status of each text.
    """
    return (
        pl.when(elements.list.len() == 1)
        .then(_status_literal(ParseStatus.OK))
        .when(elements.list.len() > 1)
        .then(_status_literal(ParseStatus.AMBIGUOUS))
        .otherwise(_status_literal(ParseStatus.UNREADABLE))
    )


def outage_else_parse_status(text: pl.Expr, status: pl.Expr) -> pl.Expr:
    """Return `outage` for texts that replace an answer after an API error, else the status.

    Args:
        text: Texts of messages.
        status: The parse status of each text.

    Returns:
        The parse status.
    """
    return (
        pl.when(is_outage_message(text)).then(_status_literal(ParseStatus.OUTAGE)).otherwise(status)
    )


def extract_numbers_as_written(text: pl.Expr) -> pl.Expr:
    """Extract all numbers of a text, without converting them.

    Args:
        text: Texts with shares.

    Returns:
        Lists of strings.
    """
    return text.str.extract_all(_NUMBER)


def parse_percent_share(written_numbers: pl.Expr) -> pl.Expr:
    """Convert the only number of a text, a percentage, to a fraction.

    Args:
        written_numbers: Lists of the numbers that each text contains.

    Returns:
        A fraction between 0 and 1. Null if there is not exactly one number, if it is above 100, or
        if its separator may be a decimal or a thousands separator.
    """
    percent = _only_number_if_unambiguous(written_numbers).str.replace(",", ".", literal=True)
    # Parsed with an exponent, because polars multiplies by 0.01 to divide by 100, and 35 % would
    # not be 0.35.
    fraction = (percent + "e-2").cast(float, strict=False)
    return pl.when(fraction <= 1).then(fraction)


def share_parse_status(written_numbers: pl.Expr, share: pl.Expr) -> pl.Expr:
    """Return how clearly a text states a share: `ok`, `ambiguous` or `unreadable`.

    Args:
        written_numbers: Lists of the numbers that each text contains.
        share: The parsed share.

    Returns:
        `ok` with a share, `ambiguous` for several numbers or a number with two meanings, and
        `unreadable` otherwise.
    """
    return (
        pl.when(share.is_not_null())
        .then(_status_literal(ParseStatus.OK))
        .when(
            (written_numbers.list.len() > 0)
            & _only_number_if_unambiguous(written_numbers).is_null()
        )
        .then(_status_literal(ParseStatus.AMBIGUOUS))
        .otherwise(_status_literal(ParseStatus.UNREADABLE))
    )


def _only_number_if_unambiguous(written_numbers: pl.Expr) -> pl.Expr:
    """Return the only number of a list; null if its separator may have two meanings."""
    single_number = only_element_or_null(written_numbers)
    return pl.when(single_number.str.contains(_UNAMBIGUOUS_SHARE)).then(single_number)


def amount_parse_status(amount: pl.Expr, written: pl.Expr, stated_amount: pl.Expr) -> pl.Expr:
    """Return how clearly a text states the amount that the log registers.

    Args:
        amount: The registered amount.
        written: The amount as written in the text; null if the text has none.
        stated_amount: The parsed amount; null if `written` is ambiguous.

    Returns:
        `ok` if the amounts are equal, `unreadable` without any amount, and `ambiguous` otherwise.
    """
    return (
        pl.when(amount.is_null() & written.is_null())
        .then(_status_literal(ParseStatus.UNREADABLE))
        .when(amount == stated_amount)
        .then(_status_literal(ParseStatus.OK))
        .otherwise(_status_literal(ParseStatus.AMBIGUOUS))
    )


def choice_parse_status(text: pl.Expr, choice: pl.Expr) -> pl.Expr:
    """Return how clearly a text states the choice to cooperate or defect that the log registers.

    Args:
        text: The answers.
        choice: The registered choices.

    Returns:
        `ok` if the text names only this choice, `ambiguous` if it names the other choice, and
        `unreadable` if it names none.
    """
    cooperates, defects = text.str.contains(_COOPERATE), text.str.contains(_DEFECT)
    is_clear = (
        pl.when(choice == str(Choice.COOPERATE))
        .then(cooperates & ~defects)
        .otherwise(defects & ~cooperates)
    )
    return (
        pl.when(is_clear)
        .then(_status_literal(ParseStatus.OK))
        .when(cooperates | defects)
        .then(_status_literal(ParseStatus.AMBIGUOUS))
        .otherwise(_status_literal(ParseStatus.UNREADABLE))
    )


def _status_literal(status: ParseStatus) -> pl.Expr:
    return pl.lit(str(status))
