"""Random event tables that satisfy the contracts, as a hypothesis strategy.

Columns are drawn independently of each other wherever a contract lets them be: an unfinished game
may have a winner. So the tables hold more than the formats can make of logs, and no less.

Every table of a game is drawn. The tables of `EVENTS` have values that the metrics tell apart; of
all other tables each column has any value that its contract allows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from random import Random

import polars as pl
from event_tables import ODD
from hypothesis import strategies as st

from pipeline.column import Column
from pipeline.events.contracts import GAME_TABLES, TABLES as CONTRACTS, table_schema
from pipeline.games import (
    Role,
    game_definition,
    game_type_names,
    game_types_with_hidden_side as types_with_sides,
)
from pipeline.vocabulary import GameType, Side

# What the metrics cannot bear yet; each has a test of its own in metrics/test_metric_corners.py.
LEFT_OUT = {"two tested negotiators", "roles unknown", "messages unknown"}

N_GAMES = 50
MODELS = ("m", "m-pgm", ODD, "O'Neil; $by -- all", None)
METRIC_TABLES = (
    "results",
    "votes",
    "role_identifications",
    "role_analyses",
    "decisions",
    "contributions",
    "proposals",
    "proposal_votes",
    "guesses",
    "players",
)
"""The tables with rows of their own for each kind of game."""
TABLES = GAME_TABLES
_ANY_TABLES = tuple(name for name in TABLES if name not in (*METRIC_TABLES, "games"))
_LISTS = ([], ["all"], ["Player 1"], ["Player 2", "Player 3"])
TEXTS = (
    "I contribute 5",
    "I contribute 20 points. I contribute 3",
    "contribute 5.5",
    "As Player 1, I give 3",
    "Contribute 7",
    "I\ncontribute 0",
    "I contribute 00012 to the pool, and 'more'",
    "",
    "<<<<<<END_OF_CONVERSATION>>>>>>4624 failed to generate",
)
SHARES = (
    (),
    ("40", "30"),
    ("40", "30"),
    ("40", "30", "30"),
    ("40.0", "30"),
    ("30", "40"),
    (None, "30"),
    (None, "30"),
)

_STATUSES = ("ok", "ok", "ok", "ambiguous", "unreadable", "outage")
_MAYBE = (True, False, None)
_HIDDEN = types_with_sides()

Row = dict[str, object]


class EventTables(dict[str, pl.DataFrame]):
    """Event tables by name, made of games that their seeds determine; 0 is no game."""

    def __init__(self, seeds: Sequence[int], missing: Collection[str]):
        self._seeds, self._missing = seeds, missing
        rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        for number, seed in enumerate(seeds):
            if seed:
                random = Random(seed)
                index = random.choice((None, *range(31), *range(31)))
                for table, row in _game(random, number, index):
                    rows[table].append(row)
        for name in missing:
            rows[name] = []
        super().__init__(
            (name, pl.DataFrame(of_table, schema=table_schema(name)))
            for name, of_table in rows.items()
        )

    def __repr__(self) -> str:
        return f"EventTables({self._seeds}, missing={self._missing})"


def event_tables() -> st.SearchStrategy[EventTables]:
    """The event tables of many games, some of them empty; they shrink to the games at fault."""
    return st.builds(
        EventTables,
        st.lists(st.integers(0, 2**20), min_size=N_GAMES, max_size=N_GAMES),
        st.just(()) | st.sets(st.sampled_from(METRIC_TABLES), max_size=2),
    )


def shuffled(tables: Mapping[str, pl.DataFrame], seed: int) -> dict[str, pl.DataFrame]:
    """The same tables with their rows in another order."""
    return {name: rows.sample(fraction=1, shuffle=True, seed=seed) for name, rows in tables.items()}


def _game(random: Random, number: int, index: int | None) -> Iterator[tuple[str, Row]]:
    # One result a game makes negotiations the rarest rows.
    game_type = random.choice((*EVENTS, GameType.COST_SHARING, GameType.COST_SHARING))
    game = {
        "game_id": f"{number:032x}",
        "game_type": game_type,
        "system": "magic",
        # A setting is one of its game type.
        "setting_id": f"{game_type_names().index(game_type)}{random.randint(1, 2):031x}",
        "game_index": index,
        "is_finished": random.random() < 0.8,
    }
    n_seats = random.choice((1, 2, 3, 3, 3, 4))
    hidden = random.randrange(n_seats)
    players = [game | _player(random, game_type, seat, seat == hidden) for seat in range(n_seats)]
    if game_type == GameType.COST_SHARING and "two tested negotiators" in LEFT_OUT:
        for player in players[1:]:
            player |= {"is_tested": False, "competition": None}
    for player in players:
        yield "players", player | {"final_score": random.choice((None, 3.0, -0.25, 2 / 3))}
    yield from _results(random, game_type, players)
    yield from EVENTS[game_type](random, players)
    yield "games", _any_row(random, "games") | game | {"setting": "{}", "n_players": n_seats}
    for table, player in product(_ANY_TABLES, players):
        # The key of messages is their position in the game; `seat` is unique with each.
        round_, number = random.randint(1, 3), player["seat"]
        own = {"round": round_, "number": 1, "attempt": 1, "message_index": number}
        if random.random() < 0.5:
            yield table, _any_row(random, table) | player | own


def _any_row(random: Random, table: str) -> Row:
    """A row of which each column has any value that the contract of the table allows."""
    return {name: _any_value(random, one) for name, one in CONTRACTS[table].columns().items()}


def _any_value(random: Random, column: Column) -> object:
    if column.nullable and random.random() < 0.2:
        return None
    if column.words is not None:
        return random.choice(column.words)
    if column.regex is not None:  # a digest or an id
        return f"{random.getrandbits(4 * 32):032x}" * (1 if "32" in column.regex else 2)
    if column.dtype == pl.Boolean:
        return random.random() < 0.5
    if isinstance(column.dtype, pl.List):
        return random.choice(_LISTS)
    if isinstance(column.dtype, pl.Datetime):
        return datetime(2026, 1, random.randint(1, 28), tzinfo=UTC)
    if not column.dtype.is_numeric():
        return random.choice(TEXTS)
    low = 0 if column.min is None else int(column.min)
    value = random.randint(low, low + 3 if column.max is None else int(column.max))
    return value if column.dtype.is_integer() else float(value)


def _player(random: Random, game_type: str, seat: int, is_hidden: bool) -> Row:
    sides = (Side.HIDDEN if is_hidden else Side.CIVILIAN, Side.NONE)
    role: Role | None = random.choice(
        [one for one in game_definition(game_type).roles if one.side in sides]
    )
    if game_type in _HIDDEN and "roles unknown" not in LEFT_OUT and random.random() < 0.2:
        role = None
    is_tested = random.random() < 0.7
    return {
        "seat": seat + 1,
        "player": f"Player {seat + 1}",
        "model": random.choice(MODELS),
        "role": role and role.name,
        "side": role and role.side,
        "is_tested": is_tested,
        "competition": role.competition if is_tested and role else None,
    }


def _results(random: Random, game_type: str, players: list[Row]) -> Iterator[tuple[str, Row]]:
    """One for each tested seat; with hidden roles, for each tested model and role."""
    seen = set()
    for player in players:
        side = (player["model"], player["role"])
        if not player["is_tested"] or (game_type in _HIDDEN and side in seen):
            continue
        seen.add(side)
        whole_side = {"seat": None, "player": None} if game_type in _HIDDEN else {}
        own = {
            "round": None,
            "message_index": 30,
            "parse_status": random.choice(_STATUSES),
            "is_win": random.choice(_MAYBE),
            "win_credit": random.choice((None, 0.0, 1 / 3, 0.5, 2 / 3, 1.0)),
            "guess_is_correct": random.choice(_MAYBE),
            "outcome_code": random.choice((None, -1, 0, 1, 2, 3)),
            "agreed": random.choice((True, True, False, None)),
            "proposed_agreement": random.choice(_MAYBE),
            "first_choice_seat": random.choice((*range(1, len(players) + 1), *range(1, 4), None)),
        }
        yield "results", player | whole_side | own


def _hidden_roles(random: Random, players: list[Row]) -> Iterator[tuple[str, Row]]:
    for player in players:
        of_vote = random.choice((*_MAYBE, True, False))
        for table, round_, also in (
            ("votes", 1, {"is_correct": of_vote, "is_valid": of_vote}),
            ("role_identifications", 1, {}),
            ("role_identifications", 2, {}),
            ("role_analyses", 1, {"kind": "gold"}),
            ("role_analyses", 1, {"kind": "inter"}),
        ):
            own = {
                "is_correct": random.random() < 0.6,
                "is_correct_as_read": random.choice(_MAYBE),
                "is_own_view_stated": random.random() < 0.6,
                **also,
            }
            yield from _event(random, table, player, round_, **own)
        if player["side"] == Side.HIDDEN:
            own = {"guess": random.choice((None, "pear")), "secret": "apple"}
            yield from _event(random, "guesses", player, 1, **own, is_correct=False)


def _prisoners_dilemma(random: Random, players: list[Row]) -> Iterator[tuple[str, Row]]:
    for round_, player in product(range(1, random.randint(1, 4)), players):
        choice = random.choice(("cooperate", "defect"))
        yield from _event(random, "decisions", player, round_, choice=choice, text="as you do")


def _public_good(random: Random, players: list[Row]) -> Iterator[tuple[str, Row]]:
    order = random.choice((1, 1, -1))  # seats may speak in any order
    rounds = product(range(1, random.randint(1, 4)), players[::order])
    for place, (round_, player) in enumerate(rounds):
        own = {
            "text": random.choice(TEXTS),
            "is_least": random.choice(_MAYBE),
            "amount": random.choice((None, 0.0, 5.0, 2.5, 1 / 3, 1e20)),
            "message_index": place,
        }
        if "messages unknown" not in LEFT_OUT and place == 1:
            own["message_index"] = None
        yield from _event(random, "contributions", player, round_, **own)


def _cost_sharing(random: Random, players: list[Row]) -> Iterator[tuple[str, Row]]:
    for player, round_ in product(players, (1, 2)):
        for position, share in enumerate(random.choice(SHARES), start=1):
            own = {"party": "ABC"[position - 1], "party_seat": position, "position": position}
            own |= {"share_text": share}
            row = player | {"round": round_, "parse_status": "ok", "is_last": round_ == 2} | own
            yield "proposals", row
        own = {"candidate": random.choice((None, "Player 1")), "is_final_round": round_ == 2}
        yield from _event(random, "proposal_votes", player, round_, **own)


def _no_events(_random: Random, _players: list[Row]) -> Iterator[tuple[str, Row]]:
    """Nothing but results and scores is counted."""
    return iter(())


EVENTS = {
    **dict.fromkeys(game_type_names(), _no_events),
    **dict.fromkeys(_HIDDEN, _hidden_roles),
    GameType.COST_SHARING: _cost_sharing,
    GameType.PRISONERS_DILEMMA: _prisoners_dilemma,
    GameType.PUBLIC_GOOD: _public_good,
}


def _event(
    random: Random, table: str, player: Row, round_: int, **own: object
) -> Iterator[tuple[str, Row]]:
    """The event, or none where it is missing."""
    if random.random() < 0.9:
        status = random.choice(_STATUSES)
        yield table, player | {"round": round_, "parse_status": status} | own
