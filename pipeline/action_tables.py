"""Definitions of the tables of players' actions that all games share, one table per action.

Table contracts (`pipeline.events.contracts`) and the schema of interchange JSON are derived from
them. A game type defines its tables in the same way (`pipeline.games`).
"""

from pipeline import column, games
from pipeline.column import Column
from pipeline.game_record import (
    Ability,
    Contribution,
    Decision,
    Elimination,
    Guess,
    Proposal,
    ProposalVote,
    RoleAnalysis,
    RoleIdentification,
    Transfer,
    Vote,
)
from pipeline.games import EventTable
from pipeline.vocabulary import AnalysisKind, Choice, ParseStatus

# The keys are names of fields of `GameRecord`. `events.frames` derives columns that no event has.
ACTION_TABLES: dict[str, EventTable] = {
    "votes": EventTable(
        Vote,
        "One accusation vote.",
        {
            "round": column.small_integer_column(
                "the number of the vote in the game, from 1; it does not count rounds of clues",
                primary_key=True,
                low=0,
            ),
            "target_seat": column.small_integer_column(
                "the accused player's seat, null if the vote names no player", nullable=True
            ),
            "target": column.text_column(
                "the accused player, null if the vote names nobody", nullable=True
            ),
            "is_correct": column.boolean_column(
                "whether the accused player has a sought role (see `roles`); null, and "
                "not counted by any metric, if the game did not register the vote and "
                "its text is unclear",
                nullable=True,
            ),
            "is_valid": column.boolean_column(
                "whether the vote names another player who is still in the game; can be"
                " null as `is_correct`",
                nullable=True,
            ),
            "stated_target": column.text_column("the player that the text names", nullable=True),
        },
    ),
    "guesses": EventTable(
        Guess,
        "One guess of the secret word.",
        {
            "guess": column.text_column(
                "the guessed word, null if the text has none", nullable=True
            ),
            "secret": column.text_column("the secret word"),
            "is_correct": column.boolean_column("whether the game accepted the guess"),
        },
    ),
    "role_identifications": EventTable(
        RoleIdentification,
        "One answer to 'who are you and what is your role'.",
        {
            "claimed_role": column.category_column(
                games.role_names(),
                "the role that the text claims, null if the text names no role or both",
                nullable=True,
            ),
            "is_correct": column.boolean_column(
                "whether the game accepted the answer; false also for the right role of"
                " a wrong player"
            ),
            "is_correct_as_read": column.boolean_column(
                "whether the text names the right role and player; null without a text,"
                " or if players are not named Player 1, Player 2, …",
                nullable=True,
            ),
        },
    ),
    "role_analyses": EventTable(
        RoleAnalysis,
        "One analysis of the roles by one player in one round, of one kind.",
        {
            "kind": column.category_column(
                AnalysisKind,
                (
                    "compared with the true roles (`gold`) or with the other players' views"
                    " (`inter`)"
                ),
                primary_key=True,
            ),
            "is_correct": column.boolean_column("whether the game accepted the analysis"),
            "is_own_view_stated": column.boolean_column(
                "whether the text states the speaker's own view"
            ),
            "is_correct_as_read": column.boolean_column(
                "whether the text is right, null if the text is unclear",
                nullable=True,
            ),
        },
    ),
    "decisions": EventTable(
        Decision,
        "One choice in the Prisoner's Dilemma.",
        {
            "choice": column.category_column(Choice, "the choice that the game registered"),
            "text": column.text_column("what the player said, null if nothing", nullable=True),
            "payoff": column.number_column("points in this round, null in an incomplete round"),
        },
    ),
    "contributions": EventTable(
        Contribution,
        "One contribution to the Public Good.",
        {
            "amount": column.number_column(
                "points put into the pool, according to the game", low=0
            ),
            "stated_amount": column.number_column(
                "points put into the pool, according to the text", low=0
            ),
            "text": column.text_column("what the player said, null if nothing", nullable=True),
            "is_least": column.boolean_column(
                "whether no other player put in less; null in an incomplete round", nullable=True
            ),
            "round_total": column.number_column(
                "points that all players put in, null in an incomplete round", low=0
            ),
        },
    ),
    "proposals": EventTable(
        Proposal,
        "The share of one party in one proposal.",
        {
            "party": column.text_column(
                "who would pay the share: in MAgIC the airlines A, B and C of seats 1, 2 and 3"
            ),
            "party_seat": column.small_integer_column(
                "the seat of the party, equal to `seat` for the proposer's own share; "
                "null if the party is not in the game",
                nullable=True,
            ),
            "position": column.small_integer_column(
                "position of the share in the proposal, from 1", primary_key=True
            ),
            "share": column.number_column(
                "fraction of the whole, 0 to 1, null if it cannot be read", low=0, high=1
            ),
            "share_text": column.text_column("the share as written", nullable=True),
            "is_last": column.boolean_column("whether this is the player's last proposal"),
        },
    ),
    "proposal_votes": EventTable(
        ProposalVote,
        "One vote for a proposal.",
        {
            "candidate_seat": column.small_integer_column(
                "the seat voted for, null if the vote names no player", nullable=True
            ),
            "candidate": column.text_column(
                "the player voted for, null if the vote names nobody", nullable=True
            ),
            "is_final_round": column.boolean_column(
                "whether it was cast in the last round with votes"
            ),
        },
    ),
    "transfers": EventTable(
        Transfer,
        "One transfer: a player pays a cost to give points to another player, or to take them.",
        {
            "number": column.small_integer_column(
                "number within the seat and round, from 1", primary_key=True
            ),
            "target_seat": column.small_integer_column(
                "the other player's seat, null if unknown", nullable=True
            ),
            "target": column.text_column("the other player, null if none is named", nullable=True),
            "kind": column.text_column("the game's word, such as `punishment` or `reward`"),
            "amount": column.number_column(
                "points that the other player gets, negative for a loss"
            ),
            "cost": column.number_column("points that the acting player pays", low=0),
        },
    ),
    "abilities": EventTable(
        Ability,
        "One use of an ability of a role, such as a seer's look.",
        {
            "number": column.small_integer_column(
                "number within the seat and round, from 1", primary_key=True
            ),
            "kind": column.text_column("the name of the ability in the game"),
            "target_seat": column.small_integer_column(
                "the seat of the target, null if the log names none", nullable=True
            ),
            "target": column.text_column(
                "the target player, null if the log names none", nullable=True
            ),
            "finding": column.text_column("what the player learnt, null if nothing", nullable=True),
        },
    ),
    "eliminations": EventTable(
        Elimination,
        "One elimination of a player from the game; `seat` is the eliminated player's seat.",
        {
            # A player leaves once.
            "round": column.small_integer_column(
                "the round after which the player left; 0 is before the first round", low=0
            ),
            "cause": column.text_column(
                "the cause in the game's words, such as `vote` or `attack`"
            ),
            "is_before_vote": column.boolean_column(
                "whether the player left before the votes of the round"
            ),
        },
    ),
}

