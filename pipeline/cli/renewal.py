"""The lake's catalogue is renewed after each command that changes the lake."""

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.cli import terminal


@contextmanager
def renewing_catalog(lake: str) -> Iterator[None]:
    """After the block, renews `magic.duckdb` if `magic catalog` was run once."""
    try:
        yield
    finally:
        renew_catalog(lake)


def renew_catalog(lake: str) -> None:
    """Renews `magic.duckdb` if `magic catalog` was run once.

    Not without being asked: many users need none, and it takes a second.
    """
    from pipeline.lake.names import CATALOG
    from pipeline.stores import location

    if CATALOG not in location(lake).names():
        return
    # Imported here: a command that fails before does not wait for it.
    from pipeline.catalog import renewed_after_ingest

    try:
        note = renewed_after_ingest(lake)
    except KeyboardInterrupt:
        message = f"the lake has all changes, but {CATALOG} was not renewed"
        raise KeyboardInterrupt(message) from None
    if note:
        terminal.note(note)
