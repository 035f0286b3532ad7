"""The pages of `magic view`, which `magic report` and notebooks use as well.

A `Page` defines the parameters in the address, and a function that computes the content from a lake
and the parameters. The template with the name of the page renders the content as HTML. All values
come from the Python interface.
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
