"""The game in a log of `goods` or `pgg_bench`, two systems that write the same lines.

Players put in by a number alone, so contributions and punishments have no messages.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import asdict

from pipeline.formats.broken import broken
from pipeline.formats.building import Put, Spoken, messages, pooled, results
from pipeline.formats.pool_log import Contribution, Final, Log, Message, Punishment, Settings, at
from pipeline.game import GameRecord, JsonValue, Seat, Transfer
from pipeline.vocabulary import GameType, Outcome, Role

TALK = "talk"
PUNISHMENT = "punishment"
VERSION = "1"


def game(data: bytes, system: str) -> GameRecord:
    """The game in a document that `pool_log.opens`; raises BrokenDocument."""
    log = Log(data)
    scores = _scores(log)
    seats = [
        Seat(
            player=player.short_label,
            model=player.model_name,
            role=Role.PLAYER,
            is_tested=True,
            final_score=None if scores is None else scores[player.model_name],
        )
        for player in log.players
    ]
    built = GameRecord(
        game_type=GameType.PUBLIC_GOOD,
        system=system,
        format=system,
        format_version=VERSION,
        setting=_setting(log.init.settings),
        is_finished=scores is not None,
        outcome=None if scores is None else Outcome.COMPLETED,
        n_rounds=log.init.settings.rounds,
        seats=seats,
        messages=messages(_spoken(log), seats),
    )
    built.contributions = pooled(_puts(log), len(seats))
    built.transfers = list(_transfers(log))
    built.results = results(built, _wins(seats))
    built.faults += log.faults
    return built


def _setting(settings: Settings) -> dict[str, JsonValue]:
    return {name: value for name, value in asdict(settings).items() if value is not UNSET}


def _scores(log: Log) -> dict[str, float] | None:
    """The final balance of each model, None where the game was cut off before its end.

    Balances are by model, so a game that ended has to have one for each seat.
    """
    finals = log.of(Final)
    if not finals:
        return None
    (number, final), *others = finals
    if others:
        raise broken(at(others[0][0]), "a game ends once", "a second `final`")
    if sorted(final.final_tokens) != sorted(player.model_name for player in log.players):
        rule = "each player's model has a balance of its own"
        raise broken(at(number, "final_tokens"), rule, ", ".join(final.final_tokens))
    return final.final_tokens


def _wins(seats: Sequence[Seat]) -> dict[int, bool | None]:
    """Whether each seat has the most points, alone or with others; null if unfinished."""
    scores = [seat.final_score for seat in seats]
    best = max([score for score in scores if score is not None], default=None)
    return {
        number: None if best is None else score == best
        for number, score in enumerate(scores, start=1)
    }


def _spoken(log: Log) -> Iterator[Spoken]:
    for number, line in log.of(Message):
        player = log.label(line.player_id, number)
        yield Spoken(player, line.message, TALK, line.round, msg_type="public_message")


def _puts(log: Log) -> list[Put]:
    lines, seats = log.of(Contribution), log.seats
    puts: list[Put] = [
        (seats.get(put.player_id) or log.seat(put.player_id, n), put.round, put.contribution, None)
        for n, put in lines
    ]
    if len({put[:2] for put in puts}) < len(puts):
        known = set[tuple[int, int]]()
        for (number, _), (seat, round_, *_) in zip(lines, puts, strict=True):
            if (seat, round_) in known:
                raise broken(at(number), "a player puts in once a round", f"round {round_}, again")
            known.add((seat, round_))
    return puts


def _transfers(log: Log) -> Iterator[Transfer]:
    """The punishments: points that a seat takes from another at a cost of its own."""
    numbers: defaultdict[tuple[int, int], int] = defaultdict(int)
    for number, line in log.of(Punishment):
        seat = log.seat(line.punisher_id, number, "punisher_id")
        numbers[seat, line.round] += 1
        yield Transfer(
            seat,
            line.round,
            None,
            number=numbers[seat, line.round],
            target=log.label(line.target_id, number, "target_id"),
            kind=PUNISHMENT,
            amount=-line.target_damage,
            cost=line.punisher_spend,
        )
