"""One game as one JSON document: what it may say, declared once.

Decoding, encoding, the JSON Schema and the checks of types all follow from these classes. What is
left out has the default that is given here, or is derived.
"""

from collections.abc import Mapping
from datetime import datetime
from inspect import cleandoc
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import fields

from pipeline import game
from pipeline.acts import RESULT
from pipeline.formats.broken import broken, leaves, mistyped
from pipeline.formats.interchange.acts import AnyAct, Round, declared, default_of
from pipeline.formats.players import ModelName
from pipeline.formats.rows import EVERYONE, Int64

VERSION: Literal[1] = 1
Name = Annotated[str, Meta(min_length=1)]
# Read as anything, since a game is not lost for it: see `pipeline.formats.building`.
Tokens = Annotated[Any, Meta(extra_json_schema={"type": ["integer", "null"], "minimum": 0})]
Amount = Annotated[Any, Meta(extra_json_schema={"type": ["number", "null"], "minimum": 0})]


class _Part(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of every part of a document: an unknown key is an error: it may be misspelt."""


class Seat(_Part, kw_only=True):
    """One player. Its seat is its place in the list, from 1.

    `role` can be left out in a game with one role for all. `is_tested` is whether its model is
    under test: true, unless it is a bot. `is_bot` is null where nobody knows. `score` are the
    points at the end. `is_win` is whether it won, in a game in which each plays for itself; where
    there are sides, the outcome says who won. `failure` is how it failed, in the log's words, so
    that the game ended. What its calls of the model took are tokens, seconds and US dollars.
    """

    player: Name
    model: ModelName | None = None
    role: str | UnsetType = UNSET
    is_tested: bool | UnsetType = UNSET
    is_bot: bool | None = False
    score: float | None = None
    is_win: bool | None = None
    failure: str | None = None
    input_tokens: Tokens = None
    output_tokens: Tokens = None
    seconds: Amount = None
    cost: Amount = None


class End(_Part, kw_only=True):
    """How the game ended: one of the outcomes of its kind, the log's own code of it, and why.

    `ended_by` is why it did not run its course, in the log's words.
    """

    outcome: str | None = None
    outcome_code: Int64 | None = None
    ended_by: str | None = None


class Event(_Part, kw_only=True):
    """What happened: a text that somebody wrote, what was done by it or without words, or both.

    `actor` is the player, null for the moderator. The text was shown to all, or to those named in
    `visible_to`. `phase` is what the text is in the game: by default what its acts are.
    """

    actor: str | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    round: Round | None = None
    phase: str | UnsetType = UNSET
    turn: Int64 | None = None
    msg_type: str | None = None
    text: str | None = None
    acts: list[AnyAct] = []


Result = defstruct(
    "Result",
    declared(game.Result, RESULT, {field.name: default_of(field) for field in fields(game.Result)}),
    bases=(_Part,),
    kw_only=True,
)
Result.__doc__ = "A row of `results`, only for what does not follow from outcome, seats and acts."


class Document(_Part, kw_only=True):
    """One game: who played what and how it ended, and what happened, in order.

    `system` is the harness that ran it. `setting` is what was fixed before play, without models;
    `is_repeatable` says that games of equal settings repeat one another. `n_rounds` is by default
    the highest round of any event. `unseated` are names that acts may name although no player has
    them, as in a vote for somebody who is not in the game. `game_index` is the game's number in its
    competition. `format_version` is the variant of the log that the document was made of, and
    `log_sha256` the hash of that log's bytes, by which two writings of one game stay two games.
    """

    magic_interchange: Literal[1]
    system: Name
    game_type: str
    setting: dict[str, Any] = {}
    is_repeatable: bool = False
    is_finished: bool
    end: End | None = None
    started_at: Annotated[datetime, Meta(tz=True)] | None = None
    game_index: Annotated[int, Meta(ge=0, le=10**9 - 1)] | None = None
    format_version: Name = str(VERSION)
    log_sha256: Name | None = None
    n_rounds: Round | UnsetType = UNSET
    seats: Annotated[list[Seat], Meta(min_length=1)]
    unseated: tuple[str, ...] = ()
    events: list[Event] = []
    results: list[Result] | UnsetType = UNSET  # type: ignore[valid-type]


DECODER = msgspec.json.Decoder(Document)
ENCODER = msgspec.json.Encoder()


def schema() -> dict[str, Any]:
    """The JSON Schema of a document, as a dictionary."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    described = msgspec.json.schema(Document)
    for one in described["$defs"].values():
        if "description" in one:
            one["description"] = cleandoc(one["description"])
    return dialect | described


# What JSON and its hash can be made of again.
_LEAST, _MOST = -(2**63), 2**64 - 1
_LONGEST = 60
# Far more than a setting needs, and far less than Python's functions can call themselves.
_DEEPEST = 100
_PAYOFFS = [keys[1] for keys in game.FIXED.values() if keys[0] == "payoffs"]
# What a setting's keys have to be that are columns of `games`; all others are free. One that is not
# here is a text, and none has to be there.
_HELD: dict[str, Any] = {
    "rounds": Round,
    "multiplier": float,
    game.VARIANT_KEYS: list[str],
    "payoffs": defstruct("Payoffs", [(name, float | None, None) for name in _PAYOFFS]),
}
_COLUMNS = dict.fromkeys(keys[0] for keys in game.FIXED.values())
_KEYS = ("code", "civilian_code", game.VARIANT_KEYS, *_COLUMNS)
Fixed = defstruct("Fixed", [(key, _HELD.get(key, str) | None, None) for key in _KEYS])
# Where there is a secret word, the topic is what it is about; else it can be anything.
OfWords = defstruct("OfWords", [("topic", str | None, None)], bases=(Fixed,))


def check_setting(setting: Mapping[str, Any]) -> None:
    """Raises BrokenDocument for a value that no column holds, or that is too large or too deep."""
    try:
        msgspec.convert(setting, OfWords if "code" in setting else Fixed)
    except msgspec.ValidationError as error:
        raise game.BrokenDocument(mistyped(error, "$.setting")) from error
    for path, depth, value in leaves(setting):
        if depth > _DEEPEST:
            rule = f"a setting has at most {_DEEPEST} lists or objects inside of one another"
            raise broken("$.setting", rule, "there are more")
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            rule = f"a whole number is from {_LEAST} to {_MOST}: write another as a text"
            raise broken(f"$.setting{path}", rule, str(value)[:_LONGEST])
