"""The parameters of pages, each declared once: what an address says, and a field of the form."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, defstruct, structs
from msgspec.structs import replace

from pipeline import games
from pipeline.column import words
from pipeline.declared import SHARED
from pipeline.metrics.known import names
from pipeline.reports.declared import found
from pipeline.vocabulary import ALL, EDITIONS, LOSS, PAPER, Edition, Failures


class Field(Struct, frozen=True):
    """A parameter of a page, and with a `label` a field of its form.

    `values` are what can be chosen, by the lake and the address, and `nothing` is how to choose
    none of them; our own words unless `are_names`. Without them it is a text with a `hint`, so many
    signs wide, or a tick. Who points at it reads its `help`.
    """

    name: str
    label: str = ""
    kind: Any = str
    default: Any = ""
    values: Callable[[Any, Any], Iterable[str]] | None = None
    nothing: str | None = None
    are_names: bool = False
    hint: str = ""
    size: int = 18
    help: str = ""

    @property
    def is_tick(self) -> bool:
        return self.kind is bool


class Address(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an address can say to a page: texts, numbers and words, each with a default.

    `seen` is how many rows the pages before this one of a list had, as its links count them.
    `frame` is which of the page's frames CSV has; by default its rows.
    `IS_OF_SYSTEM` says that the page counts: games of one `system`, by default the largest.
    `HAS_LOSSES` says that what it shows depends on whether failures are losses.
    `IN_TITLE` are the parameters that the title of the page names, and `FIELDS` all of its own.
    """

    IS_OF_SYSTEM: ClassVar[bool] = False
    HAS_LOSSES: ClassVar[bool] = True
    IN_TITLE: ClassVar[tuple[str, ...]] = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    frame: str = ""
    seen: Annotated[int, Meta(ge=0, le=10**12)] = 0


def address(
    *fields: Field,
    is_of_system: bool = False,
    has_losses: bool = True,
    in_title: tuple[str, ...] = (),
    report: str = "",
) -> type[Address]:
    """The addresses of a page with these parameters, and a `system` if it counts.

    Fields without a help have that of the parameter of their name, if the page is of a `report`.
    """
    listed = [more for one in fields for more in ((one, FAILURES) if one is EDITION else (one,))]
    known = found()[report].helps if report else {}
    listed = [replace(one, help=one.help or known.get(one.name, "")) for one in listed]
    own = (*([Field("system")] if is_of_system else []), *listed)
    declared: Any = defstruct(
        "Parameters",
        [(one.name, one.kind, one.default) for one in own],
        bases=(Address,),
        namespace={
            "IS_OF_SYSTEM": is_of_system,
            "HAS_LOSSES": has_losses,
            "IN_TITLE": in_title,
            "FIELDS": own,
        },
        frozen=True,
        kw_only=True,
    )
    return declared  # type: ignore[no-any-return]


def sorting(order: Literal["up", "down"] = "up") -> tuple[Field, ...]:
    """What a list is sorted by."""
    return Field("sort"), Field("order", kind=Literal["up", "down"], default=order)


def _types(lake: Any, asked: Any) -> tuple[str, ...]:
    """The game types to choose from: those of the lake's games, and the one asked for."""
    system = getattr(asked, "system", "")
    offered = (lake.of_system(system) if system in lake.systems else lake).game_types
    return ALL, *(name for name in games.names() if name in {*offered, asked.game_type})


EDITION = Field(
    "edition",
    "Edition",
    Edition,
    PAPER,
    values=lambda *_: EDITIONS,
    help=SHARED["edition"].help,
)
FAILURES = Field(
    "failures",
    "Failed games",
    Literal["", Failures],
    values=lambda *_: (LOSS,),
    nothing="left out",
)
"""Of pages that count in an edition: what a game is to the model that failed it."""
SAME_EDITION = Field("edition", kind=Edition, default=PAPER)
"""That of the links, on a page which is the same in all editions."""
GAME_TYPE = Field("game_type", "Game type", default=ALL, values=_types)
METRIC = Field("metric", "Metric", default="win_rate", values=lambda _, asked: names(asked.edition))
WHERE = Field(
    "where", "Only rows where", hint="role = 'civilian'", size=26, help=SHARED["where"].help
)
BY = Field("by", "Also by", hint="role", size=12)
AFTER = Field("after")
"""The key that a page of a list begins after."""


def given(asked: Address, *names: str) -> dict[str, Any]:
    """These parameters as a method of a lake takes them: defaults choose nothing."""
    values, defaults = structs.asdict(asked), structs.asdict(type(asked)())
    return {name: None if values[name] == defaults[name] else values[name] for name in names}


_NO_SLICE = (
    *("edition", "system", "failures", "metric", "game", "beside", "roles", "kind", "table"),
    *("after", "sort", "order", "query", "x", "y"),
    *("difference", "power", "n_pairs"),  # the sentence of a plan says them
)


def slice_words(asked: Address) -> list[str]:
    """Which rows of the lake a page shows, each part in words; not what its title names."""
    known = [one for one in asked.FIELDS if one.name not in (*_NO_SLICE, *asked.IN_TITLE)]
    values = {one.name: getattr(asked, one.name) for one in known}
    return [
        words(one.name) + ("" if values[one.name] is True else f" {values[one.name]}")
        for one in known
        if values[one.name] not in (one.default, None, "")
    ]
