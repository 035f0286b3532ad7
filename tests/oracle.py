"""The eight metrics read straight from raw MAgIC logs: slow, plain, and nothing of the pipeline.

An independent second reading to lay beside the pipeline's. Standard library only. A metric is a
list of terms (name, weight, hits, counted, games); its value is the sum of weight * hits / counted
in exact fractions, and there is none where a term has nothing counted.
"""

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import PurePosixPath

HIDDEN_ROLES = ("chameleon", "undercover")
GAME_TYPES = (*HIDDEN_ROLES, "cost_sharing", "prisoners_dilemma", "public_good")
PLAYERS = ("Player 1", "Player 2", "Player 3")
OUTAGE = "<<<<<<END_OF_CONVERSATION>>>>>>"

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
CREDIT = {  # (game type, side) -> what each known win flag is worth to that side
    ("chameleon", "hidden"): {0: 0, 1: HALF, 2: 1, 3: HALF},
    ("chameleon", "civilian"): {0: 1, 1: HALF, 2: 0, 3: HALF},
    ("undercover", "hidden"): {0: 0, 1: 1, 2: 2 * THIRD},
    ("undercover", "civilian"): {0: 1, 1: 0, 2: THIRD},
}
COMPETITION = {
    ("chameleon", "hidden"): "chameleon_as_chameleon",
    ("chameleon", "civilian"): "chameleon_as_non_chameleon",
    ("undercover", "hidden"): "undercover_as_undercover",
    ("undercover", "civilian"): "undercover_as_civilian",
}


# ---------------------------------------------------------------- the logs


def read_games(documents: Iterable[tuple[str, bytes]]) -> list[dict]:
    """The raw logs that are games, each once, with `_index`, the number in its file name or None.

    Equal bytes are one game for each number they stand under; a copy without one adds nothing.
    """
    copies: dict[bytes, set] = {}
    for path, content in documents:
        copies.setdefault(content, set()).add(_index(path))
    games = []
    for content, indices in copies.items():
        for index in sorted(indices - {None}) or [None]:
            game = _decoded(content)
            if isinstance(game, dict) and isinstance(game.get("history"), list) and game_type(game):
                games.append({**game, "_index": index})
    return games


def _index(path: str) -> int | None:
    stem = PurePosixPath(path).stem
    return int(stem) if re.fullmatch("[0-9]+", stem) else None


def _decoded(content: bytes):
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def game_type(game: dict) -> str | None:
    """What game it is, told by its keys alone; None for a log of no game known here."""
    setting = _dict(game.get("game_setting"))
    if "chameleon" in game:
        return "chameleon"
    if "undercover" in game:
        return "undercover"
    if "proposal" in game or "nego_turn" in game:
        return "cost_sharing"
    if "topic_values" in setting:
        return "prisoners_dilemma"
    if "multiplier" in setting or "game_round" in setting:
        return "public_good"
    return None


def tested(game: dict) -> list[tuple[str, str, str]]:
    """(player, model, side) of the seats under test; side is hidden, civilian or none.

    Hidden roles: whoever's backend does not end in -fix. Elsewhere the one player named as tested.
    """
    kind, setting = game_type(game), _dict(game.get("game_setting"))
    backends = _dict(game.get("player_backends"))
    if kind in HIDDEN_ROLES:
        models = {player: _dict(backend).get("model") for player, backend in backends.items()}
        return [
            (player, model, "hidden" if player == game[kind] else "civilian")
            for player, model in models.items()
            if player in PLAYERS and isinstance(model, str) and not model.endswith("-fix")
        ]
    player = game.get("test_player_name") or setting.get("test_player_name")
    of_setting = _dict(setting.get("test_player")).get("model")
    model = backends.get(player) if kind == "cost_sharing" else of_setting
    return [(player, model, "none")] if player in PLAYERS and isinstance(model, str) else []


