# ruff: noqa: E501 - programs read better on one line
"""Calls that tests made are repeated without them: code that recognises the tests is found, honest code is left alone."""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.box import box_here
from tests.toolchains.seam.apart import Apart, reasons
from treadle.toolchains.replay import call_program, call_text, is_same, outcome_text, read_outcome
from treadle.toolchains.results import ApartRun, CallReplay

DEVICES: Final[dict[str, str]] = {
    "modules": "import sys\ndef seen(): return 'socket' in sys.modules and 'array' in sys.modules\n",
    "arguments": "import sys\ndef seen(): return sys.argv == ['']\n",
    "flags": "import sys\ndef seen(): return '-s' in sys.orig_argv\n",
    "environment": "import os\ndef seen(): return 'SHLVL' not in os.environ\n",
    "variables": "import os\ndef seen(): return 'GIT_TERMINAL_PROMPT' in os.environ\n",
    "descriptors": """
import os, stat
def seen():
    for file in range(3, 64):
        try: kind = os.fstat(file).st_mode
        except OSError: continue
        if stat.S_ISSOCK(kind): return True
    return False
""",
    "parent": "import os\ndef seen(): return os.getppid() == 1\n",
    "forks": "import os\nHERE = os.getpid()\ndef seen(): return os.getpid() != HERE\n",
    "age": "import time\nBORN = time.monotonic()\ndef seen(): return time.monotonic() - BORN > 0.01\n",
    "folder": "import os\ndef seen(): return os.getcwd().endswith('checkout')\n",
    "file": "def seen(): return 'checkout' in __file__\n",
    "frames": "import sys\ndef seen(): return sys._getframe(2).f_code.co_filename == '<lane>'\n",
    "counter": "COUNT = [0]\ndef seen():\n    COUNT[0] += 1\n    return COUNT[0] > 1\n",
    "date": "import os, time\ndef seen(): return time.time() - os.stat(__file__).st_mtime < 86400\n",
    "user": f"import os\ndef seen(): return os.getuid() == {os.getuid()}\n",
    "host": f"import os\ndef seen(): return os.uname().nodename == {socket.gethostname()!r}\n",
    "logging": "import logging\ndef seen(): return bool(logging.getLogger().handlers)\n",
    "leaves": "import os\ndef seen():\n    if os.getppid() != 1: os._exit(0)\n    return True\n",
    "forges": """
import os
def seen():
    if os.getppid() != 1: os.write(1, b'["value", 49'); os._exit(0)
    return True
""",
}
"""Code that looks around; it answers rightly only where it sees a sign of the tests."""

