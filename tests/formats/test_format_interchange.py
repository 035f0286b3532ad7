"""Interchange JSON: what it says of a game of any format is all that was read of it."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from logs.interchange import PUBLIC_GOOD, WEREWOLF
from msgspec.structs import fields
from polars.testing import assert_frame_equal
from rawlogs import chatarena, encode, prisoners_dilemma

from pipeline.archives import iter_documents
from pipeline.cli import main
from pipeline.cli.exit_codes import CHECK_FAILED
from pipeline.conversion import iter_converted_documents, iter_validated_documents
from pipeline.events.contracts import GAME_TABLES
from pipeline.events.frames import IdentifiedGame, build_event_frames
from pipeline.events.readings import content_id, game_id, sha256
from pipeline.formats import find_splitter, ignored_reason, read_game
from pipeline.formats.interchange import encode_game, schema
from pipeline.formats.interchange.document import ACTS, FIELDS_OF_ALL_ROWS, TABLES, Document
from pipeline.game_record import (
    TYPE_RULE,
    GameRecord,
    InvalidDocumentError,
    RecordError,
    to_record_error,
)
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.reports.audit import findings
from pipeline.verify import verify

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "results"
# What says of a game where it was read, and not what.
OF_FORMAT = ["format", "assigned_model"]


DEEP = json.loads('{"x":' + "[" * 101 + "]" * 101 + "}")


def read_document(document: dict[str, Any]) -> GameRecord:
    game = read_game(json.dumps(document).encode())
    assert game is not None
    return game


def fault_of(document: dict[str, Any]) -> RecordError:
    with pytest.raises(InvalidDocumentError) as error:
        read_document(document)
    return error.value.fault


def tables_of(games: list[GameRecord]) -> dict[str, pl.DataFrame]:
    """The rows of the games, sorted, each game known by its place alone."""
    digest = sha256(b"")
    rows = build_event_frames(
        [
            IdentifiedGame(game, game_id(digest, n, None), n, digest, content_id(game), "/", "1")
            for n, game in enumerate(games)
        ]
    )
    assert rows.invalid_games == {}
    return {
        name: rows.table(name).drop(OF_FORMAT, strict=False).sort(pl.all()) for name in GAME_TABLES
    }


def assert_same_when_converted(games: list[GameRecord]) -> None:
    assert games
    again = [read_game(encode_game(game)) for game in games]
    assert None not in again
    found, wanted = tables_of(again), tables_of(games)
    for table in GAME_TABLES:
        assert_frame_equal(found[table], wanted[table])


def games_in(source: Path, model: str | None = None) -> Iterator[GameRecord]:
    for document in iter_documents(source, choose=find_splitter):
        try:
            game = read_game(document.data, model, document.path) if document.data else None
        except InvalidDocumentError:
            continue
        if game is not None:
            yield game


def test_the_sample_is_the_same_when_converted() -> None:
    assert_same_when_converted(list(games_in(SAMPLE)))


def test_every_field_of_an_event_can_be_said() -> None:
    """One that an act lacks would be lost, in silence."""
    for table, declared in TABLES.items():
        own = {field.name for field in fields(declared.event)} - {*FIELDS_OF_ALL_ROWS, "is_logged"}
        assert own <= set(ACTS[table].__struct_fields__), table
    assert {*TABLES} == {*ACTS}
    not_events = {"roles", "games", "players", "messages", "results"}
    assert {*TABLES} == {*GAME_TABLES} - not_events


def test_a_silent_act_has_no_message_and_keeps_its_place() -> None:
    game = read_document(WEREWOLF)
    assert [vote.message_index for vote in game.votes] == [None] * 4
    assert len(game.messages) == 2
    (out,) = game.eliminations
    assert (out.seat, out.round, out.message_index) == (1, 1, 1)
    votes = tables_of([game])["votes"].sort("seat")
    assert votes.select("target_seat", "is_correct").rows() == [
        (2, False), (1, True), (1, True), (None, False)
    ]  # fmt: skip


def silent(actor: str, act: str, **fields: Any) -> dict[str, Any]:
    return {"actor": actor, "round": 1, "acts": [{"act": act, **fields}]}


SHARED = {
    "magic_interchange": 1,
    "system": "s",
    "game_type": "cost_sharing",
    "is_finished": True,
    "end": {"outcome": "agreed"},
    "seats": [{"player": "Ann", "model": "a"}, {"player": "Bo", "model": "b"}],
}
EVENTS_OF_ALL_SORTS = [
    silent("Ann", "transfers", kind="gift", target="Bo"),
    silent("Ann", "proposal_votes", candidate="Ann"),
    silent("Ann", "transfers", kind="fine", target="Bo"),
    silent("Bo", "proposal_votes", candidate="Bo") | {"text": "Bo!"},
    {"text": "A tie: Ann voted first.", "round": 1},
    silent("Bo", "transfers", kind="gift", target="Ann"),
]


@pytest.mark.parametrize("step", [1, -1])
def test_events_keep_their_order_when_converted(step: int) -> None:
    """A silent vote stays before one in words: of two for two candidates, the first decides."""
    game = read_document(SHARED | {"events": EVENTS_OF_ALL_SORTS[::step]})
    again = read_game(encode_game(game))
    assert again is not None
    events = json.loads(encode_game(game))["events"]
    assert [event["actor"] for event in events if "actor" in event] == [
        event["actor"] for event in EVENTS_OF_ALL_SORTS[::step] if "actor" in event
    ]
    assert json.loads(encode_game(again))["events"] == events
    rows = tables_of([game, again])["results"].sort("game_index", "seat")
    assert rows["proposed_agreement"].to_list() == [True, False][::step] * 2


# Games of formats with and without a number of its own, and one in two writings.
COPIED = [
    encode(prisoners_dilemma()),
    json.dumps(PUBLIC_GOOD).encode(),
    json.dumps(PUBLIC_GOOD, indent=1).encode(),
    json.dumps(PUBLIC_GOOD | {"game_index": 3}).encode(),
]
NAMES = ["0.json", "1.json", "a.json", "z.json", "b/0 (1).json", "b/0.json", "c/3.json"]


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(
    names=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(COPIED), min_size=1),
    lines=st.lists(st.sampled_from(COPIED), max_size=4),
)
def test_copies_under_any_names_are_the_games_that_an_ingest_takes(
    names: dict[str, bytes], lines: list[bytes]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        for name, data in names.items():
            (top / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
            (top / "logs" / name).write_bytes(data)
        (top / "logs" / "lines.jsonl").write_bytes(b"".join(b"%s\n" % data for data in lines))
        made = list(iter_converted_documents(top / "logs"))
        written = [one.line for one in made if one.line]
        report = ingest(top / "logs", top / "lake", jobs=1)
        games = open_lake(top / "lake").table("games").collect()
    assert report.statuses["duplicate"] == sum(one.is_duplicate for one in made)
    assert len(set(written)) == len(written)
    again = [game for line in written if (game := read_game(line))]
    assert Counter(games.select("content_id", "game_index").rows()) == Counter(
        (content_id(game), game.game_index) for game in again
    )


@pytest.mark.parametrize("name", ["Moderator", "all"])
def test_a_name_that_a_format_keeps_for_itself_is_said_to_be_none(name: str) -> None:
    seats = [seat | {"player": name} for seat in PUBLIC_GOOD["seats"][:1]]
    fault = fault_of(PUBLIC_GOOD | {"seats": [*seats, *PUBLIC_GOOD["seats"][1:]]})
    assert fault.rule == (
        "every player has a name of at most 1,000 characters, which is not 'Moderator' or 'all'"
    )


def test_what_follows_from_the_rest_need_not_be_stated() -> None:
    game = read_document(PUBLIC_GOOD)
    assert [(one.is_least, one.round_total) for one in game.contributions] == [
        (True, 8), (False, 8), (True, 8), (True, 8)
    ]  # fmt: skip
    assert [(one.seat, one.is_win, one.win_credit) for one in game.results] == [
        (1, True, 1.0), (2, False, 0.0)
    ]  # fmt: skip
    assert game.n_rounds == 2
    assert game.messages.course.phase == ("moderation", "contribution", "contribution")
    assert json.loads(encode_game(game))["events"][1]["acts"] == [
        {"act": "contributions", "amount": 2}
    ]


def test_what_is_stated_is_kept_where_it_is_not_what_follows() -> None:
    document = json.loads(json.dumps(PUBLIC_GOOD))
    document["events"][1]["acts"][0] |= {"is_least": None, "round_total": 99.0}
    result = {"role": "player", "win_credit": 1.0, "is_win": True}
    document["results"] = [
        result | {"model": "model-a", "seat": 1},
        result | {"model": "model-b", "seat": 2},
    ]
    game = read_document(document)
    assert (game.contributions[0].is_least, game.contributions[0].round_total) == (None, 99)
    assert content_id(read_document(json.loads(encode_game(game)))) == content_id(game)
    assert [(one.seat, one.is_win) for one in game.results] == [(1, True), (2, True)]


def changed(change: Callable[[dict[str, Any]], object], document: dict[str, Any] = WEREWOLF) -> Any:
    copy = json.loads(json.dumps(document))
    change(copy)
    return copy


@pytest.mark.parametrize(
    ("change", "json_path", "rule"),
    [
        (
            lambda d: d.update(magic_interchange=2),
            "$.magic_interchange",
            "every field has its type",
        ),
        (lambda d: d.update(winner="x"), "$", "every field has its type"),
        (lambda d: d.update(game_type="chess"), "$.game_type", "a game type is one of"),
        (lambda d: d.pop("is_finished"), "$", "every field has its type"),
        (lambda d: d["end"].update(outcome="tie"), "$.end.outcome", "an outcome of werewolf"),
        (lambda d: d["seats"][1].pop("role"), "$.seats[1].role", "a role of werewolf"),
        (lambda d: d["seats"][1].update(role="fool"), "$.seats[1].role", "a role of werewolf"),
        (lambda d: d["seats"][1].update(player="Wu"), "$.seats", "no two players"),
        (lambda d: d["seats"][1].update(is_win=True), "$.seats[1].is_win", "the outcome says"),
        (lambda d: d["events"][1].update(phase="tea"), "$.events[1].phase", "a phase is one of"),
        (lambda d: d["events"][2].update(phase="vote"), "$.events[2].phase", "only an event with"),
        (lambda d: d["events"][2].pop("acts"), "$.events[2]", "a text, or acts, or both"),
        (lambda d: d["events"][2].pop("round"), "$.events[2].acts[0]", "an act has a round"),
        (lambda d: d["events"][2].update(actor="Al"), "$.events[2].acts[0]", "at the table"),
        (lambda d: d["events"][2].update(round=-1), "$.events[2].round", "every field has its"),
        (lambda d: d.update(game_index=-1), "$.game_index", "every field has its"),
        (lambda d: d.update(game_index=10**9), "$.game_index", "every field has its"),
        (lambda d: d.update(setting={"tested": 1}), "$.setting.tested", "every field has its"),
        (lambda d: d.update(setting=DEEP), "$.setting", "a setting has at most 100 lists"),
        (lambda d: d.update(setting={"n": [0, 2**64]}), "$.setting.n[1]", "a whole number is from"),
        (
            lambda d: d.update(started_at="0001-01-01T00:00:00+14:00"),
            "$.started_at",
            "of one of the years 1 to 9999",
        ),
        (
            lambda d: d["events"][2]["acts"].append({"act": "quest_plays", "is_fail": True}),
            "$.events[2].acts[1].act",
            "in werewolf an act is one of ",
        ),
        (lambda d: d["events"][2]["acts"][0].update(act="vote"), "$.events[2].acts[0].act", ""),
        (
            lambda d: d.update(results=[{"role": "werewolf", "seat": 9}]),
            "$.results[0].seat",
            "a seat is one of 5",
        ),
        (lambda d: d.update(results=[]), "$.results", "one result for each side under test"),
        (lambda d: d.pop("end"), "$.end.outcome", "an outcome of werewolf is one of"),
        (lambda d: d.update(is_finished=False), "$.end.outcome", "an unfinished game has no"),
        (
            lambda d: d["events"][2]["acts"][0].update(target="Al"),
            "$.events[2].acts[0].target",
            "whoever is named has a seat",
        ),
        (
            lambda d: d["events"][0]["acts"][0].update(target="Al"),
            "$.events[0].acts[0].target",
            "whoever is named has a seat",
        ),
        (
            lambda d: d["events"][1].update(acts=[{"act": "votes", "player": "Wu"}]),
            "$.events[1].acts[0].player",
            "only who says it",
        ),
        (
            lambda d: d["events"].append(d["events"][2]),
            "$.events[7].acts[0]",
            "no two rows have one seat, round",
        ),
        (
            lambda d: d["events"].extend(
                silent("Wu", "role_analyses", gold=gold, inter=False) for gold in (True, False)
            ),
            "$.events[8].acts[0]",
            "no two rows have one seat, round",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_place(
    change: Callable[[dict[str, Any]], object], json_path: str, rule: str
) -> None:
    fault = fault_of(changed(change))
    assert fault.json_path.startswith(json_path)
    assert rule in fault.rule
    assert fault.message


def test_a_vote_that_is_repeated_in_its_round_says_what_to_state() -> None:
    """As in a run-off. In a round of its own, both votes count."""
    again = changed(lambda d: d["events"].append(d["events"][2]))
    assert "as in a run-off, state the last" in fault_of(again).message
    again["events"][-1] = again["events"][-1] | {"round": 2}
    assert len(read_document(again).votes) == len(read_document(WEREWOLF).votes) + 1


def test_a_second_elimination_is_a_fault_of_its_part() -> None:
    """The first stays, also when the game is converted."""
    out = [silent("Wu", "eliminations", cause=cause) for cause in ("vote", "attack", "attack")]
    game = read_document(changed(lambda d: d.update(events=[*out, {"text": "The end."}])))
    assert [(one.seat, one.cause) for one in game.eliminations] == [
        (game.seats.index(wu) + 1, "vote") for wu in game.seats if wu.player == "Wu"
    ]
    assert [fault.json_path for fault in game.faults] == [f"$.events[{n}].acts[0]" for n in (1, 2)]
    assert_same_when_converted([game])


OUTAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "votes": ("chameleon", {"target": "B"}),
    "guesses": ("chameleon", {"guess": "x", "is_correct": False}),
    "role_identifications": ("chameleon", {"is_correct": False}),
    "role_analyses": ("chameleon", {"gold": False}),
    "decisions": ("prisoners_dilemma", {"choice": "defect"}),
    "contributions": ("public_good", {"amount": 0}),
    "transfers": ("public_good", {"kind": "reward", "target": "B"}),
    "proposals": ("cost_sharing", {"party": "A", "share": 0.5}),
    "proposal_votes": ("cost_sharing", {"candidate": "B"}),
    "abilities": ("werewolf", {"kind": "divine", "target": "B"}),
}
ROLES_OF = {"chameleon": ("chameleon", "non_chameleon"), "werewolf": ("seer", "werewolf")}


@pytest.mark.some(4)
@pytest.mark.parametrize("table", OUTAGES)
def test_an_act_can_be_an_outage(table: str) -> None:
    """Silent or with a text; another act of the same game is none, and all can be converted."""
    game_type, fields = OUTAGES[table]
    seats = [{"player": player, "model": "m"} for player in "AB"]
    for seat, role in zip(seats, ROLES_OF.get(game_type, ()), strict=False):
        seat["role"] = role
    act = {"act": table, **fields}
    events = [
        {"actor": "A", "round": 1, "acts": [act | {"outage": True}]},
        {"actor": "A", "round": 2, "acts": [act | {"outage": True}], "text": "Error 500"},
        {"actor": "A", "round": 3, "acts": [act]},
    ]
    document = {"magic_interchange": 1, "system": "s", "game_type": game_type, "seats": seats}
    document |= {"setting": {"code": "y"}, "is_finished": False, "events": events}
    game = read_document(document)
    rows = tables_of([game])[table].sort("round")
    assert [status == "outage" for status in rows["parse_status"]] == [True, True, False]
    assert_same_when_converted([game])


@pytest.mark.parametrize(
    "others", [[{"act": "votes"}], [{"act": "votes", "player": "Ida", "outage": True}]]
)
def test_an_outage_is_an_event_of_its_own(others: list[dict[str, Any]]) -> None:
    acts = [{"act": "abilities", "kind": "divine", "outage": True}, *others]
    fault = fault_of(
        changed(lambda d: d["events"].append({"actor": "Wu", "round": 1, "acts": acts}))
    )
    assert fault.json_path.endswith(".acts")
    assert "an outage is an event of its own" in fault.rule


@pytest.mark.slow
def test_equal_games_without_a_number_are_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = str(tmp_path / "lake")
    for name, numbers in (("equal", [{}] * 3), ("numbered", [{"game_index": n} for n in range(3)])):
        games = [json.dumps(WEREWOLF | number) for number in numbers]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(games))
        _, _, err = run(capfd, "ingest", str(tmp_path / f"{name}.jsonl"), "--lake", lake)
        assert ("2 duplicates: " in err and "`game_index`" in err) is (name == "equal")


def test_logs_that_are_wrapped_in_an_object_are_named() -> None:
    """So are those of other formats, alone or in a list."""
    for wrapped in ({"games": [WEREWOLF]}, {"n": 1, "games": [WEREWOLF, {}]}, {"games": WEREWOLF}):
        why = ignored_reason(json.dumps(wrapped).encode())
        assert why.startswith(
            "not read: logs of interchange at key `games` of an object: write each"
        )
    of_messages = ignored_reason(b'{"<b>": %b}' % encode(chatarena()))
    assert of_messages.startswith("not read: logs of chatarena at a key of an object")
    assert "not read" not in ignored_reason(b'{"games": [{"x": 1}], "n": 1}')


def test_a_draw_of_werewolf_is_half_a_credit_for_both_sides() -> None:
    drawn = read_document(changed(lambda d: d["end"].update(outcome="draw")))
    assert {side.role for side in drawn.results} >= {"werewolf"}
    assert {(one.is_win, one.win_credit) for one in drawn.results} == {(False, 0.5)}


MISTYPED: list[tuple[Callable[[dict[str, Any]], object], str, str]] = [
    (lambda d: d.pop("is_finished"), "$", "`is_finished` is missing"),
    (lambda d: d.update(winner=1), "$.winner", "`winner` is no field here: it may be misspelt"),
    (lambda d: d.update(seats={}), "$.seats", "`seats` is a list, not an object"),
    (lambda d: d.update(seats=[]), "$.seats", "`seats` is a list of length >= 1"),
    (
        lambda d: d["seats"][0].update(score="3"),
        "$.seats[0].score",
        "`score` is a number or null, not a text",
    ),
    (lambda d: d["seats"][0].pop("player"), "$.seats[0]", "`player` is missing"),
    (
        lambda d: d["seats"][0].update(player=""),
        "$.seats[0].player",
        "`player` is a text of length >= 1",
    ),
    (
        lambda d: d["events"][2]["acts"][0].update(act="vote"),
        "$.events[2].acts[0].act",
        f"`act` cannot be 'vote': choose from {', '.join(ACTS)}",
    ),
    (
        lambda d: d.update(started_at="yesterday"),
        "$.started_at",
        "`started_at` is not a time such as 2024-05-01T12:00:00Z",
    ),
    (
        lambda d: d.update(setting={"multiplier": [1]}),
        "$.setting.multiplier",
        "`multiplier` is a number or null, not a list",
    ),
]


@pytest.mark.parametrize(("change", "json_path", "message"), MISTYPED)
def test_a_field_of_another_type_is_named_with_its_type(
    change: Callable[[dict[str, Any]], object], json_path: str, message: str
) -> None:
    fault = fault_of(changed(change))
    assert (fault.json_path, fault.message) == (json_path, message)


def faults_of(tmp_path: Path, document: dict[str, Any]) -> list[tuple[str, str]]:
    """Where `validate` finds what in a document, each by a rule of types."""
    (tmp_path / "game.json").write_text(json.dumps(document))
    ((_, faults, *_),) = iter_validated_documents(tmp_path / "game.json")
    assert {fault.rule for fault in faults} <= {TYPE_RULE}
    return [(fault.json_path, fault.message) for fault in faults]


def test_all_fields_of_another_type_are_named_at_once(tmp_path: Path) -> None:
    """In the order of the document; what an object lacks comes after what it has, and the setting
    last. A list that is none tells nothing of what is in it, and a player who lacks a name has none
    that is too short."""
    apart = {"`player` is missing", "`seats` is a list, not an object"}
    together = [one for one in MISTYPED if one[2] not in apart and "length >= 1" not in one[2]]
    document = changed(lambda d: [change(d) for change, *_ in together])
    found = faults_of(tmp_path, document)
    paths = ["$.started_at", "$.seats[0].score", "$.events[2].acts[0].act", "$.winner", "$"]
    assert [path for path, _ in found] == [*paths, "$.setting.multiplier"]
    assert sorted(found) == sorted((path, message) for _, path, message in together)
    # The decoder's own message is the first.
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.json.Decoder(Document).decode(json.dumps(document))
    assert to_record_error(error.value) == fault_of(document)


def test_of_very_many_fields_of_another_type_the_first_are_named(tmp_path: Path) -> None:
    document = WEREWOLF | {"events": [{"round": "x"}] * 1_000}
    found = faults_of(tmp_path, document)
    assert [path for path, _ in found[:-1]] == [f"$.events[{n}].round" for n in range(20)]
    assert found[-1] == ("$", "there are more faults than these 20")


@pytest.mark.parametrize("name", ["games.json", "games.jsonl", "games.txt"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_games_is_cut_into_them(tmp_path: Path, name: str, indent: int | None) -> None:
    games = [WEREWOLF, dict(reversed(PUBLIC_GOOD.items())), {"no": "game"}]
    (tmp_path / name).write_text(json.dumps(games, indent=indent))
    found = list(iter_documents(tmp_path / name, choose=find_splitter))
    assert [one.path for one in found] == [f"{name}#{number}" for number in (1, 2, 3)]
    games_and_none = [read_game(one.data or b"", None, one.path) for one in found]
    assert [game is not None for game in games_and_none] == [True, True, False]


def test_numbers_that_need_64_bits_are_read() -> None:
    seeds = {"low": -(2**63), "high": 2**64 - 1}
    game = read_document(WEREWOLF | {"setting": seeds, "game_index": 10**9 - 1})
    assert game.game_index == 10**9 - 1
    assert tables_of([game])["games"]["n_players"].to_list() == [5]
    assert json.loads(encode_game(game))["setting"] == seeds


def of_points(*seats: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A Prisoner's Dilemma that ended, with two seats under test."""
    named = [{"player": "A", "model": "a"} | seats[0], {"player": "B", "model": "b"} | seats[1]]
    kind = {"magic_interchange": 1, "system": "s", "game_type": "prisoners_dilemma"}
    return kind | {"is_finished": True, "seats": named} | changes


