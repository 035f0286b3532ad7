"""The negotiations of `bargain`: logs made by hand, and bent."""

from datetime import UTC, datetime

import pytest
from bargainlogs import AGENTS, Log, Row, cast, game, old_game, propose, round_of, say, tally
from rawlogs import bent, fault_of, game_of

from pipeline.vocabulary import Outcome, ParseStatus, Phase

OK, UNREADABLE = ParseStatus.OK, ParseStatus.UNREADABLE
MINE = {"alpha_1": [0, 1, 2], "beta_2": [3]}
YOURS = {"alpha_1": [0], "beta_2": [1, 2, 3]}


def one_round(accepts: tuple[int, int], *more: Row, agreed: bool = True) -> Log:
    rows = [*round_of(1, (MINE, YOURS), accepts, AGENTS), *more]
    return game(rows, agreed=agreed, final_round=1, utilities={"alpha_1": 3.5, "beta_2": 7.0})


def test_agents_their_models_and_utilities() -> None:
    built = game_of(one_round((1, 2)))
    found = [(s.player, s.model, s.final_score, s.score_rank, s.is_tested) for s in built.seats]
    assert found == [("alpha_1", "alpha", 3.5, 2, True), ("beta_2", "beta", 7.0, 1, True)]
    assert (built.outcome, built.n_rounds, built.format_version) == (Outcome.AGREED, 1, "2")
    assert built.started_at == datetime(2025, 8, 19, 9, 15, 21, 500_000, UTC)
    assert built.setting["item_names"] == ["Apple", "Jewel", "Stone", "Quill"]


def test_shares_are_parts_of_the_items() -> None:
    built = game_of(one_round((1, 2)))
    found = [
        (p.seat, p.party, p.party_seat, p.position, p.share, p.share_text) for p in built.proposals
    ]
    assert found == [
        (1, "alpha_1", 1, 1, 0.75, "[0, 1, 2]"),
        (1, "beta_2", 2, 2, 0.25, "[3]"),
        (2, "alpha_1", 1, 1, 0.25, "[0]"),
        (2, "beta_2", 2, 2, 0.75, "[1, 2, 3]"),
    ]
    assert {(p.parse_status, p.is_last) for p in built.proposals} == {(OK, True)}
    assert {built.messages[p.message_index].seat == p.seat for p in built.proposals} == {True}


@pytest.mark.parametrize(
    ("items", "share", "status"),
    [
        ([], 0.0, OK),
        ([0, 1, 2, 3], 1.0, OK),
        ([0, 0], None, UNREADABLE),
        ([4], None, UNREADABLE),
        ([-1], None, UNREADABLE),
    ],
)
def test_a_share_is_of_items_that_there_are(
    items: list[int], share: float | None, status: ParseStatus
) -> None:
    rows = [propose("alpha_1", 1, {"nobody": items})]
    (row,) = game_of(game(rows, agreed=False, final_round=2)).proposals
    assert (row.share, row.parse_status, row.party_seat) == (share, status, None)


def test_what_the_system_puts_in_for_an_agent_is_no_proposal_of_its_own() -> None:
    reason = "Failed to parse response - defaulting to proposer gets all"
    rows = [propose("alpha_1", 1, {"alpha_1": [0, 1, 2, 3], "beta_2": []}, reason)]
    found = game_of(game(rows, agreed=False, final_round=2)).proposals
    assert [(p.share, p.share_text, p.parse_status) for p in found] == [
        (None, "[0, 1, 2, 3]", UNREADABLE),
        (None, "[]", UNREADABLE),
    ]


def test_what_all_accepted_has_the_vote_of_each() -> None:
    built = game_of(one_round((1, 2)))
    found = [
        (v.seat, v.round, v.candidate, v.candidate_seat, v.is_final_round)
        for v in built.proposal_votes
    ]
    assert found == [(1, 1, "beta_2", 2, True), (2, 1, "beta_2", 2, True)]
    assert {(v.message_index, v.parse_status) for v in built.proposal_votes} == {(None, OK)}
    assert [(r.agreed, r.is_win, r.proposed_agreement) for r in built.results] == [
        (True, True, False),
        (True, True, True),
    ]


def test_of_two_that_all_accept_the_first_is_agreed() -> None:
    """The tally's last line names the last proposal of all."""
    built = game_of(one_round((2, 2)))
    assert "Proposal #2 accepted" in built.messages[-1].content
    assert {v.candidate for v in built.proposal_votes} == {"alpha_1"}


