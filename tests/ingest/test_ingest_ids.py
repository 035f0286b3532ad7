"""A set of game ids, in memory or in a file, against Python's own set."""

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pipeline.ingest.decode import GameIds

# Few halves, so that ids often differ in the second alone; the last is the largest number there is.
HALVES = st.sampled_from(["0" * 16, "0" * 15 + "1", "8" + "0" * 15, "f" * 16])
IDS = st.lists(st.tuples(HALVES, HALVES).map("".join), max_size=8, unique=True)


@given(added=st.lists(IDS, max_size=6), asked=IDS)
def test_it_has_what_was_added(added: list[list[str]], asked: list[str]) -> None:
    ids, expected = GameIds(), set[str]()
    for some in added:
        new = [
            one for one, is_there in zip(some, ids.contains_each(some), strict=True) if not is_there
        ]
        assert new == [one for one in some if one not in expected]
        ids.add_new_ids(new)
        expected.update(new)
    assert ids.contains_each(asked).tolist() == [one in expected for one in asked]


@given(held=IDS.filter(bool), asked=IDS, rows=st.integers(1, 4))
def test_it_has_what_a_file_has(
    tmp_path_factory: pytest.TempPathFactory, held: list[str], asked: list[str], rows: int
) -> None:
    file = tmp_path_factory.mktemp("known") / "known.npy"
    table = pa.table({"game_id": sorted(held)}, pa.schema({"game_id": pa.string()}))
    GameIds.write_ids_file(table.to_batches(rows), file)
    assert GameIds.open_ids_file(str(file)).contains_each(asked).tolist() == [
        one in held for one in asked
    ]


def test_many_are_kept_in_few_runs() -> None:
    ids = GameIds()
    for number in range(1000):
        ids.add_new_ids([f"{number:032x}", f"{number + 2**60:032x}"])
    assert ids.contains_each([f"{999:032x}", f"{2**60:032x}", f"{1000:032x}"]).tolist() == [
        True,
        True,
        False,
    ]
    assert len(ids._sorted_arrays) < 11
