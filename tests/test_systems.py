"""Several systems in one lake: what is counted of one never depends on another."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from rawlogs import chameleon, chatarena, encode

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.conversion import iter_converted_documents
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.lake.maintain import maintain
from pipeline.lake.row_stream import iter_table_batches_with_row_numbers
from pipeline.lake.stored_lake import LakeView
from pipeline.pages.content import PageContent
from pipeline.pages.templating import (
    compute_page_content,
    parse_page_parameters,
    render_page_fragment,
)
from pipeline.render import build_result_table
from pipeline.simulate import simulate
from pipeline.statistics.pairs import UNPAIRED

OTHER = "other-model"
SHARED_MODEL = "sim-atlas"
WHO = {"other/*": OTHER, "shared/*": SHARED_MODEL}


def of_chatarena(folder: Path) -> Path:
    """Three games of ChatArena by the other model, and three by one that is simulated too."""
    for first, name in enumerate(("other", "shared")):
        (folder / name).mkdir(parents=True)
        for number, ending in enumerate(("right", "wrong", "wrong"), start=3 * first):
            log = encode(chatarena(ending=ending)) + b" " * number
            (folder / name / f"{number}.json").write_bytes(log)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lakes of the same logs: `magic` and `chatarena` alone, `both`, and `maintained`."""
    top = tmp_path_factory.mktemp("systems")
    simulate(top / "logs", models=3, games=3, seed=5)
    ingest(top / "logs", top / "magic")
    shutil.copytree(top / "magic", top / "both")
    more = of_chatarena(top / "more")
    for name in ("both", "chatarena"):
        ingest(more, top / name, model=WHO)
    shutil.copytree(top / "both", top / "maintained")
    maintain(top / "maintained")
    return top


def opened(place: Path, name: str) -> Lake:
    return pipeline.open_lake(place / name)