@pytest.mark.parametrize(
    ("first", "second", "won"),
    [
        ({"score": 3}, {"score": 3}, [True, True]),
        ({"score": 3}, {"score": 5}, [False, True]),
        ({"score": 0.1 + 0.2}, {"score": 0.3}, [True, True]),
        ({"score": 0.3}, {"score": 0.3001}, [False, True]),
        ({"score": 1e300}, {"score": -1e300}, [True, False]),
        # What is stated stays, also against the scores: the audit names it.
        ({"score": 3, "is_win": True}, {"score": 5}, [True, True]),
        ({"is_win": True}, {"is_win": False}, [True, False]),
        ({"is_win": True}, {"is_tested": False}, [True]),
        ({"score": 3}, {"score": 5, "is_bot": True}, [False]),
    ],
)
def test_the_scores_say_who_won_a_game_of_points_unless_it_is_stated(
    first: dict[str, Any], second: dict[str, Any], won: list[bool]
) -> None:
    game = read_document(of_points(first, second))
    assert game.outcome == "completed"
    assert [one.is_win for one in game.results] == won
    assert [one.win_credit for one in game.results] == list(map(float, won))


@pytest.mark.parametrize(
    ("document", "json_path"),
    [
        (of_points({"score": 3}, {}), "$.seats[0]"),
        (of_points({"is_win": True}, {"score": 5}), "$.seats[1]"),
        (of_points({}, {}), "$.seats[0]"),
        (of_points({}, {"is_win": False}, is_finished=False), "$.seats[1].is_win"),
        (of_points({}, {}, is_finished=False, end={"outcome": "completed"}), "$.end.outcome"),
        (of_points({}, {}, game_type="cost_sharing"), "$.end.outcome"),
        (
            of_points(
                {"is_win": True}, {}, game_type="cost_sharing", end={"outcome": "not_agreed"}
            ),
            "$.seats[0].is_win",
        ),
    ],
)
def test_a_game_says_who_won_if_it_ended_and_only_then(
    document: dict[str, Any], json_path: str
) -> None:
    assert fault_of(document).json_path == json_path


