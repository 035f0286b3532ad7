"""A tab of a browser that visits the pages of a server, for tests."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from servers import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page


class Visit:
    """A tab of the browser, with all that went wrong in it."""

    def __init__(self, browser: "Browser", served: Served, **options: object) -> None:
        self.served = served
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.tab.on("console", self._heard)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.tab.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _heard(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def go(self, path: str) -> "Page":
        self.tab.goto(self.served.url(path))
        return self.tab

    def end(self) -> None:
        """Asserts that nothing went wrong, and that no other host was asked."""
        assert self.errors == []
        assert self.hosts <= {f"127.0.0.1:{self.served.port}"}
        self.context.close()

    def fits(self) -> bool:
        """Whether the page is no wider than the window."""
        wide: bool = self.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        return wide
