"""Small raw logs as the engines of MAgIC and ChatArena write them, made by hand for the tests.

A builder gives a plain dict (or list) that a test may bend before it is encoded; the defaults are a
whole, finished, unremarkable game.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pipeline.events.contracts import GAME_TABLES
from pipeline.events.frames import EventFrames, IdentifiedGame, _Batch
from pipeline.formats import read_game
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError

Log = dict[str, Any]

PLAYERS = ("Player 1", "Player 2", "Player 3")
MODEL = "crystal-7b"
DEFENDER = "gpt-4-fix"
OUTAGE = (
    "<<<<<<END_OF_CONVERSATION>>>>>>00000000-0000-4000-8000-000000000000"
    "Agent {} failed to generate a response. Error: no route. Sending signal to end the talk."
)
CHAMELEON_RESULTS = {0: "non-chameleon", 1: "chameleon", 2: "chameleon", 3: "chameleon"}
UNDERCOVER_RESULTS = {0: "non-undercover", 1: "undercover", 2: "undercover"}
PAYOFFS = {"cooperate": 3, "defect": 1, "one_defect": 5, "two_defect": 2}


def encode(log: object) -> bytes:
    """The bytes of a log, as Python's json writes it."""
    return json.dumps(log, indent=4).encode()


def bent(log: Any, *path: str | int, value: object) -> Any:
    """A copy of the log with another value at a place."""
    *parents, last = path
    part = copy = deepcopy(log)
    for key in parents:
        part = part[key]
    part[last] = value
    return copy


class Row(SimpleNamespace):
    """One row of an event table, by its columns."""


class Game:
    """A game as it gets into the tables: a list of rows for each, and what its log says of it.

    The rows are made once a test asks for some: that takes 500 times as long as to read the log.
    """

    def __init__(self, record: GameRecord, rows_of: Callable[[str], list[Row]]) -> None:
        self._record, self._rows_of = record, rows_of

    def __getattr__(self, name: str) -> Any:
        """What is said of the game, or the rows of a table, those of players as `seats`."""
        if name in _SAID_OF_A_GAME:
            return getattr(self._record, name)
        table = "players" if name == "seats" else name
        if table not in GAME_TABLES:
            raise AttributeError(name)
        self.__dict__[name] = self._rows_of(table)
        return self.__dict__[name]

    def __eq__(self, other: object) -> bool:
        """Whether all rows are the same, as they are where all that was read is, without a look."""
        names = {*_SAID_OF_A_GAME, "seats", *GAME_TABLES} - {"players"}
        return (isinstance(other, Game) and self._record == other._record) or all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    __hash__ = None  # type: ignore[assignment]


_SAID_OF_A_GAME = (
    *("game_type", "system", "format", "format_version", "setting", "is_finished", "outcome"),
    *("outcome_code", "n_rounds", "started_at", "assigned_model", "faults"),
)


def games_of(games: Iterable[GameRecord]) -> list[Game]:
    """Games as their rows tell them; ids are numbers, so that equal games are equal."""
    placed = [
        IdentifiedGame(
            game,
            game_id=(game_id := f"{number:032x}"),
            game_index=None,
            sha256="0" * 64,
            content_id=game_id,
            source="/",
            path="a.json",
        )
        for number, game in enumerate(games)
    ]
    # Not `frames`: to check the rows and to make all other tables takes a third of the time.
    made = cache(lambda: _Batch(placed))

    @cache
    def rows_of(table: str) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {one.game_id: [] for one in placed}
        for row in (
            EventFrames({table: made().build_table(table)}, {}).table(table).iter_rows(named=True)
        ):
            found[row["game_id"]].append(Row(**row))
        return found

    return [
        Game(one.game, lambda table, game_id=one.game_id: rows_of(table)[game_id]) for one in placed
    ]


def game_of(log: object, model: str | None = None) -> Game:
    """The game that a log is read as."""
    game = read_game(log if isinstance(log, bytes) else encode(log), model)
    assert game is not None
    (output,) = games_of([game])
    return output


def record_of(log: object, model: str | None = None, path: str = "") -> GameRecord:
    """The game that a log is read as, before its rows are made."""
    game = read_game(log if isinstance(log, bytes) else encode(log), model, path)
    assert game is not None, "no log of a game"
    return game


