"""Words in messages: every one that has them, none that has not, page by page to the end."""

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st
from rawlogs import write_logs

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import LakeError, UsageError
from pipeline.ingest import ingest
from pipeline.lake import row_stream
from pipeline.reports.documents import (
    CONTEXT_CHARACTERS,
    MAX_WORD_LENGTH,
    MAX_WORDS,
    SEARCH_COLUMNS as COLUMNS,
)

SIGNS = ("100%", "a_b", "c\\d", "(x|y)", "[z]", ".*", "'", "Café", "Straße", "ΣΟΦΟΣ", "模型")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two ingests of games; words with signs that SQL or expressions give a meaning."""
    top = tmp_path_factory.mktemp("search")
    for model in ("gpt-4", "cohere"):
        folder = write_logs(top / model, model)
        for number, log in enumerate(sorted(folder.rglob("*.json"))):
            sign = SIGNS[number % len(SIGNS)].replace("\\", "\\\\")
            log.write_text(log.read_text().replace('"content": "', f'"content": "{sign} '))
        ingest(folder, top / "lake")
    return pipeline.open_lake(top / "lake")


def expected(lake: Lake, *words: str) -> set[tuple[str, int]]:
    """The messages that have the words, by Python's own comparison of texts."""
    rows = lake.table("messages").select("game_id", "message_index", "content").collect()
    return {
        (game, index)
        for game, index, content in rows.iter_rows()
        if all(re.search(re.escape(word), content, re.IGNORECASE) for word in words)
    }


def places(rows: pl.DataFrame) -> list[tuple[str, int]]:
    return list(rows.select("game_id", "message_index").iter_rows())


@pytest.mark.parametrize("word", [*SIGNS, "%", "_", "\\", ".", "I", "nothing says this"])
def test_a_word_is_taken_literally(lake: Lake, word: str) -> None:
    found = lake.search([word], limit=10**6)
    assert (found.stopped, found.key, found.n_searched) == ("end", None, found.n_messages)
    assert set(places(found.rows)) == expected(lake, word)
    assert found.rows.height == len(expected(lake, word))
    assert found.rows.columns == list(COLUMNS)


def test_every_word_is_needed_and_case_is_not(lake: Lake) -> None:
    assert expected(lake, "100%", "i")
    assert set(places(lake.search("100% i", limit=10**6).rows)) == expected(lake, "100%", "i")
    assert set(places(lake.search(["σοφος"], limit=10**6).rows)) == expected(lake, "ΣΟΦΟΣ")


def test_the_text_around_the_hit_is_shown(lake: Lake) -> None:
    texts = lake.table("messages").select("game_id", "message_index", "content").collect()
    rows = lake.search(["Vote"], limit=10**6).rows.join(texts, on=["game_id", "message_index"])
    assert rows.height
    for before, hit, after, content in rows.select("before", "hit", "after", "content").iter_rows():
        assert hit.lower() == "vote"
        assert before + hit + after in content
        first = content.lower().index("vote")
        assert before == content[max(0, first - CONTEXT_CHARACTERS) : first]
        assert after == content[first + 4 : first + 4 + CONTEXT_CHARACTERS]


def test_filters(lake: Lake) -> None:
    rows = lake.search(["a"], model="cohere", game_type="undercover", limit=10**6).rows
    assert set(rows.select("model", "game_type").iter_rows()) == {("cohere", "undercover")}
    everything = lake.search(["a"], limit=10**6).rows
    assert rows.height == everything.filter(model="cohere", game_type="undercover").height > 0


@pytest.mark.parametrize("limit", [3, 7])
def test_pages_together_are_the_whole(lake: Lake, limit: int) -> None:
    whole = places(lake.search(["100%"], limit=10**6).rows)
    paged: list[tuple[str, int]] = []
    key = None
    while True:
        found = lake.search(["100%"], limit=limit, after=key)
        paged += places(found.rows)
        if (key := found.key) is None:
            break
        assert found.stopped == "limit"
        assert found.rows.height == limit
    assert paged == whole


def test_a_search_ends_by_its_time_and_goes_on(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_stream, "BATCH_ROWS", 5)
    found = lake.search(["vote"], timeout=1e-9)
    assert found.stopped == "time"
    assert found.n_searched == 5
    rest = lake.search(["vote"], after=found.key, limit=10**6)
    assert [*places(found.rows), *places(rest.rows)] == places(
        lake.search(["vote"], limit=10**6).rows
    )


def test_a_search_goes_on_in_the_state_that_it_began_in(lake: Lake, tmp_path: Path) -> None:
    older = pipeline.open_lake(str(lake.path), as_of=1)
    first = older.search(["a"], limit=2)
    rest = lake.search(["a"], after=first.key, limit=10**6)
    whole = older.search(["a"], limit=10**6)
    assert [*places(first.rows), *places(rest.rows)] == places(whole.rows)
    assert set(places(whole.rows)) < set(places(lake.search(["a"], limit=10**6).rows))
    with pytest.raises(LakeError, match="no ingest 99"):
        lake.search("x", after="99.0")


@given(st.integers(0, 400), st.sampled_from([1, 7, 10_000]))
def test_a_stream_begins_at_any_row(lake: Lake, start: int, n_rows: int) -> None:
    columns = ["game_id", "message_index"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_stream, "BATCH_ROWS", n_rows)
        parts = list(
            row_stream.iter_table_batches_with_row_numbers(lake, "messages", columns, start)
        )
    whole = lake.table("messages").select(columns).collect()
    found = [row for _, rows in parts for row in rows.iter_rows()]
    assert sorted(found) == sorted(set(found))
    assert len(found) == max(0, whole.height - start)
    assert [first for first, _ in parts] == [
        start + sum(rows.height for _, rows in parts[:place]) for place in range(len(parts))
    ]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"words": []}, "at least one word"),
        ({"words": [" "]}, "blank"),
        ({"words": "x" * (MAX_WORD_LENGTH + 1)}, "of at most 200 characters"),
        ({"words": ["x"] * (MAX_WORDS + 1)}, "at most 20 words"),
        ({"words": "x", "limit": 0}, "limit"),
        ({"words": "x", "timeout": float("nan")}, "timeout"),
        ({"words": "x", "model": ["nobody"]}, "no game of nobody"),
        ({"words": "x", "game_type": ["chess"]}, "choose from chameleon"),
        ({"words": "x", "after": "1.x"}, "not the key of an interrupted"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    lake: Lake, asked: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        lake.search(**asked)


def test_the_command_prints_the_same_and_how_to_go_on(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["search", "100%", "--lake", str(lake.path), "--limit", "2"]
    assert main([*command, "--format", "json"]) == 0
    told = capsys.readouterr()
    found = lake.search(["100%"], limit=2)
    assert pl.read_json(told.out.encode())["message_index"].to_list() == (
        found.rows["message_index"].to_list()
    )
    searched, again, _ = told.err.splitlines()
    assert searched == (
        f"2 messages found in {found.n_searched} of {found.n_messages} messages; "
        "stopped by --limit 2"
    )
    assert again == f"to continue: run the command again with --after {found.key}"
    assert main(["search", *command[2:], "--after", str(found.key), "--", "100%"]) == 0
    assert "stopped by --limit 2\n" in capsys.readouterr().err
