"""What older versions wrote is read for ever: their logs fold to the same state, and prove the same."""

import lzma
from pathlib import Path

import msgspec
import pytest

from tools.golden import GOLDEN, essentials
from treadle.protocol.load import available
from treadle.store.sqlite import Store

SETS = sorted(GOLDEN.glob("*/*.json"))


def test_the_first_set_has_every_protocol() -> None:
    assert sorted(path.stem for path in SETS if path.parent.name == "1") == sorted(available())


@pytest.mark.parametrize("path", SETS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_store_of_an_older_version_folds_to_the_same_state(path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "store.db"
    kept.write_bytes(lzma.decompress(path.with_suffix(".db.xz").read_bytes()))
    said = msgspec.json.decode(path.read_bytes())
    store = Store(kept)
    found = essentials(store, said["run"])
    store.close()
    assert msgspec.to_builtins(found) == said
