"""What a merge has to pass."""

import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.evidence.stage import ADD, FILES, SPEC, TEST, Stage, run
from treadle.config.model import ToolchainSettings as Settings
from treadle.evidence.measurements import Cache
from treadle.evidence.merge_verifier import DeliveryVerifier, MergeVerifier
from treadle.evidence.project_facts import ProjectTools
from treadle.git.trees import TreeEntry
from treadle.kernel.commands import RunEffect
from treadle.protocol.items import Json
from treadle.toolchains.junit import Junit
from treadle.toolchains.results import TestRun
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

PARENTS = "def test_whole() -> None:\n    from src.whole import whole\n\n    assert whole() == 1\n"
PART: dict[str, Json] = {**SPEC, "id": "part", "targetPath": "src/part", "testPath": "tests/part"}


def verifier(stage: Stage, inst: str, effect: Literal["merge", "rebase"] = "merge") -> MergeVerifier:
    job = RunEffect(id=f"{inst}:{effect}#1.1", inst=inst, graph="node", step=effect, visit=1, attempt=1, effect=effect)
    return MergeVerifier(stage.facts, stage.tools, Cache(stage.cache, b"key"), job, stage.case({}))


@pytest.mark.soak
def test_only_a_merges_own_failures_refuse_it(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        await stage.claim("tests", "TestsReady", {"tests/calc/test_whole.py": PARENTS}, checks="checkpoint")
        stage.add("root/part", "node", PART)
        suite: Json = {"contractSuite": "tests/part/test_add.py"}
        assert isinstance(suite, dict)
        files = {"tests/part/test_add.py": TEST.replace("calc", "part"), "src/part/add.py": ADD}
        await stage.claim("scaffold", "InitWork", files, suite, "checkpoint", inst="root/part")
        one = verifier(stage, "root/part")
        head = await stage.facts.head(stage.state, "root/part")
        assert (await one.suite(head)).ok
        assert (await one.contract(head)).ok
        assert (await one.build(head)).ok
        broken = await stage.claim(
            "impl",
            "TestsPassed",
            {"src/part/add.py": "def add(a, b):\n    return 0\n"},
            {},
            "checkpoint",
            inst="root/part",
        )
        assert broken is not None
        head = await stage.facts.head(stage.state, "root/part")
        for tried in (await one.suite(head), await one.contract(head)):
            assert tried.failing == ("tests/part/test_add.py::test_adds",)
            assert not tried.ok

    run(story())


def test_a_rebase_changes_no_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        one = verifier(stage, "root")
        head = await stage.facts.head(stage.state, "root")
        assert (await one.same_colour(head, head)).ok
        [blob] = await stage.facts.blobs([ADD.encode()])
        green = await stage.facts.with_files(head, {"src/calc/add.py": TreeEntry("100644", blob, "src/calc/add.py")})
        assert (await one.same_colour(head, green)).failing == ("tests/calc/test_add.py::test_adds",)
        asked = []
        real = stage.tools.test

        async def noted(*words: Any, **more: Any) -> TestRun:
            asked.append(words)
            return await real(*words, **more)

        monkeypatch.setattr(stage.tools, "test", noted)
        again = verifier(stage, "root", "rebase")
        assert not (await again.same_colour(head, green)).ok
        assert not asked, "of the past, everything is known; what is green stays green"
        assert not (await again.same_colour(green, head)).ok
        assert len(asked) == 1, "what is red may have had other reasons"

    run(story())


def test_failures_from_before_the_run_do_not_refuse_a_merge(tmp_path: Path) -> None:
    files = {**FILES, "tests/shop/test_broken.py": "def test_broken() -> None:\n    assert [] == [1]\n"}

    async def story() -> None:
        stage = await (await Stage(tmp_path, files=files).start()).tested()
        head = await stage.facts.head(stage.state, "root")
        assert (await verifier(stage, "root").suite(head)).failing == ("tests/calc/test_add.py::test_adds",)
        [blob] = await stage.facts.blobs([ADD.encode()])
        green = await stage.facts.with_files(head, {"src/calc/add.py": TreeEntry("100644", blob, "src/calc/add.py")})
        tried = await verifier(stage, "root").suite(green)
        assert tried.ok
        assert [(one["test"], one["code"]) for one in tried.findings] == [
            ("tests/shop/test_broken.py::test_broken", "baseline.failing")
        ]

    run(story())


def test_a_merge_without_a_test_command_passes(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        head = await stage.facts.head(stage.state, "root")
        assert not (await verifier(stage, "root").suite(head)).ok
        stage.tools = ProjectTools(
            ProjectToolchain(settings=Settings(kind="command", timeout=60), root=tmp_path, tests=None, sandbox=NONE)
        )
        tried = await verifier(stage, "root").suite(head)
        assert (tried.ok, tried.ran) == (True, {}), "there is no command to run"
        assert (await verifier(stage, "root", "rebase").same_colour(head, head)).ok

    run(story())


def test_a_suite_without_selection_is_judged_by_the_requested_tests(tmp_path: Path) -> None:
    async def story() -> None:
        report = (
            '<testsuite><testcase classname="{}" name="t">{}</testcase><testcase classname="{}" name="t"/></testsuite>'
        )
        stage = await (await Stage(tmp_path).start()).scaffolded()
        stage.add("root/part", "node", PART)
        files = {"tests/part/test_add.py": TEST, "tests/calc/test_whole.py": PARENTS}
        suite: dict[str, Json] = {"contractSuite": "tests/part/test_add.py"}
        await stage.claim("scaffold", "InitWork", files, suite, "checkpoint", inst="root/part")
        head = await stage.facts.head(stage.state, "root/part")
        for bad, fine, ok in (("calc/test_whole", "part/test_add", True), ("part/test_add", "calc/test_whole", False)):
            said = report.format(f"tests/{bad}.py", "<failure/>", f"tests/{fine}.py")
            stage.tools = ProjectTools(junit(tmp_path, said, code=1))
            assert (await verifier(stage, "root/part").contract(head)).ok is ok
        stage.tools = ProjectTools(
            junit(tmp_path, report.format("tests/calc/x.py", "", "tests/part/test_add.py"), code=1)
        )
        assert not (await verifier(stage, "root/part").contract(head)).ok, "an exit code that no test explains"

    run(story())


def junit(root: Path, report: str, code: int) -> ProjectToolchain:
    script = "import sys; open(sys.argv[1], 'w').write(sys.argv[2]); sys.exit(int(sys.argv[3]))"
    command = (sys.executable, "-c", script, "{report}", report, str(code))
    tests = Junit(command=command, timeout=60.0, sandbox=NONE)
    return ProjectToolchain(
        settings=Settings(kind="junit", timeout=60, test=command), root=root, tests=tests, sandbox=NONE
    )


FLIPS = """import pathlib

COUNT = pathlib.Path({place!r})


def test_flips() -> None:
    runs = len(COUNT.read_bytes()) if COUNT.exists() else 0
    COUNT.write_bytes(bytes(runs + 1))
    assert runs % 3 == 1
"""


def test_a_flaky_test_of_the_branch_does_not_refuse_a_delivery(tmp_path: Path) -> None:
    """It fails with the result, passes on the branch, fails again with the result, and does both on the branch."""

    async def story() -> None:
        place = tmp_path / "count"
        flips = {"tests/test_flips.py": FLIPS.format(place=str(place))}
        stage = await (await Stage(tmp_path, files={**FILES, **flips}).start()).tested()
        onto = await stage.facts.head(stage.state, "root")
        await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
        head = await stage.facts.head(stage.state, "root")
        place.unlink(missing_ok=True)
        one = DeliveryVerifier(stage.facts, stage.tools, Cache(tmp_path / "fresh", b"key"), stage.case({}), "deliver")
        proofs = ["tests/calc/test_add.py::test_adds"]
        assert await one.verify(head, onto, {"src/calc/add.py"}, proofs, head) is None
        assert place.stat().st_size > len(("with the result", "on the branch", "with the result again"))

    run(story())


QUIET = {
    "deselected": {"conftest.py": "def pytest_collection_modifyitems(items):\n    del items[1:]\n"},
    "ignored": {"conftest.py": "collect_ignore = ['tests/shop/test_old.py']\n"},
    "skipped": {
        "tests/shop/conftest.py": "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef no():\n    pytest.skip()\n"
    },
    "an option": {"pytest.ini": "[pytest]\naddopts = -k 'not test_old'\n"},
    "a pattern of names": {"pytest.ini": "[pytest]\npython_files = test_a*.py\n"},
    "renamed": {"tests/shop/test_old.py": "def test_older() -> None:\n    assert [1]\n"},
    "replaced": {"tests/shop/test_old.py": "def test_older() -> None:\n    assert [2]\n"},
}


@pytest.mark.parametrize("way", QUIET)
def test_a_merge_keeps_every_test_of_the_base_running(tmp_path: Path, way: str) -> None:
    """Whatever an earlier step has let through: the commit that is merged is compared with the base by id."""
    files = {**FILES, "tests/shop/test_old.py": "def test_old() -> None:\n    assert [1]\n"}

    async def story() -> None:
        stage = await Stage(tmp_path, files=files).start()
        written = {"src/calc/add.py": ADD, "tests/calc/test_add.py": TEST, **QUIET[way]}
        await stage.claim("scaffold", "InitWork", written, checks="checkpoint")
        head = await stage.facts.head(stage.state, "root")
        tried = await verifier(stage, "root").suite(head)
        lost = [one["test"] for one in tried.findings if one["code"] == "green.lost"]
        assert lost == ([] if way == "renamed" else ["tests/shop/test_old.py::test_old"])
        assert tried.ok is (way == "renamed")
        origin = await stage.facts.start(stage.state.run)
        delivery = DeliveryVerifier(stage.facts, stage.tools, Cache(stage.cache, b"key"), stage.case({}), "deliver")
        refused = await delivery.verify(head, origin, set(written), (), head)
        assert (refused.tests if refused else ()) == tuple(lost)

    run(story())
