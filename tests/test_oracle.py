"""The oracle against what is known: corpus answers, the published script's output, edge cases.

Then hand-worked logs for what the corpus has no case of.
"""

import io
import json
import math
import tarfile
from functools import cache
from pathlib import Path

import oracle
import pytest
import zstandard

PRINTED = {
    "Win Rate": "win_rate",
    "Judgement": "judgement",
    "Reasoning": "reasoning",
    "Deception": "deception",
    "Self-Awareness": "self_awareness",
    "Cooperation": "cooperation",
    "Coordination": "coordination",
    "Rationality": "rationality",
}
FAILED = oracle.OUTAGE + "559843b6-9d6b-4624-9468-50c6a640e0c2Agent Player 2 failed to generate a"


@cache
def members(archive: Path) -> list[tuple[str, bytes]]:
    """(path, bytes) of every file in a .tar.zst."""
    with archive.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as plain:
        content = io.BytesIO(plain.read())
    with tarfile.open(fileobj=content) as tar:
        return [(m.name, tar.extractfile(m).read()) for m in tar if m.isfile()]


def corpus(shared: Path) -> list[tuple[str, bytes]]:
    return members(shared / "corpus" / "magic-public.tar.zst")


def edge_case(shared: Path, case: str) -> list[dict]:
    documents = members(shared / "corpus" / "edge-cases.tar.zst")
    mine = [(path, content) for path, content in documents if case in Path(path).parts]
    assert mine
    return oracle.read_games(mine)


def known(shared: Path, name: str):
    return json.loads((shared / "corpus" / name).read_text())


def same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)


def test_corpus_is_1430_games_and_no_settings(shared):
    assert len(oracle.read_games(corpus(shared))) == 1430


def test_answers(shared):
    games, found, faults = oracle.read_games(corpus(shared)), {}, []
    for edition in ("paper", "release"):
        for row in oracle.metrics(games, edition):
            found[edition, row["metric"], row["model"], row["game_type"]] = row
    answers = known(shared, "answers.json")
    for answer in answers:
        key = tuple(answer[name] for name in ("edition", "metric", "model", "game_type"))
        row = found[key]
        counts = (answer["hits"], answer["counted"])
        has_counts = answer["hits"] is not None
        if not same(row["value"], answer["value"]):
            faults.append((key, row["value"], answer["value"]))
        if has_counts and (row["hits"], row["counted"]) != counts:
            faults.append((key, row["hits"], row["counted"], counts))
    assert len(answers) == 330
    assert faults == []
    # What the answers leave out is only the release edition's second name for the same number.
    more = set(found) - {
        tuple(a[name] for name in ("edition", "metric", "model", "game_type")) for a in answers
    }
    assert {(edition, metric, kind) for edition, metric, _, kind in more} == {
        ("release", "cooperation", "cost_sharing"),
        ("release", "coordination", "cost_sharing"),
    }


def test_release_script_output(shared):
    rows = oracle.metrics(oracle.read_games(corpus(shared)), "release")
    found = {(r["model"], r["metric"]): r["value"] for r in rows if r["game_type"] == "all"}
    printed = {
        (model, PRINTED[name]): number
        for model, numbers in known(shared, "release-script-output.json").items()
        for name, number in numbers.items()
        if name != "Total"
    }
    assert len(printed) == 80
    assert {key: round(value, 3) for key, value in found.items()} == printed


def test_edge_cases(shared):
    cases, faults = known(shared, "edge-cases.json"), []
    for case, facts in cases.items():
        games = edge_case(shared, case)
        for edition, models in facts["expected"].items():
            rows = [r for r in oracle.metrics(games, edition) if r["game_type"] == "all"]
            found = {(r["model"], r["metric"]): r["value"] for r in rows}
            expected = {(m, name): v for m, values in models.items() for name, v in values.items()}
            assert found.keys() == expected.keys(), (case, edition)
            faults += [
                (case, edition, key, found[key], value)
                for key, value in expected.items()
                if not same(found[key], value)
            ]
    assert len(cases) == 35
    assert faults == []


def test_order_and_paths_of_documents_change_nothing(shared):
    documents = [(path, content) for path, content in corpus(shared) if "llama" in path]
    moved = [(f"prisoner_runs/{i}/{Path(path).name}", c) for i, (path, c) in enumerate(documents)]
    for edition in ("paper", "release"):
        rows = oracle.metrics(oracle.read_games(documents), edition)
        assert len({row["model"] for row in rows}) == 2
        assert oracle.metrics(oracle.read_games(reversed(moved)), edition) == rows


