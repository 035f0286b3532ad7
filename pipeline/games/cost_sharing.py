"""Cost Sharing: players negotiate who pays how much, and agree or do not."""

from pipeline.games.kind import Ending, of_players

KIND = of_players(
    "cost_sharing",
    Ending("agreed"),
    Ending("not_agreed"),
    phases=("talk",),
    order=("talk", "proposal", "proposal_votes", "reflection"),
)
