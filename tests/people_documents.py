"""Documents of interchange JSON as people write them: random, mostly right, and often not quite.

Each comes of a seed. What is drawn first is how careful the document is: with slips in all of them
few games would be read. The values are those of harnesses that we do not know: players have names,
some acts have words and others none, scores stand beside winners or alone.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from pipeline.games import GameDefinition, Role, game_definition

NAMES = (
    *("Bob", "Player 3", "Agent-2", "李", "Will", "May", "Player 1", "player 2", 'Zoë "Z"', "3号"),
    *("13号", "Ann Lee", "gpt-4o", "O'Neil", "박", "Al", "agent_0", "Dr. No"),
)
MODELS = ("model-a", "model-a", "model-b", "李-7B", 'Zoë\'s "7B"', None)
# The rules of these systems are checked besides.
SYSTEMS = ("lab", "lab", "lab", "lab", "lab", "lab", "magic", "chatarena")
WORDS = (
    "Good morning.",
    "",
    "I think it is {}.",
    "{}?",
    "我投{}。",
    "no idea",
    "<think>{}</think> hm",
    "Thinking...\n{}\n...done thinking.",
)
VOTES = (
    "I vote for {}.",
    "My vote goes to {}!",
    "{}",
    "{} it is",
    "Not {}, but {}.",
    "abstain",
    "I abstain. {} was fine",
    "Vote: none, {} is fine",
    "I won't abstain: {}",
    "我弃权，{}很可疑",
    '{{"vote_out": "{}", "message": "{} is odd"}}',
    '{{"vote": "{}", "suspect": "{}", "amount": 10}}',
    '{{"vote": "skip", "say": "{}"}}',
    "나는 {}에 투표",
)
AMOUNTS = (0, 5, 5.5, 20, 1000, 0.1, None)
SHARES = ("40%", "33.3", "30", "1,5", "half", "0.4", None)
Json = dict[str, Any]


class _Writer:
    """One document in the making."""

    def __init__(self, dice: Random, game_type: str) -> None:
        self.dice = dice
        self.kind: GameDefinition = game_definition(game_type)
        self.slips = dice.choice((0, 0, 0, 0.01, 0.05))
        self.is_finished = not self.maybe(0.2)
        self.is_spoken = dice.choice((0, 0.5, 0.5, 1))
        self.players = dice.sample(NAMES, dice.choice((1, 2, 2, 3, 3, 3, 4, 5, 6)))
        self.roles = self._roles()
        self.out: list[str] = []

    def maybe(self, chance: float) -> bool:
        return self.dice.random() < chance

    def one(self, *options: Any) -> Any:
        return self.dice.choice(options)

    def slip(self) -> bool:
        return self.maybe(self.slips)

    def somebody(self) -> str | None:
        """Whom an act is about: a player, in the game or out, or nobody; by a slip a stranger."""
        if self.slip():
            return self.one("Nobody", "Player 9", "bob", "")
        return None if self.maybe(0.05) else self.dice.choice(self.players)

    def _roles(self) -> list[Role]:
        roles = [self.dice.choice(self.kind.roles) for _ in self.players]
        if self.kind.has_sides and not self.maybe(0.1):
            roles[0] = self.kind.roles[0]
            roles[1:] = [self.dice.choice(self.kind.roles[1:]) for _ in roles[1:]]
            self.dice.shuffle(roles)
        return roles

    def document(self) -> Json:
        document: Json = {
            "magic_interchange": 1,
            "system": self.dice.choice(SYSTEMS),
            "game_type": self.kind.name,
            "is_finished": self.is_finished,
            "seats": [self.seat(*one) for one in zip(self.players, self.roles, strict=True)],
            "events": [*self.events()],
        }
        for key, chance, value in (
            ("setting", 0.9, self.setting()),
            ("end", 1, self.end()),
            ("is_repeatable", 0.3, True),
            ("started_at", 0.2, self.one("2024-05-01T12:00:00Z", "1970-01-01T02:00:00.5+14:00")),
            ("game_index", 0.2, self.dice.randrange(9)),
            ("n_rounds", 0.1, self.dice.randrange(5)),
            ("format_version", 0.05, "pgm"),
            ("unseated", 0.1, ["Nobody"]),
        ):
            if value is not None and self.maybe(chance):
                document[key] = value
        if self.maybe(0.1):
            document["results"] = [*self.results(document["seats"])]
        if self.maybe(0.05):
            document["events"].reverse()
        if self.maybe(0.02):
            document["events"] = []
        if self.slip():
            document[self.one("winner", "end", "started_at", "seats")] = self.one({}, [], "x")
        return document

    def setting(self) -> Json:
        setting: Json = {"seed": self.one(7, 0.5, 2**63, -1, "x", None)}
        if self.kind.name in ("chameleon", "undercover"):
            setting |= {"topic": "fruit", "code": "pear", "undercover_code": "plum"}
        if self.maybe(0.3):
            setting |= {"rounds": 2, "multiplier": 1.5, "payoffs": {"cooperate": 3, "defect": 1}}
        if self.slip():
            setting |= {self.one("code", "rounds", "multiplier"): self.one([], "x", 2**70)}
        return setting

    def end(self) -> Json | None:
        end: Json = {}
        outcomes = [ending.outcome for ending in self.kind.endings]
        if self.is_finished != self.slip() and not (len(outcomes) == 1 and self.maybe(0.5)):
            end["outcome"] = self.dice.choice(outcomes)
        if self.maybe(0.1):
            end |= {"outcome_code": self.one(-1, 0, 3), "ended_by": "timeout"}
        return end or None

    def seat(self, player: str, role: Role) -> Json:
        seat: Json = {"player": player, "role": role.name, "model": self.dice.choice(MODELS)}
        if (len(self.kind.roles) == 1 and self.maybe(0.5)) or self.slip():
            del seat["role"]
        if self.maybe(0.1):
            seat["is_tested"] = self.maybe(0.3)
        if self.maybe(0.15):
            seat["is_bot"] = self.one(True, True, False, None)
        scored = 0.9 if self.kind.most_points_win else 0.2
        if self.maybe(scored) and not self.slip():
            seat["score"] = self.one(0, 3, 3, 5.5, -1, 0.1 + 0.2, 1e300)
        if self.is_finished and self.kind.most_points_win and self.maybe(0.4):
            seat["is_win"] = self.maybe(0.5)
        if self.slip():
            seat["is_win"] = self.maybe(0.5)
        return seat

    def results(self, seats: list[Json]) -> Iterator[Json]:
        """A result for each side under test, by the same rule as ours; then slips."""
        sides: dict[tuple[Any, ...], list[int]] = {}
        for number, (seat, role) in enumerate(zip(seats, self.roles, strict=True), start=1):
            if seat.get("is_tested", not seat.get("is_bot")):
                key = (seat["model"], role.name, None if self.kind.has_sides else number)
                sides.setdefault(key, []).append(number)
        for (model, role, _), numbers in sides.items():
            result: Json = {"model": model, "role": role}
            if len(numbers) == 1:
                result["seat"] = numbers[0]
            if self.is_finished != self.slip():
                result |= {"is_win": self.maybe(0.5), "win_credit": self.one(0, 0.5, 1)}
            if self.kind.name == "cost_sharing":
                result["agreed"] = self.one(True, False, None)
            if not self.maybe(0.05):
                yield result

    def events(self) -> Iterator[Json]:
        if self.maybe(0.7):
            yield {"text": "Let us begin."}
        for round_ in range(self.maybe(0.8), self.one(1, 2, 2, 3) + 1):
            for player in self.dice.sample(self.players, len(self.players)):
                if self.maybe(0.3):
                    yield self.spoken(player, round_)
                for act in _ACTS[self.kind.name](self, player, round_):
                    yield from self.event(player, round_, act)
            if self.maybe(0.3):
                yield from self.elimination(round_)
        if self.maybe(0.5):
            yield {"text": "The game is over.", "visible_to": self.one("all", "Moderator")}

    def spoken(self, player: str, round_: int) -> Json:
        text = self.dice.choice(WORDS).format(self.dice.choice(self.players))
        event: Json = {"actor": player, "round": round_, "text": text}
        if self.maybe(0.2):
            event["phase"] = self.dice.choice(
                ("talk", "clue", "reflection", "vote", "nonsense" if self.slip() else "other")
            )
        if self.maybe(0.2):
            event["visible_to"] = self.dice.choice(
                (
                    "all",
                    player,
                    [],
                    [player, self.players[0]],
                    ["wolves"] if self.slip() else ["Moderator"],
                )
            )
        if self.maybe(0.1):
            event |= {"turn": self.dice.randrange(9), "msg_type": "text"}
        if self.slip():
            event["actor"] = "The host"
        return event

    def event(self, player: str, round_: int, act: Json) -> Iterator[Json]:
        """The act in an event with words or without, sometimes twice, or with another beside it."""
        event: Json = {"actor": player, "round": round_, "acts": [act]}
        if self.maybe(self.is_spoken):
            names = [self.dice.choice(self.players) for _ in range(2)]
            event["text"] = self.dice.choice(VOTES).format(*names)
            if self.maybe(0.1):
                event["acts"] = [
                    act,
                    {"act": "transfers", "kind": "gift", "target": names[0], "amount": 1},
                ]
        if self.slip():
            del event[self.one("round", "actor")]
        if self.slip():
            act["player"] = self.dice.choice(self.players)
        if not (self.slip() and self.maybe(0.3)):
            yield event
        if self.slip():
            yield event

    def elimination(self, round_: int) -> Iterator[Json]:
        """Somebody is out, who may go on to act: some harnesses let the dead talk."""
        left = [player for player in self.players if player not in self.out or self.slip()]
        if not left:
            return
        player = self.dice.choice(left)
        self.out.append(player)
        act = {"act": "eliminations", "player": player, "round": round_, "cause": "vote"}
        if self.maybe(0.3):
            act["is_before_vote"] = True
        yield {"text": f"{player} is out.", "acts": [act]} if self.maybe(0.7) else {"acts": [act]}

    def votes(self, _: str, __: int) -> Iterator[Json]:
        if self.maybe(0.8):
            yield {"act": "votes"} | ({"target": self.somebody()} if self.maybe(0.7) else {})

    def words(self, player: str, round_: int) -> Iterator[Json]:
        yield from self.votes(player, round_)
        if self.maybe(0.3):
            yield {"act": "role_identifications", "is_correct": self.maybe(0.5)}
        if self.maybe(0.3):
            yield {"act": "role_analyses", "gold": self.one(True, False, None), "inter": False}
        if self.maybe(0.1):
            guess = {
                "act": "guesses",
                "guess": self.one("pear", None),
                "is_correct": self.maybe(0.5),
            }
            yield guess | ({"secret": "pear"} if self.maybe(0.7) else {})

    def negotiation(self, _: str, __: int) -> Iterator[Json]:
        for party in self.dice.choice((("A", "B"), self.players, ())):
            share: Json = {"act": "proposals", "party": party}
            if self.maybe(0.6):
                share["share"] = self.one(0.5, 0.3, 1, None)
            if self.maybe(0.5):
                share["share_text"] = self.dice.choice(SHARES)
            if self.slip():
                share |= {"is_last": False, "party_seat": self.one(1, 9, None)}
            yield share
        if self.maybe(0.8):
            yield {"act": "proposal_votes"} | (
                {"candidate": self.somebody()} if self.maybe(0.7) else {}
            )

    def dilemma(self, _: str, __: int) -> Iterator[Json]:
        choice = "trust" if self.slip() else self.one("cooperate", "defect")
        if not self.maybe(0.05):
            yield {"act": "decisions", "choice": choice} | (
                {"payoff": self.one(0, 3, 5)} if self.maybe(0.5) else {}
            )

    def pool(self, player: str, __: int) -> Iterator[Json]:
        if not self.maybe(0.05):
            put: Json = {"act": "contributions", "amount": self.dice.choice(AMOUNTS)}
            if self.slip():
                put |= {"is_least": self.maybe(0.5), "round_total": self.one(10, None)}
            yield put
        while self.maybe(0.2):
            other = self.somebody()
            yield {
                "act": "transfers",
                "kind": "punishment",
                "target": other,
                "amount": -3,
                "cost": -1 if self.slip() else 1,
            }

    def village(self, player: str, round_: int) -> Iterator[Json]:
        yield from self.votes(player, round_)
        while self.maybe(0.2):
            yield {
                "act": "abilities",
                "kind": "divine",
                "target": self.somebody(),
                "finding": "human",
            }

    def quests(self, player: str, round_: int) -> Iterator[Json]:
        team = (
            self.dice.sample(self.players, min(2, len(self.players)))
            if not self.slip()
            else ["Nobody", *self.players]
        )
        attempt = self.one(1, 1, 2)
        if self.maybe(0.3):
            yield {
                "act": "team_proposals",
                "attempt": attempt,
                "team": team,
                "is_voted_on": True,
                "is_approved": True,
                "is_quest_failed": None,
            }
        if self.maybe(0.8):
            leader = self.somebody()
            yield {
                "act": "team_votes",
                "attempt": attempt,
                "leader": leader,
                "team": team,
                "approves": self.maybe(0.5),
                "is_approved": True,
            }
        if self.maybe(0.3):
            yield {"act": "quest_plays", "is_fail": self.maybe(0.5), "is_quest_failed": None}
        if self.maybe(0.05):
            yield {
                "act": "assassinations",
                "target": self.somebody(),
                "is_correct": self.maybe(0.5),
            }


_ACTS = {
    "chameleon": _Writer.words,
    "undercover": _Writer.words,
    "cost_sharing": _Writer.negotiation,
    "prisoners_dilemma": _Writer.dilemma,
    "public_good": _Writer.pool,
    "werewolf": _Writer.village,
    "avalon": _Writer.quests,
}


def documents(seed: int, n_of_each: int) -> list[bytes]:
    """So many documents of each game, each on one line."""
    return [
        json.dumps(_Writer(Random(f"{seed} {number} {name}"), name).document()).encode()
        for number in range(n_of_each)
        for name in _ACTS
    ]
