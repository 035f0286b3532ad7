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
from rawlogs import Game, Row, encode, games_of

from pipeline.archives import iter_documents
from pipeline.formats import read_game
from pipeline.vocabulary import PLAYER, GameType, Outcome, ParseStatus

OK = ParseStatus.OK


class Read(NamedTuple):
    """One log and the game that it is read as."""

    path: str
    log: Any
    game: Game


def games_in(archive: Path, model: str | None = None) -> list[Read]:
    """Every game of an archive."""
    found = [
        (document.path, json.loads(document.data), game)
        for document in iter_documents(archive)
        if document.data is not None and (game := read_game(document.data, model))
    ]
    output = games_of(game for _, _, game in found)
    return [Read(path, log, game) for (path, log, _), game in zip(found, output, strict=True)]


def read_without(public: Iterable[Read], key: str) -> list[Game]:
    """The games as their logs are read that lack a key."""
    games = [read_game(encode({k: one.log[k] for k in one.log if k != key})) for one in public]
    return games_of(game for game in games if game is not None)


@pytest.fixture(scope="module")
def public(shared: Path) -> list[Read]:
    """Every game of the public corpus."""
    return games_in(shared / "corpus" / "magic-public.tar.zst")


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
    assert len({s.model for one in public for s in one.game.seats if s.is_tested}) == 10


def test_games_are_unfinished_where_an_outage_cut_them_off(public: list[Read]) -> None:
    cut_off = [one for one in public if not one.game.is_finished]
    assert len(cut_off) == 3
    for one in cut_off:
        assert one.game.game_type == GameType.COST_SHARING
        assert one.game.messages[-1].parse_status == ParseStatus.OUTAGE


def test_a_competition_is_told_by_who_is_tested(public: list[Read]) -> None:
    """The folder's name says it too; what is read must agree, and never look there."""
    named = {
        "chameleon": "as_chameleon_",
        "non_chameleon": "as_non_chameleon_",
        "undercover": "as_undercover_",
        "civilian": "as_non_undercover_",
        PLAYER: "_vs_",
    }
    for path, _, game in public:
        (result,) = game.results
        assert named[result.role] in path
        assert path.split("/")[2].startswith(f"{result.model}_competition_")


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


@pytest.mark.slow
def test_least_contributions(public: list[Read]) -> None:
    for path, _, game in of_type(public, GameType.PUBLIC_GOOD):
        rounds: dict[int, list[float]] = defaultdict(list)
        for c in game.contributions:
            rounds[c.round].append(c.amount or 0)
        for c in game.contributions:
            assert c.is_least is (c.amount == min(rounds[c.round])), path
            assert c.round_total == sum(rounds[c.round]), path


@pytest.mark.slow
def test_the_winner_of_a_point_game_has_the_most_points(public: list[Read]) -> None:
    """Shared or not."""
    games = of_type(public, GameType.PRISONERS_DILEMMA, GameType.PUBLIC_GOOD)
    for path, log, game in games:
        (result,) = game.results
        tested = game.seats[(result.seat or 0) - 1]
        assert tested.is_tested, path
        assert result.is_win is (tested.final_score == max(log["scores"])), path


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


def test_everyone_votes_once_and_answers_every_question(public: list[Read]) -> None:
    for path, _, game in of_type(public, GameType.CHAMELEON, GameType.UNDERCOVER):
        n_rounds = 3 if game.game_type == GameType.CHAMELEON else 2
        asked = [(n, seat) for n in range(1, n_rounds + 1) for seat in (1, 2, 3)]
        assert game.n_rounds == n_rounds, path
        assert [vote.seat for vote in game.votes] == [1, 2, 3], path
        assert [(r.round, r.seat) for r in game.role_identifications] == asked, path
        for kind in ("gold", "inter"):
            analyses = [(r.round, r.seat) for r in game.role_analyses if r.kind == kind]
            assert analyses == asked, path


def test_a_right_guess_is_the_secret_word(public: list[Read]) -> None:
    """The game may take the word in other letters for wrong, but none but the word for right."""
    guesses = [guess for one in public for guess in one.game.guesses]
    assert Counter(guess.is_correct for guess in guesses) == {True: 85, False: 90}
    for guess in guesses:
        assert guess.parse_status == OK
        assert guess.guess
        if guess.is_correct:
            assert guess.guess.lower() == guess.secret.lower()


