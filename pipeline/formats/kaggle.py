"""Episodes that kaggle-environments saves, one JSON object a game.

`kaggle_dilemma` reads the Prisoner's Dilemma, `kaggle_turns` what two players play in turn. All
that happens in Werewolf is in `info.MODERATOR_OBSERVATION`, a list of entries for each step; each
entry is JSON in a text. A night is of the day before it, and the first one of day 0, as in our
tables.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec

from pipeline.formats import kaggle_dilemma, kaggle_turns
from pipeline.formats.broken import broken, decode
from pipeline.formats.kaggle_log import (
    AGENTS,
    EPISODE,
    EVENT,
    FLAG,
    RULE,
    Agent,
    Data,
    End,
    Entry,
    Episode,
    Player,
)
from pipeline.formats.look import Look
from pipeline.formats.players import check_players
from pipeline.formats.village import (
    ATTACKED,
    EXECUTED,
    KNOWN_ROLE,
    MOST_PLAYERS,
    Village,
    role_of,
)
from pipeline.game import BrokenDocument, Fault, GameRecord, JsonValue, Seat

NAME = SYSTEM = "kaggle"
VERSION = "1"
NAMES_MODELS = True

T = TypeVar("T")

_KEYS = {"configuration", "info", "steps"}
_WEREWOLF = '"werewolf"'
_WORD = re.compile(r'"([A-Za-z0-9_]{1,60})"')
_OUTCOMES = {"Villagers": "villagers_won", "Werewolves": "werewolves_won"}
# The agents that come with the package and are no language models.
_BOTS = ("random", "deterministic")
# What is fixed before play, besides the roles.
_SETTING = (
    "discussion_protocol",
    "day_voting_protocol",
    "werewolf_night_vote_protocol",
    "night_elimination_reveal_level",
    "day_exile_reveal_level",
)


class Act(NamedTuple):
    """One entry: its day, what it says, and where it is in the log."""

    day: int
    data: Data
    public: bool
    at: str

    @property
    def actor(self) -> str:
        """Who acts; empty where nobody is named."""
        return self.data.actor_id or ""

    def target(self, village: Village) -> str | None:
        """Whom it is aimed at, a player; None for who abstains."""
        return village.target(self.data.target_id, self.at)


def _chat(village: Village, act: Act) -> None:
    say = village.say if act.public else village.whisper
    say(act.actor, act.data.message or "", act.day)


def _vote(village: Village, act: Act) -> None:
    village.vote(act.actor, act.target(village), act.day)


def _use(kind: str, village: Village, act: Act) -> None:
    """Adds the use of an ability; what a seer learns is a role, or only a team."""
    finding = act.data.role or act.data.team if kind == "inspect" else None
    finding = finding.lower() if finding else None
    village.use(act.actor, kind, act.target(village), act.day, finding)


def _attack(village: Village, act: Act) -> None:
    if act.data.elected_target_player_id is not None:
        village.attack(act.data.elected_target_player_id, act.day, act.at)


def _leave(field: str, cause: str, village: Village, act: Act) -> None:
    player = getattr(act.data, field)
    if player is not None:
        village.eliminate(player, act.day, cause, act.at)


# What players do themselves.
_BY_PLAYERS: dict[str, Callable[[Village, Act], None]] = {
    "ChatDataEntry": _chat,
    "DayExileVoteDataEntry": _vote,
    "WerewolfNightVoteDataEntry": partial(_use, "attack_vote"),
    "DoctorHealActionDataEntry": partial(_use, "heal"),
    "SeerInspectResultDataEntry": partial(_use, "inspect"),
}
# Other entries are requests, announcements, and what repeats these.
_ACTS = _BY_PLAYERS | {
    "WerewolfNightEliminationElectedDataEntry": _attack,
    "WerewolfNightEliminationDataEntry": partial(_leave, "eliminated_player_id", ATTACKED),
    "DayExileElectedDataEntry": partial(_leave, "elected_player_id", EXECUTED),
}
_BY_DAY = ("ChatDataEntry", "DayExileVoteDataEntry", "DayExileElectedDataEntry")
_START = "GameStartRoleDataEntry"


def claims(look: Look) -> bool:
    return _is_episode(look) and (
        _name(look) in {_WEREWOLF, *kaggle_turns.GAMES} or kaggle_dilemma.is_dilemma(look)
    )


def describes(look: Look) -> str | None:
    """An episode of a game that is not read; null for what is no episode."""
    name = _WORD.fullmatch(_name(look)) if _is_episode(look) else None
    return f"a Kaggle episode of {name[1]}" if name else None


def _is_episode(look: Look) -> bool:
    return look.has(_KEYS, len(_KEYS) - 1)


def _name(look: Look) -> str:
    """The name of the environment as it is in the JSON, with quotes; empty if there is none."""
    return bytes(look.top.get("name", b"")).decode(errors="replace")


def read(look: Look, model: str | None) -> GameRecord:
    """The game; without a winner, or with an agent that failed, it is unfinished."""
    if (name := _name(look)) == _WEREWOLF:
        return _werewolf(look)
    game_of = kaggle_turns.game_of if name in kaggle_turns.GAMES else kaggle_dilemma.game_of
    return game_of(look, SYSTEM, VERSION)


def _werewolf(look: Look) -> GameRecord:
    episode = decode(EPISODE, look.data)
    end = episode.info.end or End()
    faults: list[Fault] = []
    acts = [(entry.data_type, act) for entry, act in _acts(episode.info.entries, faults)]
    players = end.all_players or _players_at_the_start(episode, acts)
    village = Village(_seats(players))
    village.faults += faults
    for kind, act in acts:
        is_theirs = kind in _BY_PLAYERS
        if kind in _ACTS and (not is_theirs or village.is_player(act.actor, act.at)):
            _ACTS[kind](village, act)
    if end.winner_team is not None and end.winner_team not in _OUTCOMES:
        rule = "the winning team is Villagers or Werewolves"
        raise broken("$.info.GAME_END.winner_team", rule, repr(end.winner_team[:50]))
    is_valid = end.winner_team is not None and not end.terminated_with_agent_error
    return village.game(
        sys.modules[__name__],
        outcome=_OUTCOMES[end.winner_team or ""] if is_valid else None,
        n_rounds=max((act.day for kind, act in acts if kind in _BY_DAY), default=0),
        setting=_setting(episode),
        ended_by="agent error" if end.terminated_with_agent_error else None,
    )


def _acts(steps: list[list[Entry]], faults: list[Fault]) -> Iterator[tuple[Entry, Act]]:
    """The entries that say what is done, or who has which role; a fault for one that is neither."""
    for number, entries in enumerate(steps):
        for place, entry in enumerate(entries):
            if entry.data_type in _ACTS or entry.data_type == _START:
                at = f"$.info.MODERATOR_OBSERVATION[{number}][{place}].json_str"
                try:
                    event = decode(EVENT, entry.json_str.encode(), at)
                except BrokenDocument as error:
                    faults.append(error.fault)
                    continue
                yield entry, Act(event.day, event.data, event.public, at)


def _players_at_the_start(episode: Episode, acts: list[tuple[str, Act]]) -> list[Player]:
    """The players of a game without an end, as they were told their roles.

    Which agent a player is, the configuration says, unless names were dealt out by chance.
    """
    is_shuffled = _configured(episode, "randomize_ids", FLAG) or False
    listed = _configured(episode, "agents", AGENTS) or []
    agents = {} if is_shuffled else {agent.id: agent for agent in listed}
    players = []
    for kind, act in acts:
        name, role = act.data.player_id, act.data.role
        if kind == _START and name is not None and role is not None:
            agent = msgspec.structs.replace(agents.get(name, Agent(role)), role=role)
            players.append(Player(name, agent))
    return players


def _configured(episode: Episode, key: str, decoder: msgspec.json.Decoder[T]) -> T | None:
    """What the configuration says at a key, None where it is not there."""
    value = episode.configuration.get(key)
    return None if value is None else decode(decoder, value, f"$.configuration.{key}")


def _seats(players: list[Player]) -> list[Seat]:
    check_players([player.id for player in players], "$.info.GAME_END.all_players", MOST_PLAYERS)
    return [_seat(player.id, player.agent) for player in players]


def _seat(name: str, agent: Agent) -> Seat:
    role = role_of(agent.role)
    if role is None:
        raise broken("$.info.GAME_END.all_players", KNOWN_ROLE, repr(agent.role[:50]))
    is_bot = agent.agent_id in _BOTS
    return Seat(name, agent.model, role, is_tested=not is_bot, is_bot=is_bot)


def _setting(episode: Episode) -> dict[str, JsonValue]:
    rules = {key: _configured(episode, key, RULE) for key in _SETTING}
    return {key: msgspec.to_builtins(rule) for key, rule in rules.items() if rule is not None}
