"""What a lake has of packages that are not installed, and so is counted by nothing."""

from collections.abc import Collection

from pipeline.lake import StoredLake


def unknown_notes(lake: StoredLake, game_types: Collection[str] | None = None) -> list[str]:
    """What to say below numbers of a lake that has games of a package which is not installed.

    `game_types` are those that are shown, None for all of the lake.
    """
    tables = lake.unknown_tables
    types = [one for one in lake.unknown_types if game_types is None or one in game_types]
    if not types:
        return []
    own = f", and their own tables ({', '.join(tables)}) are not read" if tables else ""
    return [
        f"the lake has games of {', '.join(types)}, of a package that is not installed: no metric "
        f"counts them{own}; install the package to see them in full"
    ]