def fault_of(log: object, model: str | None = None, path: str = "") -> RecordError:
    """The fault for which a log is refused."""
    try:
        game = read_game(log if isinstance(log, bytes) else encode(log), model, path)
    except InvalidDocumentError as error:
        return error.fault
    raise AssertionError(f"not refused, but read as {game!r}")


def say(
    agent: str,
    content: str,
    visible_to: str | list[str] = "all",
    msg_type: str = "text",
    turn: int = 0,
) -> Log:
    """One message row."""
    return {
        "agent_name": agent,
        "content": content,
        "turn": turn,
        "timestamp": "1700000000000000000",
        "visible_to": visible_to,
        "msg_type": msg_type,
    }


def moderate(content: str, visible_to: str | list[str] = "all") -> Log:
    return say("Moderator", content, visible_to)


def _backends(hidden: str, tested: str, model: str) -> dict[str, str]:
    is_tested = {player: (player == hidden) == (tested == "hidden") for player in PLAYERS}
    return {player: model if is_tested[player] else DEFENDER for player in PLAYERS}


def _truths(rounds: int) -> tuple[Log, Log]:
    """Answers and analyses that differ by seat and round, so that a mix-up shows."""
    output = {
        str(n): {player: (n + seat) % 2 for seat, player in enumerate(PLAYERS)}
        for n in range(rounds)
    }
    analysed = {
        str(n): {"gold": [1, n % 2, 0], "inter": [0, 1, (n + 1) % 2]} for n in range(rounds)
    }
    return output, analysed


def _questions(kind: str, text: str) -> list[Log]:
    return [say(player, text.format(player), "all", kind) for player in PLAYERS]


def chameleon(
    *,
    flag: int | None = 2,
    hidden: str = "Player 2",
    tested: str = "civilian",
    model: str = MODEL,
    votes: Mapping[str, str | None] | None = None,
    texts: Sequence[str] | None = None,
    guess: str | None = None,
) -> Log:
    """A game of Chameleon. `texts` are what the voters say, `votes` what the game registered."""
    backends = _backends(hidden, tested, model)
    is_pgm = model.endswith("-pgm")
    registered = {"Player 1": "Player 3", "Player 2": "Player 3", "Player 3": "Player 1"}
    said = texts or [f"I vote for {registered[player]}." for player in PLAYERS]
    output, analysed = _truths(3)
    history = [
        moderate("Now the game starts! The topic is: Rivers"),
        moderate("You are not chameleon. The word is: Danube", [p for p in PLAYERS if p != hidden]),
        moderate("You are the chameleon!", hidden),
    ]
    for speaker in PLAYERS:
        history += _questions("metric_consistency", "I am {}, my role is non-chameleon.")
        history.append(say(speaker, "It flows to the east.", "all", "clue"))
        if is_pgm:
            thinkers = [player for player in PLAYERS if backends[player] == model]
            history += [say(player, "I think so.", [player], "pgm") for player in thinkers]
        history += _questions("metric_pgm", "As {}, I think:\nPlayer 1 is no change.")
    history.append(moderate("Now vote which of the other players is the chameleon."))
    history += [
        say(player, text, [player], "accuse") for player, text in zip(PLAYERS, said, strict=True)
    ]
    if flag in (0, 1):
        history += [
            moderate(f"The accusation is correct! Now {hidden} can guess the secret code."),
            say(
                hidden,
                guess or 'I guess the code is "Rhine".',
                hidden,
                "guess" if is_pgm else "text",
            ),
        ]
    history.append(moderate(f"{hidden} won the game!"))
    return {
        "chameleon": hidden,
        "game_setting": {"topic": "Rivers", "code": "Danube", "chameleon_name": hidden},
        "player_backends": {player: {"model": model} for player, model in backends.items()},
        "history": history,
        "win_flag": flag,
        "player_votes": dict(registered if votes is None else votes),
        "result": CHAMELEON_RESULTS.get(flag if flag is not None else -1, "chameleon"),
        "consistency_metric": output,
        "pgm_metric": analysed,
    }


