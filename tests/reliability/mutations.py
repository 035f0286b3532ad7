"""Documents that are nearly logs: real shapes of every game, bent as the world bends them.

Everything comes of the dice that are handed in, so a document can be made again from its numbers.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import chatarenalogs
from rawlogs import GAMES, OUTAGE, chatarena, encode

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample" / "results"
MODEL = "given-7b"

NAMES = [
    "Player 1",
    "Player 2",
    "Player 3",
    "Player 0",
    "Player 4",
    "Player 999999999",
    "player 1",
    "Player 01",
    "Player 1 ",
    "Moderator",
    "all",
    "",
    "A",
    "Z",
    "A**",
    "0",
    "7",
    "-1",
    "x" * 999,
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    10**9,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**400,
    0.5,
    -0.0,
    1e308,
    5e-324,
    0.1 + 0.2,
]
SIGNS = [
    "-",
    "*",
    ":",
    "=",
    " ",
    "\n",
    "\t",
    "\x0b",
    "'",
    '"',
    "“",
    "9",
    "a ",
    "- ",
    ": ",
    "é",
    "٣",
    "²",
]
WORDS = [
    "airline A",
    "Airline B: 40%\n",
    "vote for Player 2 ",
    "contribute ",
    "I contribute 5.5 ",
    "cooperate",
    "defect",
    "code is ",
    "the word was 'x' or ",
    "my own proposal",
    "player ten ",
    "Now vote",
    "can guess",
    "Now everyone propose",
    "Please continue a new round",
    "You are the chameleon!",
    "The topic is: ",
    "There are even votes",
    "agree",
    "win",
    "-pgm",
]
HOSTILE = [
    "\x00",
    "\x1b[2J\x1b]0;x\x07",
    "\u202e",
    "\ufeff",
    "\U0001f98e",
    "'; DROP TABLE games; --",
    "../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "<script>",
    "${jndi:ldap://x}",
    OUTAGE,
    "\u2028",
]
# Stand in a log for what no encoder writes.
RAW = {
    "@nan@": b"NaN",
    "@infinity@": b"-Infinity",
    "@exponent@": b"1e999",
    "@digits@": b"9" * 400,
    "@more digits@": b"1" * 5000,
    "@fraction@": b"0." + b"3" * 5000,
    "@nested@": b"[" * 100_000 + b"]" * 100_000,
    "@objects@": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "@half@": rb'"\ud83e"',
    "@other half@": rb'"\udd8e\ud83e"',
    "@surrogate@": b'"\xed\xa0\xbe"',
    "@no text@": b'"\xff\xfe\x80"',
    "@control@": b'"\x00\x01\n"',
    "@escape@": rb'"\x41"',
    "@nothing@": b"",
    "@comma@": b"1,",
    "@again@": b'1, "history": [], "history": {}',
    "@backends@": b'1, "player_backends": {"Player 1": {"model": "m"}, "Player 1": {"model": "n"}}',
}

Parent = dict[str, Any] | list[Any]


def shapes() -> list[bytes]:
    """Logs as the engines write them: the sample's simulated games, and every game made by hand."""
    made = [build(model=model) for build in GAMES.values() for model in ("m", "m-pgm")]
    made += [GAMES[name](flag=flag) for name in ("chameleon", "undercover") for flag in range(4)]
    made += [chatarena(ending=ending) for ending in ("wrong", "right", "another", "tie", None)]
    made += [chatarenalogs.undercover(), chatarenalogs.dilemma(), chatarenalogs.pool()]
    sample = [file.read_bytes() for file in sorted(SAMPLE.glob("*/*_vs_*/*.json"))]
    transcripts = [encode(_transcript(json.loads(log))) for log in sample if b'"chameleon"' in log]
    return [*map(encode, made), *sample, *transcripts]


def _transcript(log: dict[str, Any]) -> list[Any]:
    """The rows of a game of Chameleon as ChatArena keeps them, with nothing beside."""
    hidden = log["game_setting"]["chameleon_name"]
    result = [
        {"agent_name": "Moderator", "content": "You are the chameleon!", "visible_to": hidden},
        {"agent_name": "Moderator", "content": "You are not chameleon. The word is: x"},
    ]
    return result + list(log["history"])


def mutant(dice: Random, seeds: list[bytes]) -> bytes:
    """A document made from one of the seeds, or of two."""
    log = json.loads(dice.choice(seeds))
    for _ in range(dice.choice([0, 1, 1, 1, 2, 3, 8])):
        dice.choice(BENDS)(dice, log, seeds)
    data = _written(dice, log)
    for _ in range(dice.choice([0, 0, 0, 0, 1, 1, 2])):
        data = dice.choice(DAMAGES)(dice, data)
    return data


