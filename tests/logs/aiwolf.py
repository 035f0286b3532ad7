"""AIWolf: a game of five players that the villagers win, one of seven that the werewolves win.

The first has lines without names and ends of lines as Windows has them; the second a tied vote that
is cast again, a guarded player, a night without an attack, and commas in a text.
"""

FILE = "{}.log"

FIVE = """\
0,status,1,VILLAGER,ALIVE,Kestrel1
0,status,2,SEER,ALIVE,Heron2
0,status,3,POSSESSED,ALIVE,Kestrel3
0,status,4,WEREWOLF,ALIVE,Stork1
0,status,5,VILLAGER,ALIVE,Heron1
0,talk,0,0,2,Good evening to all of you.
0,talk,1,0,4,Over
0,divine,2,4,WEREWOLF
1,status,1,VILLAGER,ALIVE,Kestrel1
1,status,2,SEER,ALIVE,Heron2
1,status,3,POSSESSED,ALIVE,Kestrel3
1,status,4,WEREWOLF,ALIVE,Stork1
1,status,5,VILLAGER,ALIVE,Heron1
1,talk,0,0,3,I am the seer: Agent[01] is a werewolf.
1,talk,1,0,2,No\N{COMMA} I am. Agent[04] is.
1,vote,1,3
1,vote,2,4
1,vote,3,1
1,vote,4,3
1,vote,5,3
1,execute,3,POSSESSED
1,divine,2,5,HUMAN
1,attackVote,4,1
1,attack,1,true
2,status,1,VILLAGER,DEAD,Kestrel1
2,status,2,SEER,ALIVE,Heron2
2,status,3,POSSESSED,DEAD,Kestrel3
2,status,4,WEREWOLF,ALIVE,Stork1
2,status,5,VILLAGER,ALIVE,Heron1
2,talk,0,0,5,Agent[04] then.
2,vote,2,4
2,vote,4,2
2,vote,5,4
2,execute,4,WEREWOLF
3,status,1,VILLAGER,DEAD,Kestrel1
3,status,2,SEER,ALIVE,Heron2
3,status,3,POSSESSED,DEAD,Kestrel3
3,status,4,WEREWOLF,DEAD,Stork1
3,status,5,VILLAGER,ALIVE,Heron1
3,result,2,0,VILLAGER
"""
SEVEN = """\
0,status,1,WEREWOLF,ALIVE,Stork1,Ida
0,status,2,BODYGUARD,ALIVE,Heron1,Zoë "the Owl"
0,status,3,WEREWOLF,ALIVE,Heron2,Bo
0,status,4,MEDIUM,ALIVE,Kestrel1,Åse
0,status,5,VILLAGER,ALIVE,Kestrel2,樹
0,status,6,VILLAGER,ALIVE,Heron1,Finn
0,status,7,VILLAGER,ALIVE,Stork2,Gro
0,whisper,0,0,1,Tonight 樹, tomorrow Finn, then Åse.
0,whisper,1,0,3,Over
0,talk,0,0,5,おはようございます。
1,status,1,WEREWOLF,ALIVE,Stork1,Ida
1,status,2,BODYGUARD,ALIVE,Heron1,Zoë "the Owl"
1,status,3,WEREWOLF,ALIVE,Heron2,Bo
1,status,4,MEDIUM,ALIVE,Kestrel1,Åse
1,status,5,VILLAGER,ALIVE,Kestrel2,樹
1,status,6,VILLAGER,ALIVE,Heron1,Finn
1,status,7,VILLAGER,ALIVE,Stork2,Gro
1,talk,0,0,6,Bo is quiet.
1,vote,1,6
1,vote,2,3
1,vote,3,6
1,vote,4,3
1,vote,5,5
1,vote,6,3
1,vote,7,6
1,vote,1,6
1,vote,2,3
1,vote,3,6
1,vote,4,3
1,vote,5,3
1,vote,6,3
1,vote,7,6
1,execute,3,WEREWOLF
1,whisper,0,0,1,I am alone.
1,guard,2,5,VILLAGER
1,attackVote,1,5
1,attack,5,false
2,status,1,WEREWOLF,ALIVE,Stork1,Ida
2,status,2,BODYGUARD,ALIVE,Heron1,Zoë "the Owl"
2,status,3,WEREWOLF,DEAD,Heron2,Bo
2,status,4,MEDIUM,ALIVE,Kestrel1,Åse
2,status,5,VILLAGER,ALIVE,Kestrel2,樹
2,status,6,VILLAGER,ALIVE,Heron1,Finn
2,status,7,VILLAGER,ALIVE,Stork2,Gro
2,talk,0,0,4,Bo was a werewolf.
2,vote,1,6
2,vote,2,6
2,vote,4,2
2,vote,5,6
2,vote,6,1
2,vote,7,3
2,execute,6,VILLAGER
2,guard,2,4,MEDIUM
2,attack,-1,true
3,status,1,WEREWOLF,ALIVE,Stork1,Ida
3,status,2,BODYGUARD,ALIVE,Heron1,Zoë "the Owl"
3,status,3,WEREWOLF,DEAD,Heron2,Bo
3,status,4,MEDIUM,ALIVE,Kestrel1,Åse
3,status,5,VILLAGER,ALIVE,Kestrel2,樹
3,status,6,VILLAGER,DEAD,Heron1,Finn
3,status,7,VILLAGER,ALIVE,Stork2,Gro
3,vote,1,4
3,vote,2,4
3,vote,4,7
3,vote,5,4
3,vote,7,4
3,execute,4,MEDIUM
3,guard,2,2,BODYGUARD
3,attackVote,1,7
3,attack,7,true
4,status,1,WEREWOLF,ALIVE,Stork1,Ida
4,status,2,BODYGUARD,ALIVE,Heron1,Zoë "the Owl"
4,status,3,WEREWOLF,DEAD,Heron2,Bo
4,status,4,MEDIUM,DEAD,Kestrel1,Åse
4,status,5,VILLAGER,ALIVE,Kestrel2,樹
4,status,6,VILLAGER,DEAD,Heron1,Finn
4,status,7,VILLAGER,DEAD,Stork2,Gro
4,result,2,1,WEREWOLF
"""
LOGS = [FIVE.replace("\n", "\r\n").encode(), SEVEN.encode()]
# The models are the teams. Heron's votes on the civilian side: as villager 1 of 2 and as seer 2 of
# 2 in the first game, as bodyguard 1 of 3 and as villager 2 of 2 in the second, together 6 of 9.
# Kestrel's: as villager 0 of 1, as medium 1 of 3 and as villager 1 of 3. Heron wins two of four
# results of the civilian side and its only one of the hidden side: the mean of both is 3/4.
ANSWERS = {
    ("judgement", "Heron", "werewolf"): 6 / 9,
    ("judgement", "Kestrel", "werewolf"): 2 / 7,
    ("win_rate", "Heron", "werewolf"): 3 / 4,
    ("deception", "Heron", "werewolf"): 1.0,
    ("deception", "Kestrel", "werewolf"): 0.0,
    ("deception", "Stork", "werewolf"): 1 / 2,
}
