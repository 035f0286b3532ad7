"""Logs of Inspect: each sample that has a game document is a game, and the others are named."""

import json
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from inspect_logs import ROLES, chameleon, eval_log, json_log, sample
from lakes import nonzero, table
from test_archives import zipped

from pipeline import api
from pipeline.archives import Document, inspect_log, iter_documents
from pipeline.conversion import iter_validated_documents
from pipeline.events.readings import content_id
from pipeline.formats import find_splitter, ignored_reason, read_game
from pipeline.formats.inspect import ANSWERED_BY_REQUESTED
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.metrics import metrics

FILES: dict[str, Callable[..., bytes]] = {"x.eval": eval_log, "x.json": json_log}
EVERY_FILE = pytest.mark.parametrize("file", FILES)
PAGE = Path(__file__).parents[2] / "docs" / "inspect.md"


def written(folder: Path, file: str, samples: list[dict[str, Any]], **options: Any) -> Path:
    (folder / file).write_bytes(FILES[f"x{Path(file).suffix}"](samples, **options))
    return folder / file


def cut(path: Path, **options: Any) -> list[Document]:
    return list(iter_documents(path, choose=find_splitter, **options))


def games_in(path: Path) -> list[GameRecord]:
    found = [read_game(document.data or b"", None, document.path) for document in cut(path)]
    return [game for game in found if game is not None]


def fault_of(path: Path) -> Any:
    (document,) = cut(path)
    with pytest.raises(InvalidDocumentError) as error:
        read_game(document.data or b"", None, document.path)
    return error.value.fault


def test_every_sample_with_a_document_is_a_game(tmp_path: Path) -> None:
    """Games, votes and models as a plain loop over what was written has them."""
    wanted = [chameleon(number) for number in range(3)]
    path = written(tmp_path, "x.eval", [sample(n, game) for n, game in enumerate(wanted)])
    ingest(path, tmp_path / "lake", jobs=1)
    lake = open_lake(tmp_path / "lake")
    games = lake.table("games").sort("started_at").collect()
    assert games["word"].to_list() == [game["setting"]["code"] for game in wanted]
    assert games["started_at"].dt.second().to_list() == [10, 11, 12]
    models = dict(lake.table("players").select("player", "model").unique().collect().iter_rows())
    assert models == ROLES | {"green": "mockllm/model"}
    votes = lake.table("votes").join(lake.table("games"), on="game_id").collect()
    assert sorted(votes.select("word", "player", "target").iter_rows()) == sorted(
        (game["setting"]["code"], event["actor"], act["target"])
        for game in wanted
        for event in game["events"]
        for act in event.get("acts", [])
    )
    assert set(lake.table("documents").collect()["format"]) == {"inspect"}


def test_both_forms_of_a_log_have_the_same_games(tmp_path: Path) -> None:
    samples = [sample(0, chameleon(0)), sample(1), sample(2, chameleon(2), place="metadata")]
    contents = [
        [content_id(game) for game in games_in(written(tmp_path, file, samples, **options))]
        for file, options in (
            ("x.json", {}),
            ("x.json", {"indent": None}),
            ("x.eval", {}),
            ("x.eval", {"is_zstd": False}),
            ("x.eval", {"is_running": True}),
        )
    ]
    assert len(contents[0]) == 2
    assert contents == [contents[0]] * 5
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + json_log(samples))
    assert [content_id(game) for game in games_in(marked)] == contents[0]


def test_a_header_of_another_type_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "x.json", [sample(0, chameleon(0))], eval={"model_roles": {"a": "m"}})
    (document,) = cut(path)
    assert "Expected `object | array`, got `str` - at `$.eval.model_roles" in str(document.reason)


def test_a_role_with_several_models_names_no_player_s_model(tmp_path: Path) -> None:
    """The log is read, and a player of this name has no model."""
    roles = {"red": [{"model": "m/a"}, {"model": "m/b"}], "blue": {"model": "m/c"}}
    named = {"model": "m/d", "model_roles": roles}
    (game,) = games_in(written(tmp_path, "x.json", [sample(0, chameleon(0))], eval=named))
    assert [seat.model for seat in game.seats] == [None, "m/c", "m/d"]


