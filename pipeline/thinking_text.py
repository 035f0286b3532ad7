"""Remove the reasoning that a model writes before its answer, so that only the answer is parsed.

The markers of reasoning and the answer fields of JSON are defined here and in
`sql/shared/answers.sql`. Python extracts the answers, and polars finds which of many texts contain
reasoning (`pipeline.events.text_parsing`); so the patterns have no lookaround, which polars lacks.
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
        # Text before the marker of an answer is reasoning.
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
# Matches if there is text other than markers before the end of the reasoning.
THOUGHT_PATTERN = rf"(?is)^(?:(?:\s|<[^<>]{{0,60}}>)*[^\s<].*(?:{_ENDS})|{_WHOLE})"
# Reasoning after an answer. Repetitions are bounded, so that no text makes the search slow.
THOUGHT_BLOCK_PATTERN = rf"(?i)<{_TAG}>[^<>]*</{_TAG}>"

# A JSON object with any text after it; the object may be truncated.
OBJECT_PATTERN = r"(?s)^(?:[^`]*```[a-z]*)?\s*(\{\s*\".*)$"
_STRING = r"\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"({_STRING}|\[[^\]]{{0,100}}\]|\{{[^}}]{{0,100}}\}}|[^\"\[{{\s][^,}}\]]*)"
# Names of answer fields by phase (`vocabulary.Phase`).
_FIELD_NAMES_BY_PHASE = {
    "vote": r"votes?|voted|voting|voto|stimme|abstimmung|голос|투표|投票先?",
    "contribution": r"contribution|contribute|amount",
    "decision": r"choice|chosen|choose|decision|选择",
    "guess": r"guess",
}
# Names of fields with the target of an action; for a vote they count only if they name a player.
_TARGET_FIELD_NAMES = (
    r"answer|target|choice|chosen|choose|pick|decision|答案|目标|选择|回答|candidate|nominee"
    r"|nominate|nomination|eliminate|elimination|accus(?:e|ed|ation)"
)


def _field_name_regex(words_regex: str) -> str:
    """Return a regular expression of the field names made of one of the words: `my_vote_for`."""
    return (
        rf"(?:(?:final|my|your|elimination)[ _-]?){{0,2}}(?:{words_regex})"
        r"(?:[ _-]?(?:is|for|to|out|player|name|id|target|amount|points|word)){0,2}"
    )


_TALK = r"(?:[a-z]+[ _-])?(?:message|statement|speech|say|response|reply|发言)"
_ANSWERS = _field_name_regex(
    rf"{_TARGET_FIELD_NAMES}|{'|'.join(_FIELD_NAMES_BY_PHASE.values())}|suspect"
)
_ACTS = r"action|move|output|result"


def _last_field_value_regex(names_regex: str) -> str:
    """Return a regular expression that captures the value of the last JSON field with a name."""
    return rf"(?is)^.*\"(?:{names_regex})\"\s*:\s*{_VALUE}"


# Patterns of the fields that contain the answer of a phase, in the order of preference: fields
# named after the action come first. In a phase that asks for a statement, the message is it.
FIELDS_BY_PHASE: dict[str, tuple[str, ...]] = {
    phase: (
        _last_field_value_regex(_field_name_regex(words)),
        _last_field_value_regex(_ANSWERS),
        _last_field_value_regex(_ACTS),
    )
    for phase, words in _FIELD_NAMES_BY_PHASE.items()
}
FIELDS_BY_PHASE["vote"] = FIELDS_BY_PHASE["proposal_vote"] = FIELDS_BY_PHASE["vote"][:1]
ANY_FIELD_PATTERNS = (
    _last_field_value_regex(_ANSWERS),
    _last_field_value_regex(rf"{_ACTS}|{_TALK}"),
)
_THOUGHT_KEY = (
    rf"\"[^\"\\:]{{0,40}}?(?:{_THOUGHT}|why|comment|理由|推理|分析|想法)[^\"\\:]{{0,40}}?\""
)
THOUGHT_FIELD_PATTERN = rf"(?is){_THOUGHT_KEY}\s*:\s*{_VALUE}"
TALK_FIELD_PATTERN = _last_field_value_regex(_TALK)
# Fields that count only if no other field contains the answer.
ASIDE_PATTERN = rf"(?is)(?:{_THOUGHT_KEY}|\"(?:{_TALK})\")\s*:\s*{_VALUE}"
# Truncated reasoning: it begins, and no answer follows it. In JSON, its string does not end.
TRUNCATED_THOUGHT_PATTERN = (
    rf"(?i)^\s*(?:<\|?{_TAG}(?:\s[^<>]{{0,60}})?\|?>|\[think\]|\u25c1think\u25b7"
    r"|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|?>(?:analysis|commentary|thought)\b"
    rf"|{_DETAILS}|<unused94>|Thinking\.\.\.\n"
    rf"|(?:```[a-z]*\s*)?\{{\s*{_THOUGHT_KEY}\s*:\s*\"(?:[^\"\\]|\\.)*$)"
)

# A text without any of these signs contains no reasoning. `<eos>` is not a sign.
THOUGHT_SIGNS = [r"<(?:[^eE]|[eE][^oO])", r"\[", r"\{", "\u25c1", "assistantfinal", r"hinking\."]
_SIGN = re.compile("|".join(THOUGHT_SIGNS))


def remove_thoughts(text: str, phase: str = "") -> str:
    """Return the answer in a model's message, without the reasoning before it.

    Args:
        text: The message of a player.
        phase: The phase of the message, which selects the answer fields of JSON.

    Returns:
        The answer; empty if the text contains reasoning only. If the answer is a JSON object, the
        value of its answer field, or else all fields except those with reasoning.
    """
    if not _SIGN.search(text):
        return text
    answer = re.sub(BEFORE_ANSWER_PATTERN, "", text)
    if not answer.strip():
        answer = re.sub(BEFORE_ANSWER_PATTERN, "", re.sub(THOUGHT_BLOCK_PATTERN, "", text))
    if re.match(TRUNCATED_THOUGHT_PATTERN, answer):
        return ""
    match = re.match(OBJECT_PATTERN, answer)
    patterns = FIELDS_BY_PHASE.get(phase, ANY_FIELD_PATTERNS)
    return _answer_from_json_object(match[1], patterns) if match else answer


def _answer_from_json_object(json_text: str, answer_patterns: tuple[str, ...]) -> str:
    """Return the value of the answer field, or the JSON text without its reasoning fields."""
    for pattern in answer_patterns:
        if match := re.match(pattern, json_text):
            return _decode_json_string_or_keep(re.sub(ASIDE_PATTERN, "", match[1]))
    remaining_json = re.sub(ASIDE_PATTERN, "", json_text)
    talk = re.match(TALK_FIELD_PATTERN, json_text)
    return f"{remaining_json}\n{_decode_json_string_or_keep(talk[1])}" if talk else remaining_json


def _decode_json_string_or_keep(value: str) -> str:
    try:
        return msgspec.json.decode(value, type=str)
    except msgspec.DecodeError:
        return value