# Columns that only the table `results` has.
RESULT_COLUMNS: dict[str, Column] = {
    "seat": column.small_integer_column(
        "the tested seat, null if the row covers several", nullable=True
    ),
    "round": column.small_integer_column(
        "always null, because a result is about the whole game", nullable=True
    ),
    "message_index": column.small_integer_column(
        "the closing message, from 0", nullable=True, low=0
    ),
    "parse_status": column.category_column(ParseStatus, "how clearly the text states the result"),
    "opponent": column.text_column(
        "models of the seats that are not tested, joined by ', '; null if all are tested",
        nullable=True,
    ),
    "is_win": column.boolean_column(
        "whether the side won (see docs/games.md); null if the game did not end",
        nullable=True,
    ),
    "win_credit": column.number_column(
        "the side's share of the win (see docs/games.md), such as 1/2 for some ties",
        low=0,
        high=1,
    ),
    "guess_is_correct": column.boolean_column(
        "whether the secret was guessed; null if nobody guessed", nullable=True
    ),
    "agreed": column.boolean_column(
        "cost sharing: whether all players voted for proposals with equal shares",
        nullable=True,
    ),
    "proposed_agreement": column.boolean_column(
        "cost sharing: whether the side made the agreed proposal; null if unknown",
        nullable=True,
    ),
    "first_choice_seat": column.small_integer_column(
        "cost sharing: the author of the agreed proposal according to the published script",
        nullable=True,
    ),
    "outcome_code": column.code_column("the log's own code of the outcome"),
}
