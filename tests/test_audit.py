"""`magic audit`: what is known of the public logs, and that what is planted is found."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from event_tables import lake_of, table
from logs import interchange, textarena
from rawlogs import PLAYERS, chameleon, chatarena, encode

from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.metrics.evidence import evidence
from pipeline.metrics.registry import metric_names
from pipeline.reports.audit import FINDING_KINDS, audit, findings
from pipeline.reports.games import describe_similar_model_names, models
from pipeline.simulate import simulate
from pipeline.vocabulary import EDITIONS

Log = dict[str, Any]
MODELS = {"Player 1": "a", "Player 2": "b", "Player 3": "c"}


@pytest.fixture(scope="module")
def public(public_lake) -> StoredLake:
    return public_lake


@pytest.fixture(scope="module")
def audited(public) -> pl.DataFrame:
    return audit(public)


def counts(rows: pl.DataFrame, *by: str) -> dict[tuple[str, ...], tuple[int, int]]:
    return {
        tuple(row[name] for name in by): (row["found"], row["checked"])
        for row in rows.iter_rows(named=True)
    }


@pytest.mark.slow
def test_public_games(public, audited):
    """D6: votes against texts, silence of the chameleon, scores."""
    found = counts(audited, "kind")
    # In no game of MAgIC somebody leaves, or goes on a quest.
    of_others = ("players_out", "acts_after_out", "quests")
    assert list(found) == [(kind,) for kind in FINDING_KINDS if kind not in of_others]
    assert found["scores",] == (0, 3 * 420)
    # All but 34 games that end by an agreement or a vote that the log does not tell whole.
    assert found["outcomes",] == (0, 1393)
    assert found["rounds",] == (0, 1427)
    assert found["invalid_votes",] == (24, 1156)
    assert found["shares",] == (0, 637)
    # A player of 100 points gave 4,624, and went on giving.
    assert found["overspending",] == (3, 120)
    assert found["announced_winners",] == (110, 800)
    assert found["silent_analyses",] == (600, 6000)

    votes = audit(public, kind="stated_votes", by=["game_type", "format_version"])
    assert counts(votes, "game_type", "format_version")["chameleon", "pgm"] == (80, 180)

    scores = counts(audit(public, kind="scores", by=["game_type"]), "game_type")
    assert scores == {("prisoners_dilemma",): (0, 630), ("public_good",): (0, 630)}

    silent = (
        findings(public, "silent_analyses")
        .group_by("seat")
        .agg(right=(pl.col("logged") == "right").sum(), counted=pl.len())
    )
    assert set(silent.iter_rows()) == {(1, 209, 210), (2, 0, 150), (3, 2, 240)}


def test_votes_at_odds_with_their_texts_are_ambiguous(public):
    """All that `stated_votes` finds, and no other vote of a tested player that names one.

    Two votes were registered for a player, though their texts abstain.
    """
    tested = public.table("votes").filter("is_tested")
    names_one = pl.col("stated_target").fill_null("") != ""
    ambiguous = tested.filter(names_one, parse_status="ambiguous")
    ambiguous = ambiguous.select("game_id", "seat").collect()
    found = findings(public, "stated_votes").filter(pl.col("says").fill_null("") != "")
    found = found.select("game_id", "seat")
    assert found.height == 111
    assert set(found.iter_rows()) == set(ambiguous.iter_rows())
    plain = tested.filter(parse_status="ok").collect()
    assert plain["target"].equals(plain["stated_target"])


def test_effects_are_those_of_the_editions(public, audited):
    """Both editions' values over everything, from the rows that the audit checks."""
    asked = {"by": [], "metric": ["reasoning", "self_awareness"], "confidence": None}
    logged, read = (
        dict(metrics(public, edition=edition, **asked).select("metric", "value").iter_rows())
        for edition in ("paper", "audited")
    )
    rows = {row["kind"]: row for row in audited.iter_rows(named=True)}
    assert rows["silent_analyses"]["as_logged"] == pytest.approx(logged["reasoning"])
    assert rows["role_analyses"]["as_read"] == pytest.approx(read["reasoning"])
    for edition, column in ((logged, "as_logged"), (read, "as_read")):
        result = rows["role_identifications"][column]
        assert result == pytest.approx(edition["self_awareness"])


