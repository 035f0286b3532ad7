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

    def part(self, chance: float, **fields: Any) -> Json:
        """The fields by chance, else none of them."""
        return fields if self.maybe(chance) else {}

    def act(self, chance: float, act: str, *parts: Json) -> list[Json]:
        """An act with what is said of it by chance, else no act."""
        said = {key: value for part in parts for key, value in part.items()}
        return [{"act": act, **said}] if self.maybe(chance) else []

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
        seats = [self.seat(*one) for one in zip(self.players, self.roles, strict=True)]
        times = ("2024-05-01T12:00:00Z", "1970-01-01T02:00:00.5+14:00")
        document: Json = {
            "magic_interchange": 1,
            "system": self.dice.choice(SYSTEMS),
            "game_type": self.kind.name,
            "is_finished": self.is_finished,
            "seats": seats,
            "events": [*self.events()][:: self.one(*[1] * 20, -1)],
            **self.part(0.9, setting=self.setting()),
            **self.end(),
            **self.part(0.3, is_repeatable=True),
            **self.part(0.2, started_at=self.one(*times)),
            **self.part(0.2, game_index=self.dice.randrange(9)),
            **self.part(0.1, n_rounds=self.dice.randrange(5)),
            **self.part(0.05, format_version="pgm"),
            **self.part(0.1, unseated=["Nobody"]),
            **self.part(0.1, results=[*self.results(seats)]),
            **self.part(0.02, events=[]),
        }
        wrong = self.one("winner", "end", "started_at", "seats")
        return document | self.part(self.slips, **{wrong: self.one({}, [], "x")})

    def setting(self) -> Json:
        has_words = self.kind.name in ("chameleon", "undercover")
        wrong = self.one("code", "rounds", "multiplier")
        return {
            "seed": self.one(7, 0.5, 2**63, -1, "x", None),
            **self.part(has_words, topic="fruit", code="pear", undercover_code="plum"),
            **self.part(0.3, rounds=2, multiplier=1.5, payoffs={"cooperate": 3, "defect": 1}),
            **self.part(self.slips, **{wrong: self.one([], "x", 2**70)}),
        }

    def end(self) -> Json:
        outcomes = [ending.outcome for ending in self.kind.endings]
        is_said = self.is_finished != self.slip() and not (len(outcomes) == 1 and self.maybe(0.5))
        end = {
            **self.part(is_said, outcome=self.dice.choice(outcomes)),
            **self.part(0.1, outcome_code=self.one(-1, 0, 3), ended_by="timeout"),
        }
        return {"end": end} if end else {}

    def seat(self, player: str, role: Role) -> Json:
        has_points = self.kind.most_points_win
        return {
            "player": player,
            "model": self.dice.choice(MODELS),
            **self.part(0.5 if len(self.kind.roles) == 1 else 1 - self.slips, role=role.name),
            **self.part(0.1, is_tested=self.maybe(0.3)),
            **self.part(0.15, is_bot=self.one(True, True, False, None)),
            **self.part(
                (0.9 if has_points else 0.2) - self.slips,
                score=self.one(0, 3, 3, 5.5, -1, 0.1 + 0.2, 1e300),
            ),
            **self.part(0.4 * (self.is_finished and has_points), is_win=self.maybe(0.5)),
            **self.part(self.slips, is_win=self.maybe(0.5)),
        }

    def results(self, seats: list[Json]) -> Iterator[Json]:
        """A result for each side under test, by the same rule as ours; then slips."""
        sides: dict[tuple[Any, ...], list[int]] = {}
        for number, (seat, role) in enumerate(zip(seats, self.roles, strict=True), start=1):
            if seat.get("is_tested", not seat.get("is_bot")):
                key = (seat["model"], role.name, None if self.kind.has_sides else number)
                sides.setdefault(key, []).append(number)
        for (model, role, _), numbers in sides.items():
            has_end = self.is_finished != self.slip()
            result = {
                "model": model,
                "role": role,
                **self.part(len(numbers) == 1, seat=numbers[0]),
                **self.part(has_end, is_win=self.maybe(0.5), win_credit=self.one(0, 0.5, 1)),
                **self.part(self.kind.name == "cost_sharing", agreed=self.one(True, False, None)),
            }
            yield from [] if self.maybe(0.05) else [result]

    def events(self) -> Iterator[Json]:
        if self.maybe(0.7):
            yield {"text": "Let us begin."}
        for round_ in range(self.maybe(0.8), self.one(1, 2, 2, 3) + 1):
            for player in self.dice.sample(self.players, len(self.players)):
                if self.maybe(0.3):
                    yield self.spoken(player, round_)
                for act in _ACTS[self.kind.name](self):
                    yield from self.event(player, round_, act)
            if self.maybe(0.3):
                yield from self.elimination(round_)
        if self.maybe(0.5):
            yield {"text": "The game is over.", "visible_to": self.one("all", "Moderator")}

    def spoken(self, player: str, round_: int) -> Json:
        phases = ("talk", "clue", "reflection", "vote", "nonsense" if self.slip() else "other")
        readers = ["wolves"] if self.slip() else ["Moderator"]
        return {
            "actor": "The host" if self.slip() else player,
            "round": round_,
            "text": self.dice.choice(WORDS).format(self.dice.choice(self.players)),
            **self.part(0.2, phase=self.one(*phases)),
            **self.part(
                0.2,
                visible_to=self.one("all", player, [], [player, self.players[0]], readers),
            ),
            **self.part(0.1, turn=self.dice.randrange(9), msg_type="text"),
        }

    def event(self, player: str, round_: int, act: Json) -> Iterator[Json]:
        """The act in an event with words or without, sometimes twice, or with another beside it."""
        names = [self.dice.choice(self.players) for _ in range(2)]
        is_spoken = self.maybe(self.is_spoken)
        act |= self.part(self.slips, player=self.dice.choice(self.players))
        gift = self.act(0.1 * is_spoken, "transfers", {"kind": "gift", "target": names[0]})
        event = {
            "actor": player,
            "round": round_,
            "acts": [act, *gift],
            **self.part(is_spoken, text=self.dice.choice(VOTES).format(*names)),
        }
        if self.slip():
            del event[self.one("round", "actor")]
        yield from [event] * self.one(*[1] * 4, 0 if self.slip() else 1, 2 if self.slip() else 1)

    def elimination(self, round_: int) -> Iterator[Json]:
        """Somebody is out, who may go on to act: some harnesses let the dead talk."""
        left = [player for player in self.players if player not in self.out or self.slip()]
        if left:
            self.out.append(player := self.dice.choice(left))
            out = {"player": player, "round": round_, "cause": "vote"}
            acts = self.act(1, "eliminations", out, self.part(0.3, is_before_vote=True))
            yield {"acts": acts, **self.part(0.7, text=f"{player} is out.")}

    def votes(self) -> list[Json]:
        return self.act(0.8, "votes", self.part(0.7, target=self.somebody()))

    def words(self) -> list[Json]:
        guess = {"guess": self.one("pear", None), "is_correct": self.maybe(0.5)}
        return [
            *self.votes(),
            *self.act(0.3, "role_identifications", {"is_correct": self.maybe(0.5)}),
            *self.act(0.3, "role_analyses", {"gold": self.one(True, False, None), "inter": False}),
            *self.act(0.1, "guesses", guess, self.part(0.7, secret="pear")),
        ]

    def negotiation(self) -> list[Json]:
        shares = [
            share
            for party in self.dice.choice((("A", "B"), self.players, ()))
            for share in self.act(
                1,
                "proposals",
                {"party": party},
                self.part(0.6, share=self.one(0.5, 0.3, 1, None)),
                self.part(0.5, share_text=self.dice.choice(SHARES)),
                self.part(self.slips, is_last=False, party_seat=self.one(1, 9, None)),
            )
        ]
        vote = self.act(0.8, "proposal_votes", self.part(0.7, candidate=self.somebody()))
        return [*shares, *vote]

    def dilemma(self) -> list[Json]:
        choice = "trust" if self.slip() else self.one("cooperate", "defect")
        points = self.part(0.5, payoff=self.one(0, 3, 5))
        return self.act(0.95, "decisions", {"choice": choice}, points)

    def pool(self) -> list[Json]:
        wrong = {"is_least": self.maybe(0.5), "round_total": self.one(10, None)}
        fine = {"kind": "punishment", "target": self.somebody(), "amount": -3}
        put = {"amount": self.dice.choice(AMOUNTS)}
        return [
            *self.act(0.95, "contributions", put, self.part(self.slips, **wrong)),
            *self.act(0.2, "transfers", fine, {"cost": -1 if self.slip() else 1}),
            *self.act(0.04, "transfers", fine, {"cost": 1}),
        ]

    def village(self) -> list[Json]:
        found = {"kind": "divine", "target": self.somebody(), "finding": "human"}
        return [
            *self.votes(),
            *self.act(0.2, "abilities", found),
            *self.act(0.04, "abilities", found),
        ]

    def quests(self) -> list[Json]:
        some = self.dice.sample(self.players, min(2, len(self.players)))
        team = {
            "attempt": self.one(1, 1, 2),
            "team": ["Nobody", *self.players] if self.slip() else some,
            "is_approved": True,
        }
        proposed = {"is_voted_on": True, "is_quest_failed": None}
        voted = {"leader": self.somebody(), "approves": self.maybe(0.5)}
        played = {"is_fail": self.maybe(0.5), "is_quest_failed": None}
        chosen = {"target": self.somebody(), "is_correct": self.maybe(0.5)}
        return [
            *self.act(0.3, "team_proposals", team, proposed),
            *self.act(0.8, "team_votes", team, voted),
            *self.act(0.3, "quest_plays", played),
            *self.act(0.05, "assassinations", chosen),
        ]


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
