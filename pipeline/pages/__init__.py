"""What each page shows, and how it looks: used by `magic view` and `magic report`.

A page is a `Page`: what an address can say, and a function of a lake and these parameters, which
returns typed frames and texts; and a template of its name in `templates/`. Pages compute nothing
that the Python interface does not give.
"""

from pipeline.pages.content import Page
from pipeline.pages.templating import (
    NAMES,
    Link,
    address,
    as_csv,
    as_json,
    content,
    csv_parts,
    fragment,
    page,
    page_link,
    parameters,
    picture,
    query_of,
)

__all__ = [
    "NAMES",
    "Link",
    "Page",
    "address",
    "as_csv",
    "as_json",
    "content",
    "csv_parts",
    "fragment",
    "page",
    "page_link",
    "parameters",
    "picture",
    "query_of",
]
