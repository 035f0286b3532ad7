"""The contracts of the tables: what a row is, and each column's type, unit, range and keys.

A docstring's first line says what one row is; with the columns' descriptions it becomes the SQL
comments, `magic schema` and the data dictionary. `VERSION` changes with any change in here that a
reader of a lake could notice; it is stored in every table.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

import polars as pl

from pipeline.events.declaration import Column, Rule, Table
from pipeline.vocabulary import (
    COMPETITIONS,
    AnalysisKind,
    Choice,
    DocumentStatus,
    GameType,
    Outcome,
    ParseStatus,
    Phase,
    Role,
    Side,
)

VERSION = 8
ID_LENGTH = 32
SHA256_LENGTH = 64


def _word(
    words: Iterable[str], description: str, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    """A column that holds one of the vocabulary's words."""
    known = tuple(str(word) for word in words)
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, words=known)


def _text(description: str, *, nullable: bool = False, primary_key: bool = False) -> Column:
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key)


def _texts(description: str) -> Column:
    return Column(pl.List(pl.String()), description)


def _flag(description: str, *, nullable: bool = False) -> Column:
    return Column(pl.Boolean(), description, nullable=nullable)


def _number(
    description: str, *, nullable: bool = True, low: float | None = None, high: float | None = None
) -> Column:
    return Column(pl.Float64(), description, nullable=nullable, min=low, max=high)


def _code(description: str) -> Column:
    """A number of the log's own; its meaning is the log's."""
    return Column(pl.Int64(), description, nullable=True)


def _count(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int = 0
) -> Column:
    return Column(pl.Int64(), description, nullable=nullable, primary_key=primary_key, min=low)


def _small(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int | None = 1
) -> Column:
    return Column(pl.Int32(), description, nullable=nullable, primary_key=primary_key, min=low)


def _hash(
    description: str, n_digits: int, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    regex = f"^[0-9a-f]{{{n_digits}}}$"
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, regex=regex)


def _id(description: str, *, nullable: bool = False, primary_key: bool = False) -> Column:
    return _hash(description, ID_LENGTH, nullable=nullable, primary_key=primary_key)


def _instant(description: str, *, nullable: bool = False) -> Column:
    return Column(pl.Datetime("us", "UTC"), description, nullable=nullable)


class OfGame(Table):
    """Base of every table whose rows belong to a game."""

    game_id = _id("the game: a hash of its document's bytes and its index", primary_key=True)
    game_type = _word(GameType, "which game was played")
    system = _text("the harness that ran the game")
    setting_id = _id("the setting: a hash of what was fixed before play; equal for equal settings")
    game_index = _count("the game's number in its competition, null if unknown", nullable=True)
    is_finished = _flag("whether the game came to an end; paper metrics count only finished games")


class OfPlayer(OfGame):
    """Base of every table whose rows belong to a player."""

    player = _text("the acting player's name in the log", nullable=True)
    model = _text("the acting player's model, null if the log does not say", nullable=True)
    role = _word(Role, "the acting player's role", nullable=True)
    side = _word(Side, "the side that the role is on", nullable=True)
    is_tested = _flag("whether the acting player's model is under test")
    competition = _word(
        COMPETITIONS, "game type and tested role, null for players not tested", nullable=True
    )


class OfSeat(OfPlayer):
    """Base of every table whose rows are something that a seat did."""

    seat = _small("the acting player's seat, from 1", primary_key=True)
    round = _small("the round, from 1", primary_key=True)
    message_index = _small("the message it was read from, from 0", nullable=True, low=0)
    parse_status = _word(
        ParseStatus, "how clearly the text says what the game registered, see docs/formats.md"
    )


