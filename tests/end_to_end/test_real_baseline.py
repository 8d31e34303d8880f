"""Repositories with a history: tests that failed before the work, a scaffold that breaks some, missing tools."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from tests.cheats.cases import HERE
from tests.cli.treadle import Outcome, treadle
from tests.git.place import git, write
from treadle.cli.run_request import RunArguments, prepare_run
from treadle.config.project import Project
from treadle.engines.start import start_run
from treadle.errors import PortError, TreadleError
from treadle.evidence.project_facts import ProjectTools
from treadle.store.sqlite import opened_store
from treadle.toolchains.results import TestRun
from treadle.toolchains.toolchain import build

OLD = """
def test_one():
    assert 1 == 2


def test_two():
    raise RuntimeError("as ever")
"""
FLAKY = """
import pathlib
import time

COUNTER = pathlib.Path({counter!r})


def test_now_and_then():
    try:
        count = int(COUNTER.read_text()) if COUNTER.exists() else 0
        COUNTER.write_text(str(count + 1))
    except OSError:  # a sandbox keeps the file from being written: by chance, then
        count = time.time_ns() // 1_000
    assert count % 2 == 0
"""
FAILING = [
    "tests/basket/test_old.py::test_one",
    "tests/basket/test_old.py::test_two",
    "tests/shop/test_tax.py::test_tax",
]
SOMETIMES = "tests/basket/test_sometimes.py::test_now_and_then"


class Place:
    """The small shop of the cheat suite with its honest agents, driven by the command line."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, str] | None = None) -> None:
        yaml, world = YAML(typ="safe"), HERE / "worlds" / "leaf"
        self.root = folder / "shop"
        self.root.mkdir()
        self.agents: dict[str, Any] = yaml.load(world / "agents.yaml")
        command = msgspec.json.encode([sys.executable, "-m", "pytest"]).decode()
        settings = f'[toolchain]\nkind = "pytest"\ntest = {command}\nreruns = 8\n'
        git(self.root, "init", "-q", "-b", "main")
        write(self.root, {**yaml.load(world / "files.yaml"), "treadle.toml": settings, **(more or {})})
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "Start")
        monkeypatch.chdir(self.root)

    def run(self, *more: str) -> Outcome:
        (self.root.parent / "play.yaml").write_bytes(msgspec.json.encode(self.agents))
        return treadle("run", "spec.yaml", "-p", "v3", "--name", "it", "--agent", "scripted:../play.yaml", *more)


def codes(found: dict[str, Any]) -> dict[str, str]:
    return {one["test"]: one["code"] for one in found["baseline"]["tests"]}


@pytest.mark.soak
def test_an_honest_leaf_beside_failing_and_flaky_tests_loses_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(
        tmp_path,
        monkeypatch,
        {
            "tests/basket/test_old.py": OLD,
            "tests/shop/test_tax.py": "def test_tax():\n    assert [] == [19]\n",
            "tests/basket/test_sometimes.py": FLAKY.format(counter=str(tmp_path / "counter")),
        },
    )

    ended = place.run()

    assert ended.code == 0, ended.out + ended.err
    assert "baseline:" in ended.err
    proved = treadle("evidence", "it", "--json").json()
    assert proved["setbacks"] == []
    assert [one["standing"] for one in proved["criteria"]] == ["verified"] * 3
    assert codes(proved) == dict.fromkeys(FAILING, "baseline.failing") | {SOMETIMES: "baseline.flaky"}
    assert proved["baseline"]["commit"] == git(place.root, "rev-parse", "main")
    status = treadle("status", "it", "--json").json()
    assert (status["baseline"]["passed"] + status["baseline"]["failed"]) == 6
    text = treadle("evidence", "it").out
    assert all(f"{test} [baseline.failing]" in text for test in FAILING)


@pytest.mark.soak
def test_a_scaffold_that_breaks_an_old_test_is_refused_at_the_scaffold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {
        "src/basket/__init__.py": "def empty():\n    return []\n",
        "tests/shop/test_empty.py": "from basket import empty\n\n\ndef test_empty():\n    assert empty() == []\n",
    }
    place = Place(tmp_path, monkeypatch, old)
    turns = next(rule for rule in place.agents["agents"] if rule["step"] == "scaffold")["turns"]
    honest = msgspec.json.decode(msgspec.json.encode(turns[0]))
    honest["write"]["src/basket/__init__.py"] += "\n\n\ndef empty() -> list[Item]:\n    return []\n"
    turns.append(honest)

    ended = place.run()

    assert ended.code == 0, ended.out + ended.err
    setbacks = treadle("evidence", "it", "--json").json()["setbacks"]
    assert [(one["act"], one["why"][0]) for one in setbacks] == [("root:scaffold#1.1", "unbroken")]
    record = treadle("show", "it", "root:scaffold#1.1", "--json").out
    assert "unbroken.failing" in record


