"""A game as data: from a TOML document to values, equal to a plain count."""

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

import pipeline
from pipeline import games as kinds
from pipeline.cli import main
from pipeline.events import contracts
from pipeline.games import (
    GAMES_VARIABLE,
    Ending,
    GameDefinition,
    Role,
    iter_definitions_from_environment_files,
    load_game_definition,
)
from pipeline.lake import stored_lake as of_lake
from pipeline.plugins import PluginError
from pipeline.vocabulary import Side

PAGE = Path(__file__).resolve().parent.parent / "docs" / "adding.md"
(SECRET_HITLER,) = re.findall(
    r"`secret_hitler.toml`:\n\n```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
)
ASK = """
import json, sys, pipeline
from pipeline.ingest import ingest
report = ingest(sys.argv[1], sys.argv[2])
lake = pipeline.open_lake(sys.argv[2])
rows = {engine: lake.metrics(by=["model"], engine=engine) for engine in ("polars", "duckdb")}
print(json.dumps({
    "statuses": report.statuses,
    "values": {engine: list(map(list, found.select("metric", "model", "hits", "counted").rows()))
               for engine, found in rows.items()},
    "is_whole": lake.verify().is_whole,
}))
"""


def games(n_games: int) -> list[dict]:
    dice = random.Random(3)
    roles = ["liberal", "liberal", "liberal", "fascist", "hitler"]
    endings = ["liberal_policies", "hitler_killed", "fascist_policies", "hitler_elected"]
    made = []
    for number in range(n_games):
        seats = [
            {"player": f"P{seat}", "model": f"m{seat % 2}", "role": role}
            for seat, role in enumerate(dice.sample(roles, len(roles)))
        ]
        events = [
            {"actor": seat["player"], "round": 1, "acts": [{"act": "votes", "target": target}]}
            for seat in seats
            if (target := dice.choice([one["player"] for one in seats if one is not seat]))
        ]
        made.append(
            {
                "magic_interchange": 1,
                "system": "lab",
                "game_type": "secret_hitler",
                "setting": {"number": number},
                "is_finished": True,
                "end": {"outcome": dice.choice(endings)},
                "seats": seats,
                "events": events,
            }
        )
    return made


ASK_BATTLES = """
import json, sys
from pathlib import Path
import polars as pl
import pipeline
from pipeline.ingest import ingest
from pipeline.reports.ratings import hidden_side_credit_by_game
top = Path(sys.argv[1])
ingest(top / "games.jsonl", top / "lake")
lake = pipeline.open_lake(top / "lake")
lake.export("battles", top / "battles.parquet")
outcomes = lake.table("games").select("game_id", "outcome").collect()
winners = pl.read_parquet(top / "battles.parquet").join(outcomes, on="game_id")
hits = hidden_side_credit_by_game(lake).collect().join(outcomes, on="game_id")
print(json.dumps({
    "winners": dict(winners.select("outcome", "winner").iter_rows()),
    "hits": dict(hits.select("outcome", "hit").iter_rows()),
    "win_rate": lake.metrics(metric="win_rate", by=["model"])["value"].item(),
}))
"""


def counted_plainly(logs: list[dict]) -> dict[tuple[str, str], tuple[int, int]]:
    """Hits and counted rows: of votes of liberals, and of games, once for each hidden role."""
    hits, counted = Counter(), Counter()
    for log in logs:
        role = {seat["player"]: seat["role"] for seat in log["seats"]}
        model = {seat["player"]: seat["model"] for seat in log["seats"]}
        for event in log["events"]:
            if role[event["actor"]] == "liberal":
                key = "judgement", model[event["actor"]]
                counted[key] += 1
                hits[key] += role[event["acts"][0]["target"]] == "hitler"
        for one, _ in {(model[p], role[p]) for p in role if role[p] != "liberal"}:
            counted["deception", one] += 1
            hits["deception", one] += log["end"]["outcome"] in (
                "fascist_policies",
                "hitler_elected",
            )
    return {key: (hits[key], counted[key]) for key in counted}


