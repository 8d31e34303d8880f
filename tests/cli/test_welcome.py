"""What `treadle` alone says of runs."""

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle
from treadle.cli.welcome import DRIVEN
from treadle.config.agents import BARE, WITH_ARGUMENT

pytestmark = pytest.mark.usefixtures("kept")


def offered() -> list[str]:
    lines = [line.strip() for line in treadle().out.splitlines() if line.startswith("  treadle ")]
    return [line.removeprefix("treadle ").partition("    ")[0] for line in lines]


def test_the_offered_commands_depend_on_the_files_of_the_project(kept: Kept) -> None:
    assert offered()[:2] == ["init", "doctor"]
    assert {"spec new", "demo", "protocol sim v3"} <= set(offered())
    (kept.root / "treadle.toml").touch()
    (kept.root / "spec.yaml").touch()
    assert offered()[:3] == ["doctor", "spec check spec.yaml", "run spec.yaml --level 0"]
    assert not {"init", "spec new", "demo", "protocol sim v3"} & set(offered())


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ('[agents]\ndefault = "command:./mine"\n', "run spec.yaml"),
        ("[agents]\ntdd = 'manual'  # myself\n", "run spec.yaml"),
        ('[agents]\ndefault = "claud"\n', "run spec.yaml --level 0"),
        ('[agents]\n#default = "command:./mine"\n', "run spec.yaml --level 0"),
        ('[agents]\n[toolchain]\ntest = "command"\n', "run spec.yaml --level 0"),
    ],
)
def test_a_run_is_offered_as_it_would_start(kept: Kept, settings: str, command: str) -> None:
    (kept.root / "treadle.toml").write_text(settings)
    (kept.root / "spec.yaml").touch()
    assert command in offered()


def test_the_agents_that_are_driven_are_those_that_settings_know() -> None:
    assert {*DRIVEN} == {*BARE, *WITH_ARGUMENT}


def test_without_a_commit_no_run_is_offered(kept: Kept) -> None:
    (kept.root / "treadle.toml").touch()
    (kept.root / "spec.yaml").touch()
    assert "no commit yet" not in treadle().out
    kept.git("pack-refs", "--all")
    assert "run spec.yaml --level 0" in offered()
    kept.git("checkout", "-q", "--orphan", "empty")
    assert "no commit yet" in treadle().out
    assert not [command for command in offered() if command.startswith("run ")]


def test_protocols_of_the_project_are_named_if_there_are_any(kept: Kept) -> None:
    assert ".treadle: the protocol ask, " in treadle().out
    (kept.root / ".treadle/protocols").rename(kept.root / "away")
    assert ".treadle" not in treadle().out


def test_alone_it_mentions_runs_that_have_not_ended(kept: Kept) -> None:
    run("--level", "0")
    result = treadle()
    assert "Unfinished: the run sweep-1," in result.out
    assert "treadle status sweep-1 " in result.out
    treadle("abort", "sweep-1")
    assert "Unfinished" not in treadle().out
    (kept.root / ".treadle/local/store.db").write_bytes(b"no store")
    assert (treadle().code, "Unfinished" in treadle().out) == (0, False)


def test_no_unfinished_run_is_hidden() -> None:
    for _ in range(4):
        run("--level", "1")
    assert treadle().out.count("Unfinished: the run ") == 3
    assert "1 more run; `treadle runs`" in treadle().out


def test_a_welcome_without_runs_leaves_no_blank_paragraphs(kept: Kept) -> None:
    (kept.root / ".treadle/protocols").rename(kept.root / "away")
    (kept.root / "treadle.toml").touch()
    assert "\n\n\n" not in treadle().out
