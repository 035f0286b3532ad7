"""Chameleon and Undercover: who hides, who is tested, votes, the guess, outcomes, questions."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest
from rawlogs import (
    DEFENDER,
    MODEL,
    OUTAGE,
    PLAYERS,
    Game,
    Row,
    chameleon,
    game_of,
    say,
    undercover,
)

from pipeline.vocabulary import AnalysisKind, GameType, ParseStatus, Phase

OK, AMBIGUOUS, UNREADABLE, OUT = (
    ParseStatus.OK,
    ParseStatus.AMBIGUOUS,
    ParseStatus.UNREADABLE,
    ParseStatus.OUTAGE,
)
BUILDERS = [chameleon, undercover]
UNJUDGED = "every answer in the history is judged"
VOTES_KEY = {chameleon: "player_votes", undercover: "player_vote"}


def votes_of(game: Game) -> list[tuple[Any, ...]]:
    """Each vote but for the message that it was read from."""
    return [
        (v.seat, v.target, v.target_seat, v.stated_target, v.is_correct, v.is_valid, v.parse_status)
        for v in game.votes
    ]


def only(results: list[Row]) -> Row:
    (result,) = results
    return result


# Seats


def test_seats_of_a_chameleon_game() -> None:
    game = game_of(chameleon(hidden="Player 2", tested="civilian"))
    assert game.game_type == GameType.CHAMELEON
    assert [(s.player, s.model, s.role, s.is_tested) for s in game.seats] == [
        ("Player 1", MODEL, "non_chameleon", True),
        ("Player 2", DEFENDER, "chameleon", False),
        ("Player 3", MODEL, "non_chameleon", True),
    ]
    assert game.setting == {"topic": "Rivers", "code": "Danube", "hidden": "Player 2"}


def test_seats_of_an_undercover_game() -> None:
    game = game_of(undercover(hidden="Player 1", tested="hidden"))
    assert game.game_type == GameType.UNDERCOVER
    assert [(s.player, s.model, s.role, s.is_tested) for s in game.seats] == [
        ("Player 1", MODEL, "undercover", True),
        ("Player 2", DEFENDER, "civilian", False),
        ("Player 3", DEFENDER, "civilian", False),
    ]
    assert game.setting == {
        "undercover_code": "lake",
        "civilian_code": "pond",
        "hidden": "Player 1",
    }


@pytest.mark.some(6)
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("model", ["gpt-4", "chameleon-7b", "fix-it", "a-fix-b", "x-fix-pgm", "é'"])
def test_only_the_fixed_players_are_not_tested(build: Callable[..., Any], model: str) -> None:
    """A model's name decides by its ending alone; a defender's own model can be under test."""
    game = game_of(build(model=model, tested="hidden"))
    assert [(s.model, s.is_tested) for s in game.seats if s.is_tested] == [(model, True)]
    assert only(game.results).opponent == DEFENDER


@pytest.mark.parametrize("build", BUILDERS)
def test_all_seats_tested(build: Callable[..., Any]) -> None:
    """No opponents then; a side's row stands for each model of it."""
    log = build()
    for number, backend in enumerate(log["player_backends"].values()):
        backend["model"] = f"model-{number}"
    game = game_of(log)
    assert [s.is_tested for s in game.seats] == [True] * 3
    assert [(r.model, r.seat, r.opponent) for r in game.results] == [
        ("model-0", 1, None),
        ("model-1", 2, None),
        ("model-2", 3, None),
    ]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_result_stands_for_a_model_and_role(build: Callable[..., Any]) -> None:
    civilians = only(game_of(build(tested="civilian")).results)
    assert (civilians.model, civilians.seat) == (MODEL, None)
    hidden = only(game_of(build(tested="hidden", hidden="Player 3")).results)
    assert (hidden.model, hidden.seat) == (MODEL, 3)


# Votes


@pytest.mark.parametrize("build", BUILDERS)
def test_votes_are_the_logged_ones(build: Callable[..., Any]) -> None:
    """Logged and stated can contradict each other; the logged vote is the game's fact.

    A text that names another than was registered is ambiguous, one that names nobody unreadable.
    """
    game = game_of(
        build(
            hidden="Player 2",
            votes={"Player 1": "Player 2", "Player 2": "Player 2", "Player 3": "Player 1"},
            texts=["I vote for Player 3.", "I vote for Player_1.", "As Player 3, I vote for p."],
        )
    )
    assert votes_of(game) == [
        (1, "Player 2", 2, "Player 3", True, True, AMBIGUOUS),
        (2, "Player 2", 2, "Player 1", True, False, AMBIGUOUS),
        (3, "Player 1", 1, None, False, True, UNREADABLE),
    ]
    for v in game.votes:
        assert v.message_index is not None
        assert game.messages[v.message_index].seat == v.seat
        assert game.messages[v.message_index].phase == Phase.VOTE
        assert v.round == 1


