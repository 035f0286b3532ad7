"""Logs of lechmazur's `goods` and `pgg_bench`: an event a line, of one game of the Public Good.

In `goods` nobody talks; in `pgg_bench` players talk and punish one another. A contribution is
only a number, so contributions and punishments have no messages. See docs/formats/goods.md and
docs/formats/pgg_bench.md. The index in a JSON path such as `$[3].round` is the number of the line,
counted from 0 without blank lines.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import floor
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field
from msgspec.structs import asdict

from pipeline.archives.splitting import (
    Splitter,
    is_multiline_json,
    iter_json_values,
    iter_lines,
    read_whole_file,
)
from pipeline.formats.record_builder import (
    ContributedAmount,
    LoggedMessage,
    build_contributions_with_round_totals,
    build_messages,
    check_players,
    find_target_or_add_fault,
    has_highest_score,
    parse_usage_or_add_faults,
    results_of_tested_seats,
    sum_usages,
)
from pipeline.formats.sniffer import (
    UNDECODABLE,
    DocumentSniffer,
    build_ignoring_truncated_last_line,
    decode,
    invalid_document_error,
    parse_truncated_object,
)
from pipeline.game_record import GameRecord, JsonValue, RecordError, Seat, Transfer, Usage
from pipeline.vocabulary import PLAYER, GameType, Outcome

TALK = "talk"


Round = Annotated[int, Meta(ge=1, le=1_000_000)]
Tokens = Any  # `parse_token_amount` parses it, so that an invalid amount does not reject the game


class Settings(Struct, gc=False, kw_only=True):
    """The values that are fixed before play, with the names of `games.setting`."""

    rounds: Round = field(name="total_rounds")
    players: Annotated[int, Meta(ge=1)] = field(name="num_players")
    multiplier: float
    starting_amount: float
    version: str | UnsetType = UNSET
    enable_public_messages: bool | UnsetType = UNSET
    enable_punishments: bool | UnsetType = UNSET
    anonymous_punishments: bool | UnsetType = UNSET
    punish_ratio: float | UnsetType = UNSET
    punish_max_spend: float | UnsetType = UNSET
    punish_max_fraction: float | UnsetType = UNSET
    punish_max_absolute: float | UnsetType = UNSET


class Player(Struct, gc=False):
    """A player of a game."""

    short_label: str
    model_name: str | None = None


class Line(Struct, gc=False, kw_only=True, tag_field="type"):
    """A line of the log, with its type."""

    game_id: int | str


class Init(Line, gc=False, tag="init"):
    """The line with the settings and the players."""

    settings: Settings
    short_name_map: dict[str, Player]


class Message(Line, gc=False, tag="public_message"):
    """A message of a player."""

    round: Round
    player_id: str
    message: str | None
    response_time_s: Any = None


class Contribution(Line, gc=False, tag="contribution"):
    """A contribution of a player in a round."""

    round: Round
    player_id: str
    contribution: Tokens = None
    response_time_s: Any = None


class Punishment(Line, gc=False, tag="punishment"):
    """A punishment of a player by another player."""

    round: Round
    punisher_id: str
    target_id: Any = None
    punisher_spend: Tokens = None
    target_damage: Tokens = None
    response_time_s: Any = None


class Final(Line, gc=False, tag="final"):
    """The line with the final balances."""

    final_tokens: dict[str, float]


class Distribution(Line, gc=False, tag="fund_distribution"):
    """A line with values that follow from contributions."""


class RoundEnd(Line, gc=False, tag="round_end"):
    """A line with values that follow from all other lines."""


class _Type(Struct, gc=False):
    """The type of a line."""

    type: str


T = TypeVar("T", bound=Line)

_KEY = "short_name_map"
_INIT = Raw(b'"init"')
_Event = Init | Message | Contribution | Punishment | Final | Distribution | RoundEnd
_EVENT: msgspec.json.Decoder[Line] = msgspec.json.Decoder(_Event)
_EVENT_TYPES = tuple(str(kind.__struct_config__.tag) for kind in get_args(_Event))


class _PublicGoodsFormat(NamedTuple):
    """One of two formats; only logs of `pgg_bench` have the setting `enable_punishments`."""

    NAME: str
    has_punishments: bool
    splitter: Callable[[str, bytes], Splitter | None] | None
    NAMES_MODELS: bool = True

    def claims(self, sniffer: DocumentSniffer) -> bool:
        """Return whether the document begins with the `init` line of a log of this format."""
        if (
            sniffer.first != "{"
            or _KEY not in sniffer.keys
            or not {"type", "settings"} & sniffer.keys
        ):
            return False
        if sniffer.top.get("type", _INIT) != _INIT:
            return False
        return ("enable_punishments" in sniffer.within("settings")) == self.has_punishments

    def read(self, sniffer: DocumentSniffer, model: str | None) -> GameRecord:
        """Return the game of a log; raise InvalidDocumentError if its content is not valid."""
        # Errors of `_game_from_log`, such as a second end, do not come from a truncated line.
        return _game_from_log(build_ignoring_truncated_last_line(Log, sniffer.data), self.NAME)


def _splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function that reads a file as one game; None if it is no such log."""
    first_line = parse_truncated_object(head) if _KEY.encode() in head else {}
    is_init = _KEY in first_line and not first_line.keys().isdisjoint({"type", "settings"})
    return read_whole_file if is_init and first_line.get("type") in ("init", None) else None


