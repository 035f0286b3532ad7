"""What a model writes before its answer is a thought, and only the answer says anything.

The marks of thought and the fields of an answer in JSON are listed here, and nowhere else but in
`sql/shared/answers.sql`. Python reads the answers. Polars finds which of many texts hold thoughts
(`pipeline.events.text_parsing`), so the patterns look neither ahead nor behind and mean the same
to both.
"""

import re

import msgspec

_NAME = r"[a-z0-9_:.-]{0,30}?"
_THOUGHT = (
    r"(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation"
    r"|justification|思考)"
)
_TAG = rf"{_NAME}{_THOUGHT}{_NAME}"
_ENDS = "|".join(
    (
        rf"<\|?/\s?{_TAG}\s?\|?>",
        rf"\[/{_TAG}\]",
        "\u25c1/think\u25b7",
        r"<\|end_of_thought\|>",
        r"<\|channel\|>\s?final[^<>]{0,40}<\|message\|>",
        # Whatever stands before the mark of an answer is none.
        r"<(?:final_?)?answer>",
        r"<\|begin_of_solution\|>",
        r"<channel\|>",
        r"<unused95>",
        r"\.\.\.\s?done thinking\.",
    )
)
_DETAILS = rf"<details\s[^<>]{{0,60}}{_THOUGHT}[^<>]{{0,60}}>"
_WHOLE = rf"(?:assistant)?analysis.*assistantfinal|\s*{_DETAILS}.*</details>"
BEFORE_ANSWER_PATTERN = rf"(?is)^(?:.*(?:{_ENDS})|{_WHOLE})"
# Whether anything but other marks stands before such a mark.
THOUGHT_PATTERN = rf"(?is)^(?:(?:\s|<[^<>]{{0,60}}>)*[^\s<].*(?:{_ENDS})|{_WHOLE})"
# Thoughts behind an answer. What is looked for is bounded, so that no text makes a search slow.
THOUGHT_BLOCK_PATTERN = rf"(?i)<{_TAG}>[^<>]*</{_TAG}>"

# Whatever follows it, and though it may be cut off.
OBJECT_PATTERN = r"(?s)^(?:[^`]*```[a-z]*)?\s*(\{\s*\".*)$"
_STRING = r"\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"({_STRING}|\[[^\]]{{0,100}}\]|\{{[^}}]{{0,100}}\}}|[^\"\[{{\s][^,}}\]]*)"
# By phase, as `vocabulary.Phase` calls them.
_OWN = {
    "vote": r"votes?|voted|voting|voto|stimme|abstimmung|голос|투표|投票先?",
    "contribution": r"contribution|contribute|amount",
    "decision": r"choice|chosen|choose|decision|选择",
    "guess": r"guess",
}
# Whom or what an act is about: of a vote only where a player is named there.
_AIMS = (
    r"answer|target|choice|chosen|choose|pick|decision|答案|目标|选择|回答|candidate|nominee"
    r"|nominate|nomination|eliminate|elimination|accus(?:e|ed|ation)"
)


def _keys(words: str) -> str:
    """The pattern of fields that answer, such as `my_vote_for`."""
    return (
        rf"(?:(?:final|my|your|elimination)[ _-]?){{0,2}}(?:{words})"
        r"(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2}"
    )


_TALK = r"(?:[a-z]+[ _-])?(?:message|statement|speech|say|response|reply|发言)"
_ANSWERS = _keys(rf"{_AIMS}|{'|'.join(_OWN.values())}|suspect")
_ACTS = r"action|move|output|result"


def _field(keys: str) -> str:
    return rf"(?is)^.*\"(?:{keys})\"\s*:\s*{_VALUE}"


# By phase the fields that answer in it, the last of each kind: those named for what is asked for
# come first. Where a text is asked for, what is said answers it.
FIELDS_BY_PHASE: dict[str, tuple[str, ...]] = {
    phase: (_field(_keys(words)), _field(_ANSWERS), _field(_ACTS)) for phase, words in _OWN.items()
}
FIELDS_BY_PHASE["vote"] = FIELDS_BY_PHASE["proposal_vote"] = FIELDS_BY_PHASE["vote"][:1]
ANY_FIELD_PATTERNS = (_field(_ANSWERS), _field(rf"{_ACTS}|{_TALK}"))
_THOUGHT_KEY = (
    rf"\"[^\"\\:]{{0,40}}?(?:{_THOUGHT}|why|comment|理由|推理|分析|想法)[^\"\\:]{{0,40}}?\""
)
THOUGHT_FIELD_PATTERN = rf"(?is){_THOUGHT_KEY}\s*:\s*{_VALUE}"
TALK_FIELD_PATTERN = _field(_TALK)
# What says something only where no other field does.
ASIDE_PATTERN = rf"(?is)(?:{_THOUGHT_KEY}|\"(?:{_TALK})\")\s*:\s*{_VALUE}"
# A thought that was cut off: it begins, and no answer follows. In JSON its text does not end.
TRUNCATED_THOUGHT_PATTERN = (
    rf"(?i)^\s*(?:<\|?{_TAG}(?:\s[^<>]{{0,60}})?\|?>|\[think\]|\u25c1think\u25b7"
    r"|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|?>(?:analysis|commentary|thought)\b"
    rf"|{_DETAILS}|<unused94>|Thinking\.\.\.\n"
    rf"|(?:```[a-z]*\s*)?\{{\s*{_THOUGHT_KEY}\s*:\s*\"(?:[^\"\\]|\\.)*$)"
)

# A text without any of these is all answer; `<eos>`, which ends many, is no sign.
THOUGHT_SIGNS = [r"<(?:[^eE]|[eE][^oO])", r"\[", r"\{", "\u25c1", "assistantfinal", r"hinking\."]
_SIGN = re.compile("|".join(THOUGHT_SIGNS))


def remove_thoughts(text: str, phase: str = "") -> str:
    """The text without the thoughts before its answer; empty where there is no answer.

    Of an answer that is one JSON object, it is the value of the field that answers in the phase, or
    the fields besides those of thought, what is said coming last.
    """
    if not _SIGN.search(text):
        return text
    said = re.sub(BEFORE_ANSWER_PATTERN, "", text)
    if not said.strip():
        said = re.sub(BEFORE_ANSWER_PATTERN, "", re.sub(THOUGHT_BLOCK_PATTERN, "", text))
    if re.match(TRUNCATED_THOUGHT_PATTERN, said):
        return ""
    found = re.match(OBJECT_PATTERN, said)
    return _of_object(found[1], FIELDS_BY_PHASE.get(phase, ANY_FIELD_PATTERNS)) if found else said


def _of_object(written: str, fields: tuple[str, ...]) -> str:
    for field in fields:
        if found := re.match(field, written):
            return _plain(re.sub(ASIDE_PATTERN, "", found[1]))
    rest = re.sub(ASIDE_PATTERN, "", written)
    talk = re.match(TALK_FIELD_PATTERN, written)
    return f"{rest}\n{_plain(talk[1])}" if talk else rest


def _plain(value: str) -> str:
    """A value of JSON as a text; as written where it is none."""
    try:
        return msgspec.json.decode(value, type=str)
    except msgspec.DecodeError:
        return value
