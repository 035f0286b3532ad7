"""What a reader of markdown makes of a text."""

import re

from markdown_it import MarkdownIt


def rendered(text: str) -> list[str]:
    """The text of each cell and item that a reader of markdown makes of it, by their HTML."""
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    return [cell for _, cell in re.findall(r"<(t[dh]|li)(?: [^>]*)?>(.*?)</\1>", page, re.DOTALL)]
