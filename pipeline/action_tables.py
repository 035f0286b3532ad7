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
                "the round of votes, from 1: 1 if a game votes once, however many rounds of clues "
                "it has",
                primary_key=True,
                low=0,
            ),
            "target_seat": column.small_integer_column(
                "the accused player's seat, null if it names no player", nullable=True
            ),
            "target": column.text_column(
                "the accused player, null if the vote names nobody", nullable=True
            ),
            "is_correct": column.boolean_column(
                "whether the accused has a role that votes seek, see `roles`; null if nobody "
                "registered the vote and its text does not decide: no metric counts it",
                nullable=True,
            ),
            "is_valid": column.boolean_column(
                "whether it names another player who is still in the game; null like `is_correct`",
                nullable=True,
            ),
            "stated_target": column.text_column(
                "the player that the text itself names", nullable=True
            ),
        },
    ),
    "guesses": EventTable(
        Guess,
        "One guess of the secret word.",
        {
            "guess": column.text_column(
                "the word guessed, null if none can be read", nullable=True
            ),
            "secret": column.text_column("the secret word"),
            "is_correct": column.boolean_column("whether the game took the guess as right"),
        },
    ),
    "role_identifications": EventTable(
        RoleIdentification,
        "One answer to 'who are you and what is your role'.",
        {
            "claimed_role": column.category_column(
                games.role_names(),
                "the role that the text claims, null if it names none or both",
                nullable=True,
            ),
            "is_correct": column.boolean_column(
                "whether the game took the answer as right; false also if it claims the right role "
                "but names another player"
            ),
            "is_correct_as_read": column.boolean_column(
                "whether it is right according to its text, which must also name the right player; "
                "null if the log has no text, or the player has another name than Player 1 and so "
                "on",
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
                "`gold`: compared with the true roles; `inter`: with what the others think",
                primary_key=True,
            ),
            "is_correct": column.boolean_column("whether the game took the analysis as right"),
            "is_own_view_stated": column.boolean_column(
                "whether its text states the speaker's own view"
            ),
            "is_correct_as_read": column.boolean_column(
                "whether it is right according to its text, null if this cannot be decided",
                nullable=True,
            ),
        },
    ),
    "decisions": EventTable(
        Decision,
        "One choice in the Prisoner's Dilemma.",
        {
            "choice": column.category_column(Choice, "the choice as the game registered it"),
            "text": column.text_column(
                "what the player said, null for a choice without words", nullable=True
            ),
            "payoff": column.number_column("points in this round, null in an incomplete round"),
        },
    ),
    "contributions": EventTable(
        Contribution,
        "One contribution to the Public Good.",
        {
            "amount": column.number_column(
                "points put into the pool, as the game registered them", low=0
            ),
            "stated_amount": column.number_column("points that the text itself states", low=0),
            "text": column.text_column(
                "what the player said, null for an amount without words", nullable=True
            ),
            "is_least": column.boolean_column(
                "whether no player put in less; null in an incomplete round", nullable=True
            ),
            "round_total": column.number_column(
                "points that all players put in, null in an incomplete round", low=0
            ),
        },
    ),
    "proposals": EventTable(
        Proposal,
        "One party's share in one player's proposal of one round.",
        {
            "party": column.text_column(
                "who would pay the share: in MAgIC the airlines A, B and C of seats 1, 2 and 3"
            ),
            "party_seat": column.small_integer_column(
                "the seat of the party: what a player proposed for itself has its own `seat` here; "
                "null if the party is none of the game's",
                nullable=True,
            ),
            "position": column.small_integer_column(
                "the share's position in the proposal, from 1", primary_key=True
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
                "the seat voted for, null if it names no player", nullable=True
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
        "One player's giving points to another, or taking them from it, at a cost of its own.",
        {
            "number": column.small_integer_column(
                "its number among the seat's in the round, from 1", primary_key=True
            ),
            "target_seat": column.small_integer_column(
                "the other player's seat, null if unknown", nullable=True
            ),
            "target": column.text_column("the other player, null if none is named", nullable=True),
            "kind": column.text_column("the game's word, such as `punishment` or `reward`"),
            "amount": column.number_column(
                "points that the other player gets; negative if it loses them"
            ),
            "cost": column.number_column("points that it costs the giver", low=0),
        },
    ),
    "abilities": EventTable(
        Ability,
        "One use of what a role can do besides speaking and voting, such as a seer's look.",
        {
            "number": column.small_integer_column(
                "its number among the seat's in the round, from 1", primary_key=True
            ),
            "kind": column.text_column("the ability, in the game's word"),
            "target_seat": column.small_integer_column(
                "the seat it was used on, null if none is named", nullable=True
            ),
            "target": column.text_column(
                "the player it was used on, null if none is named", nullable=True
            ),
            "finding": column.text_column("what the player learnt, null if nothing", nullable=True),
        },
    ),
    "eliminations": EventTable(
        Elimination,
        "One player's leaving the game; the seat is that of whoever is out.",
        {
            # A player leaves once.
            "round": column.small_integer_column(
                "the round at whose end it left; 0 is before the first", low=0
            ),
            "cause": column.text_column(
                "the cause, in the game's word, such as `vote` or `attack`"
            ),
            "is_before_vote": column.boolean_column(
                "whether it left before the votes of its round were cast"
            ),
        },
    ),
}

# Columns that only the table `results` has.
RESULT_COLUMNS: dict[str, Column] = {
    "seat": column.small_integer_column(
        "the tested seat, null if the row covers several", nullable=True
    ),
    "round": column.small_integer_column("null: a result is of the whole game", nullable=True),
    "message_index": column.small_integer_column(
        "the closing message, from 0", nullable=True, low=0
    ),
    "parse_status": column.category_column(
        ParseStatus, "how clearly it could be read from the text"
    ),
    "opponent": column.text_column(
        "models of the seats not tested, joined by ', '; null if all seats are tested",
        nullable=True,
    ),
    "is_win": column.boolean_column(
        "whether the side won: the hidden side unless caught (Chameleon: and guessed wrong), "
        "others with a credit of 1; null if unfinished",
        nullable=True,
    ),
    "win_credit": column.number_column(
        "the side's credit for the outcome, 0 to 1: a tie or a right guess in Chameleon is 1/2 to "
        "both sides, a tie in Undercover 2/3 to the undercover and 1/3 to civilians",
        low=0,
        high=1,
    ),
    "guess_is_correct": column.boolean_column(
        "whether the secret was guessed; null if nobody guessed", nullable=True
    ),
    "agreed": column.boolean_column(
        "cost sharing: whether all agreed: their votes name proposals of the same shares",
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