# Only one format may have the splitter of a file, so the first one has it for both.
FORMATS = (
    _PublicGoodsFormat("goods", False, _splitter),
    _PublicGoodsFormat("pgg_bench", True, None),
)


class Log:
    """The events of a log; raises InvalidDocumentError if a line is not valid."""

    def __init__(self, data: bytes) -> None:
        self.faults: list[RecordError] = []
        lines = self._parse_lines(data)
        self._events = events = defaultdict[type, list[tuple[int, Line | None]]](list)
        for line_index, line in enumerate(lines):
            events[type(line)].append((line_index, line))
        (_, self.init), *repeated_inits = self.events_of_type(Init)
        if repeated_inits:
            raise invalid_document_error(
                line_json_path(repeated_inits[0][0]), "a log is of one game", "a second `init`"
            )
        for line_index, line in enumerate(lines):
            if line is not None and line.game_id != self.init.game_id:
                raise invalid_document_error(
                    line_json_path(line_index, "game_id"),
                    "a log is of one game",
                    repr(line.game_id),
                )
        # Sorted by label, P1 before P10, because the keys of an object have no order.
        players_by_id = dict(
            sorted(
                self.init.short_name_map.items(),
                key=lambda item: (len(item[1].short_label), item[1].short_label),
            )
        )
        self.players = list(players_by_id.values())
        self.seat_numbers_by_id = {
            player_id: seat_number for seat_number, player_id in enumerate(players_by_id, start=1)
        }
        self.labels_by_id = {
            player_id: player.short_label for player_id, player in players_by_id.items()
        }
        check_players(list(self.labels_by_id.values()), line_json_path(0, _KEY))
        if len(self.players) != self.init.settings.players:
            rule = "there are as many players as the settings say"
            raise invalid_document_error(
                line_json_path(0, _KEY), rule, f"{len(self.players)} players"
            )
        if len(lines) == 1:
            rule = "a log goes on after its `init`, which is the first line of its file"
            raise invalid_document_error(
                line_json_path(0), rule, "nothing follows it in this document"
            )

    def events_of_type(self, event_type: type[T]) -> list[tuple[int, T]]:
        """Return each event of one type with the index of its line, in the order of the log."""
        return cast("list[tuple[int, T]]", self._events.get(event_type, []))

    def seat_number_of_player(
        self, player_id: str, line_index: int, field_name: str = "player_id"
    ) -> int:
        """Return the seat number of a player; raise InvalidDocumentError for an unknown player.

        The error has the position of the player's id: a line and a field.
        """
        if player_id not in self.seat_numbers_by_id:
            raise invalid_document_error(
                line_json_path(line_index, field_name),
                "every player who acts has a seat",
                repr(player_id),
            )
        return self.seat_numbers_by_id[player_id]

    def parse_token_amount(self, value: Any, line_index: int, field_name: str) -> float | None:
        """Return an amount of tokens; None, and an error in `faults`, for an invalid amount."""
        if type(value) in (int, float) and 0 <= value < 1e300:
            return float(value)
        rule = "an amount is a number of tokens, 0 or more"
        self.faults.append(
            RecordError(line_json_path(line_index, field_name), rule, repr(value)[:50])
        )
        return None

    def _parse_lines(self, data: bytes) -> Sequence[Line | None]:
        """Return the lines that are not blank; a line of an unknown type becomes None."""
        try:
            events = _EVENT.decode_lines(data)
        except UNDECODABLE:
            events = []
        # Decoding all lines at once is faster, but also accepts an object in several lines.
        splitter = iter_json_values if is_multiline_json(data[: 1 << 12]) else iter_lines
        if (events and splitter is iter_json_values) or len(events) == data.count(b"\n") + (
            data[-1:] != b"\n"
        ):
            return events
        parts = enumerate(splitter(iter((data,)), len(data)))
        return [self._parse_line(part.data or b"", line_index) for line_index, part in parts]

    def _parse_line(self, line: bytes, line_index: int) -> Line | None:
        event_type = decode(_Type, line, line_json_path(line_index)).type
        if event_type in _EVENT_TYPES:
            return decode(_EVENT, line, line_json_path(line_index))
        rule = f"an event is one of {', '.join(_EVENT_TYPES)}"
        self.faults.append(RecordError(line_json_path(line_index, "type"), rule, repr(event_type)))
        return None