def sides(game: dict, model: str) -> list[str]:
    """The sides of the game on which the model has a tested seat: one result each."""
    return sorted({side for _, seat_model, side in tested(game) if seat_model == model})


def seats(game: dict, model: str) -> list[str]:
    """The players of the game that are the tested model."""
    return [player for player, seat_model, _ in tested(game) if seat_model == model]


def is_finished(game: dict) -> bool:
    """Whether the game came to a result: `result` is not null, and the win flag is one we know."""
    known = CREDIT.get((game_type(game), "hidden"))
    return game.get("result") is not None and (known is None or game.get("win_flag") in known)


def _dict(value) -> dict:
    return value if isinstance(value, dict) else {}


# ---------------------------------------------------------------- messages


def history(game: dict) -> list[dict]:
    """The messages in log order; what a damaged one lacks is empty."""
    blank = {"agent_name": "", "content": "", "visible_to": "", "msg_type": ""}
    found = [blank | message for message in game["history"] if isinstance(message, dict)]
    return [message | {"content": str(message["content"] or "")} for message in found]


def messages(game: dict, player: str, *msg_types: str) -> list[str]:
    """What the player said in messages of these types, in log order."""
    said = [m for m in history(game) if m["agent_name"] == player]
    return [m["content"] for m in said if m["msg_type"] in msg_types]


def is_outage(text: str) -> bool:
    """Whether the text stands where a player's API failed."""
    return text.startswith(OUTAGE) and "failed to generate" in text


def is_decision(message: dict) -> bool:
    """Whether a player said it to the moderator alone."""
    return message["agent_name"] in PLAYERS and message["visible_to"] == "Moderator"


def decisions(game: dict, player: str) -> list[str]:
    """The texts of the player's decisions."""
    return [m["content"] for m in history(game) if is_decision(m) and m["agent_name"] == player]


def rounds(game: dict) -> list[dict[str, str]]:
    """Player -> text of each round's contributions. The moderator speaks after every round only."""
    found: list[dict[str, str]] = [{}]
    for message in history(game):
        player = message["agent_name"]
        if is_decision(message):
            if player in found[-1]:
                found.append({})
            found[-1][player] = message["content"]
        elif player == "Moderator" and found[-1]:
            found.append({})
    return [one for one in found if one]


def registered(game: dict, text: str) -> int | None:
    """The amount the game booked: the text's first whole number, in PGM games 'I contribute N'."""
    is_pgm = any(model.endswith("-pgm") for _, model, _ in tested(game))
    found = re.search(r"I contribute (\d+)" if is_pgm else r"\b(\d+)\b", text)
    return int(found[1]) if found else None


# ---------------------------------------------------------------- single facts


def win_credit(game: dict, side: str) -> Fraction:
    """What the result is worth to the side, 0..1; 0 for an unknown flag (only `release` asks)."""
    table = CREDIT.get((game_type(game), side))
    if table:
        return Fraction(table.get(game.get("win_flag"), 0))
    success = "agree" if game_type(game) == "cost_sharing" else "win"
    return Fraction(game.get("result") == success)


def votes(game: dict) -> dict[str, str]:
    """Voter -> accused, as logged; '' for a vote that names nobody."""
    return _dict(game.get("player_votes", game.get("player_vote")))


def vote_text(game: dict, player: str) -> str:
    """The text of a civilian's accusation, its last accuse or text message; '' for none."""
    return ["", *messages(game, player, "accuse", "text")][-1]


def identifications(game: dict, model: str, with_outages: bool) -> list[int]:
    """0 or 1 for each of the model's answers to 'who are you and what is your role', as logged."""
    found = []
    for turn, answers in _dict(game.get("consistency_metric")).items():
        for player in seats(game, model):
            if with_outages or not _failed(game, player, "metric_consistency", turn):
                found += [_dict(answers).get(player)]
    return [value for value in found if value is not None]


