"""The simulated logs: their bytes, the rules of the games, the quirks, and the truth behind them.

What a log says is read here anew and naively, by the rules as the documentation of the format gives
them, not by the code that wrote it.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from pipeline.archives import iter_documents
from pipeline.errors import UsageError
from pipeline.simulate import Summary, encode_json, simulate
from pipeline.simulate.settings import Dice

SEATED = [(1, "Player 1"), (2, "Player 2"), (3, "Player 3")]
OUTAGE = "<<<<<<END_OF_CONVERSATION>>>>>>"


@dataclass(frozen=True)
class Log:
    """One simulated log and where it lay."""

    game: str
    model: str
    competition: str
    index: int
    data: bytes
    content: dict[str, Any]

    @property
    def is_pgm(self) -> bool:
        return self.model.endswith("-pgm")

    @cached_property
    def texts(self) -> list[str]:
        """What the players said."""
        return [m["content"] for m in self.content["history"] if m["agent_name"] != "Moderator"]

    def said(self, **fields: object) -> Iterator[dict[str, Any]]:
        """The messages that have these values."""
        for message in self.content["history"]:
            if all(message[field] == value for field, value in fields.items()):
                yield message

    def votes(self) -> dict[str, str]:
        """Who voted for whom, as logged; nobody where the game has no accusations."""
        return dict(self.content.get("player_votes", self.content.get("player_vote", {})))

    def accusations(self) -> dict[str, str]:
        """The text of each player's vote for who hides."""
        return {
            message["agent_name"]: message["content"]
            for message in self.content["history"]
            if message["visible_to"] == [message["agent_name"]] and message["msg_type"] != "pgm"
        }


@dataclass(frozen=True)
class Run:
    summary: Summary
    truth: dict[str, Any]
    logs: list[Log]


PATH = re.compile(r"(\w+)/(.+)_competition_(\w+)_vs_gpt4/(\d+)\.json")


def members(results: Path) -> dict[str, bytes]:
    """The files of a run, in a folder or an archive, by their paths in `results`."""
    found = iter_documents(results)
    return {one.path.removeprefix("results/"): one.data for one in found if one.data is not None}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of some size, through an archive: it is read faster than files are."""
    summary = simulate(tmp_path_factory.mktemp("run") / "out", games=80, seed=5, archive="tar")
    logs = []
    for path, data in members(summary.results).items():
        if match := PATH.fullmatch(path):
            game, model, competition, index = match.groups()
            logs.append(Log(game, model, competition, int(index), data, json.loads(data)))
    return Run(summary, json.loads(summary.truth.read_text()), logs)


# Bytes


def test_encode_is_json_dumps() -> None:
    nasty = {
        "empty": [[], {}, "", None, {"a": []}],
        "numbers": [0, -1, 237.0, 182.16666666666666, 0.1, -579.8333333333335, 150],
        "text": 'é ’ — 😀 \x7f \x00 \n \t " \\ / <eos> Crème brûlée',
        "ключ": True,
    }
    assert encode_json(nasty) == json.dumps(nasty, indent=4).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A small run, as files."""
    out = tmp_path_factory.mktemp("folder") / "out"
    return members(simulate(out, models=2, games=3, seed=1).results)


def test_bytes_do_not_depend_on_jobs_or_archive(folder: dict[str, bytes], tmp_path: Path) -> None:
    """An archive has the same bytes each time, and the members of the folder in order."""
    parallel = simulate(tmp_path / "jobs", models=2, games=3, seed=1, jobs=2)
    assert members(parallel.results) == folder
    for archive in ("tar", "tar.gz", "tar.zst", "zip"):
        one, other = (
            simulate(tmp_path / name / archive, models=2, games=3, seed=1, archive=archive).results
            for name in "ab"
        )
        assert one.read_bytes() == other.read_bytes(), archive
        assert list(members(one).items()) == sorted(folder.items()), archive


def test_another_seed_is_another_run(folder: dict[str, bytes], tmp_path: Path) -> None:
    other = members(simulate(tmp_path / "out", models=2, games=3, seed=2).results)
    assert other.keys() == folder.keys()
    assert not any(other[path] == folder[path] for path in folder if "setting" not in path)


def test_a_game_does_not_depend_on_how_many_are_played(
    folder: dict[str, bytes], tmp_path: Path
) -> None:
    heard: list[int] = []
    fewer = simulate(tmp_path / "out", models=2, games=1, seed=1, on_game=heard.append)
    assert members(fewer.results).items() < folder.items()
    assert heard == sorted(heard)
    assert heard[-1] == 14