def test_systems_are_counted_the_largest_first(place: Path) -> None:
    for name in ("both", "maintained"):
        lake = opened(place, name)
        counted = lake.table("games").group_by("system").len().collect()
        assert lake.systems == {"magic": 84 // 4 * 3, "chatarena": 6}
        assert dict(counted.iter_rows()) == lake.systems
        assert list(lake.systems) == ["magic", "chatarena"]
        assert [one.system for one in lake.split_by_system()] == ["magic", "chatarena"]


def test_a_lake_of_one_system_is_that_everywhere(place: Path) -> None:
    lake = opened(place, "maintained").for_system("chatarena")
    for one in (lake, pickle.loads(pickle.dumps(lake))):
        assert one.system == "chatarena"
        assert one.state == lake.state != opened(place, "maintained").state
        for table in ("games", "votes", "messages", "results"):
            assert set(one.table(table).collect()["system"]) == {"chatarena"}
            assert set(one.sql(f"FROM {table}")["system"]) == {"chatarena"}
    assert "chatarena" in repr(lake)
    with pytest.raises(UsageError, match="no game of the system `chat`: did you mean `chatarena`"):
        lake.for_system("chat")


PROVENANCE = ("source", "ingest_id", "n_bytes", "n_files", "assigned_model")
PAGES: dict[str, dict[str, str]] = {
    **{name: {} for name in ("leaderboard", "completeness", "missing", "audit", "games")},
    "documents": {"path": "."},
    "evidence": {"metric": "judgement"},
    "model": {"model": SHARED_MODEL},
    "search": {"words": "i"},
}
SOME = ("games", "results", "messages", "votes", "documents", "quarantine")
A_VOTE = "SELECT game_id FROM evidence.judgement"


def shown_games(lake: Lake) -> pl.DataFrame:
    ids = pipeline.open_lake(lake.path).table("games").select("game_id").sort("game_id").collect()
    return pl.concat(game.messages for game in lake.transcripts(ids["game_id"].to_list()))


def exported(lake: Lake) -> pl.DataFrame:
    """The results in a data set to publish."""
    with TemporaryDirectory() as folder:
        lake.export("dataset", Path(folder) / "set")
        return pl.read_parquet(Path(folder) / "set" / "data" / "results.parquet")


DOORS: dict[str, Callable[[Lake], pl.DataFrame]] = {
    **{f"table {name}": lambda lake, name=name: lake.table(name).collect() for name in SOME},
    **{f"sql {name}": lambda lake, name=name: lake.sql(f"FROM {name}") for name in SOME},
    **{
        f"page {name}": lambda lake, name=name: lake.page(name, **PAGES[name]).rows
        for name in PAGES
    },
    "tables": lambda lake: lake.tables().filter(~pl.col("table").is_in(["ingests", "roles"])),
    "games": lambda lake: lake.games(),
    "models": lambda lake: lake.models(),
    "usage": lambda lake: lake.usage(),
    "export": exported,
    "failed_results": lambda lake: lake.failed_results().collect(),
    "ratings": lambda lake: lake.ratings(),
    "transcripts": shown_games,
    "documents": lambda lake: lake.documents(),
    "document_counts": lambda lake: lake.document_counts(),
    "quarantine": lambda lake: lake.quarantine(raw=True),
    "search": lambda lake: lake.search("i", limit=1000).rows.sort("game_id", "message_index"),
    "audit": lambda lake: lake.audit(by="model"),
    "findings": lambda lake: lake.findings("outcomes"),
    "settings": lambda lake: lake.settings(),
    "judgement_by_chance": lambda lake: lake.judgement_by_chance(),
    "sql": lambda lake: lake.sql(f"{A_VOTE} ORDER BY ALL"),
    "leaderboard": lambda lake: lake.leaderboard(),
    "metrics": lambda lake: lake.metrics(by=["system", "model"]),
    "metrics by SQL": lambda lake: lake.metrics(engine="duckdb"),
    "compare": lambda lake: lake.compare(),
    "radar": lambda lake: lake.radar(),
    "compare_with": lambda lake: lake.compare_with("role=chameleon", metric="win_rate"),
    "contrast": lambda lake: lake.contrast(OTHER, "role", metric="win_rate"),
    "settings_apart": lambda lake: lake.settings_apart(OTHER, SHARED_MODEL, metric="win_rate"),
    "plan": lambda lake: lake.plan("win_rate", difference=0.1),
    "completeness": lambda lake: lake.completeness(),
    "missing": lambda lake: lake.missing(),
    "readability": lambda lake: lake.readability(),
    "evidence": lambda lake: lake.evidence("judgement"),
    "evidence_page": lambda lake: lake.evidence_page("judgement"),
    "evidence_sum": lambda lake: lake.evidence_sum("judgement"),
    "diff": lambda lake: lake.diff(pipeline.open_lake(lake.path)),
    "diff_games": lambda lake: lake.diff_games(pipeline.open_lake(lake.path)),
    "cite": lambda lake: pl.DataFrame({"n": [lake.cite().n_games, lake.cite().n_finished]}),
    "present": lambda lake: lake.present("games").rows,
}
# What gives no rows, and what is made of the doors above.


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Lake]:
    """ChatArena's games in files that also have MAgIC's, and the same in a lake without others.

    One game of MAgIC has a faulty part.
    """
    top = tmp_path_factory.mktemp("mixed")
    (top / "magic").mkdir()
    for number, flag in enumerate((0, 1, 2)):
        log = chameleon(model=SHARED_MODEL, flag=flag)
        if number == 0:
            del log["pgm_metric"]
        (top / "magic" / f"{number}.json").write_bytes(encode(log))
    more = of_chatarena(top / "more")
    ingest(top / "magic", top / "both")
    for name in ("both", "alone"):
        ingest(more, top / name, model=WHO)
        maintain(top / name)
    assert pipeline.open_lake(top / "both").table("quarantine").collect().height == 1
    return pipeline.open_lake(top / "both").for_system("chatarena"), pipeline.open_lake(
        top / "alone"
    )