def test_pgm_players_often_vote_otherwise_than_they_say(public: list[Read]) -> None:
    """Theirs are their inner table's votes; the others' what the engine finds in their texts."""
    contradicting = {True: 0, False: 0}
    n_votes = {True: 0, False: 0}
    for _, _, game in public:
        for vote in game.votes:
            is_pgm = (game.seats[vote.seat - 1].model or "").endswith("-pgm")
            n_votes[is_pgm] += 1
            if None not in (vote.target, vote.stated_target):
                contradicting[is_pgm] += vote.target != vote.stated_target
    assert n_votes == {True: 360, False: 2040}
    assert 70 <= contradicting[True] <= 100
    # The first player in the order of seats that is named, not the one that is voted for.
    assert contradicting[False] < 40


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


def test_texts_say_what_was_logged_of_proposals(public: list[Read]) -> None:
    """Read from the last round's texts alone, the shares are those that the game logged.

    Where the log has null, or two shares run into one, the text may say more.
    """
    n_shares = 0
    games = of_type(public, GameType.COST_SHARING)
    for (path, _, game), without in zip(games, read_without(games, "proposal"), strict=True):
        stated = {(p.seat, p.round, p.party): p.share for p in without.proposals}
        logged = {(p.seat, p.round, p.party): p.share for p in game.proposals if p.is_last}
        for place, share in logged.items():
            if share is not None:
                assert stated[place] == share, (path, place)
                n_shares += 1
    assert n_shares > 1800


def test_texts_say_what_was_logged_of_votes_for_proposals(public: list[Read]) -> None:
    n_votes = 0
    games = of_type(public, GameType.COST_SHARING)
    for (path, _, game), without in zip(games, read_without(games, "vote"), strict=True):
        stated = {(v.seat, v.round): v.candidate_seat for v in without.proposal_votes}
        for v in game.proposal_votes:
            if v.is_final_round and v.parse_status == OK:
                assert stated[v.seat, v.round] == v.candidate_seat, path
                n_votes += 1
    assert n_votes > 600


def test_an_agreement_is_a_round_in_which_shares_voted_for_are_alike(public: list[Read]) -> None:
    """All agreed votes name proposals of equal value; who is named decides who proposed."""
    for path, _, game in of_type(public, GameType.COST_SHARING):
        if game.outcome is not Outcome.AGREED:
            continue
        shares = {
            (p.seat, p.party): p.share for p in game.proposals if p.is_last and p.share is not None
        }
        chosen = [v.candidate_seat for v in game.proposal_votes if v.is_final_round]
        assert len(chosen) == 3, path
        assert None not in chosen, path
        for party in "ABC":
            values = {shares[seat, party] for seat in chosen if seat and (seat, party) in shares}
            assert len(values) <= 1, path


# Real transcripts of ChatArena


@pytest.fixture(scope="module")
def transcripts(shared: Path) -> list[Read]:
    return games_in(shared / "real" / "chatarena-chameleon.tar.zst", "gpt-3.5-turbo")


def test_outcomes_of_the_transcripts(transcripts: list[Read]) -> None:
    assert Counter(str(one.game.outcome) for one in transcripts) == {
        "voted_wrong": 41,
        "tie": 43,
        "guessed_right": 12,
        "guessed_wrong": 7,
    }
    assert Counter(len(one.game.seats) for one in transcripts) == {3: 102, 4: 1}


def test_outcomes_of_the_transcripts_follow_from_the_votes_read(transcripts: list[Read]) -> None:
    """Ties and players voted out; who gives another clue in place of a vote votes for nobody."""
    n_open = 0
    for path, _, game in transcripts:
        assert [vote.seat for vote in game.votes] == list(range(1, len(game.seats) + 1)), path
        # "Player 1, you are the chameleon": the engine takes any name.
        if any(vote.parse_status == ParseStatus.AMBIGUOUS for vote in game.votes):
            n_open += 1
            continue
        out = voted_out(game.votes)
        if out is None:
            assert game.outcome == "tie", path
        elif out == hidden_seat(game):
            assert game.outcome in ("guessed_wrong", "guessed_right"), path
        else:
            assert game.outcome == "voted_wrong", path
            said = game.messages[-1].content
            assert f"most-voted player is {game.seats[out - 1].player}" in said, path
    assert n_open == 5


def test_guesses_of_the_transcripts_are_right_as_the_moderator_says(
    transcripts: list[Read],
) -> None:
    for path, _, game in transcripts:
        for guess in game.guesses:
            assert guess.guess is not None, path
            assert (guess.guess.lower() == guess.secret.lower()) is guess.is_correct, path