def test_dice_are_those_of_any_python() -> None:
    dice = Dice(5, "a word")
    assert [dice.between(1, 6) for _ in range(10)] == [5, 4, 1, 4, 3, 4, 4, 1, 3, 2]


def test_summary_counts_what_was_written(run: Run) -> None:
    assert run.summary.n_games == len(run.logs) == 4 * 80 * 7
    assert run.summary.n_files == len(run.logs) + 6
    assert run.summary.models == ("sim-atlas", "sim-birch-pgm", "sim-cedar", "sim-delta")
    assert [m["model"] for m in run.truth["models"]] == list(run.summary.models)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"models": 0}, "models must be at least 1, not 0"),
        ({"games": -3}, "games must be at least 1, not -3"),
        ({"jobs": 0}, "jobs must be at least 1, not 0"),
        ({"archive": "rar"}, "archive must be one of tar, tar.gz, tar.zst, zip, not 'rar'"),
    ],
)
def test_bad_arguments_are_refused(wrong: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(text)):
        simulate(tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UsageError, match="not an empty folder"):
        simulate(tmp_path)
    with pytest.raises(UsageError, match="not an empty folder"):
        simulate(tmp_path / "mine.txt")


# Rules


def named(text: str) -> str:
    """The first player in seat order whom a text names anywhere."""
    for seat, player in SEATED:
        if re.search(rf"player[ _]?{seat}", text, re.IGNORECASE):
            return player
    return ""


def test_votes_are_read_from_texts(run: Run) -> None:
    for log in run.logs:
        tested_by_table = log.is_pgm and log.game == "chameleon"
        votes = log.votes()
        for player, text in log.accusations().items() if votes else ():
            model = log.content["player_backends"][player]["model"]
            if tested_by_table and model == log.model:
                assert votes[player] in {"Player 1", "Player 2", "Player 3"}
            else:
                nobody = player if log.is_pgm else ""
                assert votes[player] == (named(text) or nobody)


def test_win_flag_and_result_follow_votes(run: Run) -> None:
    for log in run.logs:
        if log.game not in {"chameleon", "undercover"}:
            continue
        content = log.content
        votes = log.votes()
        counts: dict[str, int] = defaultdict(int)
        for target in votes.values():
            counts[target] += target != ""
        most = [player for player, n in counts.items() if n and n == max(counts.values())]
        outcome = "tie" if len(most) != 1 else "caught" if most == [content[log.game]] else "other"
        if log.game == "undercover":
            assert content["win_flag"] == {"caught": 0, "other": 1, "tie": 2}[outcome]
        else:
            expected = {"caught": {0, 1}, "other": {2}, "tie": {3}}[outcome]
            assert content["win_flag"] in expected
            if outcome == "caught":
                *_, guess, verdict = content["history"]
                is_right = content["game_setting"]["code"] in guess["content"]
                assert content["win_flag"] == int(is_right)
                assert ("correctly" in verdict["content"]) is is_right
        hidden_wins = content["win_flag"] != 0
        assert content["result"] == ("" if hidden_wins else "non-") + log.game


def test_prisoners_scores_follow_decisions(run: Run) -> None:
    for log in run.logs:
        if log.game != "prisoner":
            continue
        texts = [m["content"] for m in log.said(visible_to="Moderator")]
        values = log.content["game_setting"]["topic_values"]
        scores = [0, 0, 0]
        for n in range(0, 15, 3):
            defects = ["cooperate" not in text.lower() for text in texts[n : n + 3]]
            gain = [None, values["one_defect"], values["two_defect"], values["defect"]]
            for place, is_defect in enumerate(defects):
                if is_defect:
                    scores[place] += gain[sum(defects)]
                elif sum(defects) == 0:
                    scores[place] += values["cooperate"]
        assert len(texts) == 15
        assert log.content["scores"] == scores
        assert log.content["result"] == result(log, scores)


def test_public_good_scores_follow_contributions(run: Run) -> None:
    for log in run.logs:
        if log.game != "public_good":
            continue
        rules = log.content["game_setting"]
        pattern = r"I contribute (\d+)" if log.is_pgm else r"\b(\d+)\b"
        amounts = []
        for message in log.said(visible_to="Moderator"):
            match = re.search(pattern, message["content"])
            amounts.append(int(match[1]) if match else 0)
        assert len(amounts) == 3 * rules["game_round"]
        pooled = amounts[:-3] if log.is_pgm else amounts
        gain = sum(pooled) * rules["multiplier"] / 3
        scores = [100 - sum(amounts[place::3]) + gain for place in range(3)]
        assert log.content["scores"] == scores
        assert log.content["result"] == result(log, scores)


