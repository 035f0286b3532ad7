"""The lake's catalogue is renewed after each command that changes the lake."""

from pipeline.cli import terminal


def renew_catalog(lake: str) -> None:
    """Renews `magic.duckdb` if `magic catalog` was run once; with a note if that is not possible.

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
        raise KeyboardInterrupt(
            f"the lake has all changes, but {CATALOG} was not renewed"
        ) from None
    if note:
        terminal.note(note)