@pytest.mark.parametrize(
    "samples", [None, [], [sample(0), sample(1, {"wand": 1})]], ids=["none", "empty", "others"]
)
def test_a_log_without_documents_is_named(samples: list[Any] | None, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(json_log(samples))
    named = "an Inspect log of task chameleon, samples without a game document: see docs/inspect.md"
    documents = cut(tmp_path / "x.json")
    assert len(documents) == len(samples or [None])
    for document in documents:
        assert read_game(document.data or b"", None, document.path) is None
        assert ignored_reason(document.data or b"", document.path) == f"not read: {named}"
    assert PAGE.exists()


@pytest.mark.parametrize("is_sorted", [True, False])
def test_the_header_comes_before_the_samples(is_sorted: bool, tmp_path: Path) -> None:
    """As `jq -S` sorts it, it still does."""
    plain = sample(0, chameleon(0), messages=[], metadata={}, scores={})
    log = json.loads(json_log([plain], results={}))
    del log["reductions"]
    (tmp_path / "x.json").write_text(json.dumps(dict(sorted(log.items(), reverse=not is_sorted))))
    (document,) = cut(tmp_path / "x.json")
    game = read_game(document.data or b"", None, document.path)
    if is_sorted:
        assert game is not None
    else:
        assert game is None
        named = "an Inspect log of task chameleon, its header not before its samples: see docs"
        assert named in ignored_reason(document.data or b"", document.path)


@pytest.mark.some(1)
@EVERY_FILE
def test_a_sample_that_a_retry_copied_is_one_game(file: str, tmp_path: Path) -> None:
    """Inspect puts the samples that went well before into the new log, as they are.

    A log that was broken off lacks some between them, and another program can sort them.
    """
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    first = [sample(0), sample(1, chameleon(1)), sample(4, chameleon(4))]
    retried = [first[2], sample(3, chameleon(3)), sample(0, chameleon(0)), first[1]]
    for name, samples in (("a", first), ("b", retried)):
        (logs / name).mkdir(parents=True)
        written(logs / name, file, samples)
    assert nonzero(ingest(logs, lake, jobs=1)) == {"ingested": 4, "duplicate": 2, "ignored": 1}
    assert nonzero(ingest(logs, lake, jobs=1)) == {"unchanged": 6, "ignored": 1}
    assert table(lake, "games").height == 4


@pytest.mark.slow
def test_a_sample_in_logs_with_other_scores_is_one_game(tmp_path: Path) -> None:
    """As `inspect score` writes them; the same number in another run has an id of its own.

    An invalidation is no score: of the sample that was invalidated the game is read anew.
    """
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    samples = [sample(n, chameleon(n)) for n in range(3)]
    for name, changes in (
        ("x.eval", {}),
        ("x-scored.eval", {"scores": {"odd": {"value": 1}}}),
        ("y.eval", {"uuid": "of another run"}),
    ):
        logs.mkdir(exist_ok=True)
        written(logs, name, [one | changes for one in samples[: 1 if name == "y.eval" else 3]])
    assert nonzero(ingest(logs, lake, jobs=1)) == {"ingested": 4, "duplicate": 3}
    assert nonzero(ingest(logs, lake, jobs=1)) == {"unchanged": 7}
    for changes in ({}, {"invalidation": {}}):
        log = written(tmp_path, "z.eval", [samples[0] | changes])
        ingest(log, tmp_path / "z", jobs=1)
    assert table(tmp_path / "z", "games")["ended_by"].to_list() == ["invalidated"]


def test_a_model_that_answered_for_another_is_named(tmp_path: Path) -> None:
    """The game counts for the model that was requested; SQL selects it, though it has more faults
    than the quarantine keeps. Odd names are listed too."""
    names = ("model", "fallback_model", "count")
    odd = [("a\nx", "c answered 3 calls of d", 1), ("a", "b", 2**70), ("a", "b" * 5_000, 1)]
    fallbacks: list[Any] = [
        [{"model": "a", "fallback_model": "b", "count": 2, "metadata": {"x": [1]}}],
        [],
        None,
        [dict(zip(names, one, strict=True)) for one in odd],
    ]
    for number, listed in enumerate(fallbacks):
        game = chameleon(number)
        if number == 0:
            game["events"] += [{"actor": f"Gus {n}", "text": "Who?"} for n in range(30)]
        written(tmp_path, f"{number}.eval", [sample(number, game, model_fallbacks=listed)])
    ingest(tmp_path, tmp_path / "lake", jobs=1)
    faults = table(tmp_path / "lake", "quarantine").filter(json_path="$.sample.model_fallbacks")
    assert "b answered 2 calls of a" in faults["message"].to_list()
    assert set(faults["rule"]) == {ANSWERED_BY_REQUESTED}
    lake = api.open_lake(tmp_path / "lake")
    rows = lake.sql("SELECT path[1], model, fallback_model, n_calls FROM fallback_models").rows()
    assert sorted(rows, key=repr) == [
        ("0", "a", "b", 2),
        ("3", "a", "b", None),
        ("3", "a\nx", "c answered 3 calls of d", 1),
        ("3", None, None, None),
    ]
    with_fallback = "SELECT count(*), count(fallback_model) FROM games LEFT JOIN fallback_models"
    assert lake.sql(f"{with_fallback} USING (game_id)").rows() == [(6, 3)]


def test_both_forms_name_a_sample_alike(tmp_path: Path) -> None:
    """By id and epoch, also one over the limit; without an id it keeps its number."""
    ids = [7, "7 ", "a/b", 'é "x" \n', "x" * 5000, -1]
    samples = [sample(0, chameleon(0), id=one, epoch=2) for one in ids]
    samples.append(sample(8, chameleon(8), input="x" * 50_000))
    found = [
        cut(written(tmp_path, file, samples, **options), max_document=20_000)
        for file, options in (("x.eval", {}), ("x.json", {}), ("x.json", {"indent": None}))
    ]
    paths = [[document.path for document in one] for one in found]
    assert paths[0] == paths[1] == paths[2]
    assert paths[0][2] == "samples/a/b_epoch_2.json"
    assert [document.is_broken for document in found[1]] == [False] * 6 + [True]
    samples = [{"epoch": 1, "id": 5}, *[sample(5)] * 2, sample(5, id=None)]
    names = ["samples/5_epoch_1.json", "samples/5_epoch_1.json (2)"]
    assert [document.path for document in cut(written(tmp_path, "x.json", samples))] == [
        "x.json#1",
        *names,
        "x.json#4",
    ]


# What a sample says of a game


def test_a_document_names_its_own_models_first(tmp_path: Path) -> None:
    game = chameleon(0)
    game["seats"][0]["model"] = "human-like"
    game["seats"][2] |= {"is_bot": True}
    (read_game,) = games_in(written(tmp_path, "x.eval", [sample(0, game)]))
    assert [seat.model for seat in read_game.seats] == ["human-like", ROLES["blue"], None]


def test_without_a_model_there_is_none(tmp_path: Path) -> None:
    log = json.loads(json_log([sample(0, chameleon(0))]))
    log["eval"] |= {"model": "none/none", "model_roles": None}
    (tmp_path / "x.json").write_text(json.dumps(log))
    (game,) = games_in(tmp_path / "x.json")
    assert {seat.model for seat in game.seats} == {None}


@pytest.mark.parametrize(
    ("parts", "ended_by"),
    [
        ({}, None),
        ({"limit": {"type": "message", "limit": 10}}, "message limit"),
        ({"error": {"message": "boom", "traceback": "…"}}, "error: boom"),
    ],
)
def test_what_stopped_a_sample_ended_its_game(
    parts: dict[str, Any], ended_by: str | None, tmp_path: Path
) -> None:
    game = chameleon(0) | {"is_finished": False, "end": None}
    (found,) = games_in(written(tmp_path, "x.eval", [sample(0, game, **parts)]))
    assert (found.is_finished, found.ended_by) == (False, ended_by)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("given", "failures"), [({"reason": "tool bug"}, "exclude"), ({"reason": None}, "loss")]
)
def test_a_sample_that_was_invalidated_does_not_count(
    given: dict[str, Any], failures: str, tmp_path: Path
) -> None:
    """Whatever its document says; its retry counts once."""
    game = chameleon(0)
    game["seats"][0] |= {"failure": "time-out"}
    parts = {"error": {"message": "boom"}, "invalidation": {"author": "me", **given}}
    first = [sample(0, game, **parts), sample(1, chameleon(1))]
    written(tmp_path, "a.eval", first)
    written(tmp_path, "b.eval", [sample(0, chameleon(0), uuid="v"), first[1]])
    ingest(tmp_path, tmp_path / "lake", jobs=1)
    lake = open_lake(tmp_path / "lake").with_failures(failures)
    games = lake.table("games").collect().filter(~pl.col("is_finished"))
    why = "invalidated: tool bug" if given.get("reason") else "invalidated"
    assert games.select("outcome", "ended_by").rows() == [(None, why)]
    rates = metrics(lake, metric=["win_rate"], by=["model"], confidence=None)
    of_red = rates.filter(model=ROLES["red"])
    assert of_red.select("hits", "counted").rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("document", "kind"), [([chameleon(0)], "list"), (json.dumps(chameleon(0)), "text")]
)
def test_a_document_of_another_type_is_a_fault(document: Any, kind: str, tmp_path: Path) -> None:
    fault = fault_of(written(tmp_path, "x.json", [sample(0, document)]))
    assert fault.json_path == "$.sample.store.magic"
    assert fault.message == f"`magic` is an object, not a {kind}"


