"""The addresses of pages on the server."""

from collections.abc import Mapping

from pipeline.pages import NAMES, query_of
from pipeline.pages.render import Link


def address(page: str, parameters: Mapping[str, object], ingest: int | None = None) -> str:
    """The address of a page, of the lake as it was after that ingest if one is named."""
    before = "" if ingest is None else f"/ingest/{ingest}"
    query = query_of(parameters)
    return f"{before}/{page}" + (f"?{query}" if query else "")


def links(ingest: int | None = None) -> Link:
    """The links of pages, which lead on in the state after that ingest, if one is named."""

    def link(page: str, at: str = "", **parameters: object) -> str | None:
        """The address of a page, `at` one of its places; None for a page that is not there."""
        if page not in NAMES:
            return None
        return address(page, parameters, ingest) + (f"#{at}" if at else "")

    return link


def local(address: str) -> str:
    """The address if it is of this server, and that of the first page if it leads elsewhere.

    Browsers take `//host`, `/\\host` and signs that they skip before these for another host.
    """
    is_path = address.startswith("/") and not address.startswith("//")
    is_plain = all("!" <= sign <= "~" and sign != "\\" for sign in address)
    return address if is_path and is_plain else "/"