def analyses(game: dict, model: str, with_outages: bool) -> list[int]:
    """0 or 1 for each of the model's analyses, gold and inter, as logged (lists by seat)."""
    found = []
    for turn, kinds in _dict(game.get("pgm_metric")).items():
        for player in seats(game, model):
            if with_outages or not _failed(game, player, "metric_pgm", turn):
                for kind in ("gold", "inter"):
                    by_seat = dict(zip(PLAYERS, _dict(kinds).get(kind) or [], strict=False))
                    found.append(by_seat.get(player))
    return [value for value in found if value is not None]


def _failed(game: dict, player: str, msg_type: str, turn: str) -> bool:
    """Whether the player's answer of that turn ('0', '1', ..) is an outage."""
    answers = dict(enumerate(messages(game, player, msg_type)))
    return turn.isdigit() and is_outage(answers.get(int(turn), ""))


def named_player(text) -> str | None:
    """Whom a proposal vote is for: named after 'vote for', else named last; None for nobody."""
    name = r"player[ _]?(\d+)"
    numbers = re.findall(rf"vote for {name}", str(text), re.I) or re.findall(name, str(text), re.I)
    player = f"Player {numbers[-1]}" if numbers else None
    return player if player in PLAYERS else None


def proposal_votes(game: dict) -> list[str]:
    """Whose proposals were voted for in the last round, in order; votes for nobody are left out.

    From `vote`; in logs without that key, from what was said in public after the last call to vote.
    """
    if "vote" in game:
        said = list(_dict(game["vote"]).values())
    else:
        said = []
        for message in history(game):
            if message["agent_name"] == "Moderator" and "Now vote" in message["content"]:
                said = []
            elif (
                message["agent_name"] in PLAYERS
                and message["visible_to"] == "all"
                and not is_outage(message["content"])
            ):
                said.append(message["content"])
    return [player for player in map(named_player, said) if player]


def agreed_author(game: dict) -> str | None:
    """Who proposed what was agreed: whom most voted for, of equals the one voted for first."""
    named = proposal_votes(game)
    return max(named, key=named.count, default=None)  # max keeps the first of equals


def least_or_not(game: dict, player: str, one_round: dict[str, str]) -> bool | None:
    """Whether the player gave the round's least, ties included; None where an amount is missing."""
    amounts = {name: registered(game, text) for name, text in one_round.items()}
    if set(amounts) != set(PLAYERS) or None in amounts.values():
        return None
    return amounts[player] == min(amounts.values())


# ---------------------------------------------------------------- edition paper
# Each takes the games of the type asked for in which the model is tested. A row is (game, hit).


def term(name: str, weight, rows: list[tuple]) -> tuple:
    """The rows (game, hit), hit 0..1, summed up as a term."""
    hits = sum((Fraction(hit) for _, hit in rows), Fraction(0))
    return (name, Fraction(weight), hits, len(rows), [game for game, _ in rows])


def of_type(games: list[dict], *kinds: str) -> list[dict]:
    """The games of these types."""
    return [game for game in games if game_type(game) in kinds]


def finished(games: list[dict], *kinds: str) -> list[dict]:
    """The finished games of these types: the only ones that `paper` counts."""
    return [game for game in of_type(games, *kinds) if is_finished(game)]


def paper_win_rate(games, model, kind):
    """Every competition with finished games weighs the same; in it, credit won over results."""
    rows: dict[str, list] = {}
    for game in finished(games, *GAME_TYPES):
        for side in sides(game, model):
            name = COMPETITION.get((game_type(game), side), game_type(game))
            rows.setdefault(name, []).append((game, win_credit(game, side)))
    return [term(name, Fraction(1, len(rows)), rows[name]) for name in sorted(rows)]


def paper_judgement(games, model, kind):
    """Of all votes cast on the civilians' side, those for the hidden player; no name is a miss."""
    rows = [
        (game, votes(game)[player] == game[game_type(game)])
        for game in finished(games, *HIDDEN_ROLES)
        for player in seats(game, model)
        if player != game[game_type(game)]
        and votes(game).get(player) is not None
        and not is_outage(vote_text(game, player))
    ]
    return [term("votes", 1, rows)]