@pytest.mark.parametrize(
    ("bend", "path", "rule"),
    [
        (lambda game: game.pop("system"), "", "every field has its type"),
        (lambda game: game["seats"][1].update(role="fox"), ".seats[1].role", "a role of chameleon"),
        (lambda game: game["end"].update(outcome="won"), ".end.outcome", "an outcome of chameleon"),
        (
            lambda game: game["seats"][0].update(score=float("nan")),
            ".seats[0].score",
            "every field",
        ),
    ],
    ids=["a key", "a role", "an outcome", "no number"],
)
@pytest.mark.parametrize(("file", "place"), [("x.eval", "store"), ("x.json", "metadata")])
def test_a_fault_is_placed_in_the_sample(
    bend: Callable[[Any], object], path: str, rule: str, tmp_path: Path, *, file: str, place: str
) -> None:
    game = deepcopy(chameleon(0))
    bend(game)
    fault = fault_of(written(tmp_path, file, [sample(0, game, place)]))
    assert fault.json_path == f"$.sample.{place}.magic{path}"
    assert fault.rule.startswith(rule)


def test_all_fields_of_another_type_are_placed_in_the_sample(tmp_path: Path) -> None:
    game = deepcopy(chameleon(0))
    game["seats"][1]["score"], game["setting"]["topic"] = "3", 7
    game["events"].append({"acts": [{"act": "vote"}]})
    ((_, faults, *_),) = iter_validated_documents(written(tmp_path, "x.json", [sample(0, game)]))
    assert [fault.json_path.removeprefix("$.sample.store.magic") for fault in faults] == [
        ".seats[1].score",
        f".events[{len(game['events']) - 1}].acts[0].act",
        ".setting.topic",
    ]


