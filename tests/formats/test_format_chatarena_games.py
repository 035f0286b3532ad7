"""Games of MAgIC in ChatArena's rows: what the moderator's words say, and what they do not."""

import pytest
from chatarenalogs import END, dilemma, pool, undercover
from rawlogs import MODEL, Log, chatarena, cost_sharing, fault_of, game_of, moderate, say


def test_undercover() -> None:
    game = game_of(undercover(), MODEL)
    assert (game.game_type, game.outcome, game.outcome_code) == ("undercover", "caught", 0)
    assert game.setting == {
        "undercover_code": "lake",
        "civilian_code": "pond",
        "hidden": "Player 3",
    }
    assert [seat.role for seat in game.seats] == ["civilian", "civilian", "undercover", "civilian"]
    assert [vote.target_seat for vote in game.votes] == [3, 3, 1, 3]
    assert game.n_rounds == 2


@pytest.mark.parametrize(
    ("ending", "outcome", "credits"),
    [
        ("caught", "caught", (1, 0)),
        ("voted_wrong", "voted_wrong", (0, 1)),
        ("tie", "tie", (1 / 3, 2 / 3)),
        (None, None, (None, None)),
    ],
)
def test_endings_of_undercover(
    ending: str | None, outcome: str | None, credits: tuple[float | None, ...]
) -> None:
    game = game_of(undercover(ending=ending), MODEL)
    assert (game.is_finished, game.outcome) == (ending is not None, outcome)
    found = {result.role: result.win_credit for result in game.results}
    assert found == {"civilian": credits[0], "undercover": credits[1]}


@pytest.mark.parametrize(
    "words",
    [("pond",) * 3, ("pond", "lake"), ("pond", "pond", "lake", "lake"), ("a", "b", "c", "c")],
)
def test_words_that_do_not_say_who_it_is(words: tuple[str, ...]) -> None:
    fault = fault_of(undercover(words, [1] * len(words)), MODEL)
    assert "Undercover" in fault.rule
    assert f"{len(words)} players {len(set(words))} different words" in fault.message


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Tiger. Remember it for the next rounds.", "Tiger"),
        ("Tiger. Remember it for the next rounds and do not say it. Good luck!", "Tiger"),
        ("Tiger! Do not say it", "Tiger"),
        ("Tiger.", "Tiger"),
        ("Tiger\nRemember it.", "Tiger"),
        ("St. Bernard. Remember it for the next rounds.", "St. Bernard"),
        ("Dr. Martin Luther King. Remember it.", "Dr. Martin Luther King"),
        ("J. K. Rowling", "J. K. Rowling"),
        ("Dr. Pepper", "Dr. Pepper"),
        ("U.S.A.", "U.S.A."),
        ("ice cream 2.0", "ice cream 2.0"),
    ],
)
def test_a_word_ends_before_the_next_sentence(said: str, word: str) -> None:
    game = game_of(undercover((said, said, said.replace(word, "Lion"), said)), MODEL)
    assert game.setting["civilian_code"] == word
    assert game.setting["undercover_code"] in ("Lion", "Lion.")
    rows = chatarena()
    rows[1]["content"] = f"You are not chameleon. The word is: {said}"
    assert game_of(rows, MODEL).setting["code"] == word


def test_a_word_is_no_name_of_a_game() -> None:
    """Nor are the words of players."""
    game = game_of(undercover(("chameleon", "chameleon", "communal pool"), (3, 3, 1)), MODEL)
    assert game.game_type == "undercover"
    rows = chatarena()
    rows.insert(4, say("Player 1", "Your word is: lake", "Player 2"))
    assert game_of(rows, MODEL).game_type == "chameleon"


def test_prisoners_dilemma() -> None:
    game = game_of(dilemma(), MODEL)
    assert (game.game_type, game.outcome, game.n_rounds) == ("prisoners_dilemma", "completed", 2)
    payoffs = {"cooperate": 3, "defect": 1, "one_defect": 5, "two_defect": 2}
    assert game.setting == {"payoffs": payoffs, "rounds": 2}
    assert [(d.round, d.choice, d.payoff) for d in game.decisions] == [
        *((1, choice, points) for choice, points in FIRST),
        *((2, "defect", 1),) * 3,
    ]
    assert [seat.final_score for seat in game.seats] == [1, 6, 1]
    assert [result.is_win for result in game.results] == [False, True, False]