# ---------------------------------------------------------------- hand-worked logs


def said(player: str, content: str, visible_to="Moderator", msg_type="text") -> dict:
    names = ("agent_name", "content", "visible_to", "msg_type")
    return dict(zip(names, (player, content, visible_to, msg_type), strict=True))


def public_good(*rounds: tuple, model="m", **changed) -> dict:
    """A game that Player 2 is tested in; a round is three texts, None for one that is missing."""
    history = []
    for texts in rounds:
        turns = zip(oracle.PLAYERS, texts, strict=True)
        history += [said(player, text) for player, text in turns if text is not None]
        history.append(said("Moderator", "Round 1 is over.", "all"))
    setting = {"test_player_name": "Player 2", "test_player": {"model": model}, "multiplier": 2}
    whole = {"game_setting": setting, "history": history, "result": "lose", "scores": [1, 0, 0]}
    return whole | changed


def prisoner(*texts: str, **changed) -> dict:
    setting = {"test_player": {"model": "m"}, "topic_values": {}}
    history = [said("Player 2", text) for text in texts]
    whole = {"test_player_name": "Player 2", "game_setting": setting, "history": history}
    return whole | {"result": "win", "scores": [0, 1, 0]} | changed


def cost_sharing(**changed) -> dict:
    """An agreed game that Player 2 is tested in; all proposed the same."""
    proposal = {player: {"A": "30", "B": "30", "C": "40"} for player in oracle.PLAYERS}
    backends = {"Player 1": "gpt-4-fix", "Player 2": "m", "Player 3": "gpt-4-fix"}
    whole = {"test_player_name": "Player 2", "player_backends": backends, "history": []}
    return whole | {"result": "agree", "proposal": proposal} | changed


def chameleon(votes: dict, *history: dict, **changed) -> dict:
    """A game with Player 1 as chameleon and the model as the two others."""
    backends = {"Player 1": "gpt-4-fix", "Player 2": "m", "Player 3": "m"}
    whole = {"chameleon": "Player 1", "history": list(history), "win_flag": 2, "result": "x"}
    whole["player_backends"] = {player: {"model": model} for player, model in backends.items()}
    return whole | {"player_votes": votes} | changed


def value_of(metric: str, *logs: dict, edition="paper", kind="all", num_of_game=21) -> tuple:
    """(value, n_games) of the metric for model m, the logs being games number 0, 1, .."""
    documents = [(f"{i}.json", json.dumps(log).encode()) for i, log in enumerate(logs)]
    rows = oracle.metrics(oracle.read_games(documents), edition, num_of_game)
    (row,) = [r for r in rows if (r["model"], r["metric"], r["game_type"]) == ("m", metric, kind)]
    return row["value"], row["n_games"]


def test_what_is_no_game_is_left_out():
    game = json.dumps(prisoner("Defect")).encode()
    no_history = json.dumps(prisoner("Defect", history=None)).encode()
    documents = [("a", b"{"), ("b", b"[]"), ("c", b"\xff"), ("d", b'{"history": []}')]
    games = oracle.read_games([*documents, ("5.json", no_history), ("chameleon/x.json", game)])
    assert [(oracle.game_type(g), g["_index"]) for g in games] == [("prisoners_dilemma", None)]


@pytest.mark.parametrize(
    ("names", "indices"),
    [
        (["a/1.json", "b/1.json"], [1]),
        (["a/1.json", "a/2.json"], [1, 2]),
        (["x.json", "y.json"], [None]),
        (["x.json", "2.json", "1.json"], [1, 2]),
    ],
)
def test_equal_bytes_are_one_game_for_each_number(names, indices):
    games = oracle.read_games([(name, json.dumps(prisoner("Defect")).encode()) for name in names])
    assert [game["_index"] for game in games] == indices


def test_own_outage_is_no_contribution_but_an_opponents_registers():
    """Rounds: 5 of (9, 5, 9) least; own outage out; 5000 of (9, 5000, outage = 4624) not least."""
    log = public_good(("9", "5", "9"), ("9", FAILED, "9"), ("5001", "5000", FAILED))
    assert value_of("rationality", log, kind="public_good") == (1 / 2, 1)


