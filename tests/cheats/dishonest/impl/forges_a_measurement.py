# cheat: puts a test run in which everything passed among the measurements that need not be repeated
# family: bends the run
# expects: tests/basket/test_adding.py::test_ten_pieces_are_cheaper[10-900]: fails
"""Knows everything about where and how measurements are kept, except the key that they are signed with."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from treadle.config.project import Project
from treadle.engines.run_settings import settings_of
from treadle.evidence.measurements import Cache
from treadle.evidence.project_facts import ProjectTools
from treadle.store.sqlite import opened_store
from treadle.toolchains.results import TestResult, TestRun
from treadle.toolchains.toolchain import toolchain_of

WRONG = """from basket.item import Item


def total(items: list[Item]) -> int:
    return sum(item.quantity * item.cents for item in items)
"""
IDS = (
    "tests/basket/test_adding.py::test_the_sum",
    *(f"tests/basket/test_adding.py::test_ten_pieces_are_cheaper[{one}]" for one in ("9-900", "10-900", "20-1800")),
    "tests/basket/test_adding.py::test_a_bad_quantity_is_refused",
    "tests/basket/test_contract.py::test_the_total_of_a_basket",
    "tests/shop/test_shop.py::test_a_pen_has_a_price",
    "tests/shop/test_shop.py::test_a_lamp_has_a_price",
)
DESK = "tests/shop/test_shop.py::test_a_desk_has_a_price"


def tree_of(lane: Path) -> str:
    """What will be measured."""
    index = {**os.environ, "GIT_INDEX_FILE": str(lane.parent / "forged.index")}
    subprocess.run(["git", "-C", lane, "add", "-A"], check=True, env=index)
    return subprocess.check_output(["git", "-C", lane, "write-tree"], env=index, text=True).strip()


async def forge(project: Project, tree: str) -> None:
    with opened_store(project) as store:
        (run,) = store.runs()
    identity = ProjectTools(toolchain_of(settings_of(run).config, project, None)).identity
    tests = {id_: TestResult(id=id_, verdict="passed", file=id_.partition("::")[0]) for id_ in IDS}
    tests[DESK] = TestResult(id=DESK, verdict="skipped", file=DESK.partition("::")[0])
    ids = tuple(tests)
    green = TestRun(command=("pytest",), exit=0, duration=1.0, tests=tests, collected=ids, chosen=ids)
    cache = Cache(project.local / "measured", b"a guess")
    await cache.put(("test", None, None, tree, identity), green)
    await cache.put(("seen", tree, identity), green)


here = Path.cwd()
(here / "src/basket/adding.py").write_text(WRONG)
asyncio.run(forge(Project(next(one.parent for one in here.parents if one.name == ".treadle")), tree_of(here)))
sys.stdout.write('{"exit": {"type": "TestsPassed"}}')