class Games(OfGame):
    """One game."""

    sha256 = _hash("hash of its document's bytes", SHA256_LENGTH)
    content_id = _id("hash of the parsed content: equal if the same game comes in two JSON forms")
    assigned_model = _text("the model that the ingest was given by --model", nullable=True)
    format = _text("the log format that it was read from")
    format_version = _text("the variant of the format")
    source = _text("the folder or archive in which its document was first found")
    path = _text("its document's path within the source")
    n_players = _small("seats at the table")
    n_rounds = _small("rounds played, or fixed by the setting", low=0)
    n_messages = _small("messages in its log", low=0)
    outcome = _word(Outcome, "how it ended, null if it did not", nullable=True)
    outcome_code = _code("the log's own code of the outcome")
    topic = _text("hidden roles: the announced topic of the words", nullable=True)
    word = _text("hidden roles: the civilian side's secret word", nullable=True)
    other_word = _text("undercover: the secret word of the hidden player", nullable=True)
    hidden_player = _text("hidden roles: the player with the hidden role", nullable=True)
    tested_player = _text("the player that the setting puts under test", nullable=True)
    n_rounds_fixed = _small("rounds fixed before play, null if not fixed", nullable=True, low=0)
    multiplier = _number("public good: what the pool is multiplied by")
    payoff_cooperate = _number("prisoner's dilemma: points of each player if all cooperate")
    payoff_defect = _number("prisoner's dilemma: points of each player if all defect")
    payoff_one_defect = _number("prisoner's dilemma: points of a player who alone defects")
    payoff_two_defect = _number("prisoner's dilemma: points of each of two players who defect")
    setting = _text("what was fixed before play, as JSON with sorted keys")
    started_at = _instant("when it began, null if the log does not say", nullable=True)


class Players(OfPlayer):
    """One seat of one game."""

    seat = _small("the seat, from 1", primary_key=True)
    final_score = _number("the points at the end, in the game's own unit", nullable=True)
    score_rank = _small("1 for the most points; ties share the better rank", nullable=True)


class Results(OfPlayer):
    """The result of one game for one tested side: a tested model's role, or a tested seat."""

    # Not unique: hidden roles have a row for each model and role, see the rule below.
    game_id = _id("the game: a hash of its document's bytes and its index")

    seat = _small("the tested seat, null if the row covers several", nullable=True)
    round = _small("null: a result is of the whole game", nullable=True)
    message_index = _small("the closing message, from 0", nullable=True, low=0)
    parse_status = _word(ParseStatus, "how clearly it could be read from the text")
    opponent = _text(
        "models of the seats not tested, joined by ', '; null if all seats are tested",
        nullable=True,
    )
    is_win = _flag(
        "whether the side won: the hidden side unless caught (Chameleon: and guessed wrong), "
        "others with a credit of 1; null if unfinished",
        nullable=True,
    )
    win_credit = _number(
        "the side's credit for the outcome, 0 to 1: a tie or a right guess in Chameleon is 1/2 to "
        "both sides, a tie in Undercover 2/3 to the undercover and 1/3 to civilians",
        low=0,
        high=1,
    )
    guess_is_correct = _flag(
        "whether the secret was guessed; null if nobody guessed", nullable=True
    )
    agreed = _flag(
        "cost sharing: whether all agreed: their votes name proposals of the same shares",
        nullable=True,
    )
    proposed_agreement = _flag(
        "cost sharing: whether the side made the agreed proposal; null if unknown", nullable=True
    )
    first_choice_seat = _small(
        "cost sharing: the author of the agreed proposal according to the published script",
        nullable=True,
    )
    outcome_code = _code("the log's own code of the outcome")

    one_row_for_a_side = Rule(~pl.struct("game_id", "seat", "model", "role").is_duplicated())


class Messages(OfPlayer):
    """One message, in the log's order."""

    message_index = _small("the message's position in the log, from 0", primary_key=True, low=0)
    seat = _small("the speaker's seat, null for the moderator", nullable=True)
    round = _small("the round it belongs to, null outside of rounds", nullable=True)
    parse_status = _word(ParseStatus, "`outage` if an API error replaced the answer")
    turn = _code("the log's own turn number, not unique")
    phase = _word(Phase, "the part of the game that the message belongs to")
    visible_to = _texts("who was shown it: players' names, `all`, or nobody")
    content = _text("the text, as logged")
    msg_type = _text("the log's own message type", nullable=True)


class Votes(OfSeat):
    """One accusation vote."""

    round = _small(
        "the round of votes, from 1: 1 if a game votes once, however many rounds of clues it has",
        primary_key=True,
    )
    target_seat = _small("the accused player's seat, null if it names no player", nullable=True)
    target = _text("the accused player, null if the vote names nobody", nullable=True)
    is_correct = _flag("whether the accused is on the hidden side")
    is_valid = _flag("whether it names another player who is still in the game")
    stated_target = _text("the player that the text itself names", nullable=True)


