"""What `treadle` alone says of runs."""

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def offered() -> list[str]:
    lines = [line.strip() for line in treadle().out.splitlines() if line.startswith("  treadle ")]
    return [line.removeprefix("treadle ").partition("    ")[0] for line in lines]


def test_what_is_offered_follows_from_what_is_here(kept: Kept) -> None:
    assert offered()[:2] == ["init", "doctor"]
    assert {"spec new", "demo", "protocol sim v3"} <= set(offered())
    (kept.root / "treadle.toml").touch()
    (kept.root / "spec.yaml").touch()
    assert offered()[:3] == ["doctor", "spec check spec.yaml", "run spec.yaml"]
    assert not {"init", "spec new", "demo", "protocol sim v3"} & set(offered())


def test_a_folder_without_anything_of_its_own_is_not_spoken_of(kept: Kept) -> None:
    assert "This project has in .treadle: the protocol ask, " in treadle().out
    (kept.root / ".treadle/protocols").rename(kept.root / "away")
    assert "This project has" not in treadle().out


def test_alone_it_mentions_runs_that_have_not_ended(kept: Kept) -> None:
    run("--level", "0")
    result = treadle()
    assert "Unfinished: the run sweep-1, which has work in hand." in result.out
    assert "treadle status sweep-1 " in result.out
    treadle("abort", "sweep-1")
    assert "Unfinished" not in treadle().out
    (kept.root / ".treadle/local/store.db").write_bytes(b"no store")
    assert (treadle().code, "Unfinished" in treadle().out) == (0, False)