def test_a_name_without_a_seat_has_to_be_listed() -> None:
    """Real games registered votes for players that they did not have; a slip is not one of them."""
    document = changed(lambda d: d["events"][2]["acts"][0].update(target="Al"))
    game = read_document(document | {"unseated": ["Al"]})
    assert game.votes[0].target == "Al"
    assert json.loads(encode_game(game))["unseated"] == ["Al"]


def test_names_without_a_seat_are_listed_in_the_order_of_the_acts() -> None:
    """Else two conversions of one game would be different texts."""
    names = ["Zoe", "Al", "Mia", "Bo", "Yan", "Cy"]
    votes = [
        {"actor": "Ida", "round": round_, "acts": [{"act": "votes", "target": name}]}
        for round_, name in enumerate(names, start=2)
    ]
    document = changed(lambda d: d["events"].extend(votes)) | {"unseated": names[::-1]}
    assert json.loads(encode_game(read_document(document)))["unseated"] == names


def test_a_text_shown_to_a_name_without_a_seat_is_a_fault_of_its_part() -> None:
    document = changed(lambda d: d["events"][1].update(visible_to=["Eve", "wolves", "Moderator"]))
    (fault,) = read_document(document).faults
    assert (fault.json_path, fault.message) == ("$.events[1].visible_to", "'wolves'")


