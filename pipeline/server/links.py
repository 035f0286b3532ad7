"""The addresses of pages on the server."""

from pipeline.pages import NAMES, query_of


def link(page: str, at: str = "", **parameters: object) -> str | None:
    """The address of a page, `at` one of its places; None for a page that is not there."""
    if page not in NAMES:
        return None
    query = query_of(parameters)
    return f"/{page}" + (f"?{query}" if query else "") + (f"#{at}" if at else "")