@pytest.mark.parametrize("build", BUILDERS)
def test_a_vote_for_nobody_is_cast_and_unreadable(build: Callable[..., Any]) -> None:
    game = game_of(
        build(
            hidden="Player 2",
            votes={"Player 1": "", "Player 2": "Player 7", "Player 3": None},
            texts=["I would need more clues.", "I vote for Player 7.", "I vote for Player Two."],
        )
    )
    assert votes_of(game) == [
        (1, None, None, None, False, False, UNREADABLE),
        (2, "Player 7", None, "Player 7", False, False, OK),
    ]
    assert game.faults == []


@pytest.mark.parametrize("build", BUILDERS)
def test_a_vote_registered_for_nobody_whose_text_names_one_is_ambiguous(
    build: Callable[..., Any],
) -> None:
    """The engine knows no "Player Two"; the text is read all the same."""
    votes = {"Player 1": "", "Player 2": "Player 1", "Player 3": "Player 2"}
    texts = ["I vote for Player Two.", "I vote for Player 1.", "I vote for Player 2."]
    game = game_of(build(hidden="Player 2", votes=votes, texts=texts))
    assert votes_of(game)[0] == (1, None, None, "Player 2", False, False, AMBIGUOUS)
    assert [v.parse_status for v in game.votes] == [AMBIGUOUS, OK, OK]


@pytest.mark.parametrize("build", BUILDERS)
def test_an_outage_can_vote_for_itself(build: Callable[..., Any]) -> None:
    """Its text names its own speaker, so the engine finds a name there."""
    game = game_of(
        build(
            hidden="Player 2",
            votes={"Player 1": "Player 1", "Player 2": "", "Player 3": "Player 2"},
            texts=[OUTAGE.format("Player 1"), OUTAGE.format("Player 2"), "I vote for Player 2."],
        )
    )
    assert votes_of(game) == [
        (1, "Player 1", 1, None, False, False, OUT),
        (2, None, None, None, False, False, OUT),
        (3, "Player 2", 2, "Player 2", True, True, OK),
    ]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_vote_by_nobody_at_the_table_is_a_fault(build: Callable[..., Any]) -> None:
    log = build(votes={"Player 1": "Player 2", "Moderator": "Player 2"})
    game = game_of(log)
    assert [v.seat for v in game.votes] == [1]
    (fault,) = game.faults
    assert fault.json_path == f"$.{VOTES_KEY[build]}"
    assert fault.message == "'Moderator'"


def test_accusations_of_a_pgm_undercover_game_are_told_by_when_they_are_made() -> None:
    """Their rows are private texts, as the analyses before them are."""
    game = game_of(undercover(model="m-pgm"))
    assert [game.messages[v.message_index or 0].content for v in game.votes] == [
        "I vote for Player 2.",
        "I vote for Player 1.",
        "I vote for Player 1.",
    ]
    assert [(m.phase, m.msg_type) for m in game.messages if "vote for" in m.content] == [
        (Phase.VOTE, "text")
    ] * 3


# Outcomes

# Flag, outcome, and for each side what it is worth and whether it is won.
ENDINGS = [
    (chameleon, 0, "guessed_wrong", {"hidden": (0, False), "civilian": (1, True)}),
    (chameleon, 1, "guessed_right", {"hidden": (1 / 2, True), "civilian": (1 / 2, False)}),
    (chameleon, 2, "voted_wrong", {"hidden": (1, True), "civilian": (0, False)}),
    (chameleon, 3, "tie", {"hidden": (1 / 2, True), "civilian": (1 / 2, False)}),
    (undercover, 0, "caught", {"hidden": (0, False), "civilian": (1, True)}),
    (undercover, 1, "voted_wrong", {"hidden": (1, True), "civilian": (0, False)}),
    (undercover, 2, "tie", {"hidden": (2 / 3, True), "civilian": (1 / 3, False)}),
]


