"""Which changes of the code make an ingest read again what it has read before."""

from pathlib import Path

import pytest

from pipeline import provenance


@pytest.mark.parametrize(
    ("file", "is_part"),
    [
        ("formats/magic/log.py", True),
        ("game_record.py", True),
        ("pages/value_pages.py", False),
        ("cli/app.py", False),
        ("api.py", False),
    ],
)
def test_a_change_counts_if_it_decides_the_rows(
    file: str, is_part: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(provenance.__file__).parent
    for copied in ("formats/systems/aiwolf.py", file):
        (tmp_path / copied).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / copied).write_bytes((package / copied).read_bytes())
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    before = provenance.hash_ingest_code.__wrapped__()
    with (tmp_path / file).open("a") as changed:
        changed.write("# changed")
    assert (provenance.hash_ingest_code.__wrapped__() != before) is is_part