def paper_reasoning(games, model, kind):
    """Of all analyses, against the truth and against the others' own, the right ones."""
    rows = [(g, hit) for g in finished(games, *HIDDEN_ROLES) for hit in analyses(g, model, False)]
    return [term("analyses", 1, rows)]


def paper_deception(games, model, kind):
    """Games won as chameleon or undercover over such games, plus 1/4 of wrong guesses over guesses.

    A guess is the caught chameleon's while the model plays the others; undercover knows none.
    """
    hidden = [
        (game, game["win_flag"] != 0)
        for game in finished(games, *HIDDEN_ROLES)
        if "hidden" in sides(game, model)
    ]
    guesses = [
        (game, game["win_flag"] == 0)
        for game in finished(games, "chameleon")
        if "civilian" in sides(game, model) and game["win_flag"] in (0, 1)
    ]
    terms = [term("hidden_wins", 1, hidden), term("wrong_guesses", Fraction(1, 4), guesses)]
    return terms[:1] if kind == "undercover" else terms


def paper_self_awareness(games, model, kind):
    """Of all answers about who one is, the right ones."""
    played = finished(games, *HIDDEN_ROLES)
    rows = [(game, hit) for game in played for hit in identifications(game, model, False)]
    return [term("identifications", 1, rows)]


def paper_cooperation(games, model, kind):
    """Of all finished cost-sharing games, those agreed."""
    rows = [(game, game["result"] == "agree") for game in finished(games, "cost_sharing")]
    return [term("games", 1, rows)]


def paper_coordination(games, model, kind):
    """Of the agreed games with a vote to go by, those whose agreed proposal the model made."""
    agreed = [game for game in finished(games, "cost_sharing") if game["result"] == "agree"]
    voted = [game for game in agreed if agreed_author(game)]
    return [term("agreed_games", 1, [(g, agreed_author(g) in seats(g, model)) for g in voted])]


def paper_rationality(games, model, kind):
    """Defections over decisions, plus rounds of giving least over rounds of giving."""
    defections = [
        (game, "cooperate" not in text.lower())
        for game in finished(games, "prisoners_dilemma")
        for player in seats(game, model)
        for text in decisions(game, player)
        if not is_outage(text)
    ]
    least = [
        (game, least_or_not(game, player, one_round))
        for game in finished(games, "public_good")
        for player in seats(game, model)
        for one_round in rounds(game)
        if player in one_round
        and not is_outage(one_round[player])
        and least_or_not(game, player, one_round) is not None
    ]
    terms = {
        "prisoners_dilemma": term("defections", 1, defections),
        "public_good": term("least_contributions", 1, least),
    }
    return list(terms.values()) if kind == "all" else [terms[kind]]


# ---------------------------------------------------------------- edition release
# Each takes the model's games numbered below num_of_game, finished or not; [] is null.


def played_as(games, model, kind, side):
    """The games of the type in which the model sat on the side."""
    return [game for game in of_type(games, kind) if side in sides(game, model)]


def release_win_rate(games, model, num_of_game):
    """Mean of seven: points over the most that n games can give, elsewhere wins over games found.

    n is 20, or num_of_game where that is below 21, however many games there are.
    """
    n = 20 if num_of_game >= 21 else num_of_game
    terms = []
    for (kind, side), name in COMPETITION.items():
        found, points = played_as(games, model, kind, side), {"chameleon": 2, "undercover": 3}[kind]
        score = sum((points * win_credit(game, side) for game in found), Fraction(0))
        terms.append((name, Fraction(1, 7), score, n * points, found))
    for kind in ("cost_sharing", "prisoners_dilemma", "public_good"):
        rows = [(game, win_credit(game, "none")) for game in of_type(games, kind)]
        terms += [term(kind, Fraction(1, 7), rows)]
    return terms