def test_a_speaker_who_has_no_seat_is_a_fault_of_its_part() -> None:
    game = read_document(changed(lambda d: d["events"][1].update(actor="Al")))
    assert [fault.json_path for fault in game.faults] == ["$.events[1]"]


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    return code, *capfd.readouterr()


@pytest.mark.slow
def test_a_converted_game_keeps_its_number_and_the_variant_of_its_log(tmp_path: Path) -> None:
    """Two games equal to the byte stay two, one of them by PGM, and each is known again."""
    same, pgm = encode(prisoners_dilemma()), encode(prisoners_dilemma(model="m-pgm"))
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, data in enumerate((same, same, pgm)):
        (logs / f"{number}.json").write_bytes(data)
    lines = tmp_path / "games.jsonl"
    lines.write_bytes(
        b"".join(b"%s\n" % (one.line or b"") for one in iter_converted_documents(logs))
    )
    assert ingest(lines, tmp_path / "lake", jobs=1).n_in_other_form == 0
    assert findings(open_lake(tmp_path / "lake"), "repeated_games").is_empty()
    games = open_lake(tmp_path / "lake").table("games").sort("game_index").collect()
    assert games["game_index"].to_list() == [0, 1, 2]
    assert games["format_version"].to_list() == ["plain", "plain", "pgm"]
    # A file's own number says nothing where the document has one.
    first = lines.read_bytes().splitlines()[1]
    (tmp_path / "7.json").write_bytes(first)
    for source in (lines, tmp_path / "7.json", tmp_path / "7.json"):
        ingest(source, tmp_path / "lake", jobs=1)
    again = open_lake(tmp_path / "lake").table("games").sort("game_index").collect()
    assert_frame_equal(again, games)
    assert verify(tmp_path / "lake").faults.is_empty()