def test_without_agreement_nobody_is_known_to_have_voted_for_anything() -> None:
    rows = [row for n in (1, 2) for row in round_of(n, (MINE, YOURS), (1, 1), AGENTS)]
    built = game_of(game(rows, agreed=False, final_round=2))
    assert (built.outcome, built.proposal_votes) == (Outcome.NOT_AGREED, [])
    assert {(r.agreed, r.win_credit, r.proposed_agreement) for r in built.results} == {
        (False, 0, None)
    }
    assert [p.is_last for p in built.proposals] == [False] * 4 + [True] * 4


def test_a_negotiation_that_stops_before_its_last_round_is_unfinished() -> None:
    built = game_of(one_round((1, 1), agreed=False))
    assert (built.is_finished, built.outcome) == (False, None)
    assert {(r.agreed, r.is_win) for r in built.results} == {(None, None)}


def test_only_the_system_tallies() -> None:
    built = game_of(
        one_round((1, 2), tally(1, (2, 0)) | {"from": "alpha_1", "phase": "discussion"})
    )
    assert {v.candidate for v in built.proposal_votes} == {"beta_2"}


def test_the_oldest_games_vote_on_the_first_proposal_alone() -> None:
    rows = [
        row
        for n, (first, second) in enumerate((("accept", "reject"), ("reject", "accept")), start=1)
        for row in (
            propose("beta_2", n, YOURS),
            propose("alpha_1", n, MINE),
            cast("alpha_1", n, first),
            cast("beta_2", n, second),
        )
    ]
    built = game_of(old_game(rows, agreed=False, final_round=2))
    found = [(v.seat, v.round, v.candidate, v.is_final_round) for v in built.proposal_votes]
    assert found == [(1, 1, "beta_2", False), (2, 2, "beta_2", True)]
    assert built.messages[built.proposal_votes[0].message_index].content == "Votes: accept"
    assert [s.model for s in built.seats] == ["alpha", "beta"]
    assert (built.format_version, built.started_at) == ("1", None)


def test_an_agreement_without_a_tally_has_no_known_author() -> None:
    rows = [propose("alpha_1", 1, MINE), propose("beta_2", 1, YOURS)]
    built = game_of(old_game(rows, agreed=True, final_round=1))
    assert built.proposal_votes == []
    assert {(r.agreed, r.proposed_agreement) for r in built.results} == {(True, None)}


def test_a_private_reflection_is_read_whole_and_seen_by_one() -> None:
    reflection = {
        "phase": "individual_reflection",
        "content": "Completed private reflection",
        "reflection_content": "Next time I ask for more.",
    }
    built = game_of(one_round((1, 2), say("beta_2", 1, "") | reflection))
    message = built.messages[-1]
    assert (message.phase, message.visible_to) == (Phase.REFLECTION, ["beta_2"])
    assert message.content == "Next time I ask for more."


def test_an_unknown_phase_and_a_stranger_are_named() -> None:
    more = [say("carol", 1, "Hello") | {"phase": "side_talk"}, propose("carol", 1, MINE)]
    built = game_of(one_round((1, 2), *more))
    found = {(fault.json_path, fault.message) for fault in built.faults}
    assert found == {
        ("$.conversation_logs[6].phase", "'side_talk'"),
        ("$.conversation_logs[6]", "'carol'"),
    }
    assert {p.seat for p in built.proposals} == {1, 2}


WHOLE = one_round((1, 2))
THIRD = ("conversation_logs", 2, "proposal")
BENT = {
    "no final round": (bent(WHOLE, "final_round", value=None), "$.final_round", "its type"),
    "too many agents": (
        bent(WHOLE, "config", "n_agents", value=3),
        "$.config.agents",
        "as many agents",
    ),
    "one agent twice": (
        bent(WHOLE, "config", "agents", value=["alpha_1"] * 2),
        "$.config.agents",
        "same name",
    ),
    "an agent called system": (
        bent(WHOLE, "config", "agents", value=["alpha_1", "system"]),
        "$.config.agents",
        "as the system is",
    ),
    "another game of the same system": (
        bent(WHOLE, *THIRD, value={"contributions": [1.0]}),
        "$.conversation_logs[2].proposal",
        "its type",
    ),
    "two proposals in a round": (
        one_round((1, 2), propose("alpha_1", 1, MINE)),
        "$.conversation_logs[6]",
        "once a round",
    ),
}


@pytest.mark.parametrize(("log", "json_path", "rule"), BENT.values(), ids=BENT)
def test_a_bent_log_is_refused_with_the_place_and_the_rule(
    log: Log, json_path: str, rule: str
) -> None:
    fault = fault_of(log)
    assert fault.json_path == json_path
    assert rule in fault.rule


def test_a_row_without_its_proposal_is_a_fault() -> None:
    built = game_of(bent(WHOLE, *THIRD, value=None))
    (fault,) = built.faults
    assert fault.json_path == "$.conversation_logs[2].proposal"
    assert {p.seat for p in built.proposals} == {2}
