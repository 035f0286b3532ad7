"""Small logs of `goods` and `pgg_bench`, made by hand: lists of events that a test may bend."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

Event = dict[str, Any]

GAME_ID = 1737963946985839
MODELS = ("model-a", "model-b", "model-c")
PUNISHING = {
    "version": "v10_relative",
    "enable_punishments": True,
    "punish_ratio": 3.0,
    "punish_max_spend": 10,
    "punish_max_fraction": 0.5,
    "punish_max_absolute": 100,
    "random_seed": 7,
    "anonymous_punishments": False,
    "enable_public_messages": True,
}


def player(seat: int, models: Sequence[str] = MODELS) -> str:
    """The id of a seat's player, as the logs make it."""
    return f"Player{seat}_Game{GAME_ID}_{models[seat - 1]}"


def event(kind: str, **fields: object) -> Event:
    return {"game_id": GAME_ID, "type": kind, **fields}


def init(n_rounds: int, models: Sequence[str] = MODELS, **settings: object) -> Event:
    fixed = {
        "game_id": GAME_ID,
        "total_rounds": n_rounds,
        "starting_amount": 10,
        "multiplier": 2,
        "num_players": len(models),
    }
    players = {
        player(seat, models): {"short_label": f"P{seat}", "model_name": model}
        for seat, model in enumerate(models, start=1)
    }
    return event(
        "init",
        timestamp="2025-01-27 02:45:46",
        settings=fixed | settings,
        short_name_map=players,
    )


def say(seat: int, round_: int, message: str) -> Event:
    return event("public_message", round=round_, player_id=player(seat), message=message)


def put(seat: int, round_: int, amount: float, models: Sequence[str] = MODELS) -> Event:
    return event(
        "contribution",
        round=round_,
        player_id=player(seat, models),
        contribution=amount,
        current_tokens=0,
    )


def punish(seat: int, target: int, round_: int, spend: float) -> Event:
    return event(
        "punishment",
        round=round_,
        punisher_id=player(seat),
        target_id=player(target),
        punisher_spend=spend,
        target_damage=3 * spend,
    )


def final(*balances: float, models: Sequence[str] = MODELS) -> Event:
    tokens = dict(zip(models, balances, strict=True))
    return event("final", final_tokens=tokens, carry_over_fund=0)


def lines(events: Iterable[Event]) -> bytes:
    """The events as a document, one a line."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in events)