@pytest.mark.parametrize(("build", "flag", "outcome", "worth"), ENDINGS)
def test_what_an_outcome_is_worth(
    build: Callable[..., Any],
    flag: int,
    outcome: str,
    worth: dict[str, tuple[float, bool]],
) -> None:
    """The hidden side wins unless its flag is 0; a civilian wins where its credit is 1."""
    for tested, (credit, is_win) in worth.items():
        game = game_of(build(flag=flag, tested=tested))
        assert game.is_finished
        assert (game.outcome, game.outcome_code) == (outcome, flag)
        result = only(game.results)
        assert result.win_credit == pytest.approx(credit)
        assert result.is_win is is_win
        assert result.outcome_code == flag
        assert result.message_index == len(game.messages) - 1


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    "changed", [{"win_flag": -1}, {"win_flag": 4}, {"win_flag": None}, {"result": None}]
)
def test_without_a_known_flag_or_a_result_a_game_is_unfinished(
    build: Callable[..., Any], changed: dict[str, Any]
) -> None:
    """Its row of results has nulls, and what else is logged stays."""
    log = build() | changed
    game = game_of(log)
    assert (game.is_finished, game.outcome, game.outcome_code) == (False, None, log["win_flag"])
    result = only(game.results)
    assert (result.is_win, result.win_credit, result.guess_is_correct) == (None, None, None)
    assert len(game.votes) == 3
    assert game.faults == []


# The guess


@pytest.mark.parametrize(("flag", "is_correct"), [(0, False), (1, True)])
@pytest.mark.parametrize(("model", "tested"), [("m", "hidden"), ("m-pgm", "civilian")])
def test_the_guess_of_the_one_caught(flag: int, is_correct: bool, model: str, tested: str) -> None:
    """Its row is a private text in plain games and `guess` in PGM games."""
    text = 'I guess the code is "Danube".'
    game = game_of(chameleon(flag=flag, model=model, tested=tested, guess=text))
    (guess,) = game.guesses
    assert (guess.seat, guess.round, guess.guess, guess.secret) == (2, 1, "Danube", "Danube")
    assert guess.parse_status == OK
    # The game's word decides, not ours.
    assert guess.is_correct is is_correct
    assert guess.message_index is not None
    message = game.messages[guess.message_index]
    assert (message.content, message.phase) == (text, Phase.GUESS)
    assert only(game.results).guess_is_correct is is_correct


@pytest.mark.parametrize(
    "log", [chameleon(flag=2), chameleon(flag=3), chameleon(flag=-1), undercover(flag=0)]
)
def test_no_guess_without_a_chameleon_that_is_caught(log: dict[str, Any]) -> None:
    game = game_of(log)
    assert game.guesses == []
    assert only(game.results).guess_is_correct is None


def test_a_guess_that_cannot_be_read_still_counts_as_the_game_took_it() -> None:
    game = game_of(chameleon(flag=0, guess="I pass."))
    (guess,) = game.guesses
    assert (guess.guess, guess.parse_status, guess.is_correct) == (None, UNREADABLE, False)
    assert only(game.results).guess_is_correct is False


def test_an_outage_guesses_nothing() -> None:
    game = game_of(chameleon(flag=0, guess=OUTAGE.format("Player 2")))
    (guess,) = game.guesses
    assert (guess.guess, guess.parse_status) == (None, OUT)
    assert only(game.results).guess_is_correct is None
    assert only(game.results).is_win is not None


def test_a_guess_whose_message_is_lost() -> None:
    log = chameleon(flag=1)
    del log["history"][-2]
    (guess,) = game_of(log).guesses
    assert (guess.guess, guess.message_index, guess.is_correct) == (None, None, True)


# Messages


def test_rounds_and_phases_of_a_chameleon_game() -> None:
    """A clue opens a round; the questions about it, and the thoughts, belong to it."""
    game = game_of(chameleon(flag=0, model="m-pgm"))
    assert game.n_rounds == 3
    spoken = [(m.phase, m.round) for m in game.messages if m.seat is not None]
    stages = [stage for stage, _ in groupby(spoken)]
    per_clue = [
        stage
        for clue in (1, 2, 3)
        for stage in (
            (Phase.IDENTIFICATION, clue),
            (Phase.CLUE, clue),
            (Phase.REFLECTION, clue),
            (Phase.ANALYSIS, clue),
        )
    ]
    assert stages == [*per_clue, (Phase.VOTE, 1), (Phase.GUESS, 1)]


