"""The forms in which a text states a vote: only an explicit answer decides.

`pipeline.events.prose` looks for them in texts in which each player's name is a mark already, so
that a player called Skip or Pass is none of these words. A form ends where its sentence does, has
one target, and neither a second name nor a word of doubt. Patterns look neither ahead nor behind.
"""

MARK = "\x02([0-9,]+)\x03"
# Stands for the pronoun "I" in games that have a seat called so.
PRONOUN = "\x0e"
# What words of doubt are replaced by, and what an answer and one that is labelled are put behind.
CONDITION, IN_DOUBT, ANSWER, FINAL = "\x05", "\x06", "\x07", "\x08"

_CONDITIONS = (
    r"(?i)\b(?:if|unless|whether|when|once|until|as\s+(?:long|soon)|wenn|falls|si|если)\b"
    r"|如果|要是|もし"
)
# A negation, an alternative, what may be, what is done for a player, or what somebody says.
_DOUBTS = (
    r"(?i)n['’]t\b|\b(?:not|never|neither|nor|cannot|without|instead|rather|than|would|could|might"
    r"|maybe|perhaps|either|sav(?:e|ed|ing)|safe|spared?|protect\w*|keep|stays?|surviv\w*|lives?"
    r"|trust\w*|innocent|clean|all(?:y|ies)|friend|pretend\w*|sa(?:id|ys?)|claims?"
    r"|ne|pas|non|jamais|nicht|kein\w*|nie|würde|não|nunca|sino|не|ни|бы)\b"
    rf"|\bagainst\s+(?:{MARK}['’]|my\s+own\b)|[不别別没沒]|ない|ません|않|안\s"
)
# Words that take an answer back.
TAKES_BACK = (
    rf"(?im)^[^\w\n]*(?:{CONDITION}|or\b)|\b(?:take\s+(?:it|that)\s+back|that\s+was\s+a\s+lie|jok(?:e|ing)|kidding"
    r"|chang(?:ed?|ing)\s+(?:my|it\s+to)|make\s+(?:that|it)|on\s+(?:reflection|second)|think(?:ing)?\s+again"
    rf"|i(?:['’]d)?\s+(?:rather|prefer))\b|(?:^|[,.;:—–-])\W*(?:no\s*(?:$|[,.!:;—–-]|wait)|(?:nope|wait|well|actually"
    r"|sorry|hm+|oh|correction|scratch|on\s+second|oops|my\s+mistake)\b)"
)
# Behind a labelled answer only what votes once more is looked at.
VOTES_AGAIN = r"(?im)^[^\n]*\b(?:vote|choose|pick)\b[^\n]*$"
# Behind an answer, a name that nobody votes for: of whom a clue is compared.
ASIDE = (
    rf"(?i)\b(?:while|whereas|unlike|both)\s+{MARK}|{MARK}(?:['’]s\s+(?:\w+\s+)?(?:clues?|responses?|"
    r"messages?|statements?|answers?|descriptions?|hints?|q\b)|\s+(?:agrees?|was|gave|made|did|explained|mentioned)\b)"
)