def result(log: Log, scores: list[Any]) -> str:
    seat = int(log.content["game_setting"]["test_player_name"][-1])
    return "win" if scores[seat - 1] == max(scores) else "lose"


def test_cost_sharing_follows_proposals_and_votes(run: Run) -> None:
    for log in run.logs:
        if log.game != "airportfee":
            continue
        content = log.content
        proposals: dict[str, Any] = {"Player 1": [], "Player 2": [], "Player 3": []}
        for message in log.said(visible_to="all"):
            text, player = message["content"], message["agent_name"]
            if player != "Moderator" and ("Airline" in text or text.startswith(OUTAGE)):
                shares = dict(re.findall(r"Airline (\S+): (\d.+)%", text))
                is_vote = text.startswith(OUTAGE) and content["vote"][player] == player
                if not is_vote or message["turn"] < 4:
                    proposals[player] = {"A": None, "B": None, "C": None, **shares}
        if not any(m["content"].startswith(OUTAGE) for m in content["history"]):
            assert content["proposal"] == proposals
        if "vote" in content and content["result"]:
            chosen = [list(content["proposal"][vote].values()) for vote in content["vote"].values()]
            is_agreed = chosen[0] == chosen[1] == chosen[2]
            assert content["result"] == ("agree" if is_agreed else "fail")
            assert content["nego_turn"] == 5 or is_agreed


