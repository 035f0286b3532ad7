"""What a model writes before its answer: not read in any format, and found by the audit."""

from pathlib import Path
from time import process_time

import duckdb
import polars as pl
import pytest
from hypothesis import given, strategies as st
from rawlogs import encode, fault_of, game_of, prisoners_dilemma, public_good

from pipeline import sql_files
from pipeline.events import text_parsing
from pipeline.formats.hidden_roles import parse_guessed_word
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.metrics.evidence import evidence
from pipeline.reports.audit import audit
from pipeline.thinking_text import remove_thoughts

# Each with its answer, and whether it holds thoughts.
TEXTS = [
    ("I vote for Wu.", "I vote for Wu.", False),
    ("<think>Ida? Eve? no</think>\nWu", "Wu", True),
    ("<think>Ida\nor Eve</think> <think>no</think> Wu", "Wu", True),
    ("Ida or Eve, no</think>Wu", "Wu", True),
    ("<Thinking>Ida</THINKING>Wu", "Wu", True),
    ("<seed:think>Ida</seed:think>Wu", "Wu", True),
    ("<inner_monologue>Ida</inner_monologue>Wu", "Wu", True),
    ("<reasoning>Ida</reasoning><answer>Wu</answer>", "Wu</answer>", True),
    ("Ida lies, or Wu.\n<final_answer>Wu", "Wu", True),
    ("<answer>Wu</answer>", "Wu</answer>", False),
    ("[THINK]Ida[/THINK]Wu", "Wu", True),
    ("\u25c1think\u25b7Ida\u25c1/think\u25b7Wu", "Wu", True),
    ("<|channel|>analysis<|message|>Ida<|end|><|channel|>final<|message|>Wu", "Wu", True),
    ("analysisIda lies.assistantfinalWu", "Wu", True),
    ("<think></think>\n\nWu", "Wu", False),
    ("I vote for Wu.<reflection>Or Ida?</reflection>", "I vote for Wu.", True),
    ("<think>Ida or Eve, and so", "", True),
    ("  <|channel|>analysis<|message|>Ida or", "", True),
    ("<think>Ida</think>", "", True),
    ("I think Ida lies <3", "I think Ida lies <3", False),
    ('{"thinking": "Ida, Eve", "vote": "Wu"}', "Wu", True),
    ('```json\n{"Reasoning": "Ida", "action": "vote", "target": "Wu"}\n```', "Wu", True),
    ('<think>Ida</think>{"reason": "Eve", "contribution": 20}', "20", True),
    ('{"thought": "say \\"vote\\": \\"Ida\\"", "final answer": "Wu", "why": "Eve"}', "Wu", True),
    ('{"rationale": "Ida", "player_out": "Wu"}', '{, "player_out": "Wu"}', True),
    ('{"vote": ["Wu", "Ida"]}', '["Wu", "Ida"]', False),
    ('My vote:\n```json\n{"reason": "Ida", "vote": "Wu"}\n```\nThanks, Eve!', "Wu", True),
    ('{"reason": "Ida"}\nWu', "{}\nWu", True),
    ('{"reason": "Ida lies, or ', "", True),
    ('```json\n{\n "thoughts": "Ida', "", True),
    ('{"reason": "Ida lies", "vote": "W', '{, "vote": "W', True),
    ('<think id="1">Ida or Eve', "", True),
    ("[reasoning]Ida[/reasoning]Wu", "Wu", True),
    ('<details type="reasoning"><summary>Thought</summary>Ida</details>\nWu', "Wu", True),
    ('<details type="reasoning">Ida or', "", True),
    ("<details>Ida</details>Wu", "<details>Ida</details>Wu", False),
    ("Thinking...\nIda lies\n...done thinking.\n\nWu", "Wu", True),
    ("Thinking...\nIda lies", "", True),
    ("<|channel>thought\nIda?<channel|>Wu", "Wu", True),
    ("<|channel>thought\nIda? or", "", True),
    ("<unused94>thought\nIda?<unused95>Wu", "Wu", True),
    ("assistantanalysis Ida assistantfinal Wu", "Wu", True),
    ("<\u601d\u8003>Ida</\u601d\u8003>Wu", "Wu", True),
    ("{Wu}", "{Wu}", False),
    ("", "", False),
]
# By phase: the field that is named for what is asked for answers, and talk comes last.
OF_PHASES = [
    ("vote", '{"vote": "Wu", "guess": "kiwi", "amount": 10, "choice": 2}', "Wu"),
    ("proposal_vote", '{"decision": "final", "vote": "Wu", "suspect": "Ida"}', "Wu"),
    ("vote", '{"my_vote_is_for": "Wu", "speech": "Ida"}', "Wu"),
    ("vote", '{"vote": {"name": "Wu", "why": "Ida"}}', '{"name": "Wu", }'),
    ("vote", '{"kill": "Wu", "say": "Ida"}', '{"kill": "Wu", }\nIda'),
    ("vote", '{"target": "Wu", "message": "\u4f60"}', '{"target": "Wu", }\n\u4f60'),
    ("contribution", '{"contribution": 20, "vote": "Wu", "choice": 2}', "20"),
    ("contribution", '{"give": 20, "message": "I keep 80"}', '{"give": 20, }\nI keep 80'),
    ("decision", '{"choice": "defect", "vote": "Wu", "message": "cooperate"}', "defect"),
    ("decision", '{"action": "defect", "message": "cooperate"}', "defect"),
    ("guess", '{"guess": "kiwi", "vote": "Wu"}', "kiwi"),
    ("analysis", '{"message": "Wu lies", "round": 2}', "Wu lies"),
    ("clue", '{"reason": "Ida", "answer": "Wu", "message": "no"}', "Wu"),
]