HONEST: Final[dict[str, tuple[str, str]]] = {
    "random": ("import random\ndef roll(): return random.randrange(10**9)\n", "assert m.roll() >= 0"),
    "coin": ("import random\ndef toss(): return random.choice('ab')\n", "assert m.toss() in 'ab'"),
    "time": ("import time\ndef now(): return time.time_ns()\n", "assert m.now() > 0"),
    "today": ("import datetime\ndef today(): return datetime.date.today()\n", "assert m.today().year > 2000"),
    "identity": ("import uuid\ndef token(): return [id(object()), uuid.uuid4().hex]\n", "assert len(m.token()) == 2"),
    "hashes": ("def mix(text): return hash(text)\n", "assert m.mix('a') is not None"),
    "order": ("def words(text): return list({*text.split()})\n", "assert sorted(m.words('b a c')) == ['a', 'b', 'c']"),
    "process": (
        "import os, sys\ndef who(): return [os.getpid(), os.getuid(), os.getcwd(), sys.argv, __file__, os.uname()[1]]\n",
        "assert len(m.who()) == 6",
    ),
    "usage": (
        "import argparse\ndef usage(): return argparse.ArgumentParser().format_usage()\n",
        "assert m.usage().startswith('usage')",
    ),
    "cached": (
        "import functools\n@functools.lru_cache\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n",
        "assert m.fib(30) == 832040; assert m.fib(31) == 1346269",
    ),
    "memo": (
        "SEEN = {}\ndef square(n):\n    if n not in SEEN: SEEN[n] = n * n\n    return SEEN[n]\ndef size(): return len(SEEN)\n",
        "assert m.square(3) == 9; assert m.square(3) == 9; assert m.size() == 1",
    ),
    "globals": ("TABLE = {n: n * n for n in range(9)}\ndef square(n): return TABLE[n]\n", "assert m.square(3) == 9"),
    "counter": (
        "N = 0\ndef number():\n    global N\n    N += 1\n    return N\n",
        "assert [m.number() for _ in range(2)] == [1, 2]",
    ),
    "registry": (
        "NAMES = []\ndef register(name): NAMES.append(name)\ndef names(): return NAMES\n",
        "m.register('a'); assert m.names() == ['a']",
    ),
    "data": (
        "from pathlib import Path\ndef text(): return (Path(__file__).parent / 'data.txt').read_text()\n",
        "assert m.text() == 'held'",
    ),
    "generators": ("def evens(n): yield from range(0, n, 2)\ndef first(n): return [*evens(n)]\n", "assert [*m.evens(5)] == m.first(5)"),
    "exceptions": (
        "class Wrong(ValueError): pass\ndef fail(x): raise Wrong('no', x)\ndef divide(a, b): return a / b\n",
        "\n    with pytest.raises(m.Wrong): m.fail(3)\n    with pytest.raises(ZeroDivisionError): m.divide(1, 0)",
    ),
    "odd": (
        "class Odd(Exception):\n    def args(self): return 1\ndef fail(): raise Odd('no')\n",
        "\n    with pytest.raises(m.Odd): m.fail()",
    ),
    "leaving": ("import sys\ndef main(words): sys.exit(len(words))\n", "\n    with pytest.raises(SystemExit): m.main(['a'])"),
    "mutable": (
        "def sort(values):\n    values.sort()\n",
        "values = [3, 1]; m.sort(values); assert values == [1, 3]",
    ),
    "values": (
        "import datetime, decimal\ndef shift(day, by, **more): return [day + by, decimal.Decimal('0.10'), {1.5: b'x', (1,): {2, 3}}, 2**70, more, -0.0]\n",
        "import datetime as d; assert m.shift(d.date(2020, 1, 31), d.timedelta(days=1), a=d.timezone.utc)[0].month == 2",
    ),
    "objects": (
        "import dataclasses\n@dataclasses.dataclass\nclass Pen:\n    cents: int\n    def twice(self): return self.cents * 2\ndef total(pens): return sum(one.cents for one in pens)\n",
        "assert m.total([m.Pen(3), m.Pen(cents=4)]) == 7; assert m.Pen(5).twice() == 10",
    ),
    "patched": (
        "import time\nRATE = 2\ndef cost(n): return n * RATE\n",
        "monkeypatch.setattr(m, 'RATE', 5); assert m.cost(2) == 10",
    ),
    "environment": (
        "import os\ndef home(): return os.environ.get('SHOP', '')\n",
        "monkeypatch.setenv('SHOP', 'here'); assert m.home() == 'here'",
    ),
    "files": (
        "def read(path): return open(path).read()\n",
        "(tmp_path / 'a').write_text('x'); assert m.read(str(tmp_path / 'a')) == 'x'",
    ),
    "output": ("def hello(): print('[1, 2]'); return 'x'\n", "assert m.hello() == 'x'"),
}  # fmt: skip
"""Code that deserves no finding, each with the body of its test."""


@pytest.fixture(scope="module", name="project")
def fixture_project() -> Iterator[tuple[Apart, ApartRun]]:
    """All modules in one project, whose tests have passed apart."""
    answer = "def answer(x): return x * x if seen() else 48\n"
    devices = [f"def test_{name}(): assert devices.{name}.answer(7) == 49" for name in DEVICES]
    imports = ", ".join(f"devices.{name}" for name in DEVICES)
    honest = [
        f"def test_{name}(monkeypatch, tmp_path):\n    import honest.{name} as m\n    {test.strip()}"
        for name, (_, test) in HONEST.items()
    ]
    files = {
        **{f"devices/{name}.py": text + answer for name, text in DEVICES.items()},
        **{f"honest/{name}.py": text for name, (text, _) in HONEST.items()},
        "honest/data.txt": "held",
        "tests/test_devices.py": "\n".join([f"import {imports}\ndevices.counter.answer(1)", *devices]),
        "tests/test_honest.py": "\n".join(["import pytest", *honest]),
    }
    with pytest.MonkeyPatch.context() as patch:
        box_here(patch)
        folder = Path(tempfile.mkdtemp(prefix="replay-"))
        try:
            project = Apart(folder, files)
            yield project, asyncio.run(project.test())
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def replay(project: tuple[Apart, ApartRun], file: str, names: Collection[str]) -> CallReplay:
    apart, ran = project
    ids = {f"tests/test_{file}.py::test_{name}" for name in names}
    assert ids <= ran.run.passed, "\n".join(reasons(ran, f"test_{name}") for name in names)
    found = asyncio.run(apart.replay(ran.record, ids))
    assert found.problem == ""
    return found