def test_what_cannot_be_converted_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_bytes(json.dumps(PUBLIC_GOOD).encode())
    (tmp_path / "b.json").write_bytes(b'{"magic_interchange": 1}')
    (tmp_path / "c.json").write_bytes(b'{"other": 1}')
    code, out, err = run(capfd, "convert", str(tmp_path))
    assert code == 0
    assert content_id(read_document(json.loads(out))) == content_id(read_document(PUBLIC_GOOD))
    assert "b.json: $: every field has its type" in err
    assert "1 game, 1 refused document, 1 ignored document" in err
    assert "duplicate" not in err
    (tmp_path / "d.json").write_bytes((tmp_path / "a.json").read_bytes())
    assert "1 ignored document, 1 duplicate left out" in run(capfd, "convert", str(tmp_path))[2]
    assert run(capfd, "convert", str(tmp_path), "--strict")[0] == 3
    assert run(capfd, "convert", str(tmp_path / "c.json"))[0] == 1


OTHER = b'{"other": 1}'


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("logs", "is_told"),
    [
        ({"a.json": OTHER}, True),
        ({"a.txt": b"White: e4\n"}, True),
        ({"a.json": b"[]"}, False),
        ({"a.json": encode(chatarena())}, False),
        ({"b.json": b"{", "a.json": OTHER}, True),
        ({"b.json": encode(chatarena()), "a.json": OTHER}, True),
    ],
    ids=["unknown", "text", "setting", "no model", "beside broken", "beside no model"],
)
def test_the_next_step_of_unknown_logs_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], logs: dict[str, bytes], is_told: bool
) -> None:
    """Where there is no game at all, and only where another format could be meant."""
    (tmp_path / "logs").mkdir()
    for name, data in logs.items():
        (tmp_path / "logs" / name).write_bytes(data)
    for command in (["convert"], ["ingest", "--jobs", "1", "--lake", str(tmp_path / "lake")]):
        code, _, err = run(capfd, *command, str(tmp_path / "logs"))
        assert code == 1
        assert ("interchange JSON" in err and "docs/interchange.md" in err) is is_told, err
        assert not is_told or "/a." in err, err
        if [*logs.values()] == [encode(chatarena())]:
            assert ("--model NAME" in err) is (command == ["convert"])