@pytest.mark.parametrize(("text", "expected", "has_thoughts"), TEXTS)
def test_the_answer_in_a_text(text: str, expected: str, has_thoughts: bool) -> None:
    assert remove_thoughts(text).strip() == expected
    said = pl.select(text_parsing.has_reasoning_text(pl.lit(text))).item()
    assert said is has_thoughts


def test_an_answer_in_json_is_a_text_of_its_own() -> None:
    assert remove_thoughts('{"reason": "a", "vote": "\\u674e\\n\\"x\\""}') == '李\n"x"'
    assert (
        remove_thoughts('{"vote": "\\ud800"}') == '"\\ud800"'
    )  # half of a character stays as written


@pytest.mark.parametrize(("phase", "text", "expected"), OF_PHASES)
def test_the_field_that_is_asked_for_answers(phase: str, text: str, expected: str) -> None:
    assert remove_thoughts(text, phase) == expected


def read_by_duckdb(texts: list[tuple[str, str]]) -> list[tuple[str, bool]]:
    """Of phases and texts, the answers and whether there are thoughts, as the SQL view has them."""
    columns = "message_index, content, phase, 'g' AS game_id, 1 AS round, 1 AS seat"
    rows = [(number, *one) for number, one in enumerate(texts)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts (message_index INT, phase TEXT, content TEXT)")
        connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)
        connection.execute(
            f"CREATE VIEW messages AS SELECT {columns}, '' player, '' model, '' role FROM texts"
        )
        return connection.sql(
            f"SELECT answer, has_thoughts FROM ({sql_files.read_sql_file('shared/answers')}) "
            "ORDER BY message_index"
        ).fetchall()


def test_python_and_sql_read_the_same() -> None:
    """SQL leaves the quotation marks around a text in JSON."""
    found = read_by_duckdb([("clue", text) for text, _, _ in TEXTS])
    assert [said.strip('"').strip() for said, _ in found] == [expected for _, expected, _ in TEXTS]
    assert [thinks for _, thinks in found] == [thinks for _, _, thinks in TEXTS]
    found = read_by_duckdb([(phase, text) for phase, text, _ in OF_PHASES])
    answers = [said.replace('\n"', "\n").strip('"') for said, _ in found]
    assert answers == [answer for _, _, answer in OF_PHASES]


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "<think>",
                "</think>",
                "<answer>",
                "[THINK]",
                "[/THINK]",
                "analysis",
                "assistantfinal",
            ),
            *("<|channel|>", "final", "<|message|>", "{", "}", '"', '"vote"', ":", '"why": ', "\\"),
            *(
                "```json",
                "```",
                "\n",
                " ",
                "Wu",
                '"say":',
                "20",
                ",",
                "[",
                "]",
                "\u25c1/think\u25b7",
            ),
        ]
    )
).map("".join)


@given(
    st.lists(st.text() | PIECES | st.none(), min_size=1),
    st.sampled_from(["clue", "vote", "contribution"]),
)
def test_many_texts_are_read_as_each_alone(texts: list[str | None], phase: str) -> None:
    """Also those that the search for signs passes over, and no text."""
    alone = [text and remove_thoughts(text, phase) for text in texts]
    column = pl.Series(texts, dtype=pl.String)
    assert text_parsing.remove_thoughts_before_answers(column, phase).to_list() == alone


@pytest.mark.parametrize(
    "piece",
    ['```{"', '"vote":[', "<think>", "} ", '"', "<", '"why":{', "\\", "<|channel|>final"],
)
def test_no_text_makes_a_search_slow(piece: str) -> None:
    """A search that is quadratic in the text would take minutes."""
    text = f'{{"{piece * 20_000}}}<answer>'
    started = process_time()
    remove_thoughts(text)
    assert process_time() - started < 2