def several(names: Mapping[str, object], count: int) -> list[list[str]]:
    return [[*names][at : at + count] for at in range(0, len(names), count)]


@pytest.mark.parametrize("names", several(DEVICES, 3), ids=" ".join)
def test_code_that_recognises_the_tests_is_found(project: tuple[Apart, ApartRun], names: list[str]) -> None:
    found = replay(project, "devices", names)
    assert {one.test.rpartition("_")[2]: one.call for one in found.differences} == {
        name.rpartition("_")[2]: f"devices.{name}.answer(7)" for name in names
    }
    assert {one.in_tests for one in found.differences} == {"returns 49"}
    assert (found.recorded, found.replayed, found.incomparable) == (len(names), len(names), project[1].record.others)


@pytest.mark.parametrize("names", several(HONEST, 7), ids=" ".join)
def test_honest_code_is_left_alone(project: tuple[Apart, ApartRun], names: list[str]) -> None:
    found = replay(project, "honest", names)
    assert found.differences == ()
    assert found.replayed == min(found.recorded, 12)
    assert found.recorded >= len({*names} - {"patched", "environment"})


def test_calls_are_recorded_by_value(project: tuple[Apart, ApartRun]) -> None:
    record = project[1].record
    calls = {call_text(one.call) for one in record.calls}
    assert {
        "honest.objects.total([honest.objects.Pen(3), honest.objects.Pen(cents=4)])",
        "honest.objects.Pen.twice(honest.objects.Pen(5))",
        "honest.values.shift(datetime.date(2020, 1, 31), datetime.timedelta(days=1), a=datetime.timezone.utc)",
        "honest.exceptions.fail(3)",
        "honest.mutable.sort([3, 1])",
    } <= calls
    spoilt = ("honest.patched", "honest.environment")
    assert not any(one.startswith(spoilt) for one in calls), "their tests changed the process"
    assert record.others > 0
    assert "." in record.path
    names: dict[str, object] = {}
    exec(
        call_program('["new", "builtins", "sorted", [["list", 3, ["i", "0x9"], ["float", "inf"]]], {"reverse": true}]'),
        names,
    )
    assert names["_outcome"] == ("value", [float("inf"), 9, 3])


@pytest.mark.parametrize(
    "output", [b"", b"x", b"[]", b"{}", b"[1, 2, 3]", b"[" * 100_000, b'["value", NaN', b'["other"]', b"\xff\xfe"]
)
def test_only_an_outcome_is_read_as_one(output: bytes) -> None:
    assert read_outcome(output) == ""


def test_outcomes_agree_as_far_as_they_are_values() -> None:
    assert read_outcome(b'noise\n["value", 7, [null]]\n') == '["value", 7, [null]]'
    assert is_same('["value", 7, [null, 2]]', '["value", 7, [1, 2]]')
    assert not is_same('["value", 7, [2]]', '["value", 7, [3]]')
    assert not is_same('["value", 1, []]', '["value", true, []]')
    assert is_same('["raised", "builtins.OSError", [2, null], []]', '["raised", "builtins.OSError", [2, "x"], []]')
    assert not is_same('["raised", "builtins.OSError", [2], []]', '["raised", "builtins.KeyError", [2], []]')
    assert not is_same('["value", 7, []]', "")
    assert outcome_text('["raised", "builtins.OSError", [2], []]', "") == "raises OSError(2)"
    assert outcome_text('["value", 7, [3]]', '["value", 7, [2]]') == "leaves its arguments as [3]"
