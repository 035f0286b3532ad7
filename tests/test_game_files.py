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

from pipeline.cli import main
from pipeline.games.files import kind_in
from pipeline.plugins import PluginError

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


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('name = "secret_hitler"\n', "", "missing required field `name`"),
        ('side = "hidden"', 'side = "bad"', r"Invalid enum value 'bad' - at `\$.roles\[1\].side`"),
        ("is_sought", "sought", r"unknown field `sought` - at `\$.roles"),
        ('"hitler_killed"', '"liberal_policies"', "two have `liberal_policies`"),
        ("hidden = 1", "hidden = 2", "a credit is from 0 to 1"),
        ("[[roles]]", "[[roles", "cannot be read as a game"),
        ('name = "secret_hitler"', 'name = "Secret Hitler"', "the name of a game has"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, what: str) -> None:
    file = tmp_path / "game.toml"
    file.write_text(SECRET_HITLER.replace(old, new, 1))
    with pytest.raises(PluginError, match=what) as refused:
        kind_in(file)
    assert str(file) in str(refused.value)


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


@pytest.mark.slow
def test_games_that_were_declared_otherwise_are_not_mixed(tmp_path: Path) -> None:
    """A role that is sought now, or an ending with other winners: said, and nothing is added."""
    file = tmp_path / "secret_hitler.toml"
    file.write_text(SECRET_HITLER)
    asked(tmp_path, games(16), MAGIC_GAMES=str(file))
    lake = str(tmp_path / "lake")
    role, sought = 'name = "fascist"\nside = "hidden"', "\nis_sought = true"
    ending = '"hitler_killed"\nhidden = {}\ncivilian = {}'
    for old, new, command, code in (
        (role, role + sought, ["metrics"], 0),
        (ending.format(0, 1), ending.format(1, 0), ["ingest", str(tmp_path / "games.jsonl")], 1),
    ):
        file.write_text(SECRET_HITLER.replace(old, new))
        assert file.read_text() != SECRET_HITLER
        said = subprocess.run(
            [sys.executable, "-m", "pipeline.cli", *command, "--lake", lake],
            env=os.environ | {"MAGIC_GAMES": str(file)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert said.returncode == code
        assert "secret_hitler" in said.stderr and "new lake" in said.stderr