def test_a_guess_is_read_from_the_answer() -> None:
    text = '<think>The code is "Lion"? </think>I guess the code is "Tiger".'
    assert parse_guessed_word(text) == ("Tiger", "ok")


def voting(*events: dict[str, object]) -> dict[str, object]:
    """A game of Undercover in interchange JSON with these events."""
    seats = [
        {"player": f"Player {n}", "model": "m", "role": "civilian" if n > 1 else "undercover"}
        for n in (1, 2, 3)
    ]
    return {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": "undercover",
        "is_finished": True,
        "end": {"outcome": "caught"},
        "seats": seats,
        "events": [{"round": 1, **event} for event in events],
    }


def vote(text: str, **more: object) -> dict[str, object]:
    return {"actor": "Player 2", "text": text, "acts": [{"act": "votes"}], **more}


def test_votes_are_read_from_the_answers() -> None:
    texts = [
        "<think>Player 3? I vote for Player 3?</think>Player 1",
        '{"thinking": "Player 3", "vote": "Player 1"}',
        "<think>I vote for Player 3, since",
    ]
    events = [vote(text, round=n) for n, text in enumerate(texts, start=1)]
    votes = game_of(voting(*events)).votes
    assert [(one.target, one.parse_status) for one in votes] == [
        ("Player 1", "ok"),
        ("Player 1", "ok"),
        (None, "unreadable"),
    ]


@pytest.mark.parametrize("nobody", [[], "", [""], ["", ""]])
def test_what_nobody_is_shown_is_a_thought(nobody: object) -> None:
    thought = {"actor": "Player 2", "text": "Who?", "visible_to": nobody}
    game = game_of(voting(thought, {**thought, "phase": "clue"}, vote("Player 1")))
    phases = [message.phase for message in game.messages]
    assert phases == ["reflection", "reflection", "vote"]
    assert game.faults == []


def test_a_thought_does_nothing() -> None:
    fault = fault_of(voting(vote("Player 1", visible_to=[])))
    assert fault.json_path == "$.events[0].visible_to"
    assert "Moderator" in fault.rule
    assert len(game_of(voting(vote("Player 1", visible_to=["Moderator"]))).votes) == 1


# --- MAgIC's own logs, and the edition that reads the answers ------------------------------------

THOUGHTS = "<think>In round 1 I could cooperate or defect, or put in 3.</think>\n"


def magic_lake(folder: Path, before: str) -> StoredLake:
    """Games of two models, with this text before what players decide."""
    folder.mkdir()
    for model in ("x", "y"):
        for build in (prisoners_dilemma, public_good):
            log = build(model=model, tested="Player 2")
            for row in log["history"]:
                if row["visible_to"] == "Moderator":
                    row["content"] = before + row["content"]
            (folder / f"{model}-{build.__name__}.json").write_bytes(encode(log))
    ingest(folder, folder / "lake", jobs=1)
    return open_lake(folder / "lake")


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredLake, StoredLake]:
    """The same games twice: as they are, and with thoughts."""
    top = tmp_path_factory.mktemp("thoughts")
    return magic_lake(top / "plain", ""), magic_lake(top / "thinking", THOUGHTS)


def rationality(lake: StoredLake, edition: str, engine: str) -> dict[str, tuple[float, float]]:
    rows = metrics(lake, metric="rationality", edition=edition, engine=engine)
    named = rows.filter(pl.col("game_type") != "all").select(
        "model", "game_type", "hits", "counted"
    )
    return {f"{model} {kind}": (hits, counted) for model, kind, hits, counted in named.iter_rows()}


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_audited_reads_the_answer_alone(lakes: tuple[StoredLake, StoredLake], engine: str) -> None:
    """By its engine all cooperate, and mostly put in the 1 of `round 1`; not so the answers."""
    plain, thinking = lakes
    by_answer = rationality(plain, "paper", engine)
    assert rationality(thinking, "audited", engine) == by_answer
    assert rationality(plain, "audited", engine) == by_answer
    as_played = rationality(thinking, "paper", engine)
    assert as_played != by_answer
    assert {hits for name, (hits, _) in as_played.items() if "dilemma" in name} == {0}
    columns = ["term", "what", "hit", "compared_with"]
    shown = [
        evidence(lake, "rationality", edition="audited").select(columns).sort(columns)
        for lake in lakes
    ]
    assert shown[0].equals(shown[1])


@pytest.mark.slow
def test_the_audit_names_the_messages_with_thoughts(
    lakes: tuple[StoredLake, StoredLake],
) -> None:
    plain, thinking = lakes
    assert audit(plain, kind="thoughts")["found"].to_list() == [0]
    n_decided = sum(
        thinking.table(table).collect().height for table in ("decisions", "contributions")
    )
    by_model = audit(thinking, kind="thoughts", by="model")
    assert by_model["found"].sum() == n_decided
    assert by_model["model"].n_unique() > 1