_STOPS = f"{CONDITION}{IN_DOUBT}{ANSWER}"
_REST = rf"[^\x02{_STOPS}\n?？]*"
# What may stand before a statement: words that say nothing, and what it is based on.
_START = (
    rf"^[^\w\n\x02{_STOPS}]*(?:(?:so|and|but|then|now|thus|therefore|hence|ok(?:ay)?|alright|finally|personally|hm+|yes|well|still"
    r"|again|my|final|vote|answer|decision|conclusion|today|tonight|(?:(?:in|for)\s+)?this\s+(?:round|time)|i\s+think)\b[\s,:\"'“-]*)*"
    r"(?:(?:based|given|after|considering|looking|judging|overall|with\s+th(?:is|at)|in\s+(?:the\s+end|conclusion|light)"
    rf"|for\s+th\w+\s+reasons?)\b[^,\x02{_STOPS}\n]*,\s*)?"
)
_NOBODY = (
    r"\b(?:nobody|no[ -]?one|none(?:\s+of\s+(?:them|you|the\s+\w+))?|skip(?:ping)?|pass|no\s+vote"
    r"|abstain(?:ing)?|abstention|blank|null|n/a|niemand(?:en)?|personne|nadie)\b|弃权|棄權|棄権|기권"
)
_TARGET = rf"(?:player\s+|@)?(\x02[0-9,]+\x03|\bmy\s+own\b|{_NOBODY})"
_PROPOSAL = r"(?:['’]s?)?\s+(?:\w+\s+)?(?:proposal|offer|plan|split)\b"
_HIDDEN = r"(?:the|our)\s+(?:chameleon|undercover|spy|impost[eo]r|werewolf|mafia|traitor)\b"
# What may follow a target: nothing, a stop and a reason, or some more words of the same thing.
_AFTER = (
    rf"((?:{_PROPOSAL})?(?:\s+(?:out|(?:in\s+)?this\s+(?:round|time|turn|vote)|again|now|today|tonight|too"
    rf"|also|as\s+well|to\s+(?:be\s+\w+ed|leave|go))\b)*(?:\s+(?:(?:as|being)\s+{_HIDDEN}|who|as\s+(?:the(?:y|ir)"
    rf"|s?he|his|her|it|its)|for\s+(?:being|his|her|their|now))\b{_REST}|\s*[^\w\s'’?？\x02{_STOPS}]{_REST}|\s*))$"
)
_I = rf"(?:\bI|{PRONOUN})"
_HELPERS = (
    r"(?:['’](?:m|ll|ve)|\s+(?:am|be|will|shall|must|have|do|going|to|want|need|decided?|chosen?|choose"
    r"|now|hereby|therefore|thus|still|also|just|again|simply|definitely))*"
)
_TO = (
    r"(?:\s+(?:for|to|out|off|against|the|my|final|vote|ballot|is|goes|go|will|be|this|round"
    r"|eliminate|remove|exile|execute|lynch|kick|player)\b|[\s:\"'“‘(\[-]+)*"
)
_STATEMENTS = (
    rf"{_I}{_HELPERS}\s+(?:vot(?:e|ing)|cast(?:ing)?|choos(?:e|ing)|pick|select){_TO}{_TARGET}",
    rf"{_I}{_HELPERS}\s+(abstain(?:ing)?(?:\s+from\s+(?:this\s+|the\s+)?(?:vote|voting))?"
    rf"|(?:skip|pass)(?:ping|ing)?(?:\s+(?:on\s+)?(?:this|the|my)\s+(?:vote|round|turn))?)",
    rf"(?:my\s+(?:final\s+)?(?:vote|choice|answer|decision|pick)|the\s+(?:final\s+)?answer\s+is){_TO}{_TARGET}",
    rf"{_TARGET}\s+(?:gets|has|receives)\s+my\s+vote",
    rf"(?:{_I}\s+(?:think|believe|suspect)\s+(?:that\s+)?)?{_TARGET}\s+is\s+{_HIDDEN}",
    rf"{_HIDDEN}\s+is\s+{_TARGET}",
    rf"{_I}(?:['’]d)?\s+(?:vote\s+for|agree\s+with)\s+{_TARGET}{_PROPOSAL}",
    rf"(?:je\s+vote\s+pour|ich\s+(?:stimme\s+für|wähle)|(?:[yi]o\s+|eu\s+)?voto\s+(?:por|em|per)|(?:я\s+)?голосую\s+за)\s+{_TARGET}",
    r"(ich\s+enthalte\s+mich|je\s+m['’]abstiens|me\s+abstengo|воздерживаюсь)",
    rf"我?投(?:票)?(?:[给給])?\s?{_TARGET}(?:一票)?",
    rf"{_TARGET}(?:さん)?に投票します",
    rf"{_TARGET}(?:에게|한테)?\s?투표(?:합니다|하겠습니다)",
)
# A labelled line, such as "Final vote: Bob", or a field; of several the last counts.
_LABEL = (
    r"(?:(?:my|the|final|i|player|elimination|to)[\s_]+){0,3}(?:vote|voting|answer|choice|decision"
    r"|target|pick|candidate|eliminat(?:e|ion)|nominat(?:e|ion)|nominee|voto|stimme|abstimmung|голос|投票|투표)"
    r"(?:[\s_]+(?:for|to|is|out|this|round|target|player|name))*\s*(?:[:=：—–→]|-+>?)"
)


def _form(pattern: str) -> str:
    # Edges of words in ASCII: Unicode's make a search of other scripts slow.
    return rf"(?im){pattern}{_AFTER}".replace(r"\b", r"(?-u:\b)")


