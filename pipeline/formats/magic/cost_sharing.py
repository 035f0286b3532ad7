"""Cost Sharing (`airportfee`): three airlines propose shares of a fee and vote until all agree."""

import re
from collections import Counter

import msgspec
from msgspec import UNSET

from pipeline.formats import hidden_roles
from pipeline.formats.broken import broken
from pipeline.formats.magic.log import (
    FORMAT,
    PGM,
    PGM_SUFFIX,
    PLAIN,
    SYSTEM,
    Log,
    optional,
    required,
    result,
)
from pipeline.formats.prose import share, stated_player
from pipeline.formats.rows import Place, Row, messages
from pipeline.game import Fault, Game, Message, Proposal, ProposalVote, Result, Seat
from pipeline.vocabulary import GameType, Outcome, ParseStatus, Phase, Role

AGREE, FAIL = "agree", "fail"
_VOTE_PROMPT = "Now vote"
_PROPOSAL_PROMPTS = ("Now everyone propose", "Please continue a new round")

_BACKENDS = msgspec.json.Decoder(dict[str, str])
_PROPOSALS = msgspec.json.Decoder(dict[str, dict[str, str | None] | list[None]])
_VOTES = msgspec.json.Decoder(dict[str, str | int])

_SHARE_LINE = re.compile(
    r"airline\s+([A-Z])\b\W*?[:=]\W*?(\S[^\n]*?)(?=\s*$|[,;]?[ \t*-]*airline\s+[A-Z]\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SPACES = re.compile(r"[ \t]{2,}")
_TEMPLATE = re.compile(r"I vote for (Player \d+)")


def claims(log: Log) -> bool:
    return log.proposal is not UNSET or log.nego_turn is not None


class Places:
    """Tells each row's phase and round, as the moderator's prompts move the negotiation on.

    Reasoning of a PGM player is told only by its being private.
    """

    def __init__(self) -> None:
        self._phase = Phase.OTHER
        self._spoken: set[str] = set()
        self._round = 0

    def __call__(self, row: Row) -> Place:
        if row.is_moderator:
            self._follow(row.content)
            return Phase.MODERATION, self._round or None
        if not row.is_public:
            return Phase.REFLECTION, self._round or None
        if row.agent_name in self._spoken:
            return Phase.OTHER, self._round or None
        self._spoken.add(row.agent_name)
        return self._phase, self._round or None

    def _follow(self, prompt: str) -> None:
        if _VOTE_PROMPT in prompt:
            self._phase = Phase.PROPOSAL_VOTE
            self._spoken.clear()
        elif any(words in prompt for words in _PROPOSAL_PROMPTS):
            self._phase = Phase.PROPOSAL
            self._spoken.clear()
            self._round += 1


def game(log: Log) -> Game:
    """The negotiation: every round's proposals and votes, the last ones as the game logged them."""
    models = required(log.player_backends, _BACKENDS, "player_backends")
    if log.test_player_name is UNSET or log.test_player_name not in models:
        raise broken(
            "$.test_player_name", "it names a player with a backend", repr(log.test_player_name)
        )
    ended = result(log, (AGREE, FAIL))
    seats = [
        Seat(player, model, Role.PLAYER, is_tested=player == log.test_player_name)
        for player, model in models.items()
    ]
    tested = list(models).index(log.test_player_name) + 1
    numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    outcomes = {AGREE: Outcome.AGREED, FAIL: Outcome.NOT_AGREED, None: None}
    built = Game(
        game_type=GameType.COST_SHARING,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if models[log.test_player_name].endswith(PGM_SUFFIX) else PLAIN,
        setting={"topic": log.topic, "tested": log.test_player_name},
        is_finished=ended is not None,
        outcome=outcomes[ended],
        n_rounds=0,
        seats=seats,
        messages=messages(log.rows, numbers, Places()),
    )
    built.n_rounds = max((m.round or 0 for m in built.messages), default=0)
    built.faults += [
        Fault(f"$.history[{index}]", "a player speaks once when it is asked", message.player)
        for index, message in enumerate(built.messages)
        if message.phase is Phase.OTHER and message.seat
    ]
    built.proposals = _proposals(built, log)
    built.proposal_votes = _votes(built, log)
    built.results = [_result(built, log, ended, tested)]
    return built


def _proposals(built: Game, log: Log) -> list[Proposal]:
    """Each player's proposal of each round, its last one as logged, the others from texts."""
    logged = optional(log.proposal, _PROPOSALS, "proposal", built.faults) or {}
    last = {m.seat: i for i, m in enumerate(built.messages) if m.phase is Phase.PROPOSAL}
    rows: list[Proposal] = []
    for index, message in enumerate(built.messages):
        if message.phase is not Phase.PROPOSAL or message.seat is None:
            continue
        is_last = last[message.seat] == index
        shares = logged.pop(message.player, None) if is_last else None
        if isinstance(shares, dict):
            rows += _rows(built, shares, message.seat, index, is_last)
        else:
            rows += _rows(built, _stated_shares(message, built), message.seat, index, is_last)
    for player, shares in logged.items():
        # Logged, though no message of the player's is left: a history that was cut short.
        seat = hidden_roles.seat_of(built, player)
        if seat is not None and isinstance(shares, dict):
            rows += _rows(built, shares, seat, None, is_last=True)
    return rows


def _stated_shares(message: Message, built: Game) -> dict[str, str | None]:
    # Runs of spaces would make the search slow.
    content = _SPACES.sub(" ", message.content)
    found: dict[str, str | None] = {
        party.upper(): text.strip() for party, text in _SHARE_LINE.findall(content)
    }
    return found or dict.fromkeys(_parties(built))


def _parties(built: Game) -> list[str]:
    return [chr(ord("A") + place) for place in range(len(built.seats))]


def _rows(
    built: Game, shares: dict[str, str | None], seat: int, index: int | None, is_last: bool
) -> list[Proposal]:
    message = None if index is None else built.messages[index]
    rows = []
    for position, (party, text) in enumerate(shares.items(), start=1):
        fraction, status = share(text)
        if message is not None and message.parse_status is ParseStatus.OUTAGE:
            status = ParseStatus.OUTAGE
        rows.append(
            Proposal(
                seat=seat,
                round=(message.round if message else built.n_rounds) or 1,
                message_index=index,
                parse_status=status,
                party=party.strip("* "),
                position=position,
                share=fraction,
                share_text=text,
                is_last=is_last,
            )
        )
    return rows


def _votes(built: Game, log: Log) -> list[ProposalVote]:
    """Each vote of each round; the final round's are the log's, the others are the texts'."""
    logged: dict[str, str | int] = {}
    if log.vote is not UNSET:
        logged = optional(log.vote, _VOTES, "vote", built.faults) or {}
    spoken = [
        (i, m) for i, m in enumerate(built.messages) if m.phase is Phase.PROPOSAL_VOTE and m.seat
    ]
    final = max((m.round or 0 for _, m in spoken), default=0)
    rows = []
    for index, message in spoken:
        candidate, status = stated_player(message.content, message.player)
        if message.round == final and message.player in logged:
            registered = logged.pop(message.player)
            candidate = registered if isinstance(registered, str) and registered else None
            if status is not ParseStatus.OUTAGE:
                status = ParseStatus.OK if candidate else ParseStatus.UNREADABLE
        assert message.seat is not None
        rows.append(
            _vote(
                built,
                message.seat,
                candidate,
                index=index,
                round_=message.round,
                status=status,
                final=final,
            )
        )
    for player, registered in logged.items():
        # A vote of 0 without a message was never cast: the game was cut off before.
        seat = hidden_roles.seat_of(built, player)
        if seat is not None and isinstance(registered, str) and registered:
            rows.append(
                _vote(
                    built,
                    seat,
                    registered,
                    index=None,
                    round_=final or None,
                    status=ParseStatus.OK,
                    final=final,
                )
            )
    return rows


def _vote(
    built: Game,
    seat: int,
    candidate: str | None,
    *,
    index: int | None,
    round_: int | None,
    status: ParseStatus,
    final: int,
) -> ProposalVote:
    return ProposalVote(
        seat=seat,
        round=round_ or 1,
        message_index=index,
        parse_status=status,
        candidate=candidate,
        candidate_seat=hidden_roles.seat_of(built, candidate),
        is_final_round=(round_ or 0) == final,
    )


def _result(built: Game, log: Log, ended: str | None, tested: int) -> Result:
    agreed = None if ended is None else ended == AGREE
    author = agreed_author(built.proposal_votes) if agreed else None
    return Result(
        model=built.seats[tested - 1].model,
        role=Role.PLAYER,
        seat=tested,
        message_index=len(built.messages) - 1 if built.messages else None,
        opponent=hidden_roles.opponents(built),
        is_win=agreed,
        win_credit=None if agreed is None else float(agreed),
        agreed=agreed,
        proposed_agreement=None if author is None else author == tested,
        first_choice_seat=_first_choice(built, log) if agreed else None,
    )


def agreed_author(votes: list[ProposalVote]) -> int | None:
    """The seat that most final voters named; a tie goes to the earliest voter's choice.

    Votes that name no player are left out; None where none is left.
    """
    named = [v.candidate_seat for v in votes if v.is_final_round and v.candidate_seat is not None]
    # Counter keeps the order in which choices were first met, and most_common is stable.
    return Counter(named).most_common(1)[0][0] if named else None


def _first_choice(built: Game, log: Log) -> int | None:
    """The seat that the benchmark's script takes for the agreed proposal's author.

    That is the first logged vote's choice or, without logged votes, the one that the last message
    but one names in the very words of the template.
    """
    if log.vote is not UNSET:
        votes = optional(log.vote, _VOTES, "vote", []) or {}
        choice = next(iter(votes.values()), None)
        return hidden_roles.seat_of(built, choice) if isinstance(choice, str) else None
    closing = built.messages[-2].content if len(built.messages) > 1 else ""
    found = _TEMPLATE.search(closing)
    return hidden_roles.seat_of(built, found[1]) if found else None