@pytest.mark.slow
def test_findings_are_as_many_as_found(public, audited):
    for kind, n_found in audited.select("kind", "found").iter_rows():
        rows = findings(public, kind)
        assert rows.height == n_found
        assert rows["kind"].unique().to_list() in ([], [kind])
        assert not rows["content"].has_nulls()


@pytest.mark.slow
def test_groups_add_up(public, audited):
    whole = counts(audited, "kind")
    for by in (["game_type", "format_version"], ["seat", "role"]):
        parts = audit(public, by=by).group_by("kind").agg(pl.col("found", "checked").sum())
        assert {(kind,): (found, checked) for kind, found, checked in parts.iter_rows()} == whole


# --- what is planted ----------------------------------------------------------------------------


def said(log: Log, phase: Callable[[Log], bool]) -> Log:
    return next(message for message in log["history"] if phase(message))


def contradict_vote(log: Log) -> None:
    vote = said(log, lambda m: m["msg_type"] == "accuse" and m["agent_name"] == log["chameleon"])
    (target,) = {"Player 1", "Player 2", "Player 3"} - {
        log["chameleon"],
        log["player_votes"][log["chameleon"]],
    }
    vote["content"] = f"I vote for {target}."


def turn_outcome(log: Log) -> None:
    log["win_flag"] = {0: 1, 1: 0, 2: 0}[log["win_flag"]]
    log["result"] = "undercover" if log["win_flag"] else "non-undercover"


def announce_another(log: Log) -> None:
    hidden = log["chameleon"]
    others = [name for name in log["player_backends"] if name != hidden]
    log["history"][-1]["content"] = f"{others if log['win_flag'] else hidden} won!"


def add_a_point(log: Log) -> None:
    log["scores"][0] += 1


def state_a_half(log: Log) -> None:
    tested = log["test_player_name"]
    message = said(log, lambda m: m["agent_name"] == tested and m["visible_to"] == "Moderator")
    message["content"] = "I contribute 5.5"


def judge_identification(log: Log) -> None:
    log["consistency_metric"]["0"][log["chameleon"]] ^= 1


def judge_analysis(log: Log) -> None:
    seat = int(log["undercover"].removeprefix("Player ")) - 1
    log["pgm_metric"]["0"]["gold"][seat] ^= 1


PLANTED: dict[str, tuple[str, Callable[[Log], None]]] = {
    "stated_votes": ("chameleon/*_as_chameleon_*", contradict_vote),
    "outcomes": ("undercover/*_as_undercover_*", turn_outcome),
    "announced_winners": ("chameleon/*_as_chameleon_*", announce_another),
    "scores": ("prisoner/*_prisoner_*", add_a_point),
    "role_identifications": ("chameleon/*_as_chameleon_*", judge_identification),
    "role_analyses": ("undercover/*_as_undercover_*", judge_analysis),
    "stated_amounts": ("public_good/*_public_good_*", state_a_half),
}


Found = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def before_and_after(tmp_path_factory) -> Callable[[str], tuple[Found, Found]]:
    """What is found of a kind in a log, before something of that kind is planted in it and after.

    All logs are in one lake before and in another one after.
    """
    top = tmp_path_factory.mktemp("planted")
    results = simulate(top / "logs", models=1, games=2, seed=5).results
    folders = sorted({folder for folder, _ in PLANTED.values()})
    names = {folder: f"{folder.partition('/')[0]}.json" for folder in folders}
    logs = {folder: next(results.glob(f"{folder}/0.json")).read_bytes() for folder in folders}
    for stage in ("before", "after"):
        (top / stage).mkdir()
    for folder, name in names.items():
        (top / "before" / name).write_bytes(logs[folder])
    for kind, (folder, plant) in PLANTED.items():
        log = json.loads(logs[folder])
        plant(log)
        write(top / "after" / f"{kind}.json", log)
    for stage in ("before", "after"):
        ingest(top / stage, top / f"{stage}-lake")

    def found(kind: str) -> tuple[Found, Found]:
        return (
            found_in(open_lake(top / "before-lake"), kind, names[PLANTED[kind][0]]),
            found_in(open_lake(top / "after-lake"), kind, f"{kind}.json"),
        )

    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_is_found(kind, before_and_after):
    before, after = before_and_after(kind)
    # What was at odds before may agree now.
    assert before != after
    assert abs(len(after) - len(before)) == 1