# Who introduces itself names nobody.
INTRODUCTION = (
    rf"(?i)\b(?:as|i am|i['’]m|ich bin|soy|je suis)\s+(?:player\s+)?{MARK}|(?:我是|作为){MARK}"
)
# What is looked for one after the other, and what replaces it.
FORMS = (
    # What is quoted or struck out, and an act that is no vote.
    (r'(?m)^\s*>.*$|~~[^~\n]*~~|(?is:^\{.*"(?:action|type|move)"\s*:\s*"[^ve"][^"]*".*$)', ""),
    # A field of JSON is a labelled line.
    (r'(?i)^\{\s*"(?:name|player|id)"\s*:([^:{}]*)\}$', "vote:$1"),
    (r'[{,\s]*"(\w{1,40})"\s*:\s*"?', "\n$1: "),
    (r'"\s*[,}\]]', "\n"),
    # A tag is a label as well, and so is a box, or a name in bold that ends the text.
    (r"(?i)<(?:\w{0,8}_)?(?:vote|answer|choice|decision|target)[^<>]*>", "\nvote: "),
    (r"\[\[|\\boxed\{(?:\\text\{)?", " vote: "),
    (r"\]\]", " "),
    (r"(?i)<(?:/|\|)[^<>\n]{0,40}>|<eos>", "\n"),
    (r"([,:]\s*)\*\*(\x02[0-9,]+\x03)\*\*\W*$", f"${{1}}{PRONOUN} vote for $2"),
    (r"(?im)^#+[^\w\n]*((?:my\s+|final\s+)*(?:vote|answer|decision))[^\w\n]*$", "$1:"),
    (r"[*`#$]+", ""),
    ("_", " "),
    # What gives a reason votes for nobody.
    (r"(?im)^\W*(?:reason\w*|explanation|rationale|justification|why)\s*:.*$", ""),
    (r"(?i)(?:\bbecause|\bsince|\bdue\s+to|因为)\b[^,;.!?\n]*", ""),
    (r"(?i)(?:['’]d|\s+would)\s+like\s+to\b", " want to"),
    (rf"(?i)(\bI\s+(?:think|believe|suspect)\s+(?:that\s+)?{MARK})\s+m(?:ight|ay)\s+be\b", "$1 is"),
    # A quotation says nothing, unless it is only a name, or all.
    (r"[\"“”'‘’«»「」]\s*(\x02[0-9,]+\x03)\s*[\"“”'‘’«»「」]", "$1"),
    (r"^\W*[\"“]([^\"“”]*)[\"”]\W*$", "$1"),
    (r"[\"“「«][^\"“”「」«»\n]*[\"”」»]", "q"),
    (r"(^|[\s(:,])['‘][^'’\n]*['’]([\s.,!?)]|$)", "${1}q$2"),
    (r"([:?？])\s*\n\s*", "$1 "),
    # The whole text, or its last line behind one that ended, is only a name.
    (
        rf"(?i)(?:^\W*?(?:\d+[.)]\s*)?|[.!。)\]]\s*\n[^\w\x02\n•-]*|\n[^\w\x02\S]*\n[^\w\x02\n•-]*)"
        rf"(?:vot(?:e|ing)\s+(?:for\s+|to\s+eliminate\s+)?)?{_TARGET}[^\w\x02?？]*$",
        f"\n{ANSWER}$1",
    ),
    (r"([.!?]+|…)[)\]]*\s|([。！？;])", "$1$2\n"),
    (_CONDITIONS, CONDITION),
    # "I am not sure, but I vote for Bob".
    (
        rf"(?im)^([^\n{CONDITION}]*?)[,;]?\s+(?:but|so|therefore|hence|thus),?\s+(?:now\s+)?((?:I|my)\b)",
        "$1\n$2",
    ),
    (_DOUBTS, IN_DOUBT),
    (_form(rf"^[^\w\x02\n{_STOPS}]*{_LABEL}{_TO}{_TARGET}"), f"{FINAL}{ANSWER}$1$2"),
    (
        _form(f"{_START}(?:{'|'.join(_STATEMENTS)})"),
        ANSWER + "".join(f"${{{n}}}" for n in range(1, len(_STATEMENTS) + 2)),
    ),
)
