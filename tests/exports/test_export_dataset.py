"""A data set: its tables are the lake's, its metadata fit its files, and what is redacted goes."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from arena_logs import SAID, made, undercover
from polars.testing import assert_frame_equal

import pipeline
from pipeline import exports as shared
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.exports import Redaction

TYPES = {
    pl.String: "sc:Text",
    pl.List: "sc:Text",
    pl.Boolean: "sc:Boolean",
    pl.Float64: "sc:Float",
    pl.Int32: "sc:Integer",
    pl.Int64: "sc:Integer",
    pl.Datetime: "sc:DateTime",
}


def exported(lake: pipeline.Lake, folder: Path, **options: Any) -> dict[str, pl.DataFrame]:
    """The tables of a data set, whose metadata say what they are."""
    lake.export("dataset", folder, **options)
    tables = {file.stem: pl.read_parquet(file) for file in (folder / "data").iterdir()}
    about = json.loads((folder / "croissant.json").read_text())
    files = {one["@id"]: one for one in about["distribution"]}
    assert {f"data/{name}.parquet" for name in tables} == files.keys()
    for name, one in files.items():
        data = (folder / name).read_bytes()
        assert one["sha256"] == sha256(data).hexdigest()
        assert one["contentSize"] == f"{len(data)} B"
    records = {one["@id"]: one for one in about["recordSet"]}
    assert records.keys() == tables.keys()
    for name, rows in tables.items():
        fields = {one["name"]: one for one in records[name]["field"]}
        assert [*fields] == rows.columns
        for column, dtype in rows.schema.items():
            field = fields[column]
            assert field["dataType"] == TYPES[dtype.base_type()]
            assert field["repeated"] == isinstance(dtype, pl.List)
            assert field["source"]["fileObject"]["@id"] == f"data/{name}.parquet"
            assert field["description"] == TABLES[name].columns()[column].description
        assert {one["@id"] for one in records[name]["key"]} <= {
            one["@id"] for one in records[name]["field"]
        }
    return tables


def card(folder: Path) -> tuple[dict[str, Any], list[Any], str]:
    """The card's head, which is JSON line by line, its configurations, and the text below."""
    _, lines, text = (folder / "README.md").read_text().split("---\n", 2)
    fields = (line.partition(": ") for line in lines.splitlines())
    head = {key: json.loads(value) for key, _, value in fields}
    return head, head["configs"], text


def all_text(folder: Path) -> Iterator[str]:
    """Whatever the files of a data set say."""
    for file in folder.rglob("*"):
        if file.suffix == ".parquet":
            yield pl.read_parquet(file).write_json()
        elif file.is_file():
            yield file.read_text()


