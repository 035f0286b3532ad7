"""`magic audit`: what is known of the public logs, and of games worked by hand."""

import json
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
from pipeline.vocabulary import EDITIONS

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


# Of each kind: found, and checked.
FOUND = {
    # A model votes otherwise than it says.
    "stated_votes": (111, 1200),
    "invalid_votes": (24, 1156),
    # All but 34 games that end by an agreement or a vote that the log does not tell whole.
    "outcomes": (0, 1393),
    "announced_winners": (110, 800),
    "scores": (0, 3 * 420),
    "rounds": (0, 1427),
    "shares": (0, 637),
    "guesses": (9, 175),
    "silent_analyses": (600, 6000),
    "role_analyses": (680, 5385),
    "alike_models": (0, 1830),
    "role_identifications": (226, 3000),
    "thoughts": (0, 28539),
    "stated_amounts": (33, 1070),
    # A player of 100 points gave 4,624, and went on giving.
    "overspending": (3, 120),
    "repeated_games": (0, 1430),
    "canned_lines": (0, 55),
    "unnamed_models": (0, 1830),
    "bots": (0, 4290),
}


def test_public_games(audited):
    """In no game of MAgIC somebody leaves, or goes on a quest."""
    assert counts(audited, "kind") == {(kind,): numbers for kind, numbers in FOUND.items()}
    of_others = ("players_out", "acts_after_out", "quests")
    assert set(FOUND) == {*FINDING_KINDS} - {*of_others}


@pytest.mark.slow
def test_findings_and_groups_are_as_many_as_found(public, audited):
    for kind, n_found in audited.select("kind", "found").iter_rows():
        assert findings(public, kind).height == n_found, kind
    parts = audit(public, by=["game_type", "format_version"])
    assert counts(parts.filter(kind="stated_votes"), "game_type", "format_version")[
        "chameleon", "pgm"
    ] == (80, 180)
    sums = parts.group_by("kind").agg(pl.col("found", "checked").sum())
    assert counts(sums, "kind") == counts(audited, "kind")


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


# --- single games -------------------------------------------------------------------------------


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


@pytest.mark.some(4)
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


@pytest.mark.slow
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
