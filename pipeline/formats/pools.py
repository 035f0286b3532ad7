"""The game in a log of `goods` or `pgg_bench`, two systems that write the same lines.

Players put in by a number alone, so contributions and punishments have no messages.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import floor

from msgspec import UNSET
from msgspec.structs import asdict

from pipeline.formats.broken import broken, but_for_a_cut_line
from pipeline.formats.building import Put, Spoken, messages, most_points, pooled, results
from pipeline.formats.pool_log import Contribution, Final, Log, Message, Punishment, Settings, at
from pipeline.formats.usage import total, usage
from pipeline.game import Fault, GameRecord, JsonValue, Seat, Transfer, Usage
from pipeline.vocabulary import PLAYER, GameType, Outcome

TALK = "talk"
PUNISHMENT = "punishment"
VERSION = "1"
_USED = {"seconds": "response_time_s"}


def game(data: bytes, system: str) -> GameRecord:
    """The game in a document that `pool_log.opens`; raises BrokenDocument."""
    log, cut = but_for_a_cut_line(Log, data)
    log.faults += cut
    puts, transfers = _puts(log), list(_transfers(log))
    scores = _scores(log, puts, transfers)
    of_seats: Sequence[float | None] = scores or [None] * len(log.players)
    seats = [
        Seat(
            player.short_label,
            player.model_name or None,
            PLAYER,
            is_tested=True,
            final_score=score,
        )
        for player, score in zip(log.players, of_seats, strict=True)
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
    built.contributions = pooled(puts, len(seats))
    built.transfers = transfers
    wins = most_points([seat.final_score for seat in seats])
    built.results = results(built, dict(enumerate(wins, start=1)))
    built.usage = _usage(log)
    built.faults += log.faults
    return built


def _usage(log: Log) -> list[Usage]:
    """The seconds that each seat took to talk, to put in and to punish."""
    calls: dict[int, list[Usage]] = {number: [] for number in log.seats.values()}
    lines = [
        *((line.player_id, n, line) for n, line in log.of(Message)),
        *((line.player_id, n, line) for n, line in log.of(Contribution)),
        *((line.punisher_id, n, line) for n, line in log.of(Punishment)),
    ]
    for player, number, line in lines:
        calls[log.seats[player]].append(usage(line, _USED, at(number), log.faults))
    return [total(of_seat) for of_seat in calls.values()]


def _setting(settings: Settings) -> dict[str, JsonValue]:
    return {name: value for name, value in asdict(settings).items() if value is not UNSET}


def _scores(log: Log, puts: list[Put], transfers: list[Transfer]) -> list[float] | None:
    """The final balance of each seat, None where it is not known: the game has no end.

    Balances are logged by model, of several seats of one model the last. Those of a game with such
    seats are worked out, and known if the log says the same as far as it goes.
    """
    finals = log.of(Final)
    if not finals:
        return None
    (number, final), *others = finals
    if others:
        raise broken(at(others[0][0]), "a game ends once", "a second `final`")
    models, logged = [player.balance_key for player in log.players], final.final_tokens
    if logged.keys() != set(models):
        rule = "each player's model has a balance"
        raise broken(at(number, "final_tokens"), rule, ", ".join(logged))
    if len(logged) == len(models):
        return [logged[model] for model in models]
    balances = _balances(log, puts, transfers)
    if balances and set(zip(models, balances, strict=True)) >= set(logged.items()):
        return balances
    rule = "balances of several players of one model follow from what each put in"
    log.faults.append(Fault(at(number, "final_tokens"), rule, "they do not: who won is not known"))
    return None


def _balances(log: Log, puts: list[Put], transfers: list[Transfer]) -> list[float] | None:
    """The balance of each seat in the end, None where an amount is missing.

    The pool is multiplied, and each gets the same whole number of it; the rest stays in it.
    """
    settings, left = log.init.settings, 0.0
    held = [settings.starting_amount] * len(log.players)
    for round_ in range(1, settings.rounds + 1):
        amounts = {seat: amount for seat, of, amount, _ in puts if of == round_}
        if len(amounts) < len(held) or None in amounts.values():
            return None
        put_in = [amounts[seat] or 0 for seat in range(1, len(held) + 1)]
        each, left = divmod(floor((left + sum(put_in)) * settings.multiplier), len(held))
        held = [tokens - amount + each for tokens, amount in zip(held, put_in, strict=True)]
    seats = {player.short_label: number for number, player in enumerate(log.players)}
    for transfer in transfers:
        if None in (transfer.amount, transfer.cost, transfer.target):
            return None
        held[transfer.seat - 1] -= transfer.cost or 0
        held[seats[transfer.target or ""]] += transfer.amount or 0
    return held


def _spoken(log: Log) -> Iterator[Spoken]:
    for number, line in log.of(Message):
        player = log.label(line.player_id, number)
        yield Spoken(player, line.message or "", TALK, line.round, msg_type="public_message")


def _puts(log: Log) -> list[Put]:
    lines, seats = log.of(Contribution), log.seats
    puts: list[Put] = [
        (
            seats.get(put.player_id) or log.seat(put.player_id, n),
            put.round,
            log.tokens(put.contribution, n, "contribution"),
            None,
        )
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
        damage = log.tokens(line.target_damage, number, "target_damage")
        yield Transfer(
            seat,
            line.round,
            None,
            number=numbers[seat, line.round],
            target=log.target(line.target_id, number),
            kind=PUNISHMENT,
            amount=None if damage is None else -damage,
            cost=log.tokens(line.punisher_spend, number, "punisher_spend"),
        )