@pytest.mark.some(1)
@pytest.mark.parametrize("n_rows", [10**6, 70], ids=["whole", "in parts"])
def test_the_tables_are_those_of_the_lake(
    sample_lake: Path, tmp_path: Path, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the parts in which they are read, and the groups in which they are written."""
    monkeypatch.setattr("pipeline.warehouse.BATCH_ROWS", n_rows)
    monkeypatch.setattr(shared, "ROW_GROUP_ROWS", n_rows)
    monkeypatch.setattr("pipeline.lake.row_stream.LONG_TEXT_BYTES", n_rows - 70)
    lake = pipeline.open_lake(sample_lake)
    tables = exported(lake, tmp_path / "out")
    assert {"games", "players", "results", "messages", "votes", "roles"} <= tables.keys()
    assert not {"documents", "quarantine", "ingests", "archives"} & tables.keys()
    for name, rows in tables.items():
        own = lake.table(name).collect().select(rows.columns)
        keys = [name for name, dtype in rows.schema.items() if not dtype.is_nested()]
        assert_frame_equal(*(one.sort(keys, nulls_last=True) for one in (rows, own)))
    assert {*TABLES["games"].columns()} - {*tables["games"].columns} == {"source"}


def test_the_card_says_what_is_there_and_what_is_not(arena: pipeline.Lake, tmp_path: Path) -> None:
    options = {"title": 'A "title": *x*\n- y', "license": "cc-by-4.0", "date": "2026-11-27"}
    redact = ["messages.content", "games.path"]
    tables = exported(arena, tmp_path / "out", **options, redact=redact)
    head, configs, text = card(tmp_path / "out")
    assert head["pretty_name"] == options["title"]
    assert head["license"] == "cc-by-4.0"
    assert {one["config_name"] for one in configs} == tables.keys()
    assert all((tmp_path / "out" / one["data_files"]).is_file() for one in configs)
    assert '\n# A "title": \\*x\\* - y\n' in text
    assert "Date: 2026-11-27." in text
    assert "- `messages.content`\n- `games.path`\n" in text
    assert "- `games.source`\n" in text
    assert f"| `data/votes.parquet` | {tables['votes'].height} | One accusation vote. |" in text
    assert "content" not in tables["messages"].columns
    assert "path" not in tables["games"].columns
    assert not any("I vote" in said for said in all_text(tmp_path / "out"))


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ("messages.text", "no column messages.text: choose from messages.game_id"),
        ("messages", "no column messages"),
        ("message.content", "no column message.content: did you mean `messages`"),
        ("votes.game_id", "votes.game_id identifies rows"),
        ("results.game_id", "results.game_id identifies rows"),
        ("votes.round", "votes.round identifies rows"),
    ],
)
def test_a_column_that_cannot_go(
    arena: pipeline.Lake, tmp_path: Path, column: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(complaint)}"):
        arena.export("dataset", tmp_path / "out", redact=[column])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_pseudonyms_cannot_be_had_by_guessing_the_models(tmp_path: Path) -> None:
    """Two lakes of the same games have them in two orders, of 24 models hardly ever the same."""
    games = [undercover(n, [f"m-{3 * n + seat}" for seat in range(3)]) for n in range(8)]
    orders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lake = made(tmp_path / name, games)
        exported = lake.export("dataset", tmp_path / name / "out", redact_names=True)
        orders.append(exported.pseudonyms)
    again = lake.export("dataset", tmp_path / "again", redact_names=True)
    assert orders[0] != orders[1] == again.pseudonyms


@pytest.mark.slow
def test_models_have_pseudonyms_everywhere(sample_lake: Path, tmp_path: Path) -> None:
    """Also in opponents; paths and what an ingest was given are left out. Joins give the same."""
    lake = pipeline.open_lake(sample_lake)
    names = lake.export("dataset", tmp_path / "out", redact_names=True).pseudonyms
    assert names.keys() == set(lake.table("players").collect()["model"].drop_nulls())
    assert len(set(names.values())) == len(names)
    for text in all_text(tmp_path / "out"):
        assert not [name for name in names if name in text]
    tables = {one.stem: pl.read_parquet(one) for one in (tmp_path / "out" / "data").iterdir()}
    for name in ("players", "results", "votes", "messages"):
        own = lake.table(name).with_columns(pl.col("model").replace(dict(names))).collect()
        if name == "results":
            own = own.with_columns(pl.col("opponent").replace(dict(names)))
        assert_frame_equal(tables[name], own, check_row_order=False)
    assert not {"path", "assigned_model", "source"} & {*tables["games"].columns}


def test_names_in_texts_are_replaced_as_whole_words(arena: pipeline.Lake, tmp_path: Path) -> None:
    """The name of the logs, too, where it is joined with another."""
    lake = arena.with_names({"m-2": "m-1"})
    names = lake.export("dataset", tmp_path / "out", redact_names=True).pseudonyms
    assert names["m-2"] == names["m-1"]
    messages = pl.read_parquet(tmp_path / "out" / "data" / "messages.parquet")
    one = names["m-1"]
    said = SAID.replace('"m-1"', f'"{one}"').replace("and m-1\n", f"and {one}\n")
    assert "m-10" in said
    assert said in messages["content"].to_list()
    assert f"I vote, says {one}." in messages["content"].to_list()
    assert not messages["content"].str.contains("m-2").any()
    _, _, text = card(tmp_path / "out")
    assert "Models have pseudonyms." in text
    assert "m-1" not in text


def test_the_longest_name_is_replaced_first() -> None:
    redaction = Redaction((), {"gpt-4": "A", "gpt-4-turbo": "B", "a.b": "C", " ": "D"})
    texts = ["gpt-4-turbo, gpt-4; gpt-4o", "aXb a.b", None, "gpt-4gpt-4 /gpt-4_x", " "]
    rows = pl.DataFrame({"content": texts, "visible_to": [["gpt-4", "me"], [], None, ["x"], None]})
    schema = {name: TABLES["messages"].columns()[name].dtype for name in rows.columns}
    kept = [f"messages.{name}" for name in TABLES["messages"].columns() if name not in schema]
    again = Redaction(tuple(kept), redaction.pseudonyms).redact_rows("messages", rows.cast(schema))
    assert again["content"].to_list() == ["B, A; gpt-4o", "aXb C", None, "gpt-4gpt-4 /A_x", " "]
    assert again["visible_to"].to_list() == [["A", "me"], [], None, ["x"], None]


@pytest.mark.slow
def test_joined_names_are_no_way_back(tmp_path: Path) -> None:
    """The names of the logs have the pseudonym of the joined one, also in texts."""
    logs = [undercover(n, ["lab/m", "m-2", "m-3"], "caught") for n in range(2)]
    logs[0]["system"] = logs[1]["system"] = "harness of lab/m"
    lake = made(tmp_path, logs).with_names({"lab/m": "m"})
    names = lake.export("dataset", tmp_path / "out", redact_names=True).pseudonyms
    assert names["lab/m"] == names["m"]
    assert not any("lab/m" in text for text in all_text(tmp_path / "out"))


def test_hostile_texts_are_data(hostile: pipeline.Lake, tmp_path: Path) -> None:
    tables = exported(hostile, tmp_path / "out", title="</script>\n---\n# x", license="]]><!-- x")
    rows = hostile.table("messages").collect()
    assert_frame_equal(tables["messages"], rows, check_row_order=False)
    head, _, text = card(tmp_path / "out")
    assert head["pretty_name"] == "</script>\n---\n# x"
    assert "<" not in text
    assert "\n---\n" not in text
    names = hostile.export("dataset", tmp_path / "redacted", redact_names=True).pseudonyms
    models = hostile.table("players").collect()["model"].replace(dict(names))
    redacted = pl.read_parquet(tmp_path / "redacted" / "data" / "players.parquet")
    assert sorted(redacted["model"]) == sorted(models)
    assert redacted["model"].str.contains(r"^model-\d+$").all()
