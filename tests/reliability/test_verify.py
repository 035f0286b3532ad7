"""`magic verify` says nothing of a whole lake, and finds each kind of planted damage."""

import io
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from damage import (
    a_file,
    cut,
    log_of,
    lose,
    lose_table,
    make_lake,
    replace_file,
    rewrite,
    rewrite_ingests,
    tear_log,
)
from mutations import MODEL, mutants, shapes
from rawlogs import encode

from pipeline import verify as checks
from pipeline.cli import main
from pipeline.cli.exit_codes import CHECK_FAILED, CONTRADICTED, FAILED
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import open_lake, open_or_create_lake
from pipeline.lake.maintain import maintain
from pipeline.simulate import simulate
from pipeline.verify import UNSEEN, UNSEEN_FINDS as FINDS, verify


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake to be copied and not to be written."""
    return make_lake(tmp_path_factory.mktemp("verify"))


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "lake")
    return tmp_path / "lake"


def found_by(check: str, lake: Path, table: str) -> bool:
    """Whether one check finds something: it alone is made, which is quick."""
    opened = open_lake(lake)
    if check in checks.FILES_FIND:
        return check in checks.check_files_of_table(opened, table, 5).counts
    chosen = [one for one in checks.all_checks() if one.name == check]
    assert chosen
    return bool(checks.run_checks(opened, chosen, 5, lambda _: None))


def found(lake: Path) -> set[tuple[str, str | None]]:
    """The checks that found something, and in which table."""
    return set(verify(lake).faults.select("check", "table").iter_rows())


# What holds of a whole lake


def test_a_whole_lake(whole: Path) -> None:
    verified = verify(whole)
    assert verified.faults.is_empty(), verified.faults
    assert verified.is_whole
    lake = open_lake(whole)
    n_with_rows = sum(lake.table(table).limit(1).collect().height for table in TABLES)
    assert verified.n_files >= n_with_rows > 0


def test_a_lake_without_an_ingest(tmp_path: Path) -> None:
    open_or_create_lake(tmp_path / "lake")
    verified = verify(tmp_path / "lake")
    assert (verified.is_whole, verified.n_files, verified.n_rows) == (True, 0, 0)


@pytest.mark.slow
def test_a_lake_after_its_upkeep(lake: Path) -> None:
    maintain(lake, keep_days=0, older_than_hours=0)
    assert found(lake) == set()


@pytest.mark.slow
def test_the_parts_of_a_lake_are_the_whole(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made for some games and places at a time, the checks find the same, and as much of it."""
    rewrite(lake, "votes", lambda rows: rows.with_columns(~pl.col("is_correct")))
    rewrite(lake, "documents", lambda rows: rows.filter(pl.col("path") != "faulty.json"))
    rewrite(lake, "messages", lambda rows: pl.concat([rows, rows.head(3)]))
    at_once = verify(lake, limit=1000).faults
    monkeypatch.setattr(checks, "SLICE_ROWS", 40)
    in_parts = verify(lake, limit=1000).faults
    assert {"votes_targets", "documents_of_games", "keys"} <= set(in_parts["check"])
    assert in_parts.sort("check", "row").equals(at_once.sort("check", "row"))


@pytest.mark.slow
def test_a_list_is_cut_and_its_length_is_told(lake: Path) -> None:
    rewrite(lake, "votes", lambda rows: rows.with_columns(~pl.col("is_correct")))
    cut = verify(lake, limit=2).faults.filter(check="votes_targets")
    assert cut.height == 2
    assert set(cut["n_rows"]) == {open_lake(lake).table("votes").collect().height}


# Planted damage: a table's rows changed, and what finds it.


