"""What the seam between judge and subject costs: calls across it, a run, and the start of a subject.

Needs bubblewrap on the PATH (`make box-tools`).
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tools.box.install import FOLDER
from treadle.toolchains.pytest import Pytest

ROUNDS = 5
CALLS = 5_000
SHOP = (
    "def add(a, b): return a + b\ndef each(f, xs): return [f(x) for x in xs]\nclass Box:\n    def get(self): return 1\n"
)
TESTS = f"""
import time
from shop import Box, add, each
def rate(work, count):
    began = time.perf_counter()
    work()
    print(f"@{{count / (time.perf_counter() - began):.0f}}@")
def test_values(): rate(lambda: [add(1, 2) for _ in range({CALLS})], {CALLS})
def test_methods():
    box = Box()
    rate(lambda: [box.get() for _ in range({CALLS})], {CALLS})
def test_callbacks(): rate(lambda: each(lambda x: x, list(range({CALLS}))), {CALLS})
def test_lists(): rate(lambda: [None for _ in range({CALLS}) if add([1, 2], [3]) == 5], {CALLS})
"""
FEW = "from shop import add\n" + "\n".join(f"def test_{n}(): assert add({n}, 1) == {n + 1}" for n in range(20))


def main() -> None:
    os.environ["PATH"] = f"{FOLDER}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        tests, code = Path(folder, "tests"), Path(folder, "code")
        for path in (tests, code):
            path.mkdir()
            (path / "shop.py").write_text(SHOP, encoding="utf-8")
        (tests / "test_rates.py").write_text(TESTS, encoding="utf-8")
        (tests / "test_few.py").write_text(FEW, encoding="utf-8")
        root = Path(folder, "root")
        root.mkdir()
        runner = Pytest(command=(sys.executable, "-m", "pytest", "-s"), root=root, timeout=300.0, plugins=(), mirrors=0)
        asyncio.run(measure(runner, tests, code))


async def measure(runner: Pytest, tests: Path, code: Path) -> None:
    ran = await runner.test_apart(tests, tuple(_ids("rates")), subject=code, is_subject=lambda path: path == "shop.py")
    rates = [part for part in ran.run.output.split("@") if part.isdigit()]
    for name, rate in zip(("by value", "methods", "callbacks", "lists"), rates, strict=False):
        print(f"{name:<20} {int(rate):7} calls per second")
    apart, plain = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await runner.test_apart(tests, tuple(_ids("few")), subject=code, is_subject=lambda path: path == "shop.py")
        middle = time.perf_counter()
        await runner.test(tests, tuple(_ids("few")))
        apart.append(middle - began)
        plain.append(time.perf_counter() - middle)
    print(f"20 tests apart       {median(apart) * 1000:7.0f} ms")
    print(f"20 tests together    {median(plain) * 1000:7.0f} ms   ({median(apart) / median(plain):.2f} times as long)")


def _ids(name: str) -> list[str]:
    words = ["values", "methods", "callbacks", "lists"] if name == "rates" else [str(number) for number in range(20)]
    return [f"test_{name}.py::test_{word}" for word in words]


if __name__ == "__main__":
    main()