def undercover(
    *,
    flag: int | None = 0,
    hidden: str = "Player 1",
    tested: str = "civilian",
    model: str = MODEL,
    votes: Mapping[str, str | None] | None = None,
    texts: Sequence[str] | None = None,
) -> Log:
    """A game of Undercover, of two rounds of clues and one of accusations."""
    backends = _backends(hidden, tested, model)
    is_pgm = model.endswith("-pgm")
    registered = {"Player 1": "Player 2", "Player 2": "Player 1", "Player 3": "Player 1"}
    said = texts or [f"I vote for {registered[player]}." for player in PLAYERS]
    output, analysed = _truths(2)
    history = [moderate("Now the game starts!")]
    history += [
        moderate(f"Your word is: {'lake' if player == hidden else 'pond'}", player)
        for player in PLAYERS
    ]
    for _ in range(2):
        history.append(moderate("Now everyone gives one clue."))
        for speaker in PLAYERS:
            if is_pgm and backends[speaker] == model:
                history.append(say(speaker, "I think I am not sure.", speaker, "pgm"))
            history.append(say(speaker, "It is wet.", "all", "clue"))
        history += _questions("metric_consistency", "I am {}, my role is not sure.")
        history += _questions("metric_pgm", "I, {}, think Player 2 is the undercover.")
    history.append(moderate("Now vote which of the other players is the undercover."))
    history += [
        say(player, text, [player], "text" if is_pgm else "accuse")
        for player, text in zip(PLAYERS, said, strict=True)
    ]
    # The engine's last line names the undercover as the winner, whoever it was.
    history.append(moderate(f"{hidden} is the undercover. {hidden} won the game!"))
    return {
        "undercover": hidden,
        "game_setting": {
            "undercover_code": "lake",
            "non_undercover_code": "pond",
            "undercover_name": hidden,
        },
        "player_backends": {player: {"model": model} for player, model in backends.items()},
        "history": history,
        "win_flag": flag,
        "result": UNDERCOVER_RESULTS.get(flag if flag is not None else -1, "undercover"),
        "player_vote": dict(registered if votes is None else votes),
        "consistency_metric": output,
        "pgm_metric": analysed,
    }


def proposal_text(shares: Mapping[str, str]) -> str:
    lines = [f"Airline {party}: {share}" for party, share in shares.items()]
    return "\n".join(["I propose the following cost distribution:", *lines])


EVEN = proposal_text({"A": "40%", "B": "35%", "C": "25%"})
Round = tuple[Sequence[str], Sequence[str]]


def cost_sharing(
    rounds: Sequence[Round] = ((((EVEN,) * 3), (("I vote for Player 1's proposal.",) * 3)),),
    *,
    result: str | None = "agree",
    proposal: Mapping[str, object] | None = None,
    vote: Mapping[str, object] | None = None,
    tested: str = "Player 1",
    model: str = MODEL,
) -> Log:
    """A negotiation of rounds of proposals' and votes' texts; either may be cut off."""
    is_pgm = model.endswith("-pgm")
    history = [moderate("Now the game starts! The background is: a fee of $1,000,000")]
    for number, (proposals, votes) in enumerate(rounds):
        history.append(
            moderate(
                "You do not agree. Please continue a new round of negotiation."
                if number
                else "Now everyone propose the cost distribution."
            )
        )
        for player, text in zip(PLAYERS, proposals, strict=False):
            if is_pgm and player == tested and number:
                history.append(say(player, "In my opinion:\nAirline A: 90%", player))
            history.append(say(player, text))
        if votes:
            history.append(moderate("Now vote which proposal you agree with."))
            history += [say(player, text) for player, text in zip(PLAYERS, votes, strict=False)]
    if result == "agree":
        history.append(moderate("You all already agree the same proposal "))
    shares = {"A": "40", "B": "35", "C": "25"}
    return {
        "topic": "a fee of $1,000,000",
        "test_player_name": tested,
        "player_backends": {player: model if player == tested else DEFENDER for player in PLAYERS},
        "history": history,
        "nego_turn": len(rounds),
        "result": result,
        "proposal": dict(proposal or dict.fromkeys(PLAYERS, shares)),
        "vote": dict(vote or dict.fromkeys(PLAYERS, "Player 1")),
    }


def _point_game(
    rounds: Sequence[Mapping[str, str]], tested: str, is_pgm: bool, prompt: str
) -> list[Log]:
    history = [moderate("Now the game starts!"), moderate(prompt)]
    for number, said in enumerate(rounds, start=1):
        if is_pgm and number > 1:
            thought = "In my opinion, I will cooperate and contribute 77."
            history.append(say(tested, thought, tested))
        history += [say(player, text, "Moderator") for player, text in said.items()]
        history.append(moderate(f"Round {number} is over."))
    return history