NUMBERED = ("leaderboard", "metrics", "compare", "evidence", "diff", "completeness", "audit")


@pytest.mark.slow
def test_numbers_say_of_what_they_are(mixed: tuple[Lake, Lake]) -> None:
    """So that who keeps them in a file knows; also the pages, the catalogue and documents."""
    of_system, _ = mixed
    board = of_system.page("leaderboard").rows
    for rows in (*(DOORS[name](of_system) for name in NUMBERED), board):
        assert set(rows["system"]) <= {"chatarena"}
        assert "edition" not in rows.columns or set(rows["edition"]) <= {"paper"}
    values = of_system.sql("SELECT DISTINCT system, edition FROM audited.leaderboard")
    assert values.rows() == [("chatarena", "audited")]
    shown = of_system.present("leaderboard", edition="audited")
    assert "system" not in {one.name for one in shown.visible_fields}
    for text in (shown.markdown(), shown.latex(), shown.html()):
        assert text.count("edition audited") == text.count("edition audited, system chatarena") == 1


@pytest.mark.some(6)
@pytest.mark.parametrize("name", DOORS)
def test_no_door_shows_another_system(mixed: tuple[Lake, Lake], name: str) -> None:
    """Where rows of both are in the same files, a lake of one system is as if it were alone."""
    of_system, alone = mixed
    here, there = (
        DOORS[name](lake).drop(PROVENANCE, strict=False).sort(pl.all())
        for lake in (of_system, alone)
    )
    assert here.equals(there)


def test_by_system_gives_each_as_if_alone(place: Path) -> None:
    lake = opened(place, "both")
    found = lake.metrics(by=["system", "model"])
    for system in lake.systems:
        alone = opened(place, system).metrics(by=["model"])
        assert found.filter(system=system).select(alone.columns).equals(alone)
    assert found.columns[:4] == ["edition", "metric", "system", "model"]
    some = lake.metrics(by=["model", "system"], model=[OTHER], metric="win_rate")
    assert some.select("model", "system").rows() == [(OTHER, "chatarena")]
    with pytest.raises(UsageError, match="no game of nobody"):
        lake.metrics(by=["system"], model="nobody")
    whole = lake.metrics(by="system", metric="judgement")
    assert whole["system"].to_list() == ["chatarena", "magic"]


def test_a_model_of_another_system_is_named_with_it(place: Path) -> None:
    lake = opened(place, "both")
    with pytest.raises(UsageError, match="no game of other-model in magic, but in chatarena"):
        lake.metrics(model=[OTHER])
    with pytest.raises(UsageError, match="--system chatarena"):
        lake.completeness(model=[OTHER])


def test_lakes_are_compared_in_one_system(place: Path) -> None:
    moved = opened(place, "magic").diff(opened(place, "both"))
    assert (moved["difference"].drop_nulls() == 0).all()
    assert moved["n_new"].sum() == 0
    assert opened(place, "magic").diff_games(place / "both").is_empty()
    apart = (
        r"a diff compares lakes of one system: .*both has games of chatarena, but .*magic of magic"
    )
    with pytest.raises(UsageError, match=apart):
        opened(place, "both").for_system("chatarena").diff(opened(place, "magic"))
    both = opened(place, "both")
    of_chatarena = both.for_system("chatarena")
    assert set(both.diff(of_chatarena)["model"]) == {OTHER, SHARED_MODEL}
    with pytest.raises(UsageError, match=r"has games of magic, but .*both of chatarena"):
        both.for_system("magic").diff(of_chatarena)