MATRIX = {
    "cooperate": {"2_others_cooperate": 5, "1_others_cooperate": 3, "0_others_cooperate": -0.5},
    "defect": {"0_others_cooperate": 1.5, "1_others_cooperate": 9, "2_others_cooperate": 7},
}

MATRIX_OF_TWO = {key: {"1_others_cooperate": 3, "0_others_cooperate": 1} for key in MATRIX}


def printed(rows: list[Log], said: str, scores: dict[str, float] | None = None) -> list[Log]:
    """The game as a moderator says it that prints Python's values."""
    rows = [moderate("Now the game starts! There are 2 rounds."), moderate(said), *rows]
    return rows if scores is None else [*rows, moderate(f"The scores are {scores}")]


SCORES = [7.0 + 9, 3.0 + 9, 3.0 - 0.5]
BY_PLAYER = {f"Player {n}": score for n, score in enumerate(SCORES, start=1)}


@pytest.mark.parametrize("matrix", ["payout matrix is as follows", "payoff matrix is"])
@pytest.mark.parametrize("scores", [None, BY_PLAYER])
def test_a_dilemma_whose_payoffs_are_a_matrix(matrix: str, scores: dict[str, float] | None) -> None:
    """One defects: it gets 7, and the others 3 each. Then two defect: 9 each and -0.5."""
    rounds = (("Defect.", "Cooperate", "Cooperate"), ("Defect", "Defect", "Cooperate"))
    game = game_of(printed(dilemma(rounds)[2:], f"The {matrix}: {MATRIX}", scores), MODEL)
    payoffs = {"cooperate": 5, "defect": 1.5, "one_defect": 7, "two_defect": 9}
    others = {"cooperate_one_defect": 3, "cooperate_two_defect": -0.5}
    assert game.setting == {"payoffs": payoffs | others, "rounds": 2}
    assert [d.payoff for d in game.decisions] == [7, 3, 3, 9, 9, -0.5]
    assert [seat.final_score for seat in game.seats] == SCORES


@pytest.mark.parametrize("points", ["100.0", "100", "62.5"])
def test_public_good_of_points_at_the_beginning(points: str) -> None:
    """Amounts have decimals, and numbers of rounds are none; the scores say who won."""
    rounds = (("In round 1, I contribute 12.5 points.", "I contribute 40.0.", "20"),) * 2
    said = f"Each player has {points} points at the beginning."
    game = game_of(printed(pool(rounds)[1:], said), MODEL)
    assert (game.game_type, game.is_finished) == ("public_good", True)
    assert game.setting == {"starting_points": float(points), "rounds": 2}
    assert [c.amount for c in game.contributions] == [12.5, 40, 20] * 2
    assert [result.is_win for result in game.results] == [True, False, False]
    assert {seat.final_score for seat in game.seats} == {None}


def test_scores_that_the_moderator_says_decide_who_won() -> None:
    rounds = (("I contribute what I can.", "I contribute 40.", "I contribute 20."),) * 2
    scores = {"Player 1": 120.5, "Player 2": 90.0, "Player 3": 120.5}
    rows = printed(pool(rounds)[1:], "Each player has 100 points at the beginning.", scores)
    game = game_of(rows, MODEL)
    assert [seat.final_score for seat in game.seats] == list(scores.values())
    assert [result.is_win for result in game.results] == [True, False, True]
    assert (game.is_finished, [fault.message for fault in game.faults]) == (True, ["2 do not"])


FIRST = [("cooperate", 0), ("defect", 5), ("cooperate", 0)]


@pytest.mark.parametrize("build", [dilemma, pool])
def test_a_game_of_points_that_breaks_off_is_unfinished(build) -> None:
    game = game_of(build([("1", "2", "3")]), MODEL)
    assert (game.is_finished, game.n_rounds) == (False, 2)
    assert {result.is_win for result in game.results} == {None}
    assert {seat.final_score for seat in game.seats} == {None}