def found_in(lake: StoredLake, kind: str, path: str) -> Found:
    """What is found in the game at a path."""
    (game,) = lake.table("games").filter(path=path).collect()["game_id"]
    rows = findings(lake, kind).filter(game_id=game)
    return rows.select("player", "round", "message_index").rows()


def test_a_guess_is_one_row_however_many_models_sit_on_the_other_side(tmp_path):
    log = chatarena(ending="wrong", guess='I guess the word is "Danube".')
    ingest(write(tmp_path / "0.json", log), tmp_path / "lake", model={"**": MODELS}, jobs=1)
    lake = open_lake(tmp_path / "lake")
    assert lake.table("results").select(pl.len()).collect().item() == 3
    (row,) = findings(lake, "guesses").to_dicts()
    assert (row["model"], row["logged"], row["says"]) == ("b", "wrong", "right")
    (counted,) = audit(lake, kind="guesses").to_dicts()
    assert (counted["checked"], counted["as_logged"], counted["as_read"]) == (1, 1, 0)


def test_both_means_are_over_the_same_rows(tmp_path):
    """Logged as a tie, but its votes caught the chameleon: what it would guess is unknown."""
    lost = chameleon(flag=2, tested="hidden", votes=dict.fromkeys(PLAYERS[1:], "Player 1"))
    tie = chameleon(flag=3, tested="hidden", votes=dict.fromkeys(PLAYERS, "Player 2"))
    for number, log in enumerate((lost, tie)):
        write(tmp_path / f"{number}.json", log)
    ingest(tmp_path, tmp_path / "lake", jobs=1)
    (row,) = audit(open_lake(tmp_path / "lake"), kind="outcomes").to_dicts()
    assert (row["checked"], row["found"]) == (2, 1)
    assert (row["as_logged"], row["as_read"], row["effect"]) == (1, 1, 0)


def write(file: Path, log: Any) -> Path:
    file.write_bytes(encode(log))
    return file