@pytest.mark.soak
def test_an_author_of_tests_who_silences_the_old_suite_is_refused_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, monkeypatch)
    turns = next(rule for rule in place.agents["agents"] if rule["step"] == "tests")["turns"]
    hook = "def pytest_collection_modifyitems(items):\n    items[:] = [one for one in items if 'ba' in one.nodeid]\n"
    honest = msgspec.json.decode(msgspec.json.encode(turns[0]))
    turns[0]["write"]["tests/basket/conftest.py"] = hook
    turns.append({**honest, "delete": ["tests/basket/conftest.py"]})

    ended = place.run()

    assert ended.code == 0, ended.out + ended.err
    setbacks = treadle("evidence", "it", "--json").json()["setbacks"]
    assert [(one["act"], one["why"][0]) for one in setbacks] == [("root:tests#1.1", "red")]
    record = treadle("show", "it", "root:tests#1.1", "--json").out
    assert all(word in record for word in ("green.lost", "test_a_pen_has_a_price", "test_a_lamp_has_a_price"))
    assert not git(place.root, "ls-tree", "treadle/it/result", "tests/basket/conftest.py")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("was", "now", "code"),
    [("def test_empty", "def _test_empty", "unbroken.lost"), ("assert", "return\n    assert", "tests.rewritten")],
    ids=["renamed away", "hollowed out"],
)
def test_a_scaffold_that_weakens_an_old_test_is_refused_like_the_author_of_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was: str, now: str, code: str
) -> None:
    file, text = "tests/basket/test_empty.py", "def test_empty():\n    assert sum([]) == 0\n"
    place = Place(tmp_path, monkeypatch, {file: text})
    turns = next(rule for rule in place.agents["agents"] if rule["step"] == "scaffold")["turns"]
    honest = msgspec.json.decode(msgspec.json.encode(turns[0]))
    honest["write"][file] = text
    turns[0]["write"][file] = text.replace(was, now)
    turns.append(honest)

    ended = place.run()

    assert ended.code == 0, ended.out + ended.err
    setbacks = treadle("evidence", "it", "--json").json()["setbacks"]
    assert [(one["act"], one["why"][0]) for one in setbacks] == [("root:scaffold#1.1", "unbroken")]
    record = treadle("show", "it", "root:scaffold#1.1", "--json").out
    assert code in record
    assert f"{file}::test_empty" in record


@pytest.mark.soak
def test_an_amended_spec_with_the_manifest_of_its_first_run_costs_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = {"spec_id": "basket", "acceptance_criteria_map": {"test_adding.py::test_the_sum": "AC-1: sums"}}
    files = {
        "tests/basket/test_adding.py": "def test_the_sum():\n    assert sum([1, 2]) == 3\n",
        "tests/basket/test_manifest.json": msgspec.json.encode(older).decode(),
    }
    place = Place(tmp_path, monkeypatch, files)

    ended = place.run()

    assert ended.code == 0, ended.out + ended.err
    proved = treadle("evidence", "it", "--json").json()
    assert proved["setbacks"] == []
    assert [one["standing"] for one in proved["criteria"]] == ["verified"] * 3


def test_a_missing_linter_stops_the_run_before_an_agent_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, monkeypatch)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    for lint in ("no-such-linter .", f"{bare}/bin/python -m ruff check ."):
        refused = place.run("--set", f"toolchain.lint={lint}")
        assert refused.code == 2
        assert treadle("runs", "--json").json()["runs"] == []
        assert not git(place.root, "for-each-ref", "refs/treadle", "refs/heads/treadle")
        with pytest.raises(TreadleError) as stopped:
            prepare_run(Project(place.root), _order(f"toolchain.lint={lint}"))
        assert stopped.value.code in ("env.missing", "env.broken")
    doctor = treadle("doctor", "--json")
    assert next(one for one in doctor.json()["lines"] if one["what"] == "toolchain canaries")["state"] == "ok"
    (place.root / "treadle.toml").write_text((place.root / "treadle.toml").read_text() + 'lint = "no-such-linter ."\n')
    lines = {one["what"]: one for one in treadle("doctor", "--json").json()["lines"]}
    assert (lines["toolchain lint"]["state"], lines["toolchain lint"]["code"]) == ("missing", "env.missing")


def test_a_test_tool_that_cannot_start_on_the_base_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, monkeypatch, {"conftest.py": "import no_such_module_anywhere\n"})

    refused = place.run()

    assert refused.code == 2, refused.out
    assert not git(place.root, "for-each-ref", "refs/treadle", "refs/heads/treadle")
    assert treadle("runs", "--json").json()["runs"] == []
    launch = prepare_run(Project(place.root), _order())
    with opened_store(Project(place.root), create=True) as store, pytest.raises(PortError) as stopped:
        asyncio.run(launch.baseline(store, asyncio.run(launch.base())))
    assert stopped.value.code == "env.tests"