def test_a_dilemma_without_its_points() -> None:
    rows = dilemma()
    rows[1]["content"] = rows[1]["content"].replace("get 0 points", "get 1 points")
    fault = fault_of(rows, MODEL)
    assert "Prisoner's Dilemma" in fault.rule
    assert "pays" in fault.message


def test_public_good() -> None:
    game = game_of(pool(), MODEL)
    assert (game.game_type, game.outcome, game.n_rounds) == ("public_good", "completed", 2)
    assert game.setting == {"starting_points": 100, "rounds": 2}
    found = [(c.round, c.amount, c.is_least, c.round_total) for c in game.contributions]
    assert found == [
        *((1, 10, True, 60), (1, 20, False, 60), (1, 30, False, 60)),
        *((2, 5, True, 20), (2, 5, True, 20), (2, 10, False, 20)),
    ]
    assert [result.is_win for result in game.results] == [True, False, False]
    assert {seat.final_score for seat in game.seats} == {None}


def test_amounts_are_read_otherwise_where_players_reflect() -> None:
    """As MAgIC does: the first integer, or the one after `I contribute`."""
    texts = ("Round 1: I contribute 9", "I contribute 5.", "I contribute 7.")
    rows = pool([texts], 1)
    assert [c.amount for c in game_of(rows, MODEL).contributions] == [1, 5, 7]
    rows.insert(1, say("Player 1", "In my opinion: 77", "Player 1"))
    assert [c.amount for c in game_of(rows, MODEL).contributions] == [9, 5, 7]


def test_who_won_is_unknown_without_an_amount() -> None:
    game = game_of(pool([("I contribute 3.", "Nothing.", "I contribute 4.")], 1), MODEL)
    assert (game.is_finished, game.outcome) == (False, None)
    (fault,) = game.faults
    assert (fault.json_path, fault.message) == ("$[2]", "1 do not")


@pytest.mark.parametrize(
    ("rows", "rule", "message"),
    [
        (cost_sharing()["history"], "Cost Sharing", "registered"),
        (
            [moderate("Welcome to Go Fish!"), say("Player 1", "Any threes?")],
            "logs of another one as interchange JSON",
            "Go Fish",
        ),
        (
            [row for row in undercover() if row["content"] != "Your word is: lake"],
            "",
            "it gives no word to Player 3",
        ),
        (
            [*dilemma()[:-2], dilemma()[-1]],
            "each player decides in each of the 2 rounds",
            "5 decisions of 3 players",
        ),
        (
            [*pool()[:-2], pool()[-1]],
            "each player decides in each of the 2 rounds",
            "5 decisions of 3 players",
        ),
        ([*dilemma()[:-1], moderate(END.format(3))], "", "it ends after 3"),
        ([*pool()[:-1], moderate(END.format(3))], "", "it ends after 3"),
        (dilemma([("Defect",) * 4], 1), "", "4 play"),
        (
            printed(dilemma()[2:], f"The payout matrix is as follows: {MATRIX_OF_TWO}"),
            "",
            "combination of three choices",
        ),
        (
            printed(
                pool((("I bid 3.",) * 3,) * 2)[1:], "Each player has 9 points at the beginning."
            ),
            "",
            "no player tells it a contribution: 'I bid 3.'",
        ),
        (
            [say("Player 1", "X"), moderate("Tic-tac-toe!"), moderate("Next")],
            "Chameleon, Undercover",
            "the first are 'Tic-tac-toe!'",
        ),
        ([say("Player 1", "You are the chameleon!")], "Chameleon, Undercover", "says nothing"),
        (
            [moderate("The scoring is as follows: 7 points to defect."), say("Player 1", "X")],
            "Prisoner's Dilemma",
            "pays: 'The scoring is as follows: 7 points to defect.'",
        ),
        (pool()[:1], "at least one player", "only the moderator"),
        (chatarena()[1:2] + chatarena()[3:], "Chameleon", "0 players"),
    ],
)
def test_what_is_refused_is_named(rows: list[Log], rule: str, message: str) -> None:
    fault = fault_of(rows, MODEL)
    assert rule in fault.rule
    assert message in fault.message