def of(column: str, value: object, new: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Puts a new value into the first row that has a value."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.with_row_index("n")
        hit = rows.filter(pl.col(column).eq_missing(pl.lit(value)))["n"][0]
        dtype = rows.schema[column]
        there = pl.when(pl.col("n") == hit).then(pl.lit(new, dtype)).otherwise(column)
        return rows.with_columns(there.alias(column)).drop("n")

    return change


def first(column: str, new: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Puts a value, or what an expression gives, into the first row."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        value = new if isinstance(new, pl.Expr) else pl.lit(new, rows.schema[column])
        is_first = pl.int_range(pl.len()) == 0
        return rows.with_columns(pl.when(is_first).then(value).otherwise(column).alias(column))

    return change


def first_seated(player: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Gives the first row that has a seat another player."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        seated = pl.int_range(pl.len()) == pl.col("seat").is_not_null().arg_max()
        return rows.with_columns(player=pl.when(seated).then(pl.lit(player)).otherwise("player"))

    return change


def twice_the_same_archive(rows: pl.DataFrame) -> pl.DataFrame:
    row = {"ingest_id": 1, "source": "s", "prefix": "a.tar", "n_bytes": 1, "sha256": "0" * 64}
    return pl.concat([rows, pl.DataFrame([row, row], rows.schema)])


def doubled(rows: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([rows, rows.head(1)])


def less(rows: pl.DataFrame) -> pl.DataFrame:
    return rows[1:]


DAMAGE: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a message before the first": ("messages", first("message_index", -1), "contract"),
    "a word that is none": ("decisions", first("choice", "betray"), "contract"),
    "a number out of range": ("results", first("win_credit", 1.5), "contract"),
    "an id that is none": ("votes", first("setting_id", "x"), "contract"),
    "a game twice": ("games", doubled, "keys"),
    "a vote twice": ("votes", doubled, "keys"),
    "a large archive twice": ("archives", twice_the_same_archive, "keys"),
    "a result twice": ("results", doubled, "results_of_games"),
    "a document twice": ("documents", doubled, "keys_of_documents"),
    "a game gone": ("games", less, "games_of_rows"),
    "a game gone, its document told": ("games", less, "games_of_documents"),
    "a game gone, the ingests told": ("games", less, "ingests_games"),
    "a player gone": ("players", less, "seats"),
    "a player gone that acted": ("players", less, "players_of_rows"),
    "a message gone": ("messages", less, "messages_of_games"),
    "a message gone that was read": (
        "messages",
        lambda rows: rows.filter(pl.col("phase") != "vote"),
        "messages_of_rows",
    ),
    "a result gone": ("results", less, "results_of_games"),
    "a document gone": (
        "documents",
        lambda rows: rows.filter(pl.col("path") != "faulty.json"),
        "documents_of_games",
    ),
    "a document gone that was counted": ("documents", less, "ingests_documents"),
    "a refusal gone": (
        "quarantine",
        lambda rows: rows.filter(pl.col("path") != "torn.json"),
        "documents_in_quarantine",
    ),
    "a part of no game": (
        "quarantine",
        lambda rows: rows.with_columns(
            game_id=pl.when(pl.col("game_id").is_not_null()).then(pl.lit("0" * 32))
        ),
        "games_in_quarantine",
    ),
    "a vote for no seat": ("votes", first("target_seat", 9), "votes_targets"),
    "a vote by no seat": ("votes", first("seat", 9), "players_of_rows"),
    "a vote not judged": ("votes", first("is_correct", None), "votes_targets"),
    "a vote of unknown validity": ("votes", first("is_valid", None), "votes_targets"),
    "a vote judged wrongly": ("votes", first("is_correct", ~pl.col("is_correct")), "votes_targets"),
    "a vote by another model": ("votes", first("model", "somebody"), "players_of_rows"),
    "a result of another player": ("results", first_seated("nobody"), "players_of_rows"),
    "a game of another type": ("messages", first("game_type", "undercover"), "games_of_rows"),
    "another outcome": ("games", of("outcome", "caught", "voted_wrong"), "audit.outcomes"),
    "another outcome than the winner's": (
        "games",
        of("outcome", "caught", "tie"),
        "audit.outcomes",
    ),
    "no outcome": ("games", of("outcome", "caught", None), "outcomes"),
    "another winner": ("results", of("is_win", True, False), "audit.outcomes"),
    "another winner of points": (
        "results",
        lambda rows: rows.with_columns(
            is_win=pl.col("is_win") ^ (pl.col("game_type") == "prisoners_dilemma")
        ),
        "audit.outcomes",
    ),
    "another guess": ("guesses", first("is_correct", ~pl.col("is_correct")), "audit.outcomes"),
    "another role": ("players", of("role", "chameleon", "non_chameleon"), "competitions"),
    "another choice": ("decisions", of("choice", "cooperate", "defect"), "audit.scores"),
    "another payoff": ("decisions", first("payoff", 77.0), "audit.scores"),
    "another score": ("players", of("game_type", "prisoners_dilemma", "chameleon"), "competitions"),
    "another score of a dilemma": (
        "players",
        lambda rows: rows.with_columns(
            final_score=pl.when(game_type="prisoners_dilemma")
            .then(pl.col("final_score") + 1)
            .otherwise("final_score")
        ),
        "audit.scores",
    ),
    "another score of a good": (
        "players",
        lambda rows: rows.with_columns(
            final_score=pl.when(game_type="public_good", seat=1)
            .then(pl.col("final_score") + 1)
            .otherwise("final_score")
        ),
        "audit.scores",
    ),
    "all scores of one good": (
        "players",
        lambda rows: rows.with_columns(
            final_score=pl.when(
                game_id=rows.filter(game_type="public_good")["game_id"][0]
            )
            .then(pl.col("final_score") + 1)
            .otherwise("final_score")
        ),
        "audit.scores",
    ),
    "another setting": (
        "games",
        lambda rows: rows.with_columns(
            setting_id=pl.lit("0" * 32), setting=pl.format('{{"n":{}}}', pl.int_range(pl.len()))
        ),
        "settings",
    ),
    "another rank": ("players", of("score_rank", 1, 2), "score_ranks"),
    "another amount": ("contributions", first("amount", 3.25), "contributions_rounds"),
    "another amount than was scored": (
        "contributions",
        first("amount", 3.25),
        "audit.scores",
    ),
    "another least": (
        "contributions",
        first("is_least", ~pl.col("is_least")),
        "contributions_rounds",
    ),
    "another author": (
        "results",
        lambda rows: rows.with_columns(~pl.col("proposed_agreement")),
        "agreements",
    ),
    "another last proposal": ("proposals", first("is_last", ~pl.col("is_last")), "proposals_order"),
    "a vote for no proposal": (
        "proposal_votes",
        first("candidate_seat", 9),
        "proposal_votes_candidates",
    ),
}  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("what", DAMAGE)
def test_damage_to_rows_is_found(lake: Path, what: str) -> None:
    table, change, check = DAMAGE[what]
    rewrite(lake, table, change)
    assert found_by(check, lake, table)


def lost_number(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(ingest_id=pl.col("ingest_id") + 1)


def another_count(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(n_duplicate=pl.col("n_duplicate") + 1)


@pytest.mark.parametrize(
    ("change", "check"), [(lost_number, "keys_of_ingests"), (another_count, "ingests_documents")]
)
def test_damage_to_the_journal_is_found(
    lake: Path, change: Callable[[pl.DataFrame], pl.DataFrame], check: str
) -> None:
    rewrite_ingests(lake, change)
    assert found_by(check, lake, "ingests")


def ended_early(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(finished_at=pl.col("started_at") - pl.duration(seconds=1))


@pytest.mark.slow
def test_a_clock_that_was_set_back_is_no_damage(
    lake: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """As lakes of earlier versions have it: a warning, with which the command ends well."""
    rewrite_ingests(lake, ended_early)
    assert main(["verify", "--lake", str(lake), "--format", "json"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert {(row["check"], row["severity"]) for row in found} == {("times_of_ingests", "warning")}


# Damage to files


def flipped(lake: Path) -> None:
    """One bit of one page of data."""
    file = a_file(lake, "votes")
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)


def flipped_in_footer(lake: Path) -> None:
    """One bit of a statistic by which readers skip rows: no library complains of it."""
    file = a_file(lake, "votes")
    data = bytearray(file.read_bytes())
    at = data.rindex(b"talker")  # the greatest name of a model
    assert at > len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[at] ^= 1
    file.write_bytes(data)


def badly_written(lake: Path) -> None:
    """A file whose hash is right, and that cannot be read."""
    file = a_file(lake, "votes")
    data = bytearray(file.read_bytes())
    # The first byte of a page's header, which says of what kind its fields are.
    data[pq.read_metadata(file).row_group(0).column(0).data_page_offset] ^= 0xFF
    replace_file(lake, "votes", bytes(data))


def swapped(lake: Path) -> None:
    """A whole file of other rows than the log says."""
    rows = pl.read_parquet(a_file(lake, "votes")).with_columns(round=pl.lit(2, pl.Int32))
    replace_file(lake, "votes", as_parquet(rows))


def as_parquet(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_parquet(buffer)
    return buffer.getvalue()


def in_log(lake: Path, before: str) -> None:
    """Puts a digit before the first number behind a text of the log."""
    log = log_of(lake, "votes")
    text = log.read_text()
    assert before in text
    log.write_text(text.replace(before, before + "1", 1))


def other_statistics(lake: Path) -> None:
    in_log(lake, '\\"seat\\": ')


def fewer_rows(lake: Path) -> None:
    in_log(lake, '\\"numRecords\\": ')


def other_columns(lake: Path) -> None:
    replace_file(lake, "votes", as_parquet(pl.read_parquet(a_file(lake, "votes")).drop("target")))


def lost_log(lake: Path) -> None:
    log_of(lake, "votes").unlink()


def empty_commit(lake: Path) -> None:
    """As a power loss leaves one, of an ingest that came no further."""
    log = log_of(lake, "votes")
    log.with_name(f"{int(log.stem) + 1:020d}.json").touch()


FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (partial(cut, table="votes"), "file_size"),
    "lost": (partial(lose, table="votes"), "file_missing"),
    "a bit flipped": (flipped, "file_hash"),
    "a bit of the footer flipped": (flipped_in_footer, "file_hash"),
    "badly written": (badly_written, "file_damaged"),
    "of other rows": (swapped, "file_statistics"),
    "of another range than logged": (other_statistics, "file_statistics"),
    "of another length than logged": (fewer_rows, "log"),
    "of other columns": (other_columns, "contract"),
    "a log torn": (partial(tear_log, table="votes"), "log"),
    "a log lost": (lost_log, "log"),
    "an empty commit": (empty_commit, "log_empty"),
    "no table": (partial(lose_table, table="votes"), "log"),
}


@pytest.mark.parametrize("what", FILES)
def test_damage_to_files_is_found(lake: Path, what: str) -> None:
    damage, check = FILES[what]
    damage(lake)
    assert found_by(check, lake, "votes")


def test_a_changed_file_is_named_and_what_needs_its_table_is_left_out(lake: Path) -> None:
    """No library need notice it: one bit of a statistic, and rows are skipped."""
    rewrite(lake, "players", first("score_rank", 7))
    flipped_in_footer(lake)
    verified = verify(lake)
    assert not verified.is_whole
    (row,) = verified.faults.filter(check="file_hash")["row"]
    assert json.loads(row)["file"] == a_file(lake, "votes").name
    assert "keys of votes" in verified.skipped_checks
    assert "score_ranks" not in verified.skipped_checks
    assert "score_ranks" in set(verified.faults["check"])


@pytest.mark.slow
def test_a_commit_begun_and_not_completed_is_a_warning(lake: Path, whole: Path) -> None:
    """The next ingest takes it back, so the lake is whole."""
    delta = log_of(lake, "votes")
    (delta.parent / f"{int(delta.stem) + 1:020d}.json").write_text(
        json.dumps({"commitInfo": {"timestamp": 0, "operation": "WRITE"}})
    )
    verified = verify(lake)
    assert verified.is_whole
    assert set(verified.faults.select("check", "severity").iter_rows()) == {
        ("latest_version", "warning")
    }
    ingest(whole.parent / "logs", lake, model="talker")
    assert found(lake) == set()


@pytest.mark.slow
@pytest.mark.parametrize("n_lost", [1, 2])
def test_an_ingest_that_the_table_of_ingests_lost(
    lake: Path, capsysbinary: pytest.CaptureFixture[bytes], n_lost: int
) -> None:
    """All numbers are of the state before; the other tables show what is not in them."""
    logs = lake.parent / "more"
    n_games = {1: 0, 2: 0}
    for seed in n_games:
        results = simulate(logs / str(seed), models=1, games=1, seed=seed + 10).results
        n_games[seed] = ingest(results, lake).statuses["ingested"]
    assert main(["metrics", "--lake", str(lake)]) == 0
    assert b"not in these numbers" not in capsysbinary.readouterr().err
    for _ in range(n_lost):
        log_of(lake, "ingests").unlink()
    assert main(["metrics", "--lake", str(lake)]) == 0
    assert b"an ingest is not in these numbers" in capsysbinary.readouterr().err
    assert main(["verify", "--lake", str(lake), "--format", "json"]) == FAILED
    output = capsysbinary.readouterr()
    assert b"undamaged" not in output.err
    n_unseen = sum(list(n_games.values())[-n_lost:])
    assert f"with {n_unseen} games {'is' if n_lost == 1 else 'are'} not in the numbers" in (
        output.err.decode()
    )
    unseen = [row for row in json.loads(output.out) if row["check"] == UNSEEN]
    assert [json.loads(row["row"])["ingest_id"] for row in unseen] == [3, 4][-n_lost:]
    ingest(logs, lake)
    assert found(lake) == set()


# The checks themselves


def test_every_check_is_planted_for() -> None:
    """None of the checks is there that no damage here sets off."""
    planted = {check for _, _, check in DAMAGE.values()} | {check for _, check in FILES.values()}
    planted |= {"keys_of_ingests", "times_of_ingests", "ingests_documents", "latest_version"}
    # In `test_refused_by_the_system`, and in `test_plugins`.
    planted |= {"denied", "not_installed"}
    # In `test_audit_rules`: no game of MAgIC has these.
    planted |= {"audit.players_out", "audit.acts_after_out", "audit.quests"}
    known = {*(check.name for check in checks.all_checks()), *checks.FILES_FIND}
    assert planted == known, f"add to DAMAGE what these checks find: {sorted(known - planted)}"


def test_every_key_is_checked() -> None:
    checked = {check.table for check in checks.all_checks() if check.name == "keys"}
    keyed = {name for name, table in TABLES.items() if table.primary_key()}
    assert checked | {"documents", "ingests"} == keyed


def test_every_check_is_described() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    for check in checks.all_checks():
        assert f"| `{check.name}` | {check.finds} |" in text
    for name, finds in (checks.FILES_FIND | {UNSEEN: FINDS}).items():
        assert f"| `{name}` | {finds} |" in text


@pytest.mark.slow
def test_no_log_can_make_a_lake_count_as_damaged(tmp_path: Path) -> None:
    """What logs say against themselves is a contradiction, whatever is changed in them: values are
    replaced, removed, exchanged and grafted from other logs."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, data in enumerate(mutants(11, 0, 1000, shapes())):
        (logs / f"{number}.json").write_bytes(data)
    ingest(logs, tmp_path / "lake", model=MODEL, jobs=1)
    verified = verify(tmp_path / "lake")
    assert verified.is_whole, verified.faults.filter(severity="error")
    assert verified.is_contradicted


# The command


@pytest.fixture
def contradicted(tmp_path: Path) -> str:
    """A lake with one log whose winner is not who has the highest score."""
    results = simulate(tmp_path / "logs", models=1, games=1, seed=3).results
    file = next(results.glob("prisoner/*/0.json"))
    log = json.loads(file.read_bytes())
    log["result"] = {"win": "lose", "lose": "win"}[log["result"]]
    file.write_bytes(encode(log))
    ingest(results, tmp_path / "lake")
    return str(tmp_path / "lake")


@pytest.mark.slow
def test_logs_that_contradict_themselves_have_an_exit_code_of_their_own(
    contradicted: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["verify", "--lake", contradicted, "--format", "json"]
    assert main(command) == CONTRADICTED
    output = capsysbinary.readouterr()
    (row,) = json.loads(output.out)
    assert (row["check"], row["severity"]) == ("audit.outcomes", "contradiction")
    assert b"the lake is undamaged" in output.err
    assert main([*command, "--allow-contradictions"]) == 0
    a_file(Path(contradicted), "votes").unlink()
    assert main([*command, "--allow-contradictions"]) == CHECK_FAILED


@pytest.mark.slow
def test_the_command_has_an_exit_code_and_lists_what_is_wrong(
    lake: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["verify", "--lake", str(lake)]) == 0
    result = capsysbinary.readouterr()
    assert b"the lake is undamaged" in result.err
    lose(lake, "votes")
    assert main(["verify", "--lake", str(lake), "--format", "json"]) == CHECK_FAILED
    result = capsysbinary.readouterr()
    (row,) = json.loads(result.out)
    assert (row["check"], row["table"]) == ("file_missing", "votes")
    assert b"file_missing: a file that the log names" in result.err