def test_rounds_of_an_undercover_game() -> None:
    game = game_of(undercover())
    assert game.n_rounds == 2
    assert [(m.seat, m.round) for m in game.messages if m.phase == Phase.CLUE and m.seat] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (1, 2),
        (2, 2),
        (3, 2),
    ]


def test_who_is_shown_a_message() -> None:
    """The benchmark's own questions are seen by nobody."""
    log, n_rows = chameleon(), len(chameleon()["history"])
    rows: list[tuple[Any, str, list[str]]] = [
        ("all", "text", ["all"]),
        ("Moderator", "text", ["Moderator"]),
        ("Player 2", "text", ["Player 2"]),
        (["Player 1", "Player 3"], "text", ["Player 1", "Player 3"]),
        ([], "text", []),
        ("all", "metric_consistency", []),
        ("all", "metric_of_another_day", []),
    ]
    log["history"] += [say("Player 1", "Well.", shown, kind) for shown, kind, _ in rows]
    assert [one.visible_to for one in game_of(log).messages[n_rows:]] == [one for *_, one in rows]


def test_messages_keep_the_logs_order_and_words() -> None:
    log = chameleon()
    rows = [
        say("Player 1", "as logged \u00e9 \U0001f98e <eos>", turn=9),
        say("Player 1", "", turn=3),
        say("Somebody else", "late", turn=3),
    ]
    log["history"] += rows
    messages = game_of(log).messages[-3:]
    assert [(m.content, m.turn, m.player, m.seat) for m in messages] == [
        ("as logged \u00e9 \U0001f98e <eos>", 9, "Player 1", 1),
        ("", 3, "Player 1", 1),
        ("late", 3, "Somebody else", None),
    ]


def test_what_rows_may_lack_and_may_have() -> None:
    """The bits of PGM rows are not read; turn, sight and type have a meaning when absent."""
    log = chameleon()
    log["history"].append({"agent_name": "Player 1", "content": "short", "is_pgm": False})
    message = game_of(log).messages[-1]
    assert (message.turn, message.visible_to, message.msg_type) == (None, ["all"], None)


# The benchmark's own questions


@pytest.mark.parametrize("build", BUILDERS)
def test_answers_count_as_logged(build: Callable[..., Any]) -> None:
    log = build()
    game = game_of(log)
    logged = [
        (PLAYERS.index(player) + 1, int(key) + 1, bool(answer))
        for key, answers in log["consistency_metric"].items()
        for player, answer in answers.items()
    ]
    found = [(r.seat, r.round, r.is_correct) for r in game.role_identifications]
    assert found == logged
    for row in game.role_identifications:
        assert row.message_index is not None
        message = game.messages[row.message_index]
        assert (message.seat, message.round) == (row.seat, row.round)
        assert message.msg_type == "metric_consistency"


@pytest.mark.parametrize("build", BUILDERS)
def test_analyses_count_as_logged(build: Callable[..., Any]) -> None:
    log = build()
    game = game_of(log)
    logged = {
        (seat, int(key) + 1, kind, bool(answer))
        for key, kinds in log["pgm_metric"].items()
        for kind, answers in kinds.items()
        for seat, answer in enumerate(answers, start=1)
    }
    found = [(r.seat, r.round, str(r.kind), r.is_correct) for r in game.role_analyses]
    assert set(found) == logged
    assert len(found) == len(logged)
    for row in game.role_analyses:
        assert row.message_index is not None
        message = game.messages[row.message_index]
        assert (message.seat, message.round) == (row.seat, row.round)
        assert message.msg_type == "metric_pgm"


@pytest.mark.parametrize("build", BUILDERS)
def test_an_outage_for_an_answer(build: Callable[..., Any]) -> None:
    log = build()
    for row in log["history"]:
        if row["msg_type"].startswith("metric_") and row["agent_name"] == "Player 1":
            row["content"] = OUTAGE.format("Player 1")
    game = game_of(log)
    for rows in (game.role_identifications, game.role_analyses):
        assert {r.seat: r.parse_status for r in rows} == {1: OUT, 2: OK, 3: OK}


