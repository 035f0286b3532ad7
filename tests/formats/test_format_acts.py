"""Of an act that cannot be read, only the act is lost: the game stays, and odd values are named."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from logs import aiwolf, bargain, ck_arena, goods, kaggle
from rawlogs import Game, encode, game_of, record_of
from test_format_keys import json_logs

from pipeline.formats import available_formats, read_game
from pipeline.formats.record_builder import find_player

ODD = (None, "", "null", "N/A", "no idea", -7, 99, 0.5, True, [], ["x"], {})
TEXTS = {"content", "message"}
# The keys of what a player decided, by format; of an object of votes by player, its own key.
ACTS = {
    "avalon": {"vote", "action", "guess"} | TEXTS,
    "bargain": {"content"},
    "ck_arena": {"voted_for"} | TEXTS,
    "goods": {"contribution"},
    "pgg_bench": {"contribution", "punisher_spend", "target_damage"} | TEXTS,
    "werewolf_arena": {"votes"},
}
FORMATS = {format_.NAME: format_ for format_ in available_formats()}


def places_of_acts(value: Any, keys: set[str]) -> Iterator[tuple[Any, Any, bool]]:
    """Whatever holds an act, the act's key there, and whether it is a text."""
    if isinstance(value, list):
        for part in value:
            yield from places_of_acts(part, keys)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key == "votes" and key in keys:
                yield from ((vote, voter, False) for vote in part for voter in vote)
            elif key in keys and not isinstance(part, list | dict):
                yield value, key, key in TEXTS
            else:
                yield from places_of_acts(part, keys)


@pytest.mark.parametrize("name", ACTS)
def test_a_game_with_an_odd_act_is_kept(name: str) -> None:
    n_acts = 0
    for file, listed in json_logs(FORMATS[name]):
        whole = read_game("\n".join(map(json.dumps, listed)).encode(), None, file)
        assert whole is not None
        for holder, key, is_text in places_of_acts(listed, ACTS[name]):
            logged, n_acts = holder[key], n_acts + 1
            for odd in (None,) if is_text else ODD:
                holder[key] = odd
                game = read_game("\n".join(map(json.dumps, listed)).encode(), None, file)
                assert game is not None, (key, odd)
                assert (game.outcome, len(game.seats)) == (whole.outcome, len(whole.seats))
                assert len(game.messages) == len(whole.messages)
            holder[key] = logged
    assert n_acts > 5


def votes_of(game: Game) -> list[tuple[int, str | None, str]]:
    return [(vote.seat, vote.target, vote.parse_status) for vote in game.votes]


@pytest.mark.parametrize("value", [None, "", " ", "null", "None", 0])
def test_a_vote_for_nobody_is_unreadable_and_no_fault(value: object) -> None:
    game = game_of(with_vote(value))
    assert votes_of(game)[0] == (game.votes[0].seat, None, "unreadable")
    assert game.faults == []


@pytest.mark.parametrize("write", [int, str, float, "Player_{}".format])
def test_a_vote_names_a_player_however_it_is_written(write: Any) -> None:
    log = json.loads(ck_arena.LOGS[0])
    voted_for = first_vote(log)["voted_for"]
    assert votes_of(game_of(with_vote(write(voted_for)))) == votes_of(game_of(log))


def with_vote(value: object) -> Any:
    log = json.loads(ck_arena.LOGS[0])
    first_vote(log)["voted_for"] = value
    return log


def first_vote(log: Any) -> Any:
    return log["game_record"]["game_process"]["voting_rounds"][0]["votes"][0]


@pytest.mark.parametrize("target", ["9", "one", "", "null"])
def test_a_line_with_an_odd_target_is_named(target: str) -> None:
    text = next(log for log in aiwolf.LOGS if b",vote,3,1" in log)
    game = game_of(text.replace(b",vote,3,1", b",vote,3," + target.encode(), 1))
    assert (3, None, "unreadable") in votes_of(game)
    assert len(game.faults) == 1


def test_an_entry_that_cannot_be_read_is_named() -> None:
    log = json.loads(kaggle.LOGS[0])
    entries = [one for step in log["info"]["MODERATOR_OBSERVATION"] for one in step]
    next(one for one in entries if one["data_type"] == "ChatDataEntry")["json_str"] = "{"
    game, whole = game_of(log), game_of(json.loads(kaggle.LOGS[0]))
    assert len(game.messages) == len(whole.messages) - 1
    assert [fault.json_path.rpartition(".")[2] for fault in game.faults] == ["json_str"]


