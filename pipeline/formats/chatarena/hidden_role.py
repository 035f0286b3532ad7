"""What Chameleon and Undercover share: the announced ending, and votes as the texts say them."""

from pipeline.formats import hidden_roles
from pipeline.formats.chatarena.talk import FORMAT, SYSTEM, VERSION, Talk
from pipeline.formats.hidden_roles import Rules
from pipeline.game import GameRecord, JsonValue, Seat, Vote
from pipeline.vocabulary import Phase


def game(
    talk: Talk,
    rules: Rules,
    seats: list[Seat],
    setting: dict[str, JsonValue],
    flag: int | None,
) -> GameRecord:
    """The game without its results; `flag` is the number of its outcome, None if it has no end."""
    spoken = hidden_roles.messages(rules, talk.history, [seat.player for seat in seats])
    course = spoken.course
    outcome = rules.outcome(flag)
    built = GameRecord(
        game_type=rules.kind.name,
        system=SYSTEM,
        format=FORMAT,
        format_version=VERSION,
        setting=setting,
        is_repeatable=True,
        is_finished=outcome is not None,
        outcome=outcome,
        outcome_code=flag,
        n_rounds=hidden_roles.n_rounds(rules, course),
        seats=seats,
        messages=spoken,
    )
    built.votes = [
        Vote(course.seat[index] or 0, course.round[index] or 1, index, None, is_logged=False)
        for index in course.said(Phase.VOTE)
    ]
    return built