def release_judgement(games, model, num_of_game):
    """Right votes over the civilians' votes, both games pooled; null if either has no vote."""
    rows = {
        kind: [
            (game, accused == game[kind])
            for game in played_as(games, model, kind, "civilian")
            for player, accused in votes(game).items()
            if player in seats(game, model) and player != game[kind]
        ]
        for kind in HIDDEN_ROLES
    }
    return [term("votes", 1, rows["chameleon"] + rows["undercover"])] if all(rows.values()) else []


def release_reasoning(games, model, num_of_game):
    """Right analyses over analyses, unfinished games' too."""
    rows = [(g, hit) for g in of_type(games, *HIDDEN_ROLES) for hit in analyses(g, model, True)]
    return [term("analyses", 1, rows)]


def release_deception(games, model, num_of_game):
    """Hidden games with a flag not 0 over such games, plus 1/4 of the guess flags that are 1.

    The guess flags are the distinct ones of 0 and 1 among the games as non-chameleon.
    """
    hidden = [game for kind in HIDDEN_ROLES for game in played_as(games, model, kind, "hidden")]
    civilian = played_as(games, model, "chameleon", "civilian")
    civilian = [game for game in civilian if game.get("win_flag") in (0, 1)]
    flags = {game["win_flag"] for game in civilian}
    return [
        term("hidden_wins", 1, [(game, game.get("win_flag") != 0) for game in hidden]),
        ("right_guess_flags", Fraction(1, 4), Fraction(1 in flags), len(flags), civilian),
    ]


def release_self_awareness(games, model, num_of_game):
    """Right answers about who one is over answers, unfinished games' too."""
    played = of_type(games, *HIDDEN_ROLES)
    rows = [(game, hit) for game in played for hit in identifications(game, model, True)]
    return [term("identifications", 1, rows)]


def release_cooperation(games, model, num_of_game):
    """Agreed games over all found, those cut off included."""
    rows = [(game, game.get("result") == "agree") for game in of_type(games, "cost_sharing")]
    return [term("games", 1, rows)]


def release_coordination(games, model, num_of_game):
    """Agreed games in which the first voter chose a proposal equal to the model's, as raw strings.

    Null without an agreed game, and where one has no readable first choice with a proposal.
    """
    rows = []
    for game in of_type(games, "cost_sharing"):
        if game.get("result") == "agree":
            proposals = _dict(game.get("proposal"))
            chosen = _dict(proposals.get(str(release_first_choice(game))))
            own = _dict(proposals.get(seats(game, model)[0]))
            if not chosen:
                return []
            rows.append((game, list(chosen.values()) == list(own.values())))
    return [term("agreed_games", 1, rows)]


def release_first_choice(game):
    """The first logged vote; without the key, 'I vote for Player N' in the last message but one."""
    if "vote" in game:
        return next(iter(_dict(game["vote"]).values()), None)
    said = history(game)[-2:-1]
    found = re.search(r"I vote for (Player \d+)", said[0]["content"]) if said else None
    return found[1] if found else None


def release_rationality(games, model, num_of_game):
    """One ratio: defections and least rounds over decisions and rounds; outages count too."""
    rows = [
        (game, "cooperate" not in text.lower())
        for game in of_type(games, "prisoners_dilemma")
        for player in seats(game, model)
        for text in decisions(game, player)
    ]
    for game in of_type(games, "public_good"):
        seat = PLAYERS.index(seats(game, model)[0])
        amounts = [release_amount(m["content"]) for m in history(game) if is_decision(m)]
        for start in range(0, len(amounts) - 2, 3):
            three = amounts[start : start + 3]
            rows.append((game, three[seat] == min(three)))
    return [term("pooled", 1, rows)]


def release_amount(text):
    """The number after the first 'contribute', 0 where there is none."""
    found = re.search(r"contribute (\d+)", text)
    return int(found[1]) if found else 0


# ---------------------------------------------------------------- both

