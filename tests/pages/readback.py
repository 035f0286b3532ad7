"""What stands on a page, read back out of its HTML."""

from html.parser import HTMLParser


class Cells(HTMLParser):
    """The rows of the table with an id: each cell as its text, its data values, metric and link."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self._wanted = table
        self._is_in = False
        self._kind: str | None = None
        self.rows: list[list[dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "table":
            self._is_in = given.get("id") == self._wanted
        if not self._is_in:
            return
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append({"text": "", "metric": given.get("data-metric", "")})
        elif tag == "a" and self.rows[-1]:
            self.rows[-1][-1]["href"] = given.get("href", "")
        elif tag == "data":
            self.rows[-1][-1][given.get("class", "data")] = given["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._is_in = False

    def handle_data(self, data: str) -> None:
        if self._is_in and self.rows and self.rows[-1]:
            self.rows[-1][-1]["text"] += data.strip()


def table(text: str, name: str) -> list[list[dict[str, str]]]:
    """The rows of a table, its heading first."""
    cells = Cells(name)
    cells.feed(text)
    return cells.rows


def number(text: str | None) -> float | None:
    return float(text) if text else None