def test_an_empty_lake_has_nothing_to_check(tmp_path):
    assert audit(lake_of(tmp_path, {})).is_empty()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"kind": ["xyz"]}, "no kind xyz: choose from stated_votes, "),
        ({"by": ["value"]}, "no column value to group by: choose from model, "),
        ({"by": ["model); DROP"]}, "no column model"),
        ({"by": ["model", "model"]}, "same column twice: model, model"),
    ],
)
def test_refused(question, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        audit(lake_of(tmp_path, {}), **question)


def test_odd_names_of_models_are_data(tmp_path):
    odd = ["O'Neil; --", "$by"]
    players = table(
        "players", f"game | model\n1 | {odd[0]}\n2 | {odd[1]}", game_type="prisoners_dilemma"
    )
    lake = lake_of(tmp_path, {"players": players})
    assert set(audit(lake, model=odd)["found"]) == {0}
    assert findings(lake, "scores", model=odd).is_empty()
    assert findings(lake, "scores", model=[]).is_empty()


def test_a_model_that_sits_in_no_game_is_refused(tmp_path):
    players = table(
        "players", "game | model | is_tested\n1 | m | no", game_type="prisoners_dilemma"
    )
    lake = lake_of(tmp_path, {"players": players})
    assert set(audit(lake, model="m")["found"]) == {0}
    with pytest.raises(UsageError, match="no game of n: "):
        audit(lake, model=["m", "n"])
    with pytest.raises(UsageError, match="no game of n: "):
        findings(lake, "scores", model="n")


def test_the_page_tells_of_every_kind():
    page = (Path(__file__).parent.parent / "docs" / "audit.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(FINDING_KINDS)


# --- who plays ----------------------------------------------------------------------------------


Tables = dict[str, pl.DataFrame]


def talking(*times: int, phase: str = "talk", is_bot: bool = False) -> Tables:
    """A game whose only player says one text so often, another so often, and so on."""
    texts = [f"text {n}" for n, often in enumerate(times) for _ in range(often)]
    role = {"game_type": "werewolf", "is_tested": not is_bot}
    players = table("players", "game | role\n1 | villager", is_bot=is_bot, **role)
    rows = "\n".join(f"1 | villager | {n} | {text}" for n, text in enumerate(texts))
    of_message = {"phase": phase, "turn": "1", "visible_to": ["all"]}
    messages = table(
        "messages", f"game | role | message_index | content\n{rows}", **of_message, **role
    )
    return {"players": players, "messages": messages}


@pytest.mark.parametrize(
    ("tables", "n_found"),
    [
        (talking(60, 5, 5, 5, 5, *[1] * 20), 5),
        (talking(60, 5, 5, 5, 4, *[1] * 21), 0),  # 79 of 100
        (talking(60, 5, 5, 5, 5, *[1] * 19), 0),  # of 99
        (talking(100), 1),
        (talking(100, is_bot=True), 1),
        (talking(100, phase="vote"), 0),
    ],
)
def test_canned_lines_are_at_least_100_of_which_five_texts_are_four_fifths(
    tables: Tables, n_found: int, tmp_path: Path
) -> None:
    lake = lake_of(tmp_path, tables)
    rows = findings(lake, "canned_lines")
    assert rows.height == n_found
    assert audit(lake, kind="canned_lines")["found"].sum() == n_found
    if n_found:
        first = rows.filter(content="text 0").row(0, named=True)
        n_messages = tables["messages"].height
        times = tables["messages"].filter(content="text 0").height
        assert first["says"] == f"in {times} of {n_messages} messages"
        assert first["message_index"] == 0
        is_bot = tables["players"]["is_bot"][0]
        assert first["logged"] == ("a bot" if is_bot else "a language model")


def test_models_without_a_name_and_bots_are_listed(tmp_path: Path) -> None:
    text = """
    game | seat | role     | model    | is_tested | is_bot
    1    | 1    | villager | m        | yes       | no
    1    | 2    | villager | -        | yes       | no
    1    | 3    | villager | deeprole | no        | yes
    1    | 4    | villager | -        | no        | no
    """
    lake = lake_of(tmp_path, {"players": table("players", text, game_type="werewolf")})
    kinds = ["unnamed_models", "bots"]
    assert counts(audit(lake, kind=kinds), "kind") == {
        ("unnamed_models",): (1, 2),
        ("bots",): (1, 4),
    }
    assert [findings(lake, kind)["seat"].to_list() for kind in kinds] == [[2], [3]]


GROUPS = [
    ["gpt-4o", "gpt-4o ", "GPT-4o", "openai/gpt-4o", "gpt\u200b-4o", "gpt_4o", "\ufeffgpt\u20114o"],
    ["caf\u00e9", "cafe\u0301", "a/b/CAF\u00c9"],
    ["None", "unknown", " ", "N/A", "\u200b"],
]
APART = [
    "gpt-4",
    "gpt-4o-mini",
    "gpt-4o-0806",
    "claude-2.1",
    "claude-21",
    "cafe",
    "o/",
    "m",
    "m'\"x",
]


def test_models_whose_names_look_alike_are_named_and_counted_apart(tmp_path: Path) -> None:
    """One game each, of three players: of none of the others is anything found."""
    names = [*APART, *(name for group in GROUPS for name in group)]
    logs = [json.loads(interchange.LOGS[0]) for _ in names]
    for number, (log, name) in enumerate(zip(logs, names, strict=True)):
        log["setting"], log["seats"] = {"number": number}, deepcopy(log["seats"])
        for seat in log["seats"]:
            seat["model"], seat["is_tested"] = name, seat is log["seats"][0]
    (tmp_path / "games.jsonl").write_text("\n".join(map(json.dumps, logs)))
    ingest(tmp_path / "games.jsonl", tmp_path / "lake")
    lake = open_lake(tmp_path / "lake")
    found = findings(lake, "alike_models")
    assert sorted(found["model"]) == sorted(name for group in GROUPS for name in group)
    assert counts(audit(lake, kind="alike_models"), "kind") == {
        ("alike_models",): (found.height, len(names))
    }
    says = dict(found.select("model", "says").rows())
    assert says["gpt-4o"].count("1 game") == len(GROUPS[0])
    assert '"gpt-4o " (7 characters, 1 game)' in says["gpt-4o"]
    assert {says[name] for name in GROUPS[2]} == {"no model"}
    assert len(describe_similar_model_names(lake)) == len(GROUPS)
    # The two writings of the rule agree, name by name.
    in_polars = models(lake).drop_nulls("looks_like").select("model", "looks_like")
    assert sorted(in_polars.rows()) == sorted(says.items())
    assert set(lake.table("players").filter("is_tested").collect()["model"]) == set(names)


@pytest.fixture(scope="module")
def with_bots(tmp_path_factory: pytest.TempPathFactory) -> StoredLake:
    """Games of two systems in which bots play."""
    top = tmp_path_factory.mktemp("bots")
    logs = top / "logs"
    for module in (textarena, interchange):
        name = module.__name__.rpartition(".")[2]
        (logs / name).mkdir(parents=True)
        for number, data in enumerate(module.LOGS):
            (logs / name / f"{number}.json").write_bytes(data)
    ingest(logs, top / "lake", jobs=1)
    return open_lake(top / "lake")


def test_no_metric_counts_a_bot(with_bots: StoredLake) -> None:
    players = with_bots.table("players").collect()
    bots = players.filter("is_bot")
    assert bots["system"].n_unique() == 2
    assert not bots["is_tested"].any()
    seats = bots.select("game_id", "seat")
    n_counted = 0
    for one in with_bots.split_by_system():
        models = set(players.filter("is_tested", system=one.system)["model"])
        for edition in EDITIONS:
            assert set(metrics(one, edition=edition)["model"]) <= models
            for name in metric_names(edition):
                rows = evidence(one, name, edition=edition)
                n_counted += rows.height
                assert rows.join(seats, on=["game_id", "seat"]).is_empty()
    assert n_counted
    assert set(with_bots.table("results").collect()["model"]).isdisjoint(
        set(bots["model"]) - {None}
    )


@pytest.mark.parametrize(
    ("patterns", "n_checked"),
    [
        pytest.param(["real/textarena-avalon.tar.zst"], 10, marks=pytest.mark.slow, id="its own"),
        pytest.param(
            ["corpus/magic-public.tar.zst", "real/*.tar.zst"], 500, marks=pytest.mark.long, id="all"
        ),
    ],
)
def test_only_deeprole_has_canned_lines(
    shared: Path, tmp_path: Path, patterns: list[str], n_checked: int
) -> None:
    """Of all models in the logs with its games, or in all logs that we have."""
    for archive in (found for pattern in patterns for found in shared.glob(pattern)):
        ingest(archive, tmp_path, model="m")
    lake = open_lake(tmp_path)
    rows = findings(lake, "canned_lines")
    assert set(rows["model"]) == {"deeprole", "deeprole-llm"}
    assert rows.height == 2 * 4
    assert audit(lake, kind="canned_lines")["checked"].sum() > n_checked
    assert audit(lake, kind="bots")["found"].to_list() == [828]
