"""What acts need not state, since it follows from others: the same for reading and writing.

Rows are those of one table of one game, in the document's order, as their fields by name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.formats.building import pooled
from pipeline.vocabulary import ParseStatus

Row = Mapping[str, Any]
Rows = Sequence[Row]


class Around(NamedTuple):
    """What is known of the game besides: its players' seats by name, and its secret word."""

    seats: Mapping[str, int]
    word: Any


def derived(table: str, rows: Rows, around: Around) -> list[dict[str, Any]]:
    """For each row the values of fields that it may leave out."""
    return _DERIVED[table](rows, around) if table in _DERIVED else [{} for _ in rows]


def _guesses(rows: Rows, around: Around) -> list[dict[str, Any]]:
    status = {True: ParseStatus.OK, False: ParseStatus.UNREADABLE}
    return [
        {"parse_status": status[row["guess"] is not None]}
        | ({"secret": around.word} if isinstance(around.word, str) else {})
        for row in rows
    ]


def _contributions(rows: Rows, around: Around) -> list[dict[str, Any]]:
    """The least and the total of each round in which all amounts are known."""
    puts = [(row["seat"], row["round"], row["amount"], None) for row in rows]
    of_rows = pooled(puts, len(around.seats))
    return [{"is_least": one.is_least, "round_total": one.round_total} for one in of_rows]


def _proposals(rows: Rows, around: Around) -> list[dict[str, Any]]:
    """The place of each share in its proposal, and whether that is its seat's last."""
    proposal = [(row["seat"], row["round"]) for row in rows]
    last = dict(sorted(proposal))
    n_shares: Counter[tuple[int, int]] = Counter()
    values = []
    for row, (seat, round_) in zip(rows, proposal, strict=True):
        n_shares[seat, round_] += 1
        party, position = around.seats.get(row["party"]), n_shares[seat, round_]
        is_last = last[seat] == round_
        values.append({"party_seat": party, "position": position, "is_last": is_last})
    return values


def _proposal_votes(rows: Rows, _: Around) -> list[dict[str, Any]]:
    final = max((row["round"] for row in rows), default=0)
    return [{"is_final_round": row["round"] == final} for row in rows]


def _numbered(rows: Rows, _: Around) -> list[dict[str, Any]]:
    """The number of each row among those of its seat in its round."""
    n_rows: Counter[tuple[int, int]] = Counter()
    numbers = []
    for row in rows:
        key = row["seat"], row["round"]
        n_rows[key] += 1
        numbers.append({"number": n_rows[key]})
    return numbers


_DERIVED: dict[str, Callable[[Rows, Around], list[dict[str, Any]]]] = {
    "guesses": _guesses,
    "contributions": _contributions,
    "proposals": _proposals,
    "proposal_votes": _proposal_votes,
    "transfers": _numbered,
    "abilities": _numbered,
}