def by_seat(*texts: str) -> dict[str, str]:
    """What the players say in one round, in the order of seats."""
    return dict(zip(PLAYERS, texts, strict=True))


def prisoners_dilemma(
    rounds: Sequence[Mapping[str, str]] = (by_seat("Cooperate.", "Defect.", "Cooperate"),),
    *,
    scores: Sequence[float] | None = (0, 5, 0),
    result: str | None = "lose",
    tested: str = "Player 1",
    model: str = MODEL,
) -> Log:
    """A Prisoner's Dilemma of rounds of texts by player."""
    return {
        "test_player_name": tested,
        "game_setting": {
            "random": False,
            "topic": "The scoring is as follows.",
            "test_player_name": tested,
            "test_player": {"model": model},
            "non-test_player": {"model": "gpt-4"},
            "topic_values": dict(PAYOFFS),
        },
        "history": _point_game(rounds, tested, model.endswith("-pgm"), "Give your decision."),
        "result": result,
        "scores": None if scores is None else list(scores),
    }


def public_good(
    rounds: Sequence[Mapping[str, str]] = (
        by_seat("I contribute 10.", "I contribute 20 points.", "I contribute 30."),
    ),
    *,
    scores: Sequence[float] | None = (130.0, 120.0, 110.0),
    result: str | None = "win",
    game_round: int | None = None,
    multiplier: float = 2,
    tested: str = "Player 1",
    model: str = MODEL,
) -> Log:
    """A Public Good game of rounds of texts by player; 60 points, doubled, are 40 to each."""
    return {
        "test_player_name": tested,
        "game_setting": {
            "random": False,
            "topic": "",
            "test_player_name": tested,
            "test_player": {"model": model},
            "non-test_player": {"model": "gpt-4"},
            "game_round": len(rounds) if game_round is None else game_round,
            "multiplier": multiplier,
        },
        "history": _point_game(rounds, tested, model.endswith("-pgm"), "Give your decision."),
        "result": result,
        "scores": None if scores is None else list(scores),
    }


GAMES = {
    "chameleon": chameleon,
    "undercover": undercover,
    "cost_sharing": cost_sharing,
    "prisoners_dilemma": prisoners_dilemma,
    "public_good": public_good,
}

ENDINGS = {
    "wrong": "Player 2 guessed the code wrong! Player 1, Player 3 won!",
    "right": "Player 2 guessed the code correctly! Player 2 won!",
    "another": "The most-voted player is Player 1. The accusation is incorrect.",
    "tie": "There are even votes. The accusation does not stand.",
}


def chatarena(
    votes: Sequence[str] = (
        "I vote for Player 3.",
        "I vote for Player 1 as the chameleon.",
        "I think Player 1 is the chameleon.",
    ),
    ending: str | None = "another",
    *,
    guess: str = 'I guess the secret word is "Rhine".',
    hidden: str = "Player 2",
) -> list[Log]:
    """A ChatArena transcript of Chameleon, with a player for each vote."""
    players = [f"Player {seat}" for seat in range(1, len(votes) + 1)]
    rows = [
        moderate("Now the game starts! The topic is: Rivers"),
        moderate("You are not chameleon. The word is: Danube", [p for p in players if p != hidden]),
        moderate("You are the chameleon!", hidden),
        moderate("Now everyone gives one clue."),
        *(say(player, f"It is long, says {player}.") for player in players),
        moderate("Now vote which of the other players is the chameleon."),
        *(say(player, text, [player]) for player, text in zip(players, votes, strict=True)),
    ]
    if ending in ("wrong", "right"):
        rows += [
            moderate(f"The accusation is correct! Now {hidden} can guess the secret code."),
            say(hidden, guess, hidden),
        ]
    if ending:
        rows.append(moderate(ENDINGS[ending]))
    return rows


def write_logs(folder: Path, model: str) -> Path:
    """A new folder with a game of each type by the model, settings, and a file that is broken."""
    folder.mkdir(parents=True)
    for number, build in enumerate(GAMES.values()):
        (folder / f"{number}.json").write_bytes(encode(build(model=model)))
    (folder / "setting.json").write_bytes(encode({"topic": "Rivers"}))
    (folder / "torn.json").write_bytes(encode(chameleon(model=model))[:-1])
    return folder