def _written(dice: Random, log: object) -> bytes:
    text = json.dumps(log, indent=dice.choice([4, 4, None]), ensure_ascii=dice.random() < 0.8)
    data = text.encode("utf-8", "surrogatepass")
    for mark, raw in RAW.items():
        quoted = f'"{mark}"'.encode()
        if quoted in data:
            data = data.replace(quoted, raw)
    return data


# What becomes of a value


def _place(dice: Random, log: Any) -> tuple[Parent, Any] | None:
    """A place anywhere in a document; what is nearer the top is likelier."""
    found = None
    while isinstance(log, dict | list) and log:
        found = log, dice.choice(list(log) if isinstance(log, dict) else range(len(log)))
        if dice.random() < 0.25:
            break
        log = found[0][found[1]]
    return found


def _odd(dice: Random) -> object:
    simple = [None, True, False, [], {}, [[]], [None], {"": None}]
    texts = [text(dice) for _ in range(dice.randrange(1, 4))]
    named = dict.fromkeys(dice.sample(NAMES, 3), dice.choice(simple))
    return dice.choice([*map(dice.choice, (simple, NUMBERS, NAMES, list(RAW))), named, *texts])


def text(dice: Random) -> str:
    """A text that readers of prose look into: their words, signs in long runs, hostile bits."""
    runs = (dice.choice(SIGNS) * dice.choice([1, 3, 50, 3000]) for _ in range(dice.randrange(3)))
    bits = [
        *dice.sample(WORDS, 3),
        *dice.sample(HOSTILE, 1),
        *runs,
        str(dice.choice(NUMBERS))[:400],
    ]
    dice.shuffle(bits)
    return "".join(bits)


def _replace(dice: Random, log: Any, _: list[bytes]) -> None:
    if place := _place(dice, log):
        place[0][place[1]] = _odd(dice)


def _remove(dice: Random, log: Any, _: list[bytes]) -> None:
    if place := _place(dice, log):
        del place[0][place[1]]


def _rename(dice: Random, log: Any, _: list[bytes]) -> None:
    place = _place(dice, log)
    if place and isinstance(place[0], dict):
        parent, key = place
        parent[dice.choice([*NAMES, *parent])] = parent.pop(key)


def _exchange(dice: Random, log: Any, _: list[bytes]) -> None:
    """Two values change places."""
    one, other = _place(dice, log), _place(dice, log)
    if one and other:
        first, second = one[0][one[1]], other[0][other[1]]
        one[0][one[1]] = json.loads(json.dumps(second))
        other[0][other[1]] = json.loads(json.dumps(first))


def _graft(dice: Random, log: Any, seeds: list[bytes]) -> None:
    """A part of another log, at its own place or at any."""
    other = json.loads(dice.choice(seeds))
    if isinstance(log, dict) and isinstance(other, dict) and dice.random() < 0.5:
        key = dice.choice(list(other))
        log[key] = other[key]
    elif (place := _place(dice, log)) and (from_ := _place(dice, other)):
        place[0][place[1]] = from_[0][from_[1]]


def _wrap(dice: Random, log: Any, _: list[bytes]) -> None:
    """Another type with the same in it."""
    if place := _place(dice, log):
        parent, key = place
        value = parent[key]
        parent[key] = dice.choice(
            [[value], {"0": value}, str(value), bool(value), list(value)]
            if isinstance(value, dict | str)
            else [[value], {"0": value}, str(value), bool(value)]
        )


def _speak(dice: Random, log: Any, _: list[bytes]) -> None:
    """Another text in a message, of its speaker or of the moderator."""
    history = log.get("history") if isinstance(log, dict) else log
    if isinstance(history, list) and history and isinstance(row := dice.choice(history), dict):
        key = dice.choice(["content", "content", "agent_name", "visible_to", "msg_type"])
        row[key] = text(dice) if key == "content" else dice.choice(NAMES)


BENDS: list[Callable[[Random, Any, list[bytes]], None]] = [
    *(_replace, _replace, _replace, _remove, _rename),
    *(_exchange, _graft, _wrap, _speak, _speak),
]


# What becomes of bytes


def _cut(dice: Random, data: bytes) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _flip(dice: Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(dice.randrange(1, 20) if damaged else 0):
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    return bytes(damaged)


def _insert(dice: Random, data: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    bits = [b"\0", b"\0" * 4096, b"\xff", b"\xef\xbb\xbf", b'"', b"{", b"]", b",", b"\\", b"\\u"]
    return data[:at] + dice.choice([*bits, dice.randbytes(40), *RAW.values()]) + data[at:]


DAMAGES: list[Callable[[Random, bytes], bytes]] = [_cut, _flip, _insert]


def mutants(seed: int, first: int, n: int, seeds: list[bytes]) -> Iterator[bytes]:
    """The documents numbered from `first`, each made from the seed and its own number."""
    for number in range(first, first + n):
        yield mutant(Random(f"{seed}/{number}"), seeds)