def test_a_part_that_is_lost_is_placed_too(tmp_path: Path) -> None:
    game = chameleon(0)
    game["events"].append({"actor": "Gus", "text": "Who?"})
    (found,) = games_in(written(tmp_path, "x.eval", [sample(0, game)]))
    assert [fault.json_path for fault in found.faults] == ["$.sample.store.magic.events[6]"]


@EVERY_FILE
def test_documents_in_samples_are_validated(file: str, tmp_path: Path) -> None:
    broken = chameleon(1) | {"game_type": "fox"}
    path = written(tmp_path, file, [sample(0, chameleon(0)), sample(1, broken), sample(2)])
    checked = list(iter_validated_documents(path))
    assert [[fault.json_path for fault in one.faults] for one in checked] == [
        [],
        ["$.sample.store.magic.game_type"],
        ["$"],
    ]


# Damaged and large logs


def test_a_damaged_sample_leaves_the_others(tmp_path: Path) -> None:
    data = eval_log([sample(n, chameleon(n)) for n in range(3)], is_zstd=False)
    place = data.index(b"samples/1_epoch_1.json") + 60
    (tmp_path / "x.eval").write_bytes(data[:place] + bytes(8) + data[place + 8 :])
    found = cut(tmp_path / "x.eval")
    assert [document.is_broken for document in found] == [False, True, False]
    assert found[1].path == "samples/1_epoch_1.json"


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"samples/0_epoch_1.json": b"{}"}, "it has no header"),
        ({"header.json": b'{"eval": {', "samples/0_epoch_1.json": b"{}"}, "the header of the log"),
    ],
)
def test_a_log_without_a_header_is_broken(
    members: dict[str, bytes], why: str, tmp_path: Path
) -> None:
    (tmp_path / "x.eval").write_bytes(zipped(members))
    (document,) = cut(tmp_path / "x.eval")
    assert document.is_broken
    assert (document.reason or "").startswith(why)


def test_a_file_of_another_program_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "x.eval").write_text("map 0.5\n")
    assert [one.reason for one in cut(tmp_path / "x.eval")] == ["not a log: the name ends in .eval"]
    assert not any(one.is_broken for one in cut(tmp_path / "x.eval"))


def test_json_cut_anywhere_keeps_the_samples_before(tmp_path: Path) -> None:
    data = json_log([sample(n, chameleon(n)) for n in range(3)])
    ends = [data.index(b"\n    }", data.index(b'"uuid": "u%d"' % n)) + 6 for n in range(3)]
    for size in (*range(1, len(data) - 1, 331), *ends):
        (tmp_path / "x.json").write_bytes(data[:size])
        *found, last = cut(tmp_path / "x.json")
        wanted = [number for number, end in enumerate(ends) if end <= size]
        numbers = [json.loads(document.data or b"{}")["sample"]["id"] for document in found]
        assert numbers == wanted
        try:
            assert last.is_broken or read_game(last.data or b"", None, last.path) is None
        except InvalidDocumentError:
            assert size < 100  # too little to see whose it is


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_json_is_cut_alike_however_it_comes(size: int) -> None:
    """In pieces that end within texts, escapes and the key of the samples."""
    data = json_log([sample(n, chameleon(n)) for n in range(3)])
    whole = list(inspect_log.iter_samples_of_json_log(iter([data]), len(data)))
    pieces = (data[start : start + size] for start in range(0, len(data), size))
    assert [part.key for part in whole] == [f"samples/{n}_epoch_1.json" for n in range(3)]
    assert list(inspect_log.iter_samples_of_json_log(pieces, len(data))) == whole


