"""Games of packages that are not installed: no metric counts them."""

from collections.abc import Collection

from pipeline.lake import StoredLake


def unknown_notes(lake: StoredLake, game_types: Collection[str] | None = None) -> list[str]:
    """A note if the lake has games of a package that is not installed.

    `game_types` are those that are shown, None for all.
    """
    names = lake.unknown_tables
    types = [name for name in lake.unknown_types if game_types is None or name in game_types]
    if not types:
        return []
    tables = f", and their own tables ({', '.join(names)}) are not read" if names else ""
    return [
        f"the lake has games of {', '.join(types)}, of a package that is not installed: no metric "
        f"counts them{tables}; install the package to see them in full"
    ]
