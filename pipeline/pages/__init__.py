"""The pages of `magic view`, which `magic report` and notebooks use as well.

A `Page` defines the parameters in the address, and a function that computes the content from a lake
and the parameters. The template with the name of the page renders the content as HTML. All values
come from the Python interface.
"""

from pipeline.pages.content import Page
from pipeline.pages.templating import (
    NAMES,
    Link,
    all_rows_in_parts,
    as_csv,
    as_json,
    compute_page_content,
    encode_query,
    export_page_plot,
    page_address,
    page_definition,
    page_link,
    parse_page_parameters,
    render_page_fragment,
)

__all__ = [
    "NAMES",
    "Link",
    "Page",
    "all_rows_in_parts",
    "as_csv",
    "as_json",
    "compute_page_content",
    "encode_query",
    "export_page_plot",
    "page_address",
    "page_definition",
    "page_link",
    "parse_page_parameters",
    "render_page_fragment",
]