@EVERY_FILE
def test_a_sample_over_the_limit_is_passed_over(file: str, tmp_path: Path) -> None:
    """Its log may be larger than the limit."""
    large = sample(1, chameleon(1), input="x" * 20_000)
    samples = [sample(0, chameleon(0)), large, *(sample(n, chameleon(n)) for n in range(2, 6))]
    path = written(tmp_path, file, samples)
    found = cut(path, max_document=15_000)
    assert [document.is_broken for document in found] == [False, True, False, False, False, False]
    assert "larger than" in (found[1].reason or "")


@pytest.mark.slow
@EVERY_FILE
def test_one_sample_at_a_time_is_in_memory(file: str, tmp_path: Path) -> None:
    """Of a log of 20 MB; what is larger than a document may be is read as it comes."""
    pad = "x y " * 25_000
    samples = [sample(n, chameleon(n), messages=[], scores={}, input=pad) for n in range(200)]
    path = written(tmp_path, file, samples)
    tracemalloc.start()
    n_samples = sum(
        document.data is not None
        for document in iter_documents(path, choose=find_splitter, max_document=1 << 20)
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_samples == 200
    assert peak < 4 << 20


# The page


def blocks(kind: str) -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_pages_mapping_makes_games_of_a_log_without_documents(tmp_path: Path) -> None:
    """Of a log as `inspect log dump` prints it, in which only the store says what happened."""
    played = [chameleon(number) for number in range(5)]
    samples = [
        sample(n, store={"word": game["setting"]["code"], "chameleon": "blue"})
        | {
            "messages": [
                {
                    "role": "assistant",
                    "content": event["text"],
                    "metadata": {"player": event["actor"]},
                }
                for event in game["events"]
            ],
            "scores": {
                "caught": {"value": "I" if game["end"]["outcome"] == "voted_wrong" else "C"}
            },
        }
        for n, game in enumerate(played)
    ]
    (tmp_path / "dumped.json").write_bytes(json_log(samples))
    mapping = blocks("python")[1]
    assert len(mapping.splitlines()) <= 30
    (tmp_path / "from_inspect.py").write_text(mapping, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "from_inspect.py"), str(tmp_path / "dumped.json")]
    done = subprocess.run(command, capture_output=True, check=True)
    (tmp_path / "games.jsonl").write_bytes(done.stdout)
    assert [one.faults for one in iter_validated_documents(tmp_path / "games.jsonl")] == [()] * 5
    ingest(tmp_path / "games.jsonl", tmp_path / "lake", jobs=1)
    lake = open_lake(tmp_path / "lake")
    votes = lake.table("votes").select("player", "target").collect()
    assert Counter(votes.iter_rows()) == {
        ("red", "blue"): 5,
        ("blue", "red"): 5,
        ("green", "blue"): 2,
        ("green", "red"): 3,
    }
    models = set(lake.table("players").select("player", "model").collect().iter_rows())
    assert models == {*ROLES.items(), ("green", "mockllm/model")}
    outcomes = Counter(lake.table("games").collect()["outcome"])
    assert outcomes == {"voted_wrong": 3, "guessed_wrong": 2}


def test_what_the_page_has_a_task_leave_is_a_game(tmp_path: Path) -> None:
    """The lines for authors, with a store that is a dictionary."""
    kept: dict[str, Any] = {}
    texts = [("red", "It grows on trees."), ("blue", "It is sweet.")]
    names = {
        "store": lambda: SimpleNamespace(set=kept.__setitem__),
        "texts": texts,
        "votes": {"red": "blue", "blue": "red"},
    }
    exec(blocks("python")[0], names)
    (game,) = games_in(written(tmp_path, "x.eval", [sample(0, store=kept)]))
    assert [seat.model for seat in game.seats] == [ROLES["red"], ROLES["blue"]]
    assert [(vote.seat, vote.target) for vote in game.votes] == [(1, "blue"), (2, "red")]
    assert game.faults == []