class Guesses(OfSeat):
    """One guess of the secret word."""

    guess = _text("the word guessed, null if none can be read", nullable=True)
    secret = _text("the secret word")
    is_correct = _flag("whether the game took the guess as right")


class RoleIdentifications(OfSeat):
    """One answer to 'who are you and what is your role'."""

    claimed_role = _word(
        Role, "the role that the text claims, null if it names none or both", nullable=True
    )
    is_correct = _flag("whether the game took the answer as right")
    is_correct_as_read = _flag(
        "whether it is right according to its text, null if the log has no text", nullable=True
    )


class RoleAnalyses(OfSeat):
    """One analysis of the roles by one player in one round, of one kind."""

    kind = _word(
        AnalysisKind,
        "`gold`: compared with the true roles; `inter`: with what the others think",
        primary_key=True,
    )
    is_correct = _flag("whether the game took the analysis as right")
    is_own_view_stated = _flag("whether its text states the speaker's own view")
    is_correct_as_read = _flag(
        "whether it is right according to its text, null if this cannot be decided", nullable=True
    )


class Decisions(OfSeat):
    """One choice in the Prisoner's Dilemma."""

    choice = _word(Choice, "the choice as the game registered it")
    text = _text("what the player said")
    payoff = _number("points in this round, null in an incomplete round")


class Contributions(OfSeat):
    """One contribution to the Public Good."""

    amount = _number("points put into the pool, as the game registered them", low=0)
    stated_amount = _number("points that the text itself states", low=0)
    text = _text("what the player said")
    is_least = _flag("whether no player put in less; null in an incomplete round", nullable=True)
    round_total = _number("points that all players put in, null in an incomplete round", low=0)


class Proposals(OfSeat):
    """One party's share in one player's proposal of one round."""

    party = _text("who would pay the share: in MAgIC the airlines A, B and C of seats 1, 2 and 3")
    party_seat = _small(
        "the seat of the party: what a player proposed for itself has its own `seat` here; null if "
        "the party is none of the game's",
        nullable=True,
    )
    position = _small("the share's position in the proposal, from 1", primary_key=True)
    share = _number("fraction of the whole, 0 to 1, null if it cannot be read", low=0, high=1)
    share_text = _text("the share as written", nullable=True)
    is_last = _flag("whether this is the player's last proposal")


class ProposalVotes(OfSeat):
    """One vote for a proposal."""

    candidate_seat = _small("the seat voted for, null if it names no player", nullable=True)
    candidate = _text("the player voted for, null if the vote names nobody", nullable=True)
    is_final_round = _flag("whether it was cast in the last round with votes")


class Documents(Table):
    """One raw document that an ingest saw, with its status."""

    ingest_id = _count("the ingest that saw it", primary_key=True, low=1)
    source = _text("the folder or archive that it is in", primary_key=True)
    path = _text("its path within the source", primary_key=True)
    n_bytes = _count("its size in bytes, null if it was not read", nullable=True)
    sha256 = _hash("hash of its bytes, null if not read", SHA256_LENGTH, nullable=True)
    format = _text("the log format, null if it is not a log", nullable=True)
    status = _word(DocumentStatus, "what the ingest did with it")
    reason = _text("why it was not ingested", nullable=True)
    game_id = _id("the game that it holds", nullable=True)
    game_index = _count("the game's number, of its file's name or in its file", nullable=True)
    assigned_model = _text("the model that the ingest was given by --model", nullable=True)


class Quarantine(Table):
    """One document, or part of one, that could not be used."""

    ingest_id = _count("the ingest that saw it first", low=1)
    source = _text("the folder or archive that it is in")
    path = _text("its path within the source")
    sha256 = _hash("hash of its bytes, null if not read", SHA256_LENGTH, nullable=True)
    game_id = _id("the game that lacks this part, null for a whole document", nullable=True)
    json_path = _text("the position of the fault in the document")
    rule = _text("the rule that is broken")
    message = _text("what the document has instead")
    n_bytes = _count("the document's full length in bytes", nullable=True)
    raw = Column(pl.Binary(), "the first 64 KiB of the document's bytes", nullable=True)


