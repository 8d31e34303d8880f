"""The contract suite in a language whose runner cannot choose files: other tests of the project decide nothing."""

from pathlib import Path

import pytest

from tests.evidence.stage import RUN, Stage, run
from tests.node_tools import go_program
from treadle.config.model import ToolchainSettings as Settings
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.merge_verifier import DeliveryVerifier, MergeVerifier
from treadle.evidence.project_facts import ProjectTools
from treadle.kernel.commands import RunEffect
from treadle.prompts.scope import scope
from treadle.protocol.items import Json
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

pytestmark = pytest.mark.soak
CONTRACT, CODE = "tests/calc/contract_test.go", "src/calc/add.go"
HEAD = 'import (\n\t"testing"\n\n\t"example.com/calc/src/calc"\n)\n\n'
FILES = {
    "go.mod": "module example.com/calc\n\ngo 1.20\n",
    CODE: 'package calc\n\nfunc Add(a, b int) int { panic("not implemented") }\n',
    "other/other_test.go": 'package other\n\nimport "testing"\n\nfunc TestBroken(t *testing.T) { t.Fatal("old") }\n',
    "tests/calc/old_test.go": 'package calc_test\n\nimport "testing"\n\nfunc TestOld(t *testing.T) { t.Fatal() }\n',
    "unbuilt/it_test.go": 'package unbuilt\n\nimport "testing"\n\nfunc TestIt(t *testing.T) { gone() }\n',
}
BODY = 'func TestAdds(t *testing.T) {\n\tif calc.Add(2, 3) != 5 {\n\t\tt.Fatal("no")\n\t}\n}\n'
SUITE = f"package calc_test\n\n{HEAD}{BODY}"
ADD = "package calc\n\nfunc Add(a, b int) int { return a + b }\n"
FIELDS: dict[str, Json] = {"contractSuite": CONTRACT}
TEST = "example.com/calc/tests/calc::TestAdds"


async def planned(tmp_path: Path, *options: str) -> Stage:
    """A leaf of the fractal with a contract suite; tests that failed before are in its package and in others."""
    stage = await Stage(tmp_path, "fractal", files=FILES).start()
    runner = GoTest(command=(go_program(), "test", *options, "./..."), timeout=120.0, sandbox=NONE)
    settings = Settings(kind="gotest", timeout=120, test=runner.command)
    stage.tools = ProjectTools(ProjectToolchain(settings=settings, root=stage.root, tests=runner, sandbox=NONE))
    stage.verifier = ClaimVerifier(stage.facts, stage.tools, Cache(tmp_path / "known", b"key"), scope)
    verdict = await stage.claim("planner", "InitLeaf", {CONTRACT: SUITE}, FIELDS, "checkpoint contract_exists")
    assert verdict.report == ""
    return stage


@pytest.mark.parametrize("options", [(), ("-failfast=false", "-run=.")], ids=["canaries", "no canaries"])
def test_only_the_tests_of_its_own_files_decide(tmp_path: Path, options: tuple[str, ...]) -> None:
    async def story() -> None:
        stage = await planned(tmp_path, *options)
        refused = await stage.check("lock", "contract")
        found = [one for one in stage.evidence(refused, "contract")["findings"] if not one.get("note")]
        assert [(one["code"], one["test"]) for one in found] == [("green.failing", TEST)]
        await stage.claim("implementer", "TestPassed", {CODE: ADD}, checks="checkpoint")
        assert (await stage.check("lock", "contract", n="2.1")).report == ""

    run(story())


def test_a_merge_and_a_delivery_ask_only_for_the_contract(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await planned(tmp_path)
        onto = await stage.facts.start(RUN)
        cache = Cache(tmp_path / "known", b"key")
        job = RunEffect(id="root:m#1.1", inst="root", graph="node", step="m", visit=1, attempt=1, effect="merge")
        for code, failing in ((FILES[CODE], (TEST,)), (ADD, ())):
            if not failing:
                await stage.claim("implementer", "TestPassed", {CODE: code}, checks="checkpoint")
            head = await stage.facts.head(stage.state, "root")
            tried = await MergeVerifier(stage.facts, stage.tools, cache, job, stage.case({})).contract(head)
            assert tried.failing == failing, tried.details
            deliver = DeliveryVerifier(stage.facts, stage.tools, cache, stage.case({}), f"deliver{len(failing)}")
            failure = await deliver.verify(head, onto, {CONTRACT, CODE}, [TEST], head)
            found = (failure.what, failure.tests) if failure else None
            assert found == (("contract", failing) if failing else None), failure

    run(story())
