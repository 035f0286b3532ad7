"""What a model writes before its answer is a thought, and only the answer says anything.

The marks of thought and the fields of an answer in JSON are listed here, and nowhere else but in
`sql/shared/answers.sql`. The patterns mean the same to Python and to polars, which reads many texts
at once (`pipeline.events.prose`), so they look neither ahead nor behind.
"""

import json
import re

_NAME = r"[a-z0-9_:.-]{0,30}?"
_THOUGHT = (
    r"(?:think|thought|reason|reflect|analy[sz]|scratch|monologue|rationale|deliberat|explanation"
    r"|justification)"
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
    )
)
BEFORE_ANSWER = rf"(?is)^(?:.*(?:{_ENDS})|analysis.*assistantfinal)"
# Whether anything but other marks stands before such a mark.
HELD = rf"(?is)^(?:(?:\s|<[^<>]{{0,60}}>)*[^\s<].*(?:{_ENDS})|analysis.*assistantfinal)"
# Thoughts behind an answer. What is looked for is bounded, so that no text makes a search slow.
BLOCKS = rf"(?i)<{_TAG}>[^<>]*</{_TAG}>"

# Whatever follows it, and though it may be cut off.
OBJECT = r"(?s)^(?:[^`]*```[a-z]*)?\s*(\{\s*\".*)$"
_STRING = r"\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"({_STRING}|\[[^\]]{{0,100}}\]|\{{[^}}]{{0,100}}\}}|[^\"\[{{\s][^,}}\]]*)"
_ANSWERS = (
    r"(?:(?:final|my|your)[ _-]?)?(?:votes?|voted|voting|answer|target|choice|chosen|choose|pick"
    r"|decision|投票|答案|目标|选择|回答|contribution|contribute|amount|guess|candidate|nominee|suspect|accus(?:e|ed|ation))"
    r"(?:[ _-]?(?:for|to|player|name|id|target|amount|points|word))?"
)
_ACTS = (
    r"(?:public[ _-]?)?(?:action|move|response|reply|output|result|message|statement|speech|say)"
)
# Of several such fields the last one answers; what is done comes after what it is done to.
FIELDS = tuple(rf"(?is)^.*\"(?:{keys})\"\s*:\s*{_VALUE}" for keys in (_ANSWERS, _ACTS))
_THOUGHT_KEY = (
    rf"\"[^\"\\:]{{0,40}}?(?:{_THOUGHT}|why|comment|思考|理由|推理|分析|想法)[^\"\\:]{{0,40}}?\""
)
THOUGHT_FIELDS = rf"(?is){_THOUGHT_KEY}\s*:\s*{_VALUE}"
# A thought that was cut off: it begins, and no answer follows. In JSON its text does not end.
CUT_OFF = (
    rf"(?i)^\s*(?:<\|?{_TAG}(?:\s[^<>]{{0,60}})?\|?>|\[think\]|\u25c1think\u25b7"
    r"|<\|begin_of_thought\|>|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b"
    rf"|(?:```[a-z]*\s*)?\{{\s*{_THOUGHT_KEY}\s*:\s*\"(?:[^\"\\]|\\.)*$)"
)

# A text without any of these is all answer.
SIGNS = ["<", "[", "{", "\u25c1", "assistantfinal"]


def answer(text: str) -> str:
    """The text without the thoughts before its answer; empty where there is no answer.

    Of an answer that is one JSON object, it is the value of the field that answers.
    """
    if not any(sign in text for sign in SIGNS):
        return text
    said = re.sub(BEFORE_ANSWER, "", text)
    if not said.strip():
        said = re.sub(BEFORE_ANSWER, "", re.sub(BLOCKS, "", text))
    if re.match(CUT_OFF, said):
        return ""
    found = re.match(OBJECT, said)
    return _of_object(found[1]) if found else said


def _of_object(written: str) -> str:
    for field in FIELDS:
        if found := re.match(field, written):
            return _plain(found[1])
    return re.sub(THOUGHT_FIELDS, "", written)


def _plain(value: str) -> str:
    """A value of JSON as a text; as written where it is none."""
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return read if isinstance(read, str) else value
