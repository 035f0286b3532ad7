"""Episodes that kaggle-environments saves, one JSON object a game.

The module `turns` reads games of two players: the Prisoner's Dilemma and games in turn. This module
reads Werewolf from `info.MODERATOR_OBSERVATION`, a list of entries for each step. Each entry is a
string of JSON. As in our tables, a night belongs to the day before it, and the first one to day 0.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, field
from msgspec.structs import replace

from pipeline.formats.hidden_roles import (
    ATTACKED,
    EXECUTED,
    MAX_DAYS,
    MAX_WEREWOLF_PLAYERS,
    WerewolfGameBuilder,
    parse_werewolf_role,
)
from pipeline.formats.record_builder import Int64, check_players
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error
from pipeline.formats.systems.kaggle import turns as kaggle_turns
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError, Seat

NAME = "kaggle"
NAMES_MODELS = True

T = TypeVar("T")

_KEYS = {"configuration", "info", "steps"}
_WEREWOLF = '"werewolf"'
_WORD = re.compile(r'"([A-Za-z0-9_]{1,60})"')
_OUTCOMES = {"Villagers": "villagers_won", "Werewolves": "werewolves_won"}
# The agents of the package, which are no language models.
_BOTS = ("random", "deterministic")
# Rules that are fixed before play, besides the roles.
_SETTING = (
    "discussion_protocol",
    "day_voting_protocol",
    "werewolf_night_vote_protocol",
    "night_elimination_reveal_level",
    "day_exile_reveal_level",
)


Day = Annotated[int, Meta(ge=0, le=MAX_DAYS)]


class Model(Struct, gc=False):
    """A language model of an agent."""

    model_name: str


class Agent(Struct, gc=False):
    """An agent; the harness tells agents apart by their `display_name`."""

    role: str
    agent_id: str | None = None
    display_name: str | None = None
    llms: list[Model] | None = None

    @property
    def model(self) -> str | None:
        """The name that the agent displays, or else the name of its model if it has only one."""
        names = {model.model_name for model in self.llms or ()}
        return self.display_name or (names.pop() if len(names) == 1 else None) or None


class ConfiguredAgent(Agent, gc=False):
    """An agent in the configuration of an episode."""

    id: str = ""


class Player(Struct, gc=False):
    """A player and its role, as listed at the end of a game."""

    id: str
    agent: Agent


class End(Struct, gc=False):
    """How the game ended; most fields are missing if an agent failed."""

    winner_team: str | None = None
    all_players: list[Player] | None = None
    terminated_with_agent_error: bool | None = None


class Entry(Struct, gc=False):
    """An entry of the moderator's log: its type, and its JSON as a string."""

    data_type: str
    json_str: str


class Info(Struct, gc=False):
    """The moderator's log and the end of an episode."""

    entries: list[list[Entry]] = field(name="MODERATOR_OBSERVATION")
    end: End | None = field(name="GAME_END", default=None)


class Episode(Struct, gc=False):
    """The document of an episode."""

    info: Info
    configuration: dict[str, Raw]


class Data(Struct, gc=False):
    """The fields of all kinds of entries; each entry has some of them."""

    actor_id: str | None = None
    target_id: Any = None  # parsed from an agent's answer, so it can be any value
    player_id: str | None = None
    role: str | None = None
    team: str | None = None
    message: str | None = None
    elected_player_id: str | None = None
    elected_target_player_id: str | None = None
    eliminated_player_id: str | None = None


class Event(Struct, gc=False):
    """A decoded entry: its day, its data, and whether all players saw it."""

    day: Day
    data: Data
    public: bool = False


class Protocol(Struct, gc=False, omit_defaults=True):
    """A rule of an episode with its parameters."""

    name: str
    params: dict[str, str | Int64 | float | bool | None] = {}


_RULE = msgspec.json.Decoder(str | Protocol)


# By the type of an entry: the ability that a player uses, and why a player leaves the game.
_USES = {
    "WerewolfNightVoteDataEntry": "attack_vote",
    "DoctorHealActionDataEntry": "heal",
    "SeerInspectResultDataEntry": "inspect",
}
_LEAVES = {
    "WerewolfNightEliminationDataEntry": ("eliminated_player_id", ATTACKED),
    "DayExileElectedDataEntry": ("elected_player_id", EXECUTED),
}
_CHAT, _VOTE, _START = "ChatDataEntry", "DayExileVoteDataEntry", "GameStartRoleDataEntry"
_ATTACK = "WerewolfNightEliminationElectedDataEntry"
# Other entries are requests, announcements and repetitions.
_RELEVANT_TYPES = {*_USES, *_LEAVES, _CHAT, _VOTE, _START, _ATTACK}
_BY_DAY = (_CHAT, _VOTE, "DayExileElectedDataEntry")


# An entry of the moderator's log: its type, its content and its JSON path.
EventOfTypeAtPath: TypeAlias = tuple[str, Event, str]


