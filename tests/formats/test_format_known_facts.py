"""What is known of the public logs, derived anew from what was read of them.

The rules are those of the games, written here once more and in plain Python: whatever decides a
score or a winner must have been read as the game registered it, or the sums would not come out.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chatarenalogs import table, transcript
from rawlogs import MODEL, Game, Row, encode, games_of

from pipeline.archives import iter_documents
from pipeline.events.readings import content_id
from pipeline.formats import read_game
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.vocabulary import GameType, ParseStatus

pytestmark = pytest.mark.slow(seconds=5)

OK = ParseStatus.OK


class Read(NamedTuple):
    """One log and the game that it is read as."""

    path: str
    log: Any
    game: Game


def read_without(public: Iterable[Read], key: str) -> list[Game]:
    """The games as their logs are read that lack a key."""
    games = [read_game(encode({k: one.log[k] for k in one.log if k != key})) for one in public]
    return games_of(game for game in games if game is not None)


@pytest.fixture(scope="module")
def public(shared: Path) -> list[Read]:
    """Every game of the public corpus."""
    found = [
        (document.path, json.loads(document.data), game)
        for document in iter_documents(shared / "corpus" / "magic-public.tar.zst")
        if document.data is not None and (game := read_game(document.data))
    ]
    output = games_of(game for _, _, game in found)
    return [Read(path, log, game) for (path, log, _), game in zip(found, output, strict=True)]


def of_type(public: Iterable[Read], *game_types: GameType) -> list[Read]:
    return [one for one in public if one.game.game_type in game_types]


def voted_out(votes: Iterable[Row]) -> int | None:
    """The seat with the most votes, None for a tie; a vote that names nobody counts for nobody."""
    counted = Counter(vote.target_seat for vote in votes if vote.target_seat is not None)
    (first, most), *others = counted.most_common()
    return None if any(n == most for _, n in others) else first


def hidden_seat(game: Game) -> int:
    (seat,) = [n for n, s in enumerate(game.seats, 1) if s.role in ("chameleon", "undercover")]
    return seat


def test_every_log_is_read_whole(public: list[Read]) -> None:
    assert Counter(str(one.game.game_type) for one in public) == {
        "chameleon": 400,
        "undercover": 400,
        "cost_sharing": 210,
        "prisoners_dilemma": 210,
        "public_good": 210,
    }
    assert [one.path for one in public if one.game.faults] == []
    cut_off = [one.game for one in public if not one.game.is_finished]
    assert [game.messages[-1].parse_status for game in cut_off] == [ParseStatus.OUTAGE] * 3
    assert len({s.model for one in public for s in one.game.seats if s.is_tested}) == 10


def test_scores_of_prisoners_dilemmas_follow_from_the_choices(public: list[Read]) -> None:
    """All alike: the setting's `cooperate` or `defect` each. Else a cooperator gets nothing and a
    defector `one_defect` or `two_defect`, by how many they are.
    """
    games = of_type(public, GameType.PRISONERS_DILEMMA)
    assert len(games) == 210
    for path, log, game in games:
        worth = log["game_setting"]["topic_values"]
        choices: dict[int, dict[int, str]] = defaultdict(dict)
        for decision in game.decisions:
            choices[decision.round][decision.seat] = decision.choice
        assert sorted(choices) == [1, 2, 3, 4, 5], path
        points = {1: 0, 2: 0, 3: 0}
        for chosen in choices.values():
            n_defectors = list(chosen.values()).count("defect")
            defectors_get = [None, worth["one_defect"], worth["two_defect"], worth["defect"]]
            for seat in points:
                if chosen[seat] == "defect":
                    points[seat] += defectors_get[n_defectors]
                elif n_defectors == 0:
                    points[seat] += worth["cooperate"]
        assert [points[seat] for seat in (1, 2, 3)] == log["scores"], path
        paid: Counter[int] = Counter()
        for decision in game.decisions:
            paid[decision.seat] += decision.payoff
        assert dict(paid) == points, path


def test_scores_of_public_good_games_follow_from_the_amounts(public: list[Read]) -> None:
    """100 to begin with, less what one put in, plus a third of the pool times the multiplier.

    In PGM games the last round's contributions are paid, but not in the pool.
    """
    games = of_type(public, GameType.PUBLIC_GOOD)
    assert len(games) == 210
    for path, log, game in games:
        n_rounds, multiplier = (log["game_setting"][key] for key in ("game_round", "multiplier"))
        amounts: dict[int, dict[int, float]] = defaultdict(dict)
        for contribution in game.contributions:
            assert contribution.amount is not None, path
            amounts[contribution.round][contribution.seat] = contribution.amount
        assert sorted(amounts) == list(range(1, n_rounds + 1)), path
        assert {tuple(sorted(given)) for given in amounts.values()} == {(1, 2, 3)}, path
        is_pgm = log["game_setting"]["test_player"]["model"].endswith("-pgm")
        pooled = [n for n in amounts if n != n_rounds or not is_pgm]
        share = sum(sum(amounts[n].values()) for n in pooled) * multiplier / 3
        expected = [
            100 - sum(given[seat] for given in amounts.values()) + share for seat in (1, 2, 3)
        ]
        assert log["scores"] == pytest.approx(expected, rel=1e-12, abs=1e-9), path


def test_winners_follow_from_the_votes(public: list[Read]) -> None:
    """The one with the most votes is out: the hidden player, another, or in a tie nobody."""
    games = of_type(public, GameType.CHAMELEON, GameType.UNDERCOVER)
    assert len(games) == 800
    for path, _, game in games:
        out = voted_out(game.votes)
        if out is None:
            assert game.outcome == "tie", path
        elif out != hidden_seat(game):
            assert game.outcome == "voted_wrong", path
        elif game.game_type == GameType.UNDERCOVER:
            assert game.outcome == "caught", path
        else:
            assert game.outcome in ("guessed_wrong", "guessed_right"), path


def test_a_right_guess_is_the_secret_word(public: list[Read]) -> None:
    """The game may take the word in other letters for wrong, but none but the word for right."""
    guesses = [guess for one in public for guess in one.game.guesses]
    assert Counter(guess.is_correct for guess in guesses) == {True: 85, False: 90}
    for guess in guesses:
        assert guess.parse_status == OK
        assert guess.guess
        if guess.is_correct:
            assert guess.guess.lower() == guess.secret.lower()


def test_every_event_is_of_the_one_who_spoke(public: list[Read]) -> None:
    """The message behind an event was said by its seat."""
    for path, _, game in public:
        for events in (
            game.votes,
            game.guesses,
            game.role_identifications,
            game.role_analyses,
            game.decisions,
            game.contributions,
            game.proposals,
            game.proposal_votes,
        ):
            for event in events:
                assert event.message_index is not None, path
                assert game.messages[event.message_index].seat == event.seat, path


def test_texts_say_what_was_logged(public: list[Read]) -> None:
    """Read from the last round's texts alone, shares and votes are those that the game logged.

    Where the log has null, or two shares run into one, the text may say more.
    """
    n_shares, n_votes = 0, 0
    games = of_type(public, GameType.COST_SHARING)
    of_texts = (read_without(games, key) for key in ("proposal", "vote"))
    for (path, _, game), proposing, voting in zip(games, *of_texts, strict=True):
        shares = {(p.seat, p.round, p.party): p.share for p in proposing.proposals}
        for p in game.proposals:
            if p.is_last and p.share is not None:
                assert shares[p.seat, p.round, p.party] == p.share, path
                n_shares += 1
        candidates = {(v.seat, v.round): v.candidate_seat for v in voting.proposal_votes}
        for v in game.proposal_votes:
            if v.is_final_round and v.parse_status == OK:
                assert candidates[v.seat, v.round] == v.candidate_seat, path
                n_votes += 1
    assert n_shares > 1800
    assert n_votes > 600


# The same games as ChatArena keeps them: their rows alone

# What MAgIC's logs say, and rows alone do too.
ALIKE = ("game_type", "outcome", "outcome_code", "is_finished", "n_rounds")
ALIKE += ("decisions", "contributions", "guesses")


def said(game: GameRecord) -> tuple[object, ...]:
    course = game.messages.course
    return course.seat, course.phase, course.round, game.messages.content


def won(game: GameRecord) -> set[tuple[object, ...]]:
    """Who won: by seat where each plays for itself, else by role."""
    has_roles = game.game_type in ("chameleon", "undercover")
    return {(r.role if has_roles else r.seat, r.is_win, r.win_credit) for r in game.results}


def test_games_are_read_from_their_rows_alone(public: list[Read]) -> None:
    """The moderator says all that a log keeps besides, but for models, and a pool's multiplier.

    In a list, a table and a transcript they are of one content.
    """
    for path, log, _ in public:
        whole, rows = read_game(encode(log)), log["history"]
        assert whole is not None
        if whole.game_type == "cost_sharing":
            with pytest.raises(InvalidDocumentError, match="registered"):
                read_game(encode(rows), MODEL)
            continue
        game = read_game(encode(rows), MODEL)
        assert game is not None, path
        assert game.faults == [], path
        for name in ALIKE:
            assert getattr(game, name) == getattr(whole, name), (path, name)
        assert [(s.player, s.role) for s in game.seats] == [(s.player, s.role) for s in whole.seats]
        assert said(game) == said(whole), path
        assert won(whole) <= won(game), path
        if whole.game_type != "public_good":
            scores = [seat.final_score for seat in whole.seats]
            assert [seat.final_score for seat in game.seats] == scores, path
        in_table = read_game(table(rows), MODEL, "a.csv")
        in_transcript = read_game(transcript(rows).strip(), MODEL, "a.txt#1")
        assert content_id(in_table) == content_id(in_transcript) == content_id(game), path