def line_json_path(line_index: int, field_name: str = "") -> str:
    """Return the JSON path of a line, or of a field of the line."""
    return f"$[{line_index}].{field_name}" if field_name else f"$[{line_index}]"


def _game_from_log(log: Log, system_name: str) -> GameRecord:
    contributions, transfers = _contributed_amounts(log), list(_iter_punishments(log))
    scores = _final_scores(log, contributions, transfers)
    scores_or_unknown: Sequence[float | None] = scores or [None] * len(log.players)
    logged_messages = [
        LoggedMessage(
            log.players[log.seat_number_of_player(line.player_id, line_index) - 1].short_label,
            line.message or "",
            TALK,
            line.round,
            msg_type="public_message",
        )
        for line_index, line in log.events_of_type(Message)
    ]
    setting: dict[str, JsonValue] = {
        name: value for name, value in asdict(log.init.settings).items() if value is not UNSET
    }
    seats = [
        Seat(
            player.short_label,
            player.model_name or None,
            PLAYER,
            is_tested=True,
            final_score=score,
        )
        for player, score in zip(log.players, scores_or_unknown, strict=True)
    ]
    # The seconds that each player took to talk, to contribute and to punish.
    usages: dict[str, list[Usage]] = {player_id: [] for player_id in log.seat_numbers_by_id}
    for player_id, index, line in (
        *((line.player_id, index, line) for index, line in log.events_of_type(Message)),
        *((line.player_id, index, line) for index, line in log.events_of_type(Contribution)),
        *((line.punisher_id, index, line) for index, line in log.events_of_type(Punishment)),
    ):
        usages[player_id].append(
            parse_usage_or_add_faults(
                line, {"seconds": "response_time_s"}, line_json_path(index), log.faults
            )
        )
    built = GameRecord(
        game_type=GameType.PUBLIC_GOOD,
        system=system_name,
        format=system_name,
        setting=setting,
        is_finished=scores is not None,
        outcome=None if scores is None else Outcome.COMPLETED,
        n_rounds=log.init.settings.rounds,
        seats=seats,
        messages=build_messages(logged_messages, seats),
        contributions=build_contributions_with_round_totals(contributions, len(seats)),
        transfers=transfers,
        usage=[sum_usages(player_usages) for player_usages in usages.values()],
        faults=log.faults,
    )
    wins = has_highest_score([seat.final_score for seat in seats])
    built.results = results_of_tested_seats(built, dict(enumerate(wins, start=1)))
    return built