@pytest.mark.soak
def test_the_tests_of_the_base_are_run_once_for_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, monkeypatch)
    asked: list[str] = []
    real = ProjectTools.test

    async def counted(
        self: ProjectTools, path: Path, ids: Any = None, files: Any = None, *more: Any, **rest: Any
    ) -> TestRun:
        asked.append("all" if ids is None and files is None else "some")
        return await real(self, path, ids, files, *more, **rest)

    monkeypatch.setattr(ProjectTools, "test", counted)
    assert place.run().code == 0
    assert asked.count("all") == 4, "base, scaffold, red and green; the result has the tree that was green"
    assert "some" in asked
    before = len(asked)
    assert treadle("status", "it", "--json").json()["baseline"]["is_reused"] is False
    again = treadle("run", "spec.yaml", "-p", "v3", "--name", "next", "--level", "0")
    assert len(asked) == before, "the baseline is known by tree, toolchain and settings"
    assert "running the tests" not in again.err
    assert treadle("status", "next", "--json").json()["baseline"]["is_reused"] is True


def _order(*changes: str) -> RunArguments:
    spec = Path("spec.yaml")
    return RunArguments(spec=spec, protocol="v3", agents=(), changes=changes, name="", level=0, merge=None)


def test_a_program_that_goes_missing_in_the_middle_costs_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, monkeypatch)
    tool = tmp_path / "check-build"
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    seen: list[str] = []

    async def gone(command: tuple[str, ...], path: Path, **more: Any) -> Any:
        if command[0] == str(tool) and (path / "tests/basket/test_adding.py").exists():
            tool.unlink(missing_ok=True)
            seen.append(command[0])
        return await build(command, path, **more)

    monkeypatch.setattr("treadle.toolchains.toolchain.build", gone)
    ended = place.run("--set", f"toolchain.build={tool}")
    assert (ended.code, bool(seen)) == (3, True), ended.out + ended.err
    stopped = treadle("evidence", "it", "--json").json()["setbacks"]
    assert {one["act"] for one in stopped} == {"root:tests#1.1"}, "it is the first attempt still"


@pytest.mark.soak
def test_resume_measures_a_missing_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, monkeypatch, {"tests/basket/test_old.py": OLD})
    with opened_store(Project(place.root), create=True) as store:
        name = start_run(store, prepare_run(Project(place.root), _order()).request)
    assert treadle("status", name, "--json").json()["baseline"] is None

    taken_up = treadle("resume", name)

    assert taken_up.code == 3, taken_up.out + taken_up.err
    assert "baseline: 2 passed, 2 failed" in taken_up.out
    found = treadle("status", name, "--json").json()["baseline"]
    assert (found["passed"], found["failed"]) == (2, 2)
    assert [one["code"] for one in found["tests"]] == ["baseline.failing"] * 2


@pytest.mark.soak
def test_a_generated_file_that_git_ignores_is_copied_into_every_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the setting no test can import the package; with it the whole run goes as ever."""
    place = Place(
        tmp_path,
        monkeypatch,
        {
            ".gitignore": "_version.py\n",
            "src/stock/__init__.py": "from stock._version import version\n",
            "tests/stock/test_version.py": "import stock\n\n\ndef test_version():\n    assert stock.version == '1'\n",
        },
    )
    version = place.root / "src" / "stock" / "_version.py"
    version.write_text("version = '1'\n")

    assert place.run().code == 2
    assert baseline_code(place) == "env.generated"
    given = "environment.generated=['src/stock/_version.py']"
    version.unlink()
    assert baseline_code(place, given) == "generated.missing"

    version.write_text("version = '2'\n")
    assert failing_tests(place, given) == ["tests/stock/test_version.py::test_version"]
    version.write_text("version = '1'\n")
    assert failing_tests(place, given) == [], "an earlier result holds for the contents that it was measured with"

    at_impl = next(rule for rule in place.agents["agents"] if rule["step"] == "impl")
    at_impl["turns"][0]["write"]["src/stock/_version.py"] = "version = 'broken'\n"
    ended = place.run("--set", given)
    assert ended.code == 0, ended.out + ended.err
    proved = treadle("evidence", "it", "--json").json()
    assert proved["setbacks"] == []
    assert [one["standing"] for one in proved["criteria"]] == ["verified"] * 3
    assert "src/stock/_version.py" not in git(place.root, "ls-tree", "-r", "--name-only", "treadle/it/result")
    assert version.read_text() == "version = '1'\n"


@pytest.mark.soak
def test_a_baseline_with_missing_modules_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier result that fails for want of a module says nothing once the module is there."""
    extra = tmp_path / "extra"
    extra.mkdir()
    test = f"import sys\n\nsys.path.append({str(extra)!r})\n\n\ndef test_it():\n    import late_module_of_ours\n"
    place = Place(tmp_path, monkeypatch, {"tests/shop/test_late.py": test})
    assert failing_tests(place) == ["tests/shop/test_late.py::test_it"]
    (extra / "late_module_of_ours.py").write_text("")
    assert failing_tests(place) == []


def failing_tests(place: Place, *changes: str) -> list[str]:
    """The tests that fail on the base commit."""
    launch = prepare_run(Project(place.root), _order(*changes))
    with opened_store(Project(place.root), create=True) as store:
        found = asyncio.run(launch.baseline(store, asyncio.run(launch.base())))
    return [one.test for one in found.tests]


def baseline_code(place: Place, *changes: str) -> str:
    """The code of what keeps a run from beginning."""
    with pytest.raises(PortError) as stopped:
        failing_tests(place, *changes)
    return stopped.value.code