def magic(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(one) for one in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


COMMANDS = {
    "leaderboard": (),
    "metrics": (),
    "compare": ("--all-pairs",),
    "completeness": (),
    "evidence": ("win_rate",),
    "cite": (),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_whose_games_they_count(
    place: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = ("--lake", place / "both")
    code, out, err = magic(capsys, command, *COMMANDS[command], *lake)
    assert code == 0
    assert "only the games of magic; use --system to count the games of chatarena (6)" in err
    assert OTHER not in out
    if command == "compare":
        return
    code, out, err = magic(capsys, command, *COMMANDS[command], *lake, "--system", "chatarena")
    assert (code, "alone" in err) == (0, False)
    assert (OTHER if command != "cite" else "6 games (6 finished) of the system chatarena") in out


@pytest.mark.slow
def test_a_metric_without_any_value_takes_no_column(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = ("--lake", place / "both", "--system", "chatarena")
    assert "alone" not in magic(capsys, "leaderboard", "--lake", place / "magic")[2]
    _, out, err = magic(capsys, "leaderboard", *lake)
    assert "Judgement" in out
    assert "Cooperation" not in out
    absent = "reasoning, self_awareness, cooperation, coordination, rationality"
    assert f"no model has a value of {absent}\n" in err
    page = opened(place, "both").page("leaderboard", system="chatarena")
    assert "cooperation" in page.rows.columns
    assert 'data-metric="judgement"' in page.html
    assert 'data-metric="cooperation"' not in page.html
    assert f"no model has a value of {absent}" in page.html


@pytest.mark.slow
def test_lists_of_games_say_whose_they_are(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They show all systems, unless one is asked for."""
    lake = ("--lake", place / "both")
    for command in (("search", "player"), ("audit", "outcomes")):
        _, out, err = magic(capsys, *command, *lake, "--format", "csv")
        assert "system" in out.splitlines()[0].split(",")
        assert "alone" not in err
    _, out, err = magic(capsys, "games", *lake, "--system", "chatarena", "--format", "csv")
    assert out.count("\n") == 7
    assert out.count(",chatarena\n") == 6
    assert "alone" not in err
    assert " system" in magic(capsys, "games", *lake)[1]


def test_findings_of_several_systems_name_each(place: Path) -> None:
    """Even where the first of them are of one: those that follow are shown as they are."""
    lake = opened(place, "both")
    rows = lake.findings("announced_winners")
    assert set(rows["system"]) <= {*lake.systems}
    first = rows.filter(system="magic")
    assert first.height
    shown = build_result_table("findings", first, lake=lake)
    assert shown.visible_fields[-1].name == "system"
    assert not shown.origin
    alone = build_result_table("findings", first, lake=lake.for_system("magic"))
    assert (alone.visible_fields[-1].name, alone.origin) == ("content", "system magic")


def test_pages_offer_the_systems(place: Path) -> None:
    lake = opened(place, "both")
    none = lake.page("leaderboard", system="chatarena", game_type="public_good")
    assert "No game of a tested model matches in chatarena" in none.html
    page = lake.page("leaderboard")
    assert "<b>magic</b> (63)" in page.html
    assert "chatarena (6)" in page.html
    assert OTHER in lake.page("leaderboard", system="chatarena").html
    assert "a page shows one system" not in opened(place, "magic").page("leaderboard").html
    with pytest.raises(UsageError, match="no game of the system"):
        lake.page("leaderboard", system="nothing")


def test_a_link_to_a_model_is_of_its_system(place: Path) -> None:
    """By default a model's page is of the largest system, which may not know the model."""
    lake = opened(place, "both")

    def of_models(name: str, **given: str) -> list[object]:
        systems: list[object] = []

        def link(page: str, at: str = "", **asked: object) -> str:
            if page == "model":
                systems.append(asked.get("system"))
            return "/"

        asked = parse_page_parameters(name, given)
        render_page_fragment(name, compute_page_content(name, lake, asked), asked, link)
        return systems

    game = lake.for_system("chatarena").games(limit=1)["game_id"].item()
    assert set(of_models("game", game=game)) == {"chatarena"}
    assert set(of_models("games", system="chatarena")) == {"chatarena"}
    for name, given in {"games": {}, "search": {"words": "the"}}.items():
        assert of_models(name, **given) == []


@pytest.mark.slow
def test_a_report_is_of_one_system(place: Path, tmp_path: Path) -> None:
    lake = opened(place, "both")
    for one, system in ((lake, "magic"), (lake.for_system("chatarena"), "chatarena")):
        text = one.report(tmp_path / f"{system}.html", games_per_cell=0).read_text()
        assert f"of the system {system}" in text
        assert (OTHER in text) is (system == "chatarena")


@pytest.fixture(scope="module")
def with_lab(place: Path) -> Lake:
    """The simulated games as `magic` has them, and once more as those of the system `lab`.

    There, Public Good is played by one player more.
    """
    lake = place / "lab"
    logs = [json.loads(one.line) for one in iter_converted_documents(place / "logs") if one.line]
    for log in logs:
        log["system"] = "lab"
        del log["log_sha256"]
        if log["game_type"] == "public_good":
            seat = {"player": "Player 9", "is_tested": False, "model": "other"}
            log["seats"].append({**log["seats"][-1], **seat})
    converted = place / "lab.jsonl"
    converted.write_text("\n".join(map(json.dumps, logs)))
    ingest([place / "logs", converted], lake)
    return pipeline.open_lake(lake)


def test_models_of_two_systems_are_compared_unpaired(with_lab: Lake) -> None:
    lake, chosen = with_lab, {"game_type": ["chameleon", "undercover"]}
    rows = lake.compare((f"{SHARED_MODEL}@magic", f"{SHARED_MODEL}@lab"), **chosen)
    assert rows["value"].equals(rows["other_value"], null_equal=True)
    assert rows["value"].equals(lake.compare((SHARED_MODEL, "sim-birch-pgm"), **chosen)["value"])
    assert set(rows["method"].drop_nulls()) == {UNPAIRED}
    assert rows["system"].null_count() == rows.height
    types = dict(rows.select("metric", "game_types").iter_rows())
    assert types["win_rate"] == ["chameleon", "undercover"]
    assert types["rationality"] == []
    said = "only game types that both systems play are counted: chameleon, undercover"
    assert said in build_result_table("compare", rows).text()
    # With the system or without it, models of one system are compared as ever.
    pair = (SHARED_MODEL, "sim-birch-pgm")
    of_lab = lake.for_system("lab").compare(pair, metric="win_rate")
    named = lake.compare((f"{pair[0]}@lab", f"{pair[1]}@lab"), metric="win_rate")
    assert named.equals(of_lab)
    assert "game_types" not in of_lab.columns
    with pytest.raises(UsageError, match=r"sim-atlas is named twice"):
        lake.for_system("magic").compare((SHARED_MODEL, f"{SHARED_MODEL}@magic"))


@pytest.mark.slow
def test_systems_with_other_rules_are_not_compared(with_lab: Lake) -> None:
    lake = with_lab
    pair = (f"{SHARED_MODEL}@magic", f"{SHARED_MODEL}@lab")
    with pytest.raises(UsageError, match=r"rules of public_good differ: in magic 3 .* in lab 4 "):
        lake.compare(pair)
    assert lake.compare(pair, game_type="chameleon").height
    # A condition chooses games that are played alike.
    assert lake.compare(pair, where="n_players < 4", metric="judgement")["value"].count() == 1
    with pytest.raises(UsageError, match="they play none of secret_hitler"):
        lake.compare(pair, game_type="secret_hitler")


def compared_page(lake: Lake, one: str, other: str, **given: str) -> PageContent:
    asked = parse_page_parameters("compare", {"model": one, "other": other} | given)
    return compute_page_content("compare", lake, asked)


@pytest.mark.slow
def test_the_page_compares_models_of_two_systems(with_lab: Lake) -> None:
    lake, named = with_lab, (f"{SHARED_MODEL}@magic", f"{SHARED_MODEL}@lab")
    shown = compared_page(lake, *named, game_type="chameleon", margin="0.2")
    rows = lake.compare(named, game_type="chameleon", margin=0.2)
    same = ["metric", "difference", "ci_low", "ci_high", "verdict"]
    there = rows.filter(pl.col("metric").is_in(shown.rows["metric"].implode()))
    assert shown.rows.select(same).equals(there.select(same), null_equal=True)
    assert "unpaired, because of two systems: a difference combines model and prompts" in (
        shown.notes
    )
    assert "only game types that both systems play are counted: chameleon" in shown.notes
    assert (shown.faults, shown.system, shown.apart.height) == ({}, "", 0)
    assert f"{SHARED_MODEL}@lab" in shown.choices["other"]  # as it was asked for


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("named", "given", "field", "said"),
    [
        (("@magic", "@lab"), {}, "other", "rules of public_good differ"),
        (("@magic", "x@lab"), {}, "other", "no game of sim-atlasx"),
        (("x@lab", "@magic"), {}, "model", "no game of sim-atlasx"),
        (("@lab", "@lab"), {}, "other", "is named twice"),
        (("", "@lab"), {}, "other", "is named twice"),
        (("@magic", "@lab"), {"where": "n_players < 4", "margin": "9"}, "margin", "margin must be"),
        (("@magic", "@lab"), {"game_type": "chameleon", "where": "x ="}, "where", "x ="),
    ],
)
def test_the_page_says_beside_the_field_why_systems_are_not_compared(
    with_lab: Lake, named: tuple[str, str], given: dict[str, str], field: str, said: str
) -> None:
    one, other = (f"{SHARED_MODEL}{ending}" for ending in named)
    faults = compared_page(with_lab, one, other, **given).faults
    assert list(faults) == [field]
    assert said in faults[field]


@pytest.mark.slow
def test_the_page_of_what_changed_says_that_a_system_is_new(place: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(place / "magic", tmp_path / "lake")
    ingest(of_chatarena(tmp_path / "more"), lake, model=WHO)
    asked = parse_page_parameters("diff", {"system": "chatarena"})
    shown = compute_page_content("diff", pipeline.open_lake(lake), asked)
    assert shown.faults == {"since": "after ingest 1 there was no game of chatarena"}
    assert (shown.rows.height, shown.notes) == (0, ())


MANY = 31  # messages of a game, by which the games of votes differ


@pytest.mark.some(2)
@pytest.mark.parametrize("table", ["games", "votes", "messages", "documents"])
def test_every_reader_selects_rows_by_a_column_that_only_games_have(
    sample_lake: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a view option on the time of a game would: no file's log tells which rows belong."""
    whole = pipeline.open_lake(sample_lake)
    ids = whole.table("games").filter(pl.col("n_messages") > MANY).collect()["game_id"]
    belongs = pl.col("game_id").is_in(ids.implode()) | pl.col("game_id").is_null()
    expected = whole.table(table).filter(belongs).collect()
    assert 0 < expected.height < whole.table(table).collect().height
    conditions = {"system": "system = 'magic'", "n_messages": f"n_messages > {MANY}"}
    monkeypatch.setattr(LakeView, "game_conditions", property(lambda _: conditions))
    lake = pipeline.open_lake(sample_lake)
    counts = lake.sql(f"SELECT count(*) FROM {table}").item(), lake.table(table).collect().height
    assert {*counts, sum(lake.row_counts_by_file(table).values())} == {expected.height}
    if table != "documents":  # which nobody streams
        for start in (0, expected.height // 2):
            batches = iter_table_batches_with_row_numbers(lake, table, ["game_id"], start)
            streamed = pl.concat([rows for _, rows in batches])
            assert streamed.equals(expected.select("game_id").slice(start))