def test_items_that_are_no_list_of_numbers_have_no_share() -> None:
    log = json.loads(bargain.LOGS[0])
    rows = [row for row in log["conversation_logs"] if row.get("proposal")]
    for items, row in zip(("all", ["Apple"], None, [0, None]), rows, strict=False):
        row["proposal"]["allocation"] = dict.fromkeys(row["proposal"]["allocation"], items)
    game = game_of(log)
    odd = [one for one in game.proposals if one.share is None]
    assert len(odd) >= 4
    assert {one.parse_status for one in odd} == {"unreadable"}


# What may be null or missing, by format: what is there besides is read as before.
PARTS = {
    "avalon": {"discussion", "evil_discussion", "votes", "vote_result", "mission_result", "config"},
    "ck_arena": {"game_summary", "voting_rounds", "metric_eliminations", "votes", "eliminated"},
    "kaggle": {"llms", "TeamNames", "observation", "all_players", "terminated_with_agent_error"},
    "textarena": {"message", "special_roles", "seat_agents", "agent"},
    "werewolf_arena": {"debate", "votes", "success", "error_message"},
}
NEVER_NULL = {"config"}
MOST_OF_A_KEY = 5


def holders(value: Any, keys: set[str]) -> Iterator[tuple[Any, str]]:
    """Whatever holds one of the keys, and the key."""
    if isinstance(value, dict):
        yield from ((value, key) for key in list(value) if key in keys)
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, list | dict):
            yield from holders(part, keys)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_null_or_missing_costs_no_game(name: str) -> None:
    for _, (log, *_rest) in json_logs(FORMATS[name]):
        bent = []
        n_of = Counter[str]()
        for holder, key in holders(log, PARTS[name]):
            n_of[key] += 1
            if n_of[key] > MOST_OF_A_KEY:  # each is read by the same lines
                continue
            before = dict(holder)
            if key not in NEVER_NULL:
                holder[key] = None
                bent.append(read_game(encode(log)))
            del holder[key]
            bent.append(read_game(encode(log)))
            holder.clear()
            holder.update(before)
        assert len(bent) > 2, n_of
        n_seats = len(record_of(log).seats)
        assert {game and len(game.seats) for game in bent} == {n_seats}, n_of


MODELS = {
    "avalon": {"model"},
    "bargain": {"model", "model_type"},
    "ck_arena": {"llm_id"},
    "textarena": {"agent", "seat_agents"},
    "werewolf_arena": {"model"},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("nameless", [None, ""])
def test_a_player_whose_model_nobody_wrote_down_has_none(name: str, nameless: object) -> None:
    for _, listed in json_logs(FORMATS[name]):
        whole = record_of(listed[0])
        for holder, key in holders(listed[0], MODELS[name]):
            holder[key] = [nameless] * len(holder[key]) if key == "seat_agents" else nameless
        game = record_of(listed[0])
        assert {seat.model for seat in game.seats} == {None}
        assert (game.outcome, len(game.seats)) == (whole.outcome, len(whole.seats))


@pytest.mark.parametrize("nameless", [None, ""])
def test_balances_of_a_nameless_model_are_found(nameless: str | None) -> None:
    """Python writes the key `None` as `null`."""
    log = goods.LOGS[0].replace(b'"model-a"', json.dumps(nameless).encode())
    log = log.replace(b"{null:", b'{"null":')
    game = game_of(log)
    assert (game.seats[0].model, game.seats[0].final_score) == (None, 28)


NAMES = {"Björn": "Björn", "Player_1": "Player_1", "Player_10": "Player_10", 7: "Player_7"} | {
    "Ann": "Ann",
    "ANN": "ANN",
    "李": "李",
    "(.*)": "(.*)",
}


@pytest.mark.parametrize(
    ("value", "player"),
    [
        *((f"{before}björn{behind}", "Björn") for before, behind in ("  ", '""', " .", "[]", "**")),
        ("Bjo\N{COMBINING DIAERESIS}rn", "Björn"),
        ("player 1", "Player_1"),
        ("PLAYER10.", "Player_10"),
        (7.0, "Player_7"),
        ("李。", "李"),
        ("(.*)", "(.*)"),
        ("Ann", "Ann"),
        *((other, None) for other in ("ann", "Player -1", "-1", "#1", "1", ".*", "...", "", True)),
        *((other, None) for other in ("Björn, Ann", "not Björn", None, ["Ann"], {"Ann": 1})),
    ],
)
def test_a_player_is_known_by_a_name_written_otherwise(value: object, player: str | None) -> None:
    assert find_player(value, NAMES) == player