def test_the_example_is_a_game_to_begin_with(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capfd, "convert", "--example")
    assert (code, err) == (0, "")
    game = tmp_path / "game.json"
    written = run(capfd, "convert", "--example", "-o", str(game))
    assert written == (0, "", f"wrote {game}: 1 game\n")
    assert game.read_text() == out
    assert read_document(json.loads(out)).faults == []
    assert run(capfd, "convert")[0] == 2
    assert run(capfd, "convert", "--example", str(game))[:2] == (2, "")


def test_validate_names_place_rule_and_value(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    twice = changed(lambda d: d["events"].append(d["events"][2]))
    for name, document in {"a": WEREWOLF, "b": twice, "c": {"other": 1}}.items():
        (tmp_path / f"{name}.json").write_bytes(json.dumps(document).encode())
    (tmp_path / "d.json").write_bytes(b"{")
    code, out, _ = run(capfd, "validate", str(tmp_path), "--format", "json")
    assert code == CHECK_FAILED
    rows = {Path(row["document"]).name: row for row in json.loads(out)}
    assert [rows[f"{name}.json"]["is_valid"] for name in "abcd"] == [True, False, False, False]
    assert "no two rows have one" in rows["b.json"]["message"]
    assert "magic_interchange" in rows["c.json"]["rule"]
    assert rows["d.json"]["json_path"] == "$"


def test_schema_prints_the_json_schema(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "schema", "--interchange")
    assert code == 0
    assert json.loads(out) == json.loads(msgspec.json.encode(schema()))
    described = schema()["$defs"]
    assert {"Document", "Vote", "TeamVotes"} <= {*described}
    assert described["Document"]["additionalProperties"] is False
    assert run(capfd, "schema", "votes", "--interchange")[0] == 2
