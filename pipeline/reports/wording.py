"""An act in a few words: what a reader wants to know of a row of an event table."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from pipeline import column
from pipeline.cells import NULL, texts
from pipeline.reports.acts import Act

# Whom an act is aimed at: after an arrow.
_ARROWS = ("target", "candidate")
# What a row is about, if not of its player: before all else.
_ABOUT = ("party",)
# Facts that are said without their name.
_PLAIN = ("kind", "choice")
# What several acts of one place can share, and is then said once.
_SHARED = ("kind", "cause", "round_total", "is_quest_failed", "is_last")
# What another act of the same messages says already.
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "proposals": ("position",),
    "team_votes": ("attempt", "leader", "team", "is_approved"),
}
# A flag in words, if it is true and if it is false; nothing for what goes without saying.
_FLAGS: Mapping[str, tuple[str, str]] = {
    "is_correct": ("right", "wrong"),
    "is_correct_as_read": ("right as read", "wrong as read"),
    "is_valid": ("", "not valid"),
    "is_own_view_stated": ("", "own view not stated"),
    "is_least": ("the least", ""),
    "is_last": ("last proposal", ""),
    "is_final_round": ("final round", ""),
    "is_before_vote": ("before the vote", ""),
    "is_voted_on": ("", "without a vote"),
    "is_approved": ("approved", "rejected"),
    "approves": ("for the team", "against the team"),
    "is_fail": ("fail", "success"),
    "is_quest_failed": ("quest failed", "quest succeeded"),
}


def shared(acts: Sequence[Act]) -> tuple[tuple[str, object], ...]:
    """The facts that all of the acts share, to be written once; none for a single act."""
    if len(acts) < 2:
        return ()
    first, *others = acts
    return tuple(
        fact
        for fact in first.facts
        if fact[0] in _SHARED and all(fact in other.facts for other in others)
    )


def lines(acts: Iterable[Act], player: str | None) -> list[tuple[str, str]]:
    """The acts of a message as pairs of a table and a line of text."""
    pairs = []
    for (table, _), group in groupby(acts, key=lambda act: (act.table, act.player)):
        of_table = list(group)
        common = shared(of_table)
        each = "; ".join(line(act, common, player) for act in of_table)
        pairs.append((table, ", ".join(part for part in (each, words(common)) if part)))
    return pairs


def words(facts: Sequence[tuple[str, object]]) -> str:
    """The facts in words, separated by commas."""
    return ", ".join(word for name, value in facts if (word := _word(name, value)))


def line(act: Act, without: Sequence[tuple[str, object]] = (), player: str | None = None) -> str:
    """An act in one line: without the facts `without`, and without its name if it is `player`'s."""
    facts = {fact[0]: fact[1] for fact in _shown(act) if fact not in without}
    aims = [name for name in _ARROWS if name in facts]
    about = [_text(facts.pop(name)) for name in _ABOUT if name in facts]
    kind = column.words(str(facts.pop("kind", "")))
    arrow = "".join(f"→ {_text(facts.pop(name) or 'nobody')}" for name in aims)
    who = "" if act.player == player else act.player or NULL
    head = " ".join(part for part in (who, kind, *about, arrow) if part)
    rest = words(list(facts.items()))
    return (", " if arrow else ": ").join(part for part in (head, rest) if part)


def _shown(act: Act) -> list[tuple[str, object]]:
    """The facts to be shown: no seat of a player who is named, and no fact twice."""
    facts = dict(act.facts)
    left_out = {*_ELSEWHERE.get(act.table, ())}
    left_out |= {f"{name}_seat" for name in facts}
    left_out |= {
        f"stated_{name}" for name, value in facts.items() if facts.get(f"stated_{name}") == value
    }
    if facts.get("is_correct_as_read") == facts.get("is_correct"):
        left_out.add("is_correct_as_read")
    return [(name, value) for name, value in act.facts if name not in left_out]


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        plain = column.words(name.removeprefix("is_"))
        return _FLAGS.get(name, (plain, f"not {plain}"))[not value]
    if name == "cause":
        return f"by {_text(value)}"
    if name in _PLAIN:
        return column.words(_text(value))
    return f"{column.words(name)} {_text(value)}"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else texts([value])[0]
