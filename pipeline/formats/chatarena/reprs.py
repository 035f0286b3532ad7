"""Messages as Python writes them: `Message(agent_name='Player 1', turn=1, visible_to=['A', 'B'])`.

Read by patterns and never run. They know what `repr` writes, and nothing else of Python.
"""

import re

from pipeline.formats.broken import broken

# Possessive, so that no text makes a search slow. Half a surrogate pair is no character.
_CODE = r"x[0-9a-f]{2}|u(?!d[89a-f])[0-9a-f]{4}|U00(?:0[1-9a-f]|10)[0-9a-f]{4}"
_ESCAPE = rf"\\(?:[\\'\"nrt]|{_CODE})"
_TEXT = rf"(?:'(?:[^'\\\n]++|{_ESCAPE})*+'|\"(?:[^\"\\\n]++|{_ESCAPE})*+\")"
_ITEMS = rf"{_TEXT}(?:, {_TEXT})*+"
_LIST = rf"\[(?:{_ITEMS})?\]|\((?:{_ITEMS},?)?\)|\{{{_ITEMS}\}}|set\(\)"
_OTHER = r"True|False|None|-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?"
_FIELD = re.compile(rf"(?P<name>[a-z_]{{1,50}})=(?P<value>{_TEXT}|{_LIST}|{_OTHER})(, |\)$)")
_TEXTS = re.compile(_TEXT)
_ESCAPES = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
IS_LIST = re.compile(_LIST)
_CONSTANTS = {"True": True, "False": False, "None": None}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_RULE = "each message is written as Python's repr of a Message"


def message(line: str, at: str) -> dict[str, object]:
    """The fields of a message by name. Raises BrokenDocument for a line that is not all of one."""
    fields: dict[str, object] = {}
    position, end = len("Message("), ", "
    while end == ", ":
        field = _FIELD.match(line, position)
        if field is None:
            where = f"cannot be read from character {position + 1:,} on"
            raise broken(at, _RULE, f"{where}: {line[position : position + 30]!r}")
        name, value, end = field["name"], field["value"], field[3]
        if name in fields:
            raise broken(
                f"{at}.{name}", "each field of a message is there once", "it is there twice"
            )
        fields[name] = _value(value)
        position = field.end()
    return fields


def texts(written: str, at: str) -> list[str]:
    """The texts in a list; raises BrokenDocument for anything else."""
    if IS_LIST.fullmatch(written) is None:
        raise broken(at, "a list of names is written as Python's repr of it", repr(written[:50]))
    return list(map(_text, _TEXTS.findall(written)))


def _value(written: str) -> object:
    if written[0] in "'\"":
        return _text(written)
    if written[0] in "[({s":
        return list(map(_text, _TEXTS.findall(written)))
    if written in _CONSTANTS:
        return _CONSTANTS[written]
    return float(written) if "." in written or "e" in written else int(written)


def _text(written: str) -> str:
    inner = written[1:-1]
    return _ESCAPES.sub(_character, inner) if "\\" in inner else inner


def _character(escape: re.Match[str]) -> str:
    *codes, sign = escape.groups()
    return _CONTROLS.get(sign, sign) if sign else chr(int("".join(filter(None, codes)), 16))