@pytest.mark.parametrize("build", BUILDERS)
def test_an_answer_that_nobody_judged_is_a_fault(build: Callable[..., Any]) -> None:
    log = build()
    log["consistency_metric"] = {"1": {"Player 3": 1}}
    log["pgm_metric"] = {"1": {"gold": [1], "inter": []}}
    game = game_of(log)
    assert [(r.seat, r.round, r.is_correct) for r in game.role_identifications] == [(3, 2, True)]
    assert [(r.seat, r.round, r.kind) for r in game.role_analyses] == [(1, 2, AnalysisKind.GOLD)]
    faults = {fault.json_path: fault.message for fault in game.faults}
    assert faults["$.consistency_metric.1"] == "none of Player 1, Player 2"
    assert faults["$.pgm_metric.1"] == "none of Player 2, Player 3"
    unjudged = [str(n) for n in range(game.n_rounds) if n != 1]
    assert [faults[f"$.consistency_metric.{n}"] for n in unjudged] == [
        "none of Player 1, Player 2, Player 3"
    ] * len(unjudged)


@pytest.mark.parametrize("build", BUILDERS)
def test_judgements_without_answers_are_no_fault(build: Callable[..., Any]) -> None:
    """A history may be cut short; what was judged stays."""
    log = build()
    log["history"] = log["history"][:4]
    game = game_of(log)
    assert game.faults == []
    assert len(game.role_identifications) == 3 * len(log["consistency_metric"])


@pytest.mark.some(14)
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    ("part", "value", "json_path"),
    [
        ("consistency_metric", [], "$.consistency_metric"),
        ("consistency_metric", {"0": {"Player 1": "1"}}, "$.consistency_metric.0[...]"),
        ("consistency_metric", {"0": {"Player 1": 2}}, "$.consistency_metric.0"),
        ("consistency_metric", {"0": {"Player 9": 1}}, "$.consistency_metric.0"),
        ("consistency_metric", {"first": {"Player 1": 1}}, "$.consistency_metric.first"),
        ("consistency_metric", {"-1": {"Player 1": 1}}, "$.consistency_metric.-1"),
        ("pgm_metric", None, "$.pgm_metric"),
        ("pgm_metric", {"0": {"gold": [1, 1, 1]}}, "$.pgm_metric.0"),
        ("pgm_metric", {"0": {"gold": [1, None], "inter": []}}, "$.pgm_metric.0.gold[1]"),
        ("pgm_metric", {"0": {"gold": [1, 0, 1, 1], "inter": []}}, "$.pgm_metric.0.gold"),
        ("pgm_metric", {"0": {"gold": [], "inter": [0, 7]}}, "$.pgm_metric.0.inter[1]"),
        ("pgm_metric", {"00": {"gold": [], "inter": []}}, "$.pgm_metric.00"),
        ("pgm_metric", {"0": {"gold": [], "inter": []}, "note": 1}, "$.pgm_metric.note"),
    ],
)
def test_a_broken_part_is_a_fault_and_the_game_stays(
    build: Callable[..., Any], part: str, value: object, json_path: str
) -> None:
    game = game_of(build() | {part: value})
    faults = [fault for fault in game.faults if fault.rule != UNJUDGED]
    assert [fault.json_path for fault in faults] == [json_path]
    assert all(fault.message for fault in game.faults)
    assert len(game.votes) == 3
    other = game.role_analyses if part == "consistency_metric" else game.role_identifications
    assert other


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("part", ["consistency_metric", "pgm_metric", "votes"])
def test_a_missing_part_is_a_fault_and_the_game_stays(build: Callable[..., Any], part: str) -> None:
    key = VOTES_KEY[build] if part == "votes" else part
    log = build()
    del log[key]
    game = game_of(log)
    (fault,) = game.faults
    assert (fault.json_path, fault.rule, fault.message) == (
        f"$.{key}",
        f"`{key}` is present",
        "it is missing",
    )
    assert game.is_finished
    assert only(game.results).is_win is not None


@pytest.mark.parametrize("build", BUILDERS)
def test_a_good_part_of_a_broken_one_stays(build: Callable[..., Any]) -> None:
    log = build()
    log["consistency_metric"]["0"]["Player 2"] = 5
    game = game_of(log)
    assert [f.json_path for f in game.faults if f.rule != UNJUDGED] == ["$.consistency_metric.0"]
    seats = [r.seat for r in game.role_identifications if r.round == 1]
    assert seats == [1, 3]


@pytest.mark.parametrize("build", BUILDERS)
def test_an_empty_history(build: Callable[..., Any]) -> None:
    """All that is logged apart from the messages stays."""
    game = game_of(build() | {"history": []})
    assert (game.messages, game.n_rounds, game.is_finished) == ([], 0, True)
    assert only(game.results).message_index is None
    assert len(game.votes) == 3
    assert {v.message_index for v in game.votes} == {None}
    assert game.role_identifications
    assert game.role_analyses