def _add_action_or_elimination(
    village: WerewolfGameBuilder, entry_type: str, event: Event, json_path: str
) -> None:
    """Add what an entry of the moderator's log tells: a player's action, attack or elimination."""
    data, day, actor = event.data, event.day, event.data.actor_id or ""
    if entry_type in _LEAVES:
        field_name, cause = _LEAVES[entry_type]
        if (player := getattr(data, field_name)) is not None:
            village.eliminate_player(player, day, cause, json_path)
    elif entry_type == _ATTACK:
        if data.elected_target_player_id is not None:
            village.add_attack_by_all_werewolves(data.elected_target_player_id, day, json_path)
    elif entry_type == _START or not village.is_player_or_add_fault(actor, json_path):
        return
    elif entry_type == _CHAT:
        village.add_message(actor, data.message or "", day, is_whisper=not event.public)
    elif entry_type == _VOTE:
        village.set_vote(actor, village.find_target_or_add_fault(data.target_id, json_path), day)
    else:  # a seer learns a role, or only a team
        finding = (data.role or data.team or "").lower() if _USES[entry_type] == "inspect" else ""
        village.add_ability_use(
            actor,
            _USES[entry_type],
            village.find_target_or_add_fault(data.target_id, json_path),
            day,
            finding or None,
        )


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is an episode of a supported game."""
    return _is_episode(sniffer) and (
        _environment_name_json(sniffer) in {_WEREWOLF, *kaggle_turns.GAMES}
        or kaggle_turns.is_prisoners_dilemma(sniffer)
    )


def describes(sniffer: DocumentSniffer) -> str | None:
    """Return a description of an episode of an unsupported game; None for other documents."""
    name = _WORD.fullmatch(_environment_name_json(sniffer)) if _is_episode(sniffer) else None
    return f"a Kaggle episode of {name[1]}" if name else None


def _is_episode(sniffer: DocumentSniffer) -> bool:
    return sniffer.has_keys(_KEYS, len(_KEYS) - 1)


def _environment_name_json(sniffer: DocumentSniffer) -> str:
    """Return the name of the environment as a JSON string; empty if the document has none."""
    return bytes(sniffer.top.get("name", b"")).decode(errors="replace")


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of an episode; a game of Werewolf without a winner is unfinished."""
    if (name := _environment_name_json(sniffer)) == _WEREWOLF:
        return _read_werewolf(sniffer)
    if name in kaggle_turns.GAMES:
        return kaggle_turns.read_turn_based_game(sniffer)
    return kaggle_turns.read_prisoners_dilemma(sniffer)


def _read_werewolf(sniffer: DocumentSniffer) -> GameRecord:
    episode = decode(Episode, sniffer.data)
    end = episode.info.end or End()
    faults: list[RecordError] = []
    events = list(_iter_relevant_events(episode.info.entries, faults))
    village = WerewolfGameBuilder(
        _seats_of_players(end.all_players or _players_from_role_announcements(episode, events))
    )
    village.faults += faults
    for event in events:
        _add_action_or_elimination(village, *event)
    if end.winner_team is not None and end.winner_team not in _OUTCOMES:
        rule = "the winning team is Villagers or Werewolves"
        raise invalid_document_error(
            "$.info.GAME_END.winner_team", rule, repr(end.winner_team[:50])
        )
    is_valid = end.winner_team is not None and not end.terminated_with_agent_error
    rules = {key: _configured_value(episode, key, _RULE) for key in _SETTING}
    return village.build_game(
        NAME,
        outcome=_OUTCOMES[end.winner_team or ""] if is_valid else None,
        n_rounds=max(
            (event.day for entry_type, event, _ in events if entry_type in _BY_DAY), default=0
        ),
        setting={key: msgspec.to_builtins(rule) for key, rule in rules.items() if rule is not None},
        ended_by="agent error" if end.terminated_with_agent_error else None,
    )


def _iter_relevant_events(
    steps: list[list[Entry]], faults: list[RecordError]
) -> Iterator[EventOfTypeAtPath]:
    """Yield the type, the content and the JSON path of each entry with a role or an action.

    Invalid entries are skipped and reported in `faults`.
    """
    for step_index, entries in enumerate(steps):
        for entry_index, entry in enumerate(entries):
            if entry.data_type in _RELEVANT_TYPES:
                json_path = f"$.info.MODERATOR_OBSERVATION[{step_index}][{entry_index}].json_str"
                try:
                    yield (
                        entry.data_type,
                        decode(Event, entry.json_str.encode(), json_path),
                        json_path,
                    )
                except InvalidDocumentError as error:
                    faults.append(error.fault)


def _players_from_role_announcements(
    episode: Episode, events: list[EventOfTypeAtPath]
) -> list[Player]:
    """Return the players with the roles that they were told, for a game without a result.

    The configuration tells which agent plays which player, unless the names were shuffled.
    """
    is_shuffled = _configured_value(episode, "randomize_ids", bool) or False
    configured_agents = _configured_value(episode, "agents", list[ConfiguredAgent]) or []
    agents = {} if is_shuffled else {agent.id: agent for agent in configured_agents}
    players = []
    for entry_type, event, _ in events:
        name, role = event.data.player_id, event.data.role
        if entry_type == _START and name is not None and role is not None:
            players.append(Player(name, replace(agents.get(name, Agent(role)), role=role)))
    return players


def _configured_value(
    episode: Episode, key: str, value_type: type[T] | msgspec.json.Decoder[T]
) -> T | None:
    """Return the value of a key of the configuration; None if the key is missing."""
    value = episode.configuration.get(key)
    return None if value is None else decode(value_type, value, f"$.configuration.{key}")


def _seats_of_players(players: list[Player]) -> list[Seat]:
    json_path = "$.info.GAME_END.all_players"
    check_players([player.id for player in players], json_path, MAX_WEREWOLF_PLAYERS)
    return [
        Seat(
            player.id,
            player.agent.model,
            parse_werewolf_role(player.agent.role, json_path),
            is_tested=player.agent.agent_id not in _BOTS,
            is_bot=player.agent.agent_id in _BOTS,
        )
        for player in players
    ]