def test_round_with_a_contribution_missing_is_not_counted():
    """Of three rounds one is whole, and in it the model gives most."""
    log = public_good(("1", "2", None), ("1", "2", "1"), (None, "1", "2"))
    assert value_of("rationality", log, kind="public_good") == (0, 1)


def test_registered_amount_is_not_the_stated_one():
    """Plain: 'As Player 2' registers 2, the least of (3, 2, 3); PGM reads 20, the most."""
    texts = ("3 points, I contribute 3", "As Player 2, I contribute 20", "I contribute 3")
    plain, pgm = public_good(texts), public_good(texts, model="m-pgm")
    assert value_of("rationality", plain, kind="public_good") == (1, 1)
    assert oracle.registered(plain, texts[1]) == 2
    assert oracle.registered(pgm, texts[1]) == 20


def test_decisions_count_as_registered_and_outages_only_in_release():
    """Of 4: cooperate by the word, defect, outage, defect: 2 of 3 in paper, 3 of 4 in release."""
    log = prisoner("I will not cooperate. Defect.", "DEFECT", FAILED, "Both")
    assert value_of("rationality", log, kind="prisoners_dilemma") == (2 / 3, 1)
    assert value_of("rationality", log, edition="release") == (3 / 4, 1)


@pytest.mark.parametrize(
    ("vote", "paper", "release"),
    [
        ({"Player 1": "Player 2", "Player 2": "Player 3", "Player 3": "Player 3"}, 0, 1),
        ({"Player 1": "Player 2", "Player 2": "Player 3", "Player 3": "Player 1"}, 1, 1),
        ({"Player 1": 0, "Player 2": "Player 4", "Player 3": "Player 2"}, 1, None),
        ({"Player 1": 0, "Player 2": 0, "Player 3": ""}, None, None),
        ({}, None, None),
    ],
)
def test_agreed_author_is_the_most_named_then_the_first(vote, paper, release):
    assert value_of("coordination", cost_sharing(vote=vote))[0] == paper
    assert value_of("coordination", cost_sharing(vote=vote), edition="release")[0] == release


def test_without_vote_key_the_last_rounds_messages_say():
    """Last round: two for Player 2, in words; the round before named Player 3 three times."""
    call = said("Moderator", "Now vote which proposal", "all")
    before = [said(player, "I vote for Player 3", "all") for player in oracle.PLAYERS]
    last = [
        said("Player 1", "I vote for player_2's proposal", "all"),
        said("Player 2", "I like what I said as Player 2 best", "all"),
        said("Player 3", "As Player 3, I vote for Player 1; not for Player 3", "all"),
    ]
    log = cost_sharing(history=[call, *before, call, *last, said("Moderator", "Agreed", "all")])
    assert value_of("coordination", log) == (1, 1)
    assert value_of("coordination", log, edition="release") == (1, 1)


def test_votes_nobody_named_count_and_outages_do_not():
    """Votes: right, '' and wrong count, an outage's vote for itself does not: 1 of 3."""
    failed = said("Player 2", FAILED, ["Player 2"], "accuse")
    one = chameleon({"Player 1": "Player 2", "Player 2": "Player 1", "Player 3": ""})
    two = chameleon({"Player 2": "Player 2", "Player 3": "Player 2"}, failed)
    assert value_of("judgement", one, two) == (1 / 3, 2)


def test_unfinished_games_have_rows_and_no_value():
    cut_off, flagless = cost_sharing(result=None), chameleon({"Player 2": "Player 1"}, win_flag=-1)
    assert value_of("cooperation", cut_off, kind="cost_sharing") == (None, 0)
    assert value_of("cooperation", cut_off, edition="release") == (0, 1)
    assert value_of("judgement", flagless, kind="chameleon") == (None, 0)


def test_release_takes_games_numbered_below_n():
    """Game 0 is lost, game 1 won: with N = 1 only the first counts."""
    logs = cost_sharing(result="fail"), cost_sharing()
    assert value_of("cooperation", *logs, edition="release", num_of_game=1) == (0, 1)
    assert value_of("cooperation", *logs, edition="release") == (1 / 2, 2)


def test_unknown_edition_is_refused():
    with pytest.raises(ValueError, match="no edition 'papers'"):
        oracle.metrics([], "papers")