def asked(tmp_path: Path, logs: list[dict], **environment: str) -> dict:
    (tmp_path / "games.jsonl").write_text("\n".join(map(json.dumps, logs)))
    command = [sys.executable, "-c", ASK, tmp_path / "games.jsonl", tmp_path / "lake"]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_from_nothing_to_values_by_data_alone(tmp_path: Path) -> None:
    (tmp_path / "secret_hitler.toml").write_text(SECRET_HITLER)
    logs = games(30)
    found = asked(tmp_path, logs, MAGIC_GAMES=str(tmp_path / "secret_hitler.toml"))
    assert found["statuses"]["ingested"] == len(logs)
    assert found["is_whole"]
    for engine in ("polars", "duckdb"):
        values = {
            (metric, model): (hits, counted)
            for metric, model, hits, counted in found["values"][engine]
            if metric in ("judgement", "deception")
        }
        assert values == counted_plainly(logs)


@pytest.mark.slow
@pytest.mark.parametrize("tested", ["impostor", "crew"])
def test_an_ending_that_both_sides_win_or_lose_is_a_tie(tmp_path: Path, tested: str) -> None:
    """In battles and ratings, whichever side is under test; win rates have each side's credit."""
    credits = {"crew_won": (0, 1), "impostor_won": (1, 0), "all_lost": (0, 0), "all_won": (1, 1)}
    endings = "".join(
        f'[[endings]]\noutcome = "{outcome}"\nhidden = {hidden}\ncivilian = {civilian}\n'
        for outcome, (hidden, civilian) in credits.items()
    )
    (tmp_path / "crew.toml").write_text(
        'name = "crew"\n[[roles]]\nname = "crew"\nside = "civilian"\n'
        f'[[roles]]\nname = "impostor"\nside = "hidden"\nis_sought = true\n{endings}'
    )
    logs = [
        {
            "magic_interchange": 1,
            "system": "lab",
            "game_type": "crew",
            "setting": {"number": number},
            "is_finished": True,
            "end": {"outcome": outcome},
            "seats": [
                {"player": name, "model": model, "role": role, "is_tested": role == tested}
                for name, model, role in (("I", "a", "impostor"), ("C", "b", "crew"))
            ],
            "events": [{"text": outcome, "round": 1}],
        }
        for number, outcome in enumerate(credits)
    ]
    (tmp_path / "games.jsonl").write_text("\n".join(map(json.dumps, logs)))
    done = subprocess.run(
        [sys.executable, "-c", ASK_BATTLES, tmp_path],
        env=os.environ | {"MAGIC_GAMES": str(tmp_path / "crew.toml")},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["winners"] == {
        "crew_won": "model_b",
        "impostor_won": "model_a",
        "all_lost": "tie",
        "all_won": "tie",
    }
    assert found["hits"] == {"crew_won": 0, "impostor_won": 1, "all_lost": 0.5, "all_won": 0.5}
    assert found["win_rate"] == 0.5


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('name = "secret_hitler"\n', "", r"\$: `name` is missing"),
        (
            'side = "hidden"',
            'side = "bad"',
            r"\$\.roles\[1\]\.side: `side` cannot be 'bad'; choose a side from hidden, civ",
        ),
        ("is_sought", "sought", r"\$\.roles\[2\]\.sought: `sought` is no field here"),
        (
            '"hitler_killed"',
            '"liberal_policies"',
            "several endings have the outcome `liberal_policies`",
        ),
        ("hidden = 1", "hidden = 2", "a credit is from 0 to 1"),
        ("[[roles]]", "[[roles", "cannot be read as a game"),
        ('name = "secret_hitler"', 'name = "Secret Hitler"', "the name of a game has"),
        ('name = "secret_hitler"', 'name = "avalon"', "`avalon`: magic has a game of this name"),
        (
            'side = "hidden"',
            'side = "hidden"\ncompetition = "werewolf_as_villager"',
            "`secret_hitler`: the game `werewolf` also has the competition `werewolf_as_villager`",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, what: str) -> None:
    file = tmp_path / "game.toml"
    file.write_text(SECRET_HITLER.replace(old, new, 1))
    with pytest.raises(PluginError, match=what) as refused:
        load_game_definition(file, kinds.definitions_outside_files(()))
    assert str(file) in str(refused.value)


def test_all_fields_of_another_type_are_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "game.toml"
    file.write_text(
        'phases = 3\n[[roles]]\nname = "crew"\nside = "left"\n[[roles]]\nis_sought = 1\n'
    )
    with pytest.raises(PluginError) as refused:
        load_game_definition(file)
    assert str(refused.value) == f"{file}: it cannot be read as a game: " + "; ".join(
        [
            "$.phases: `phases` is a list, not an integer",
            "$.roles[0].side: `side` cannot be 'left'; choose a side from hidden, civilian, none",
            "$.roles[1].is_sought: `is_sought` is true or false, not an integer",
            "$.roles[1]: `name` is missing",
            "$: `name` is missing",
            "$: `endings` is missing",
        ]
    )


@pytest.mark.parametrize(
    ("named", "what"),
    [
        (["a.toml", "a.toml"], r"MAGIC_GAMES names the file a\.toml twice"),
        (["a.toml", "./a.toml"], r"MAGIC_GAMES names the file \./a\.toml twice"),
        (
            ["a.toml", "b.toml"],
            r"b\.toml: the game `secret_hitler`: a\.toml has a game of this name",
        ),
        (
            ["a.toml", "c.toml"],
            r"c\.toml: .* `secret_hitler` also has the competition `secret_hitler_as_",
        ),
        (["a.toml", "", "d.toml"], None),
    ],
)
def test_games_of_several_files(
    named: list[str], what: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SECRET_HITLER.replace('name = "secret_hitler"', 'name = "other"')
    taken = 'side = "hidden"\ncompetition = "secret_hitler_as_hidden"'
    texts = {"a": SECRET_HITLER, "b": SECRET_HITLER, "d": other}
    texts["c"] = other.replace('side = "hidden"', taken, 1)
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(GAMES_VARIABLE, os.pathsep.join(named))
    if what is None:
        assert [kind.name for _, kind in iter_definitions_from_environment_files(())] == [
            "secret_hitler",
            "other",
        ]
        return
    with pytest.raises(PluginError, match=what):
        [*iter_definitions_from_environment_files(())]


def test_validate_knows_the_other_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(SECRET_HITLER, encoding="utf-8-sig")
    asked = ["a.toml", "b.toml", "a.toml"]
    assert main(["validate", *asked, "--format", "json"]) == 4
    rows = json.loads(capsys.readouterr().out)
    assert [(row["document"], row["is_valid"]) for row in rows] == [
        ("a.toml", True), ("b.toml", False), ("a.toml", False)
    ]  # fmt: skip
    assert all("a.toml has a game of this name too" in row["message"] for row in rows[1:])
    # A file that is in use already is not its own rival.
    monkeypatch.setattr(
        kinds,
        "_definitions_from_environment",
        lambda: (("./a.toml", load_game_definition(Path("a.toml"))),),
    )
    assert main(["validate", "a.toml"]) == 0
    assert main(["validate", "b.toml"]) == 4


@pytest.mark.parametrize(
    ("old", "new", "notes"),
    [
        ("", "", []),
        ('side = "civilian"', 'side = "none"', ["no role is on the civilian side: Judgement, "]),
        ('side = "hidden"', 'side = "none"', ["no role is on the hidden side: Deception, "]),
        ("is_sought = true", "", ["no role has `is_sought = true`"]),
        ("hidden = 0\n", "", ["`liberal_policies` does not say", "`hitler_killed` does not say"]),
    ],
)
def test_a_valid_game_says_what_no_metric_will_count(
    old: str, new: str, notes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.toml"
    file.write_text(SECRET_HITLER.replace(old, new) if old else SECRET_HITLER)
    assert main(["validate", str(file)]) == 0
    n_valid, *said = capsys.readouterr().err.splitlines()
    assert n_valid == "1 of 1 document is valid"
    for line, note in zip(said, notes, strict=True):
        assert line.startswith(f"{file}: {note}")


def _with_role(kind: GameDefinition, name: str, **changed: object) -> GameDefinition:
    changes = [replace(one, **changed) if one.name == name else one for one in kind.roles]
    return replace(kind, roles=tuple(changes))


def _with_ending(kind: GameDefinition, outcome: str, **changed: object) -> GameDefinition:
    changes = [replace(one, **changed) if one.outcome == outcome else one for one in kind.endings]
    return replace(kind, endings=tuple(changes))


SPY = Role("spy", Side.HIDDEN, "chameleon_as_chameleon", is_sought=True)
# The edit, and whether it is noticed of a game in a file, and of one in code.
EDITS = {
    "none": (lambda kind: kind, False, False),
    "a role more": (lambda kind: replace(kind, roles=(*kind.roles, SPY)), True, False),
    "a role less": (lambda kind: replace(kind, roles=kind.roles[:1]), True, True),
    "another side": (lambda kind: _with_role(kind, "chameleon", side=Side.NONE), True, True),
    "sought no more": (lambda kind: _with_role(kind, "chameleon", is_sought=False), True, True),
    "sought now": (lambda kind: _with_role(kind, "non_chameleon", is_sought=True), True, True),
    "another competition": (
        lambda kind: _with_role(kind, "chameleon", competition="lizards"), True, True
    ),
    "an ending less": (
        lambda kind: replace(
            kind, endings=tuple(one for one in kind.endings if one.outcome != "voted_wrong")
        ),
        True, False,
    ),
    "another credit": (lambda kind: _with_ending(kind, "voted_wrong", hidden=0.5), True, False),
    "another winner": (
        lambda kind: _with_ending(kind, "guessed_right", hidden_wins=False), True, False
    ),
    "an ending more, which no game of the lake has": (
        lambda kind: replace(kind, endings=(*kind.endings, Ending("draw", 0.5, 0.5))), False, False
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_declared_otherwise_since_an_ingest(
    edit: str, sample_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, is_noticed_of_a_file, is_noticed_of_code = EDITS[edit]
    edited = {**kinds.game_definitions(), "chameleon": change(kinds.game_definition("chameleon"))}
    monkeypatch.setattr(kinds, "game_definitions", lambda: edited)
    monkeypatch.setattr(of_lake, "registered_roles", contracts.registered_roles.__wrapped__)
    for in_files, is_noticed in (
        (("chameleon",), is_noticed_of_a_file),
        ((), is_noticed_of_code),
    ):
        monkeypatch.setattr(
            kinds, "game_types_in_environment_files", lambda in_files=in_files: in_files
        )
        changed = pipeline.open_lake(sample_lake).changed_game_types
        assert changed == (("chameleon",) if is_noticed else ())


@pytest.mark.slow
def test_games_that_were_declared_otherwise_are_not_mixed(tmp_path: Path) -> None:
    """A role that is sought now or is new, an ending with other winners: said, none is added."""
    file = tmp_path / "secret_hitler.toml"
    file.write_text(SECRET_HITLER)
    asked(tmp_path, games(16), MAGIC_GAMES=str(file))
    lake = str(tmp_path / "lake")
    role, sought = 'name = "fascist"\nside = "hidden"', "\nis_sought = true"
    spy = '[[roles]]\nname = "spy"\nside = "hidden"\n\n[[endings]]'
    ending = '"hitler_killed"\nhidden = {}\ncivilian = {}'
    ingest = ["ingest", str(tmp_path / "games.jsonl")]
    for old, new, command, code in (
        (role, role + sought, ["metrics"], 0),
        ("[[endings]]", spy, ingest, 1),
        (ending.format(0, 1), ending.format(1, 0), ingest, 1),
    ):
        file.write_text(SECRET_HITLER.replace(old, new, 1))
        assert file.read_text() != SECRET_HITLER
        said = subprocess.run(
            [sys.executable, "-m", "pipeline", *command, "--lake", lake],
            env=os.environ | {"MAGIC_GAMES": str(file)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert said.returncode == code
        assert "secret_hitler" in said.stderr and "new lake" in said.stderr
