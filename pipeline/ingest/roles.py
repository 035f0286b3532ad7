"""The table `roles`: a lake keeps what the roles of its games are, for who does not know them."""

import polars as pl
import pyarrow as pa

from pipeline.errors import LakeError
from pipeline.events.roles import role_rows
from pipeline.lake import StoredLake
from pipeline.lake.removal import Mask, Removal
from pipeline.lake.tables import ROLES, scan
from pipeline.lake.transaction import Transaction


def check_declared(lake: StoredLake) -> None:
    """Raises LakeError for a game that is declared otherwise now than when it was ingested."""
    if changed := lake.redeclared_types:
        raise LakeError(
            f"{lake.path}: roles or endings of {', '.join(changed)} are declared otherwise now "
            "than when its games were ingested: ingest all of them into a new lake"
        )


def write_roles(change: Transaction, game_types: pl.Series) -> None:
    """Writes the roles of these game types, with those that code added since the lake has them.

    Raises LakeError like `check_declared`: another ingest may have been committed meanwhile.
    """
    check_declared(change.lake)
    stored = _stored(change.lake)
    wanted = role_rows().filter(pl.col("game_type").is_in(game_types.implode()))
    new = wanted.join(stored, on=wanted.columns, how="anti")["game_type"].unique()
    if new.is_empty():
        return
    is_new = pl.col("game_type").is_in(new.implode())
    if stored.filter(is_new).height:
        change.remove(ROLES, Removal(("game_type",), lambda rows: _are_in(rows, new)))
    change.write(ROLES, [wanted.filter(is_new)])


def _stored(lake: StoredLake) -> pl.DataFrame:
    files = lake.files(ROLES)
    return scan(ROLES, files).collect() if files else role_rows().clear()


def _are_in(rows: pa.Table, names: pl.Series) -> Mask:
    return pl.Series(rows["game_type"].cast(pa.string())).is_in(names.implode()).to_numpy()