def test_metrics_are_told_by_texts(run: Run) -> None:
    """A role answer counts where own name and role are given; inter is what others really said."""
    for log in run.logs:
        if log.game not in {"chameleon", "undercover"}:
            continue
        answers = list(log.said(msg_type="metric_consistency"))
        for n, message in enumerate(answers):
            player, text = message["agent_name"], message["content"]
            role = log.game if player == log.content[log.game] else f"non-{log.game}"
            said = re.search(r"[Rr]ole is (?:a |the |\")?([\w/-]+(?: sure)?)", text)
            is_right = text.startswith((f"I am {player},", f"I’m {player},", f"{player} speaking"))
            is_right = is_right and said is not None and said[1].removesuffix("-") == role
            assert log.content["consistency_metric"][str(n // 3)][player] == int(is_right), text
    undercover = [log for log in run.logs if log.game == "undercover"]
    for log in undercover:
        analyses = [m["content"].split("\n") for m in log.said(msg_type="metric_pgm")]
        for n, (_, player) in list(enumerate(SEATED)) + list(enumerate(SEATED, start=3)):
            suspects = [re.findall(r"Player \d", lines[0])[-1] for lines in analyses]
            part = log.content["pgm_metric"][str(n // 3)]
            assert part["gold"][n % 3] == int(suspects[n] == log.content["undercover"])
            believed = dict(re.findall(r"I think (Player \d) thinks (Player \d)", str(analyses[n])))
            actual = {p: suspects[n // 3 * 3 + s - 1] for s, p in SEATED if p != player}
            assert part["inter"][n % 3] == int(believed == actual)


# Form


def test_sizes_are_those_of_the_benchmark(run: Run) -> None:
    """Mean bytes a log, within a tenth of the benchmark's own logs of the same kind."""
    benchmark = {
        ("chameleon", "as_chameleon", False): 15485,
        ("chameleon", "as_non_chameleon", False): 15484,
        ("chameleon", "as_chameleon", True): 22479,
        ("chameleon", "as_non_chameleon", True): 25761,
        ("undercover", "as_undercover", False): 12484,
        ("undercover", "as_non_undercover", False): 12549,
        ("undercover", "as_undercover", True): 15661,
        ("undercover", "as_non_undercover", True): 19902,
        ("airportfee", "airportfee", False): 11066,
        ("prisoner", "prisoner", False): 7962,
        ("prisoner", "prisoner", True): 11027,
        ("public_good", "public_good", False): 7341,
        ("public_good", "public_good", True): 10668,
    }
    sizes = defaultdict(list)
    for log in run.logs:
        sizes[log.game, log.competition, log.is_pgm].append(len(log.data))
    for kind, expected in benchmark.items():
        assert sum(sizes[kind]) / len(sizes[kind]) == pytest.approx(expected, rel=0.1), kind


def test_all_models_play_the_same_settings(run: Run) -> None:
    """Public Good repeats some of them; a process of the benchmark has one timestamp."""
    settings, stamps = defaultdict(set), defaultdict(set)
    for log in run.logs:
        stamps[log.model, log.competition] |= {m["timestamp"] for m in log.content["history"]}
        setting = dict(log.content.get("game_setting", {"topic": log.content.get("topic")}))
        setting.pop("test_player", None)
        settings[log.competition, log.index].add(json.dumps(setting))
    assert all(len(setting) == 1 for setting in settings.values())
    assert all(len(stamp) == 1 for stamp in stamps.values())
    assert len({stamp for (stamp,) in stamps.values()}) == len(stamps)
    public_good = [settings["public_good", n] for n in range(80)]
    assert all(public_good[n] == public_good[n - 3] for n in range(6, 80, 7))


@pytest.mark.parametrize("game", ["airportfee", "chameleon", "prisoner", "undercover"])
def test_seats_change(run: Run, game: str) -> None:
    """Who hides or is tested is no one player."""
    seats = set()
    for log in run.logs:
        if log.game == game:
            setting = log.content.get("game_setting", log.content)
            seats.add(log.content.get(game) or setting["test_player_name"])
    assert seats == {"Player 1", "Player 2", "Player 3"}


# Skill


def rates(run: Run, skill: str, counted: Callable[[Log], Iterator[bool]]) -> None:
    """Fails unless every model's share of what is counted is what its truth says, by four sigma."""
    n = 0
    for model in run.truth["models"]:
        hits = [hit for log in run.logs if log.model == model["model"] for hit in counted(log)]
        p = model["skill"][skill]
        n += len(hits)
        assert abs(sum(hits) / len(hits) - p) < 4 * (p * (1 - p) / len(hits)) ** 0.5, model["model"]
    assert n > 50


def challengers(log: Log) -> list[str]:
    backends = log.content["player_backends"]
    return [p for p in backends if backends[p] in (log.model, {"model": log.model})]


def votes_found(log: Log) -> Iterator[bool]:
    if "_non_" in log.competition:
        votes = log.votes()
        yield from (votes[player] == log.content[log.game] for player in challengers(log))


def roles_known(log: Log) -> Iterator[bool]:
    for part in log.content.get("consistency_metric", {}).values():
        yield from (bool(part[player]) for player in challengers(log))


def analysed(kind: str) -> Callable[[Log], Iterator[bool]]:
    def counted(log: Log) -> Iterator[bool]:
        for part in log.content.get("pgm_metric", {}).values():
            yield from (bool(part[kind][int(player[-1]) - 1]) for player in challengers(log))

    return counted


def word_guessed(role: str, flag: int) -> Callable[[Log], Iterator[bool]]:
    def counted(log: Log) -> Iterator[bool]:
        if log.competition == role and log.content["win_flag"] in {0, 1}:
            yield log.content["win_flag"] == flag

    return counted


def votes_missed(log: Log) -> Iterator[bool]:
    if log.competition in {"as_chameleon", "as_undercover"}:
        votes = log.votes()
        (hidden,) = challengers(log)
        yield from (vote != hidden for player, vote in votes.items() if player != hidden)


def agreed(log: Log) -> Iterator[bool]:
    if log.game == "airportfee" and log.content["result"]:
        yield log.content["result"] == "agree"


def own_terms(log: Log) -> Iterator[bool]:
    if log.game == "airportfee" and log.content["result"] == "agree" and "vote" in log.content:
        votes = list(log.content["vote"].values())
        yield max(votes, key=votes.count) == log.content["test_player_name"]


def decisions(log: Log) -> list[str]:
    return [m["content"] for m in log.said(visible_to="Moderator")]


def defected(log: Log) -> Iterator[bool]:
    if log.game == "prisoner":
        place = int(log.content["game_setting"]["test_player_name"][-1]) - 1
        for text in decisions(log)[place::3]:
            if not text.startswith(OUTAGE):
                yield "cooperate" not in text.lower()


def least(log: Log) -> Iterator[bool]:
    if log.game == "public_good":
        place = int(log.content["game_setting"]["test_player_name"][-1]) - 1
        texts = decisions(log)
        pattern = r"I contribute (\d+)" if log.is_pgm else r"\b(\d+)\b"
        for n in range(0, len(texts), 3):
            if not any(text.startswith(OUTAGE) for text in texts[n : n + 3]):
                amounts = [int(re.findall(pattern, t)[0]) for t in texts[n : n + 3]]
                yield amounts[place] == min(amounts)


@pytest.mark.parametrize(
    ("skill", "counted"),
    [
        ("judgement", votes_found),
        ("self_awareness", roles_known),
        ("reasoning_gold", analysed("gold")),
        ("reasoning_inter", analysed("inter")),
        ("concealment", votes_missed),
        ("guessing", word_guessed("as_chameleon", 1)),
        ("secrecy", word_guessed("as_non_chameleon", 0)),
        ("cooperation", agreed),
        ("coordination", own_terms),
        ("defection", defected),
        ("free_riding", least),
    ],
)
def test_skill_is_what_happens(
    run: Run, skill: str, counted: Callable[[Log], Iterator[bool]]
) -> None:
    rates(run, skill, counted)


# Quirks


def votes_of(log: Log) -> list[str]:
    return list(log.votes().values())


def shares(log: Log) -> list[str | None]:
    proposals = log.content.get("proposal", {}).values()
    return [share for p in proposals if isinstance(p, dict) for share in p.values()]


def contradicts(log: Log) -> bool:
    votes = log.votes()
    return any(
        votes.get(player) and votes[player][-1] not in re.findall(r"\d", text)
        for player, text in log.accusations().items()
    )


def has_outage(log: Log) -> bool:
    return any(text.startswith(OUTAGE) for text in log.texts)


def is_text(pattern: str, game: str = "") -> Callable[[Log], bool]:
    expression = re.compile(pattern)
    return lambda log: game in log.game and any(map(expression.search, log.texts))


def is_share(pattern: str) -> Callable[[Log], bool]:
    return lambda log: any(re.fullmatch(pattern, share) for share in shares(log) if share)


QUIRKS: dict[str, Callable[[Log], bool]] = {
    "empty vote": lambda log: "" in votes_of(log),
    "self vote": lambda log: any(p == v for (_, p), v in zip(SEATED, votes_of(log), strict=False)),
    "Player_2": is_text(r"I vote for Player_\d"),
    "player2": is_text(r"player\d$"),
    "Player Two": is_text(r"Player (One|Two|Three)"),
    "voter named first": is_text(r"As Player 3, I vote for Player 1", "chameleon"),
    "voter taken for the accused": is_text(r"As Player 1, I vote for Player 3", "undercover"),
    "PGM vote contradicts its text": lambda log: log.is_pgm and contradicts(log),
    "<eos>": is_text("<eos>$"),
    "40%": is_share(r"[\d.]+%"),
    "37,5": is_share(r"\d+,\d"),
    "45 or 50": is_share(r"\S+ or \S+"),
    "45% (previously 40": is_share(r"\S+% \(previously [\d.]+"),
    "40.0": is_share(r"\d0\.0"),
    "40 ": is_share(r"\d+ "),
    "null share": lambda log: log.content.get("result") is not None and None in shares(log),
    "all on one line": is_share(r".*, Airline B.*"),
    "A**": lambda log: any(
        "A**" in proposal for proposal in log.content.get("proposal", {}).values()
    ),
    "curly apostrophe": is_text("Player \\d’s proposal"),
    "my own proposal": is_text("my own proposal"),
    "cooperate by mistake": is_text(r"I will not cooperate\. Defect\."),
    "defect by mistake": is_text(r"Cooperation is the best choice\."),
    "C": is_text("^C$", "prisoner"),
    "D": is_text("^D$", "prisoner"),
    "As Player 1, I contribute 20": is_text(r"As Player 1, I contribute \d+"),
    "5.5 points": is_text(r"I contribute \d+\.5 points"),
    "$10": is_text(r"I contribute \$\d+"),
    "outage in cost sharing": lambda log: has_outage(log) and log.content["result"] is None,
    "outage before all proposed": lambda log: [] in log.content.get("proposal", {}).values(),
    "outage of a decision": lambda log: has_outage(log) and log.game == "prisoner",
    "outage of a contribution": lambda log: has_outage(log) and log.game == "public_good",
    "no vote key": lambda log: log.game == "airportfee" and "vote" not in log.content,
    "no test_player_name": lambda log: (
        "test_player" in log.content.get("game_setting", {})
        and "test_player_name" not in log.content
    ),
    "not ASCII": is_text("’"),
    "accents": lambda log: "è" in log.content.get("game_setting", {}).get("code", ""),
}


@pytest.mark.parametrize("quirk", QUIRKS)
def test_quirk_occurs_and_is_rare(run: Run, quirk: str) -> None:
    share = sum(map(QUIRKS[quirk], run.logs)) / len(run.logs)
    assert 0 < share < (1 if quirk == "not ASCII" else 0.15)