def _final_scores(
    log: Log, contributions: list[ContributedAmount], transfers: list[Transfer]
) -> list[float] | None:
    """Return the final balance of each player; None if a balance is unknown.

    A log names balances by model, so it lacks balances if several players have the same model. Such
    balances are computed, and used only if they agree with the logged ones.
    """
    finals = log.events_of_type(Final)
    if not finals:
        return None
    (line_index, final), *repeated_finals = finals
    if repeated_finals:
        raise invalid_document_error(
            line_json_path(repeated_finals[0][0]), "a game ends once", "a second `final`"
        )
    # A missing model's key is "null", because JSON has no null as a key.
    models = ["null" if player.model_name is None else player.model_name for player in log.players]
    logged_balances = final.final_tokens
    if logged_balances.keys() != set(models):
        rule = "each player's model has a balance"
        raise invalid_document_error(
            line_json_path(line_index, "final_tokens"), rule, ", ".join(logged_balances)
        )
    if len(logged_balances) == len(models):
        return [logged_balances[model] for model in models]
    balances = _compute_final_balances(log, contributions, transfers)
    if balances and set(zip(models, balances, strict=True)) >= set(logged_balances.items()):
        return balances
    rule = "balances of several players of one model follow from what each put in"
    log.faults.append(
        RecordError(
            line_json_path(line_index, "final_tokens"), rule, "they do not: who won is not known"
        )
    )
    return None


def _compute_final_balances(
    log: Log, contributions: list[ContributedAmount], transfers: list[Transfer]
) -> list[float] | None:
    """Return each player's balance at the end, computed from all moves; None if one is missing.

    The pool is multiplied and paid out in equal whole numbers. The remainder stays in the pool.
    """
    settings, remainder = log.init.settings, 0.0
    balances = [settings.starting_amount] * len(log.players)
    for round_number in range(1, settings.rounds + 1):
        amounts_by_seat = {
            seat_number: amount
            for seat_number, contribution_round, amount, _ in contributions
            if contribution_round == round_number
        }
        if len(amounts_by_seat) < len(balances) or None in amounts_by_seat.values():
            return None
        amounts = [amounts_by_seat[seat_number] or 0 for seat_number in range(1, len(balances) + 1)]
        payout, remainder = divmod(
            floor((remainder + sum(amounts)) * settings.multiplier), len(balances)
        )
        balances = [
            balance - amount + payout for balance, amount in zip(balances, amounts, strict=True)
        ]
    indices = {player.short_label: index for index, player in enumerate(log.players)}
    for transfer in transfers:
        if None in (transfer.amount, transfer.cost, transfer.target):
            return None
        balances[transfer.seat - 1] -= transfer.cost or 0
        balances[indices[transfer.target or ""]] += transfer.amount or 0
    return balances


def _contributed_amounts(log: Log) -> list[ContributedAmount]:
    contributions: list[ContributedAmount] = [
        (
            log.seat_number_of_player(line.player_id, line_index),
            line.round,
            log.parse_token_amount(line.contribution, line_index, "contribution"),
            None,
        )
        for line_index, line in log.events_of_type(Contribution)
    ]
    first_lines: dict[tuple[str, int], int] = {}
    for line_index, line in log.events_of_type(Contribution):
        if first_lines.setdefault((line.player_id, line.round), line_index) != line_index:
            raise invalid_document_error(
                line_json_path(line_index),
                "a player puts in once a round",
                f"round {line.round}, again",
            )
    return contributions


def _iter_punishments(log: Log) -> Iterator[Transfer]:
    """Yield each punishment: a player pays a cost, and another player loses tokens."""
    n_punishments: defaultdict[tuple[int, int], int] = defaultdict(int)
    for line_index, line in log.events_of_type(Punishment):
        seat_number = log.seat_number_of_player(line.punisher_id, line_index, "punisher_id")
        n_punishments[seat_number, line.round] += 1
        damage = log.parse_token_amount(line.target_damage, line_index, "target_damage")
        yield Transfer(
            seat_number,
            line.round,
            None,
            number=n_punishments[seat_number, line.round],
            target=find_target_or_add_fault(
                line.target_id,
                log.labels_by_id,
                line_json_path(line_index, "target_id"),
                log.faults,
            ),
            kind="punishment",
            amount=None if damage is None else -damage,
            cost=log.parse_token_amount(line.punisher_spend, line_index, "punisher_spend"),
        )