class Archives(Table):
    """One large archive that an ingest saw and that was read completely, now or earlier."""

    ingest_id = _count("the ingest that saw it", primary_key=True, low=1)
    source = _text("the source of the documents in it", primary_key=True)
    prefix = _text("the beginning that the paths of its documents share", primary_key=True)
    n_bytes = _count("its size on disk in bytes")
    sha256 = _hash("hash of its bytes on disk", SHA256_LENGTH)


class Ingests(Table):
    """One committed ingest."""

    ingest_id = _count("the ingest's number in this lake, from 1", primary_key=True, low=1)
    started_at = _instant("when it began")
    finished_at = _instant("when it was committed")
    sources = _texts("the sources, as full paths or URLs")
    n_documents = _count("documents seen")
    n_ingested = _count("of these, new games")
    n_replacing = _count("of these, games that replaced another game at their path")
    n_unchanged = _count("of these, already known at their path")
    n_duplicate = _count("of these, already known from another path")
    n_quarantined = _count("of these, put into quarantine")
    n_ignored = _count("of these, not logs")
    n_superseded = _count("games removed because no path holds them any more")
    code_sha256 = _hash("hash of the code of magic-pipeline", SHA256_LENGTH, nullable=True)
    assigned_model = _text("the model given by --model", nullable=True)
    max_document = _count("the size in bytes above which documents were not read", nullable=True)
    max_expanded = _count(
        "the limit in bytes for an expanded archive, null for the default", nullable=True
    )
    tool_version = _text("the version of magic-pipeline")
    contract_version = _small("the version of these contracts")
    versions = Column(
        pl.List(
            pl.Struct(
                {
                    "table": pl.String(),
                    "version": pl.Int64(),
                    "n_files": pl.Int64(),
                    "n_rows": pl.Int64(),
                    "files_sha256": pl.String(),
                }
            )
        ),
        "each table after this ingest: its version, files and rows, and a hash of its files' names",
    )


# The event tables have the names of the fields of `pipeline.game.Game` that they are made of.
TABLES: dict[str, type[Table]] = {
    "documents": Documents,
    "archives": Archives,
    "quarantine": Quarantine,
    "games": Games,
    "players": Players,
    "results": Results,
    "messages": Messages,
    "votes": Votes,
    "guesses": Guesses,
    "role_identifications": RoleIdentifications,
    "role_analyses": RoleAnalyses,
    "decisions": Decisions,
    "contributions": Contributions,
    "proposals": Proposals,
    "proposal_votes": ProposalVotes,
    "ingests": Ingests,
}
GAME_TABLES = tuple(name for name, table in TABLES.items() if issubclass(table, OfGame))


GAME_ROW = "game"


@cache
def shared_columns(table: str) -> frozenset[str]:
    """The columns that a table's rows repeat of their game and their player."""
    contract = TABLES[table]
    if issubclass(contract, (OfSeat, Messages)):
        return frozenset(OfPlayer.columns())
    return frozenset(OfGame.columns()) if contract is Players else frozenset()


@cache
def own_contract(table: str) -> type[Table]:
    """The rules for what a table's rows do not share; `GAME_ROW` is a number for their game."""
    contract, shared = TABLES[table], shared_columns(table)
    if not shared:
        return contract
    own = {name: column for name, column in contract.columns().items() if name not in shared}
    number = Column(pl.Int64(), primary_key=True)
    return type(f"Own{contract.__name__}", (Table,), {GAME_ROW: number, **own})


def row_meaning(table: str) -> str:
    """What one row of the table is, in a sentence."""
    return (TABLES[table].__doc__ or "").splitlines()[0]


@cache
def polars_schema(table: str) -> Mapping[str, pl.DataType]:
    """The table's columns and their polars types, in order; a game's id comes first."""
    columns = {name: column.dtype for name, column in TABLES[table].columns().items()}
    first = {"game_id": columns["game_id"]} if table in GAME_TABLES else {}
    return MappingProxyType(first | columns)
