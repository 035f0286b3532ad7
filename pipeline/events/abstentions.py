"""The words by which a voter abstains, whomever else its text names.

Each pattern is for texts in which the names of seats are marks already, or are `Player N`, so that
a player called Skip or Pass is none of these words. They look neither ahead nor behind.
"""

# Stands in a text in the place of such words.
NOBODY = "\x05"
NO_ONE = r"\b(?:nobody|no[ -]?one)\b"
_NOT = r"(?:\b(?:not|never|cannot|unable\s+to)|n['’]t)"
HELPERS = (
    r"(?:(?:be|going|to|want|wish|like|think|i|will|should|ever|just|really|actually|simply|yet)\s+)"
    r"{0,4}"
)


def quick(pattern: str) -> str:
    """The pattern with edges of words in ASCII: Unicode's make a search of other scripts slow."""
    return pattern.replace(r"\b", r"(?-u:\b)")


# What follows "I pass", "I will not vote": the end of it, or when and why. Not whom: "for Bob".
_STOP = r"\s*(?:$|[^\w\s\x02])"
_END = (
    rf"(?:{_STOP}|\s+(?:today|tonight|now|(?:on\s+)?(?:this|the|my)\s+(?:vote|round|turn|time|one)"
    r"|(?:on\s+)?voting|this|for\s+(?:now|today|any(?:one|body)?)|at|yet|until|because|since|as|here|any\s?more|without|either|and|but|though|although|while)\b)"
)
_START = r"(?:^|[^\w\s\x02\x03]\s*|[\r\n]\s*|\b(?:and|but|so)\s+)"
# What one says before it. "I could abstain" and "Bob will abstain" are no abstentions.
_ONE = (
    r"\b(?:I(?:['’](?:ll|m|ve|d\s+(?:rather|prefer)))?|we|let['’]?s|let\s+us)"
    r"(?:\s+(?:will|shall|should|must|have|am|do|all|opt|chosen|inclined|would\s+(?:rather"
    r"|prefer|like)|rather|going|to|be|choose|prefer|want|wish|need|decided?|therefore|thus|hereby"
    r"|simply|just|also|again|still|only|like|better))*\s+"
)
_ENGLISH = (
    rf"{_ONE}(?:abstain(?:ing)?\b(?:\s+from\s+(?:(?:this|the)\s+)?(?:vot(?:e|ing)|round)\b)?"
    rf"|(?:skip(?:ping)?|pass(?:ing)?|(?:refus|declin)(?:e|ing)\s+to\s+vote|refrain(?:ing)?\s+from\s+voting){_END}"
    r"|(?:withhold(?:ing)?|waiv(?:e|ing)|for(?:e)?go|cast\s+no)\s+(?:(?:my|the|this)\s+)?vote\b"
    r"|opt(?:ing)?\s+out\b|sit(?:ting)?\s+(?:this|it)\s+(?:\w+\s+){0,2}out\b)"
    rf"|\bI\b[^.,;:!?\n\x02\d]{{0,40}}?{_NOT}\s+{HELPERS}(?:vot(?:e|ing){_END}|cast(?:ing)?\s+(?:a|my|any)\s+vote)"
    rf"|{_START}(?:abstain(?:ing|ed)?|abstention|skip(?:ping)?|pass(?:ing)?|no\s+votes?|not\s+voting"
    rf"){_END}|{_START}(?:nobody|no[ -]?one|none(?:\s+of\s+(?:the\s+)?\w+)?){_STOP}"
    rf"|\b(?:nobody|no[ -]?one|none)\s+to\s+vote\b|\bblank\s+(?:vote|ballot)\b"
    r"|\bvote\s*[:=]\s*[-–—/]+\s*(?:$|[\r\n])"
    # After "vote", as in "My final vote for this round is: "
    r"|\b(?:vot(?:e|es|ing)|ballot)\b(?:[^\w\x02\x03.]|\b(?:for|goes|to|is|will|be|an?|in|against|this|round)\b){0,12}"
    r"\b(?:nobody|no[ -]?one|none|nothing|anyone|anybody|abstain(?:ing)?|abstention|skip(?:ping)?"
    r"|pass|blank|null|n/a)\b"
)
_OTHERS = (
    r"\benthalte\s+(?:ich\s+)?mich\b|\bmich\s+(?:der\s+stimme\s+)?(?:zu\s+)?enthalten\b|\benthaltung\b"
    r"|\bstimme\s+(?:für|gegen)\s+niemand|\bkeine\s+stimme\s+ab\b|\bstimme\s+nicht\s+ab\b|\bwähle\s+niemand"
    r"|\bm['’]absti?en(?:s|ir)\b|\bvote\s+(?:pour\s+personne|blanc|nul)\b"
    rf"|\b(?:ne\s+vote\s+pas|no\s+vot(?:o|aré)|não\s+voto|non\s+voto){_END}"
    r"|\bme\s+abst(?:engo|endré|enho)\b|\babst(?:enerme|enho-me|ención|enção)|\bmi\s+astengo\b|\bastensione\b"
    r"|\bvot\w+\s+(?:(?:por|a|em|per)\s+)?(?:nadie|ninguém|nessuno|en\s+blanco|em\s+branco|nulo)\b"
    rf"|воздерж(?:иваюсь|усь|аться)|(?:^|\s)не\s+(?:буду\s+)?голос(?:ую|овать){_END}|ни\s+за\s+кого"
    r"|(?:^|[^\x03])(?:弃权|棄權|棄権|기권)|放[弃棄](?:本轮|這輪|这轮)?投?票"
    r"|[不没沒](?:想|会|會|要|打算|参与|參與|进行|進行|再|能){0,2}投票(?:[^给給\x02]|$)"
    r"|[不没沒](?:想|会|會|要|打算|再|能){0,2}投(?:了|任何人|谁|誰)|[谁誰][也都]不投|空票|跳[过過]"
    r"|(?:^|[^に]は|[^にはも])投票(?:は|を)?(?:し(?:ない|ません)|見送|控え|パス|放棄)|誰にも(?:投票|入れ)"
    r"|(?:^|[^게테]는|[^게테는\s])\s?투표(?:를|는|은)?\s?(?:하지\s?않|안\s?하|포기|거부)|아무(?:도|에게도)\s?(?:투표|뽑)"
)
ABSTAINS = quick(rf"(?i){_ENGLISH}|{_OTHERS}")
# "I won't abstain", "instead of skipping".
NOT_ABSTAINING = quick(
    rf"(?i)(?:{_NOT}|\b(?:without|instead\s+of|rather\s+than|no\s+(?:need|reason)\s+to))\s+"
    r"(?:(?:be|going|to|want|ever|just|really|simply|yet|choose|like|have|think|i|we|should|will|afford)\s+)"
    r"{0,4}(?:abstain(?:ing)?|skip(?:ping)?|pass(?:ing)?)\b"
    r"|\benthalte\s+mich\s+nicht|\bnicht\s+enthalten|\bne\s+m['’]abstiens\s+pas|\bpas\s+m['’]abstenir"
    r"|\b(?:no|não)\s+me\s+abst\w+|\bnon\s+mi\s+asten\w+|не\s+(?:буду\s+|хочу\s+)?воздерж\w+"
    r"|[不没沒别別](?:想|会|會|要|能|应该|應該|可以|打算){0,2}(?:弃权|棄權|放[弃棄](?:投票)?|跳[过過])"
    r"|棄権(?:は|を)?し?(?:ない|ません|たくない)|기권(?:은|을)?\s?(?:하지\s?않|안\s?하)"
)
# Who only speaks of abstaining may vote in other words, but not by a name that stands anywhere.
SPEAKS_OF_IT = quick(
    rf"(?i){NOBODY}|\babst(?:ain|en[tç])|\bvot(?:e|es|ing)\b[^.\n]{{0,40}}?{NO_ONE}"
    rf"|{_NOT}\s+{HELPERS}vot(?:e|ing)\b|\benthalt|воздерж|弃权|棄權|棄権|기권"
)
