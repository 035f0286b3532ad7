"""The names of a game's own seats, read from texts: whole, as written, in many scripts."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from rawlogs import encode, game_of, games_of

from pipeline.formats import read

NOBODY, SEVERAL = "unreadable", "ambiguous"


def votes(seats: Sequence[str], texts: Sequence[str], **act: object) -> list[str]:
    """Whom each text of the first seat votes for, or its status where it is for nobody."""
    document = {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": "undercover",
        "is_finished": True,
        "end": {"outcome": "caught"},
        "seats": [
            {"player": seat, "model": "m", "role": "civilian" if number else "undercover"}
            for number, seat in enumerate(seats)
        ],
        "events": [
            {"actor": seats[0], "round": n, "text": text, "acts": [{"act": "votes", **act}]}
            for n, text in enumerate(texts, start=1)
        ],
    }
    return [
        vote.stated_target or str(vote.parse_status)
        for vote in sorted(game_of(document).votes, key=lambda vote: vote.round)
    ]


# The seats, and by text whom it names.
CASES: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (
        ("Ann", "Bob", "Anna", "Zo\u00eb"),
        {
            "My vote goes to Bob!": "Bob",
            "I vote for Anna.": "Anna",
            "Annabel?": NOBODY,
            "bob": "Bob",
            "It is BOB.": "Bob",
            "As Ann, I vote for Bob": "Bob",
            "I'm Ann and I think that Bob lies": "Bob",
            "I\u2019m Ann. Bob it is": "Bob",
            "Ann's clue was odd": "Ann",
            "_Bob_ and **Bob**": "Bob",
            "Ann or Bob": SEVERAL,
            "I vote for Ann and Bob": SEVERAL,
            "I vote for Bob because Ann's clue was good": "Bob",
            "I vote for bob. Ann agrees": "Bob",
            "Zoe\u0308 it is": "Zo\u00eb",
            "Zo\u00e9 it is": NOBODY,
            "I vote for Player 2": NOBODY,
            "I don't vote for Ann but for Bob": "Bob",
            "I'm not voting for Ann; Bob it is": "Bob",
            "Not Ann. Bob.": "Bob",
            "I will never vote for Ann. My vote goes to Bob": "Bob",
            "Ann said 'I vote for Bob'. I won't vote for Anna": "Bob",
            "Ich stimme nicht f\u00fcr Ann, sondern f\u00fcr Bob": "Bob",
            "No voto por Ann": NOBODY,
            "I vote for nobody; Bob is fine": NOBODY,
            "Bob gets my vote, Ann is fine": "Bob",
            "I switch my vote from Ann to Bob": SEVERAL,
            "Vote: Ann \u2192 Bob": SEVERAL,
            "I vote with Ann for Bob": SEVERAL,
            "My vote is for neither Ann nor Bob": NOBODY,
            "Everyone but Ann": NOBODY,
            "I vote for Bob to save Ann": "Bob",
            "nobody": NOBODY,
            "": NOBODY,
        },
    ),
    (
        ("Will", "May", "Mark", "Rose"),
        {
            "I will vote for May": "May",
            "I vote for will": "Will",
            "Will lies": "Will",
            "I will abstain": NOBODY,
            "i may abstain": NOBODY,
            "The clue of Mark may fit": "Mark",
            "Rosewood": NOBODY,
        },
    ),
    (
        ("A", "B", "C"),
        {
            "I vote for A.": "A",
            "I vote for B because a clue was odd": "B",
            "I vote for a liar": NOBODY,
            "A is the undercover": "A",
            "A clue was odd": SEVERAL,
            "A clue of B was odd": SEVERAL,
            "**C**": "C",
        },
    ),
    (("O'Brien", "Brien"), {"I vote for O\u2019Brien": "O'Brien", "Brien it is": "Brien"}),
    (("I", "J"), {"I think J lies": "J", "I vote for I": "I", "I'm sure, I abstain": NOBODY}),
    (
        ("Mary-Ann", "Mary Ann", "Ann"),
        {"Mary-Ann": "Mary-Ann", "Mary Ann": "Mary Ann", "Mary_Ann": SEVERAL, "Ann": "Ann"},
    ),
    (
        ("Agent-2", "Agent-21", "Agent-1"),
        {
            "I vote for Agent-21": "Agent-21",
            "Agent-2.": "Agent-2",
            "agent 2": "Agent-2",
            "Agent_1": "Agent-1",
            "AGENT TWO": "Agent-2",
            "Agent-211": NOBODY,
        },
    ),
    (
        ("player_1", "Player 12", "Bob"),
        {"Player 1": "player_1", "I vote for Player one": "player_1", "Player_12": "Player 12"},
    ),
    (("3", "13", "4"), {"I vote for 13": "13", "3": "3", "3 or 4": SEVERAL, "31": NOBODY}),
    (("Bob", "bob"), {"Bob": "Bob", "bob": "bob", "BOB": SEVERAL}),
    (
        ("O'Brien", "A.I. (x)", "[Z] $1", "Mary Ann", "Ann", "Mary"),
        {
            "I vote for O\u2019Brien": "O'Brien",
            "A.I. (x)": "A.I. (x)",
            "[Z] $1": "[Z] $1",
            "Mary Ann": "Mary Ann",
            "mary-ann": "Mary Ann",
            "I vote for Mary-Ann, Mary is fine": SEVERAL,
            "I vote for Mary-Ann. Mary is fine": "Mary Ann",
            "My vote: Mary_Ann": "Mary Ann",
            "Ann": "Ann",
        },
    ),
    (
        ("李", "王", "13号", "3号", "三号", "Bo"),
        {
            "我投李一票": "李",
            "王说谎，我投票给李": "李",
            "我是李，王说谎": "王",
            "我13号": "13号",
            "我不投王，我投李": "李",
            "我不会投给王": NOBODY,
            "投3号": "3号",
            "十三号": NOBODY,
            "113号": NOBODY,
            "我投Bo一票": "Bo",
        },
    ),
    (
        ("田中", "佐藤"),
        {
            "佐藤は怪しいが田中に投票します": "田中",
            "田中として、佐藤が怪しい": "佐藤",
        },
    ),
    (
        ("민수", "지우"),
        {"민수에게 투표, 지우는 아니다": "민수"},
    ),
    (("Ana", "Luis"), {"Voto por Luis. Ana no": "Luis", "Soy Ana; Luis miente": "Luis"}),
    (("Player 1", "Player 2"), {"I vote for Player 2": "Player 2", "player two": "Player 2"}),
]

# Who abstains votes for nobody, whomever else the text names; who only speaks of it votes.
ABSTENTIONS = {
    "Abstain. Bo's clue was fine": NOBODY,
    "I'm abstaining, Bo is fine": NOBODY,
    "My vote: abstain. Bo is fine": NOBODY,
    "My vote: abstain, Bo is fine": NOBODY,
    "Vote: none. Bo": NOBODY,
    "Vote: none, Bo is fine": NOBODY,
    "I vote to skip. Bo": NOBODY,
    "Skip. Bo is fine": NOBODY,
    "skip - Bo is fine": NOBODY,
    "I pass. Bo": NOBODY,
    "I'll pass this time; Bo is fine": NOBODY,
    "I refuse to vote. Bo": NOBODY,
    "I will not vote today; Bo convinced me": NOBODY,
    "I will not vote because Bo convinced me that Cem is fine": NOBODY,
    "I won't vote today because Bo convinced me that Cem is fine.": NOBODY,
    "I won't be voting. Cem": NOBODY,
    "I don't vote for anyone. Cem": NOBODY,
    "No vote this round. Bo": NOBODY,
    "No vote. Bo is innocent.": NOBODY,
    "I have decided to abstain from voting for Bo": NOBODY,
    "I choose to abstain from voting, Bo was fine": NOBODY,
    "I abstain from voting, Cem was fine": NOBODY,
    "I abstain from this vote; Bo's proposal hurts me.": NOBODY,
    "I vote for nobody, Bo is fine": NOBODY,
    "I vote for no one, and Bo is fine": NOBODY,
    "I vote no one. Bo": NOBODY,
    "My vote goes to nobody: Bo, Cem and Dov are fine": NOBODY,
    "I vote for none of Bo, Cem or Dov.": NOBODY,
    "Nobody. Bo was fine.": NOBODY,
    "I would rather not vote. Bo is my friend": NOBODY,
    "I'd rather not vote, Bo is my friend": NOBODY,
    "I'd rather abstain than vote for Bo": NOBODY,
    "I prefer to abstain, as Bo is fine": NOBODY,
    "Final vote: skip\nReason: Bo is fine": NOBODY,
    "**Abstain** - Bo is fine": NOBODY,
    "Abstention (Bo's clue was fine)": NOBODY,
    "I decline to vote; Bo and Cem seem fine": NOBODY,
    "I withhold my vote. Bo": NOBODY,
    "I will sit this one out. Bo seems ok": NOBODY,
    "I refrain from voting. Bo": NOBODY,
    "I cannot vote yet. Bo has not spoken": NOBODY,
    "I do not want to vote. Bo": NOBODY,
    "I refuse to vote for Bo.": NOBODY,
    "I am not going to vote, Bo.": NOBODY,
    "As Ana, I abstain. Bo was fine": NOBODY,
    "Bo seems fine, so I abstain.": NOBODY,
    "I think I will abstain. Bo": NOBODY,
    "I have to abstain: Bo": NOBODY,
    "Bo is fine. I am skipping this vote.": NOBODY,
    "I must skip this round, Bo": NOBODY,
    "Not voting. Bo": NOBODY,
    "Since I'm unsure about Bo, I skip my vote": NOBODY,
    "vote = none # Bo": NOBODY,
    "I'm going to pass on this vote, Bo": NOBODY,
    "I won't cast a vote. Bo": NOBODY,
    "I cast no vote. Bo": NOBODY,
    "I abstain. I vote for Bo": SEVERAL,
    "I vote for Bo. No, I abstain": SEVERAL,
    "I pass. My vote is Bo": SEVERAL,
    "I won't abstain: Bo": "Bo",
    "Bo abstained last round, I vote Cem": "Cem",
    "I will not skip the vote; my vote is Bo": "Bo",
    "I could abstain, but I vote for Bo": "Bo",
    "I abstained last round, now I vote for Bo": "Bo",
    "Instead of abstaining I vote for Bo": "Bo",
    "I'm not abstaining. Bo.": "Bo",
    "I would rather not vote for Bo. Cem it is.": "Cem",
    "I can't vote for myself, so I vote for Bo": "Bo",
    "I'm not sure. Vote: Bo": "Bo",
    "I did not vote last round. I vote for Bo": "Bo",
    "Bo will not vote today, I vote for Cem": "Cem",
    "I can't help but vote for Bo": "Bo",
    "I vote for Bo, no one else": "Bo",
    "Nobody trusts Bo, I vote for Bo": "Bo",
    "No one is as odd as Bo. I vote for Bo": "Bo",
    "I vote for Bo. I pass judgement on Cem": "Bo",
    "Bo tried to pass as a civilian. Bo!": "Bo",
    "Bo skipped a detail": "Bo",
    "I vote for Bo because he passed": "Bo",
    "We must not abstain. Bo": "Bo",
    "I do not vote for Cem, I vote for Bo": "Bo",
    "I refuse to vote for Cem; I vote for Bo": "Bo",
    "rather than vote for Cem, I vote for Bo": "Bo",
    "Don't skip me! Vote for Cem!": "Cem",
    "I don't think I should abstain: Bo": "Bo",
    "I see no reason to abstain; Bo": "Bo",
    "I vote for Bo; abstaining would be cowardly": "Bo",
    "None of us should abstain. I vote for Bo": "Bo",
    "I won't pass: Bo": "Bo",
    "I vote against Bo": "Bo",
    "My vote is for Bo, not for Cem": "Bo",
    "Bo has my vote, I won't abstain": "Bo",
    "Cem said he would abstain; I vote for Bo": "Bo",
    "Cem might abstain. My final vote: Bo": "Bo",
    "I vote for Bo since none of the others is odd": "Bo",
    "I vote for Bo: nobody else lied": "Bo",
    "I never skip a vote. I vote for Bo": "Bo",
    "Nobody but Bo lied. I vote for Bo": "Bo",
    "Passing the blame is what Bo does. I vote Bo": "Bo",
    "I'd like to abstain. Bo is fine": NOBODY,
    "I would prefer to skip, Bo is fine": NOBODY,
    "I'm inclined to abstain; Bo did well": NOBODY,
    "I choose not to vote. Bo is fine": NOBODY,
    "I have chosen to abstain, Bo": NOBODY,
    "I opt to abstain. Bo": NOBODY,
    "I opt out. Bo was fine": NOBODY,
    "I've decided not to vote this round. Bo is nice": NOBODY,
    "I'd rather pass. Bo": NOBODY,
    "My decision is to abstain. Bo was good": NOBODY,
    "My answer: abstain. Bo was good": NOBODY,
    "Final answer: skip. Bo": NOBODY,
    "My vote is a skip. Bo is fine": NOBODY,
    "My vote is blank. Bo": NOBODY,
    "I vote blank; Bo is fine": NOBODY,
    "I cast a blank vote. Bo": NOBODY,
    "I'll abstain on Bo": NOBODY,
    "I abstain (Bo is my friend)": NOBODY,
    "abstain, Bo": NOBODY,
    "ABSTAIN!! Bo": NOBODY,
    "I'm abstaining from voting against Bo": NOBODY,
    "I am unable to vote. Bo has said nothing": NOBODY,
    "I can't vote. Bo is silent": NOBODY,
    "I don't want to vote for anybody. Bo is fine": NOBODY,
    "No one. Bo is fine.": NOBODY,
    "None of them. Bo is fine": NOBODY,
    "None of the above; Bo is fine": NOBODY,
    "I vote for none of the players. Bo is fine": NOBODY,
    "I do not wish to vote; Bo": NOBODY,
    "I don't think I will vote. Bo": NOBODY,
    "I don't think I should vote today. Bo": NOBODY,
    "We should skip the vote. Bo": NOBODY,
    "Let's skip this vote. Bo": NOBODY,
    "Let us not vote today. Bo": NOBODY,
    "I'm not voting for anyone this time. Bo": NOBODY,
    "I hereby abstain from voting for Bo or Cem": NOBODY,
    "Vote: abstain (Bo seems fine)": NOBODY,
    "Vote: N/A - Bo": NOBODY,
    "I do not vote. Bo": NOBODY,
    "I do not cast a vote; Bo": NOBODY,
    "There is no one to vote for. Bo is fine": NOBODY,
    "I won't vote for any of them: Bo, Cem and Dov are fine": NOBODY,
    "I will not vote for either Bo or Cem": NOBODY,
    "I can not vote against Bo": NOBODY,
    "I vote for neither Bo nor Cem": NOBODY,
    "Neither Bo nor Cem. I abstain.": NOBODY,
    "I abstain from the vote, as Bo": NOBODY,
    "I have no vote for Bo": NOBODY,
    "no vote for Bo": NOBODY,
    "Without more evidence I won't vote. Bo": NOBODY,
    "I was going to abstain, but I vote for Bo": "Bo",
    "I won't abstain this time. Bo gets my vote": "Bo",
    "I'm not going to skip: Bo": "Bo",
    "I don't want to abstain; my vote: Bo": "Bo",
    "I never abstain. Bo!": "Bo",
    "No abstention from me: I vote Bo": "Bo",
    "I cannot abstain, so Bo": "Bo",
    "Since nobody else is odd, I vote for Bo": "Bo",
    "I vote for Bo, and I will not change my vote": "Bo",
    "I can't skip Bo. I vote for Bo": "Bo",
    "I vote to eliminate Bo; skipping would help the chameleon": "Bo",
    "Cem did not vote. I vote for Bo": "Bo",
    "I didn't vote for Bo last time, but now I vote for Bo": "Bo",
    "I will not hesitate to vote for Bo": "Bo",
    "I will not fail to vote for Bo": "Bo",
}
ABSTENTIONS_BY_LANGUAGE: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (
        ("田中", "佐藤", "鈴木", "Ken"),
        {
            "今回は棄権します。鈴木は怪しいですが。": NOBODY,
            "棄権。佐藤は白です": NOBODY,
            "私は投票しません。鈴木さんは白です": NOBODY,
            "今回は投票を見送ります。鈴木": NOBODY,
            "誰にも投票しません。鈴木は白": NOBODY,
            "鈴木には投票しません。佐藤に投票します": "佐藤",
            "鈴木に投票しません。": NOBODY,
            "棄権しません、鈴木に投票します": "鈴木",
            "棄権はしません。鈴木です": "鈴木",
            "鈴木さんに投票します": "鈴木",
        },
    ),
    (
        ("민수", "지영", "철수", "Player 4"),
        {
            "기권합니다. 지영은 수상하지만.": NOBODY,
            "저는 기권하겠습니다, 지영은 수상하지만": NOBODY,
            "저는 투표하지 않겠습니다. 지영은 좋은 사람입니다": NOBODY,
            "투표를 포기합니다. 지영": NOBODY,
            "지영에게 투표하지 않겠습니다. 철수에게 투표합니다": "철수",
            "기권하지 않고 지영에게 투표합니다": "지영",
            "지영에게 투표합니다": "지영",
        },
    ),
    (
        ("Max", "Zoë", "Jürgen", "O'Neil"),
        {
            "Ich enthalte mich. Jürgen ist komisch.": NOBODY,
            "Ich möchte mich enthalten, Jürgen ist komisch": NOBODY,
            "Enthaltung. Jürgen": NOBODY,
            "Ich enthalte mich nicht: ich stimme für Jürgen": "Jürgen",
            "Ich stimme für niemanden, Jürgen ist nett": NOBODY,
            "Ich gebe keine Stimme ab, Jürgen ist nett": NOBODY,
            "Je m'abstiens. Zoë est suspecte.": NOBODY,
            "Je m’abstiens, Zoë est suspecte": NOBODY,
            "Je ne m'abstiens pas, je vote pour Zoë": "Zoë",
            "Je vote blanc, Zoë est suspecte": NOBODY,
            "Je ne vote pas. Zoë est suspecte": NOBODY,
            "Je ne vote pas pour Zoë mais pour Jürgen": "Jürgen",
            "Me abstengo, aunque Zoë es sospechosa.": NOBODY,
            "Prefiero abstenerme, Zoë es sospechosa": NOBODY,
            "No me abstengo: voto por Zoë": "Zoë",
            "Voto en blanco, Zoë es sospechosa": NOBODY,
            "No voto. Zoë": NOBODY,
            "Eu me abstenho. Zoë": NOBODY,
            "Mi astengo, Zoë": NOBODY,
            "Я воздерживаюсь, Zoë подозрительна": NOBODY,
            "Воздерживаюсь. Zoë": NOBODY,
            "Я не воздерживаюсь и голосую за Zoë": "Zoë",
            "Я не голосую. Zoë": NOBODY,
            "Ни за кого не голосую, Zoë": NOBODY,
            "Я голосую за Zoë": "Zoë",
            "Jürgen воздержался, голосую за Zoë": "Zoë",
        },
    ),
    (
        ("阿强", "小红", "小明", "小明明"),
        {
            "我这轮不投票，小红不像坏人": NOBODY,
            "我放弃投票，小红和我都无辜": NOBODY,
            "我弃权，小红很可疑": NOBODY,
            "弃权！小红": NOBODY,
            "这轮不投票。小红": NOBODY,
            "我不想投票，小红": NOBODY,
            "我谁也不投，小红不像": NOBODY,
            "我不投任何人，小红不像": NOBODY,
            "我不弃权，我投小红": "小红",
            "我不会弃权：小红": "小红",
            "我不投小红，投小明": "小明",
            "我不投票给小红，投小明": "小明",
            "小红弃权了，我投小明": "小明",
            "我投小明": "小明",
            "跳过。小红不像": NOBODY,
            "棄權，小红": NOBODY,
            "我没有投票给小红，我投小明": "小明",
        },
    ),
    (
        ("Ana", "Skip", "Pass", "Nobody"),
        {
            "I vote for Skip": "Skip",
            "Skip": "Skip",
            "Pass. I am sure": "Pass",
            "I vote to skip, Nobody is fine": NOBODY,
            "I pass. Skip is fine": NOBODY,
            "my vote: Nobody": "Nobody",
        },
    ),
]
# JSON: the field named for a vote comes first, then what names one player; talk comes last.
IN_JSON = {
    '{"vote":"Bo","guess":"kiwi"}': "Bo",
    '{"vote":"Bo","amount":10}': "Bo",
    '{"eliminate":"Bo","statement":"Cem is odd"}': "Bo",
    '{"vote_out":"Bo","message":"Cem is odd"}': "Bo",
    '{"nomination":"Bo","speech":"Cem is odd"}': "Bo",
    '{"player_to_eliminate":"Bo","public_statement":"Cem is odd"}': "Bo",
    '{"voted_player":"Bo","message":"Cem and Dov are fine"}': "Bo",
    '{"kill":"Bo","say":"Cem sounded odd"}': "Bo",
    '{"elimination_vote":"Bo","response":"Cem sounded odd"}': "Bo",
    '{"action":"vote","player":"Bo"}': "Bo",
    '{"action":"vote","target_player":"Bo","message":"Cem hm"}': "Bo",
    '{"action":{"vote":"Bo"},"comment":"Cem"}': "Bo",
    '{"type":"vote","value":"Bo","message":"Cem"}': "Bo",
    '{"vote":{"name":"Bo","why":"Cem"}}': "Bo",
    '{"votes":["Bo"],"runner_up":"Cem"}': "Bo",
    '{"decision":"vote","target":"Bo","message":"Cem"}': "Bo",
    '{"vote":"Bo","suspicion_ranking":["Cem","Dov"]}': "Bo",
    '{"vote":"Bo","trust":"Cem"}': "Bo",
    '{"vote":"Bo","suspect_2":"Cem"}': "Bo",
    '{"vote":"Bo","target_reason":"Cem"}': "Bo",
    '{"answer":"I vote for Bo","vote_reason":"Cem"}': "Bo",
    '{"vote":"Bo"}\n\nExplanation: Cem was fine.': "Bo",
    '<json>{"vote":"Bo","note":"Cem"}</json>': "Bo",
    '{"name":"vote","arguments":{"player":"Bo"}}': "Bo",
    '{"tool":"cast_vote","args":{"target":"Bo","reason":"Cem"}}': "Bo",
    'I think Cem. {"vote":"Bo"}': "Bo",
    'vote = "Bo"  # Cem is fine': "Bo",
    '{"vote":"Bo","choice":2}': "Bo",
    '{"vote":"Bo","decision":"eliminate"}': "Bo",
    '{"vote":"Bo","decision":"final"}': "Bo",
    '{"vote":"Bo","action":"vote"}': "Bo",
    '{"vote":"abstain","message":"Bo is odd"}': NOBODY,
    '{"vote":null,"suspect":"Cem"}': NOBODY,
    '{"vote":"skip","target":"Cem"}': NOBODY,
    '{"decision":"abstain","note":"Bo fine"}': NOBODY,
    '{"action":"skip","reason":"x","note":"Bo fine"}': NOBODY,
    '{"suspicions":{"Cem":0.8},"message":"I vote for Bo"}': "Bo",
    '{"mood":"calm","message":"I vote for Bo"}': "Bo",
    '{"message":"Bo"}': "Bo",
    '{"message":"I vote for Bo"}': "Bo",
    '{"player_out":"Bo","why":"Cem"}': "Bo",
    '{"player_out":"Bo","backup":"Cem"}': SEVERAL,
    '{"target":"Bo","trust":"Cem"}': "Bo",
    '{"choice":"Bo (odd)","runner_up":"Cem"}': "Bo",
    '{"target":"Bo","decision":"eliminate"}': "Bo",
    '{"choice":2,"player":"Bo"}': "Bo",
    '{"thinking":"Cem","final":{"vote":"Bo"}}': "Bo",
    '{"thinking":"Cem","action":{"type":"vote","target":"Bo"}}': "Bo",
    '{"vote": ["Bo"], "why": "Cem"}': "Bo",
    '{"vote": {"player": "Bo"}, "why": "Cem"}': "Bo",
    '{"suspects":["Cem","Dov"],"eliminate":"Bo"}': "Bo",
    '{"suspects":["Cem","Dov"],"out":"Bo"}': "Bo",
    '{"message":"Cem voted for Dov","eliminated_one":"Bo"}': "Bo",
    '{"vote":"Bo","message":"he said \\"vote\\": \\"Cem\\""}': "Bo",
    '```json\n{"player_x":"Bo","speech":"Cem!"}\n```': "Bo",
    '{"speech":"I abstain. Bo was fine"}': NOBODY,
    '{"answer":"I vote for Bo because of Cem","say":"Dov"}': "Bo",
    '{"answer":"Not Cem but Bo","say":"Dov"}': "Bo",
    '{"response":"Cem","candidate":"Bo"}': "Bo",
    '{"vote_for":"Bo","final_statement":"Cem"}': "Bo",
}
CASES += [(("Ana", "Bo", "Cem", "Dov"), ABSTENTIONS | IN_JSON), *ABSTENTIONS_BY_LANGUAGE]


@pytest.mark.parametrize(("seats", "named"), CASES, ids=[", ".join(seats) for seats, _ in CASES])
def test_whom_a_text_names(seats: tuple[str, ...], named: dict[str, str]) -> None:
    assert dict(zip(named, votes(seats, list(named)), strict=True)) == named


def test_players_by_number_are_read_as_players_of_other_names() -> None:
    """The names of Player N are read apart from those of seats."""
    numbers = {"Ana": "Player 1", "Bo": "Player 2", "Cem": "Player 3", "Dov": "Player 4"}
    named = {
        re.sub("|".join(numbers), lambda name: numbers[name[0]], text): numbers.get(whom, whom)
        for text, whom in (ABSTENTIONS | IN_JSON).items()
    }
    assert dict(zip(named, votes([*numbers.values()], list(named)), strict=True)) == named


def test_the_text_is_read_beside_what_was_registered() -> None:
    """The audit compares the two: a vote for Bob whose text says Ann."""
    assert votes(("Eve", "Ann", "Bob"), ["I vote for Ann."], target="Bob") == ["Ann"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(st.lists(NAMES | st.sampled_from(["A", "a", "\x01", "\x02,1", "Player 1"]), unique=True))
def test_any_names_are_read_or_not_and_break_nothing(seats: list[str]) -> None:
    """As many votes as texts, each for a seat or for nobody."""
    seats = [seat for seat in seats if seat not in ("Moderator", "all")] or ["Ann"]
    texts = [f"I vote for {seat}\x04 {seat}" for seat in seats] + ["", "\x02"]
    named = votes(seats, texts)
    assert len(named) == len(texts)
    assert set(named) <= {*seats, NOBODY, SEVERAL}


def test_texts_and_seats_of_many_games_do_not_mix() -> None:
    """A hundred casts in one batch, each with names that others have for other seats."""
    games = []
    for number in range(100):
        seats = [f"Ann{number}", "Bob", f"Bob{number}"]
        if number % 3 == 0:
            seats = ["Player 1", "Player 2", "Player 3"]
        document = {
            "magic_interchange": 1,
            "system": "lab",
            "game_type": "undercover",
            "is_finished": True,
            "end": {"outcome": "caught"},
            "seats": [
                {"player": seat, "role": "civilian" if place else "undercover"}
                for place, seat in enumerate(seats)
            ],
            "events": [
                {"actor": seat, "round": 1, "text": f"{other}!", "acts": [{"act": "votes"}]}
                for seat, other in zip(seats, reversed(seats), strict=True)
            ],
        }
        game = read(encode(document))
        assert game
        games.append(game)
    for game in games_of(games):
        seats = [seat.player for seat in game.seats]
        assert {vote.player: vote.target for vote in game.votes} == dict(
            zip(seats, reversed(seats), strict=True)
        )