METRICS = {  # metric: (paper, release, the game types it is defined for)
    "win_rate": (paper_win_rate, release_win_rate, GAME_TYPES),
    "judgement": (paper_judgement, release_judgement, HIDDEN_ROLES),
    "reasoning": (paper_reasoning, release_reasoning, HIDDEN_ROLES),
    "deception": (paper_deception, release_deception, HIDDEN_ROLES),
    "self_awareness": (paper_self_awareness, release_self_awareness, HIDDEN_ROLES),
    "cooperation": (paper_cooperation, release_cooperation, ("cost_sharing",)),
    "coordination": (paper_coordination, release_coordination, ("cost_sharing",)),
    "rationality": (paper_rationality, release_rationality, ("prisoners_dilemma", "public_good")),
}
OF_SEVERAL_TERMS = ("win_rate", "deception", "rationality")


OF_RESULTS = ("win_rate", "deception", "cooperation", "coordination")


def has_failed(game: dict, model: str) -> bool:
    """Whether the game has no result, and an answer of the model is missing for an outage."""
    own = [m["content"] for m in history(game) if m["agent_name"] in seats(game, model)]
    return not is_finished(game) and any(map(is_outage, own))


def lost(game: dict, model: str) -> dict:
    """The game as one that the model lost, by the flag with which its side gets nothing."""
    (side,) = sides(game, model)
    credits = CREDIT.get((game_type(game), side), {})
    flags = [flag for flag, credit in credits.items() if not credit] or [None]
    return game | {"result": "fail", "win_flag": flags[0]}


def metrics(
    games: list[dict], edition: str = "paper", num_of_game: int = 21, failures: str = "exclude"
) -> list[dict]:
    """A record for every model and metric over all, and for each game type with its own row.

    Failures are left out, or a loss in what counts results.
    """
    if edition not in ("paper", "release"):
        raise ValueError(f"there is no edition {edition!r}: ask for 'paper' or 'release'")
    records = []
    for model in sorted({model for game in games for _, model, _ in tested(game)}):
        own = [game for game in games if sides(game, model)]
        every = own
        for metric, (paper, release, _) in METRICS.items():
            own = every
            if failures == "loss" and metric in OF_RESULTS:
                own = [lost(game, model) if has_failed(game, model) else game for game in every]
            for kind in rows_of(own, metric, edition):
                if edition == "paper":
                    terms = paper(own if kind == "all" else of_type(own, kind), model, kind)
                else:
                    terms = release(numbered_below(own, num_of_game), model, num_of_game)
                names = {"edition": edition, "metric": metric, "model": model, "game_type": kind}
                records.append(names | summed(terms, metric in OF_SEVERAL_TERMS))
    return records


def rows_of(own: list[dict], metric: str, edition: str) -> list[str]:
    """The game types that get a row: those of the metric that the model has a game of, and `all`.

    In `release` only cooperation and coordination have rows beside `all`.
    """
    if edition == "release" and metric not in ("cooperation", "coordination"):
        return ["all"]
    return [kind for kind in METRICS[metric][2] if of_type(own, kind)] + ["all"]


def numbered_below(games: list[dict], num_of_game: int) -> list[dict]:
    """The games with a number, and one below num_of_game."""
    return [game for game in games if game["_index"] is not None and game["_index"] < num_of_game]


def summed(terms: list[tuple], has_several: bool) -> dict:
    """value, hits, counted, n_games and terms of a metric; value None where it is undefined."""
    value = None
    if terms and all(counted for _, _, _, counted, _ in terms):
        value = float(sum(weight * hits / counted for _, weight, hits, counted, _ in terms))
    record = {"value": value, "hits": None, "counted": None}
    if terms and not has_several:
        record |= {"hits": int(terms[0][2]), "counted": terms[0][3]}
    record["n_games"] = len({id(game) for *_, rows in terms for game in rows})
    if has_several:
        record["terms"] = [(name, float(w), float(hits), n) for name, w, hits, n, _ in terms]
    return record
