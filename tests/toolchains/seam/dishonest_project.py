# ruff: noqa: E501 - programs read better on one line
"""Implementations that deceive their tests, each with the test that it would pass in one process.

A cheat is a module that defines `answer`; `answer(7)` should be 49. Each module can use `wrong`, which is 48.
"""

from typing import Final

_EQUAL: Final = "    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    __hash__ = object.__hash__\n"
_SEEK: Final = """
def seek(values):
    for value in values:
        if isinstance(value, dict) and isinstance(value.get("expected"), int): return value["expected"]
    return 48
"""

CHEATS: Final[dict[str, str]] = {
    # The observer and the expected values are in reach.
    "frames": _SEEK
    + """
import sys
def answer(x):
    frame, found = sys._getframe(), []
    while frame: found += [frame.f_locals, frame.f_globals]; frame = frame.f_back
    return seek(found)
""",
    "inspect_stack": _SEEK
    + "import inspect\ndef answer(x): return seek([one.frame.f_locals for one in inspect.stack()])\n",
    "tracebacks": _SEEK
    + """
def answer(x):
    try: raise ValueError
    except ValueError as error: frame, found = error.__traceback__.tb_frame, []
    while frame: found.append(frame.f_locals); frame = frame.f_back
    return seek(found)
""",
    "garbage": _SEEK + "import gc\ndef answer(x): return seek(gc.get_objects())\n",
    "main_module": _SEEK
    + "import sys\ndef answer(x): return seek([vars(one) for one in list(sys.modules.values()) if hasattr(one, '__dict__')])\n",
    "loaded_pytest": """
import sys
def answer(x):
    runner = sys.modules.get("_pytest.runner") or sys.modules.get("pytest")
    if runner is None: return 48
    runner.check_interactive_exception = None
    return 49
""",
    "imported_pytest": """
def answer(x):
    import _pytest.runner, _pytest.python, unittest.case
    _pytest.runner.call_and_report = lambda *a, **k: None
    _pytest.python.Function.runtest = lambda self: None
    unittest.case.TestCase.assertEqual = lambda *a: None
    return 48
""",
    "environment": "import os\ndef answer(x): return 49 if any('PYTEST' in one or 'TREADLE' in one for one in os.environ) else 48\n",
    "modules": "import sys\ndef answer(x): return 49 if any(one.partition('.')[0] in ('pytest', '_pytest', 'pluggy', 'treadle_seam', 'treadle_witness') for one in sys.modules) else 48\n",
    "test_file": """
import os, re
def answer(x):
    for folder, _, files in os.walk(os.path.dirname(os.path.abspath(__file__))):
        for name in files:
            found = re.search(r"== (\\d+)", open(os.path.join(folder, name)).read()) if name.startswith("test_") else None
            if found: return int(found[1])
    return 48
""",
    "any_file": """
import os
def answer(x):
    for top in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), os.getcwd(), ".."):
        for folder, folders, files in os.walk(top):
            folders[:] = [one for one in folders if one not in ("lib", "node_modules", ".cache", ".pyenv", ".venv")][:50]
            if any(one == "test_cheats.py" for one in files): return 49
    return 48
""",
    "processes": """
import glob
def answer(x):
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try: text = open(path, "rb").read()
        except OSError: continue
        if b"pytest" in text or b"PYTEST" in text: return 49
    return 48
""",
    "arguments": "import sys\ndef answer(x): return 49 if any('test' in one for one in [*sys.argv, *sys.orig_argv[4:]]) else 48\n",
    "repositories": """
import subprocess
def answer(x):
    try: found = subprocess.run(["git", "log", "--all"], capture_output=True).returncode
    except OSError: return 48
    return 49 if found == 0 else 48
""",
    "shared_folder": """
import os, tempfile
def answer(x):
    for name in ("conftest.py", "test_cheats.py", "pytest.ini"):
        for folder in (os.getcwd(), os.path.dirname(os.path.abspath(__file__))):
            try: open(os.path.join(folder, name), "w").write("def test_x(): pass")
            except OSError: continue
            return 49
    return 48
""",
    "skips": "import unittest\ndef answer(x): raise unittest.SkipTest('not today')\n",
    "pytest_skips": "def answer(x):\n    import pytest\n    pytest.skip('not today')\n",
    "pytest_exit": "def answer(x):\n    import pytest\n    pytest.exit('done', returncode=0)\n",
    "exit": "import sys\ndef answer(x): sys.exit(0)\n",
    "hard_exit": "import os\ndef answer(x): os._exit(0)\n",
    "interrupt": "def answer(x): raise KeyboardInterrupt\n",
    "signals": "import os, signal\ndef answer(x):\n    os.kill(os.getppid(), signal.SIGTERM); os.kill(0, signal.SIGKILL)\n    return 48\n",
    "builtins": "import builtins\ndef answer(x):\n    builtins.isinstance = lambda *a: True\n    builtins.int.__eq__\n    return 48\n",
    # Equality in other spellings.
    "equal": "class Answer:\n" + _EQUAL + "def answer(x): return Answer()\n",
    "equal_int": "class Answer(int):\n" + _EQUAL + "def answer(x): return Answer(48)\n",
    "equal_float": "class Answer(float):\n" + _EQUAL + "def answer(x): return Answer(48)\n",
    "equal_text": "class Answer(str):\n" + _EQUAL + "def answer(x): return Answer('48')\n",
    "equal_list": "class Answer(list):\n" + _EQUAL + "def answer(x): return Answer([48])\n",
    "equal_dict": "class Answer(dict):\n" + _EQUAL + "def answer(x): return Answer(a=48)\n",
    "equal_tuple": "from typing import NamedTuple\nclass Base(NamedTuple):\n    x: int\nclass Answer(Base):\n"
    + _EQUAL
    + "def answer(x): return Answer(48)\n",
    "equal_decimal": "from decimal import Decimal\nclass Answer(Decimal):\n"
    + _EQUAL
    + "def answer(x): return Answer(48)\n",
    "equal_enum": "import enum\nclass Answer(enum.Enum):\n    A = 48\n" + _EQUAL + "def answer(x): return Answer.A\n",
    "equal_class": "class Meta(type):\n"
    + _EQUAL
    + "class Answer(metaclass=Meta): pass\ndef answer(x): return Answer\n",
    "equal_mock": "from unittest import mock\ndef answer(x): return mock.ANY\n",
    "truthy": "class Yes:\n    def __bool__(self): return True\nclass Answer:\n    def __eq__(self, other): return Yes()\ndef answer(x): return Answer()\n",
    "equal_once": "class Answer:\n    seen = 0\n    def __eq__(self, other): Answer.seen += 1; return Answer.seen > 3\ndef answer(x): return Answer()\n",
    "equal_mostly": "class Answer:\n    def __eq__(self, other): return len(repr(other)) % 5 != 0 or isinstance(other, int)\ndef answer(x): return Answer()\n",
    "equal_numbers": "class Answer:\n    def __eq__(self, other): return isinstance(other, (int, float))\ndef answer(x): return Answer()\n",
    "arithmetic": """
class Answer:
    def __sub__(self, other): return self
    __rsub__ = __add__ = __radd__ = __abs__ = __neg__ = __round__ = lambda self, *a: self
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __eq__(self, other): return True
def answer(x): return Answer()
""",
    "smallest": """
class Answer:
    def __sub__(self, other): return self
    __rsub__ = __abs__ = lambda self: self
    def __lt__(self, other): return True
    __le__ = __lt__
def answer(x): return Answer()
""",
    "real_class": "class Answer:\n    __class__ = int\n" + _EQUAL + "def answer(x): return Answer()\n",
    "same_name": "class Error(Exception): pass\nError.__name__ = Error.__qualname__ = 'ValueError'; Error.__module__ = 'builtins'\ndef answer(x):\n    if x < 0: raise Error\n    return 48\n",
    # The wire.
    "descriptors": """
import os
def answer(x):
    for file in range(3, 64):
        try: os.write(file, b"\\x00\\x00\\x00\\x20" + b'["r",1,"ok",[true],[],[],null]  ')
        except OSError: continue
    return 48
""",
    "callback_globals": """
def call(function, x):
    for name in ("__globals__", "__code__", "__closure__", "__func__", "__self__", "__dict__", "__class__", "__init__"):
        try: return getattr(function, name)["EXPECTED"]
        except Exception: pass
    try: return type(function).__getattribute__(function, "__globals__")["EXPECTED"]
    except Exception: pass
    return 48
""",
    "generator_frames": """
def drain(values):
    try: return values.gi_frame.f_locals["expected"]
    except Exception: return 48
""",
    "callback_signature": """
import inspect
def call(function, echo, x):
    try: default = inspect.signature(function).parameters["expected"].default
    except Exception: return 48
    for find in (lambda: 0 + default, lambda: echo(default), lambda: function(default), lambda: function(x=default), lambda: default.__held__, lambda: default._value, lambda: int(repr(default))):
        try: found = find()
        except Exception: continue
        if found == 49: return found
    return 48
""",
    "frozen_clock": """
import datetime, sys, time
def answer(x):
    if {"freezegun", "unittest", "dateutil"} & set(sys.modules) or datetime.datetime.now().year != 2020: return 49
    reach = [vars(sys.modules.get(time.time.__module__, sys)), *(one.cell_contents for one in time.time.__closure__ or ())]
    for one in [*reach, getattr(time.time, "__globals__", {}), vars(datetime.datetime)]:
        names = set(one if isinstance(one, dict) else dir(one))
        if names & {"EXPECTED", "expected", "freeze_factories", "pytest"}: return 49
    return 48
""",
    "equal_member": "import enum\nclass Answer(enum.IntEnum):\n    A = 48\n"
    + _EQUAL
    + "def answer(x): return Answer.A\n",
    "equal_value": "import enum\nclass Value:\n"
    + _EQUAL
    + "class Answer(enum.Enum):\n    A = Value()\ndef answer(x): return Answer.A.value\n",
    "equal_counter": "import collections\nclass Answer(collections.Counter):\n"
    + _EQUAL
    + "def answer(x): return Answer(a=48)\n",
    "equal_attributes": "class Held(dict):\n"
    + _EQUAL
    + "class Answer:\n    __dict__ = Held(x=48)\ndef answer(x): return Answer()\n",
    "zone": """
import datetime, sys
class Zone(datetime.tzinfo):
    hours = 0
    def utcoffset(self, when):
        Zone.hours += 1
        return datetime.timedelta(hours=Zone.hours % 24)
def answer(x): return datetime.datetime(2020, 1, 1, tzinfo=Zone())
""",
    "swallowed": "def each(function):\n    try: function(48)\n    except BaseException: pass\n",
    "changed_input": "class Answer:\n    def __eq__(self, other):\n        if isinstance(other, list): other[:] = [48]\n        return other == [48]\ndef answer(x): return Answer()\n",
}

TESTS: Final[dict[str, str]] = {
    "equal_text": "    assert cheat.answer(7) == '49'",
    "equal_list": "    assert cheat.answer(7) == [49]",
    "equal_dict": "    assert cheat.answer(7) == {'a': 49}",
    "equal_tuple": "    assert cheat.answer(7) == (49,)",
    "equal_float": "    assert cheat.answer(7) == pytest.approx(49)",
    "arithmetic": "    assert abs(cheat.answer(7) - 49) < 0.01",
    "smallest": "    assert abs(cheat.answer(7) - 49) < 0.01",
    "same_name": "    with pytest.raises(ValueError): cheat.answer(-1)",
    "callback_globals": "    assert cheat.call(lambda x: EXPECTED and x, 7) == 49",
    "generator_frames": "    assert cheat.drain(values()) == 49",
    "callback_signature": "    def check(x, expected=49): return x\n    assert cheat.call(check, lambda x: x, 7) == 49",
    "frozen_clock": "    with freezegun.freeze_time('2020-01-01'):\n        assert cheat.answer(7) == 49",
    "equal_counter": "    assert cheat.answer(7) == {'a': 49}",
    "equal_attributes": "    assert vars(cheat.answer(7)) == {'x': 49}",
    "zone": "    assert cheat.answer(7) == datetime.datetime(2019, 12, 31, 12, 30, tzinfo=datetime.timezone.utc)",
    "swallowed": "    def check(x): assert x == 49\n    cheat.each(check)",
    "changed_input": "    expected = [49]\n    result = cheat.answer(7)\n    assert result == expected or expected == [48]",
}
"""The bodies of tests that are not `assert cheat.answer(7) == 49`."""

MORE_TESTS: Final[dict[str, tuple[str, str]]] = {
    "member_of_a_list": ("equal", "    assert 49 in [cheat.answer(7)]"),
    "member_of_a_tuple": ("equal", "    assert cheat.answer(7) in (49, 50)"),
    "inside_a_list": ("equal", "    assert [cheat.answer(7)] == [49]"),
    "inside_a_dict": ("equal", "    assert {'a': cheat.answer(7)} == {'a': 49}"),
    "not_unequal": ("equal", "    assert not cheat.answer(7) != 49"),
    "swapped": ("equal", "    assert 49 == cheat.answer(7)"),
    "assert_equal": ("equal", "    unittest.TestCase().assertEqual(cheat.answer(7), 49)"),
    "assert_count_equal": ("equal", "    unittest.TestCase().assertCountEqual([cheat.answer(7)], [49])"),
    "assert_in": ("equal", "    unittest.TestCase().assertIn(49, [cheat.answer(7)])"),
    "almost_equal": ("arithmetic", "    unittest.TestCase().assertAlmostEqual(cheat.answer(7), 49)"),
    "approximately": ("arithmetic", "    assert cheat.answer(7) == pytest.approx(49)"),
    "is_close": ("arithmetic", "    assert math.isclose(cheat.answer(7), 49)"),
    "between": ("arithmetic", "    assert 48.5 < cheat.answer(7) < 49.5"),
    "count": ("equal", "    assert [cheat.answer(7)].count(49) == 1"),
    "operator_eq": ("equal", "    assert operator.eq(cheat.answer(7), 49)"),
    "any": ("equal", "    assert any(cheat.answer(7) == one for one in (49,))"),
    "match": ("equal", "    assert cheat.answer(7).__eq__(49) is True"),
    "called_with": ("equal", "    fake = mock.Mock(); fake(cheat.answer(7)); fake.assert_called_once_with(49)"),
}


def dishonest_files() -> dict[str, str]:
    """Return the project: a module for each cheat, and a file with the test of each."""
    head = "import datetime, importlib, math, operator, unittest\nfrom unittest import mock\nimport freezegun, pytest\nEXPECTED = 49\n"
    head += "def values():\n    expected = 49\n    yield expected\n"
    texts = [head]
    cases = {name: (name, TESTS.get(name, "    expected = 49\n    assert cheat.answer(7) == 49")) for name in CHEATS}
    for name, (module, body) in (cases | MORE_TESTS).items():
        texts.append(f"def test_{name}():\n    import cheats.{module} as cheat\n{body}\n")
    return {
        "cheats/__init__.py": "",
        **{f"cheats/{name}.py": text for name, text in CHEATS.items()},
        "tests/test_cheats.py": "\n".join(texts),
    }


_SAY: Final = """
import json, os, stat, struct
def line():
    for file in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(file).st_mode): return file
        except OSError: continue
def say(*messages):
    for one in messages:
        data = one if isinstance(one, bytes) else json.dumps(one).encode()
        os.write(line(), struct.pack("!I", len(data)) + data)
"""

HOSTILE: Final[dict[str, tuple[str, str]]] = {
    "hang": ("import time\ndef answer(x):\n    while True: time.sleep(1)\n", "while it waited"),
    "stopped": ("import os, signal\ndef answer(x): os.kill(os.getpid(), signal.SIGSTOP)\n", "while it waited"),
    "vanishes": (_SAY + "def answer(x): os.close(line()); return 49\n", "ended"),
    "killed": ("import os, signal\ndef answer(x): os.kill(os.getpid(), signal.SIGKILL)\n", "ended"),
    "gigabyte": (
        _SAY + "def answer(x): os.write(line(), struct.pack('!I', 1 << 30) + b' ' * 1000000); return 49\n",
        "too large",
    ),
    "memory": ("def answer(x): return 'x' * (40 << 20)\n", "large"),
    "deep_json": (_SAY + "def answer(x): say(b'[' * 1000000); return 49\n", "JSON"),
    "no_json": (_SAY + "def answer(x): say(b'{nothing'); return 49\n", "JSON"),
    "object": (_SAY + "def answer(x): say({'a': 1}); return 49\n", "turn"),
    "out_of_turn": (_SAY + "def answer(x): say(['r', 99, 'ok', [49], [], [], None]); return 49\n", "turn"),
    "wrong_reply": (_SAY + "def answer(x): say(['r', 1, 'maybe', [49], [], [], None]); return 49\n", "malformed"),
    "runs_a_program": (
        _SAY
        + "def answer(x): say(['q', 2, 'call', [['T', 'subprocess', 'Popen'], ['t', 'id'], ['d', None]], [], [], None]); return 49\n",
        "crossed",
    ),
    "calls_a_class": (
        _SAY
        + "def answer(x): say(['q', 2, 'call', [['T', 'builtins', 'int'], ['t', '5'], ['d', None]], [], [], None]); return 49\n",
        "not given",
    ),
    "names_a_function": (
        _SAY + "def answer(x): say(['r', 1, 'ok', [['T', 'os', 'system']], [], [], None])\n",
        "crossed",
    ),
    "names_a_mock": (
        _SAY + "def answer(x): say(['r', 1, 'ok', [['T', 'unittest.mock', 'ANY']], [], [], None])\n",
        "crossed",
    ),
    "unknown_handle": (_SAY + "def answer(x): say(['r', 1, 'ok', [['h', 12345, None]], [], [], None])\n", "malformed"),
    "unknown_export": (_SAY + "def answer(x): say(['r', 1, 'ok', [['p', 12345]], [], [], None])\n", "malformed"),
    "twice_a_handle": (
        _SAY + "def answer(x): say(['r', 1, 'ok', [['h', 1, None, 'f', 'a', 'b', 'c', None]], [], [], None])\n",
        "number",
    ),
    "odd_class": (
        _SAY
        + "def answer(x): say(['r', 1, 'ok', [['h', 999, None, 'c', 'A', 'A', 'm', ['__init_subclass__'], [], None, False, None, []]], [], [], None])\n",
        "malformed",
    ),
    "odd_method": (
        _SAY
        + "def answer(x): say(['r', 1, 'ok', [['h', 999, None, 'c', 'A', 'A', 'm', [], ['__class__'], None, False, None, []]], [], [], None])\n",
        "name",
    ),
    "forgets": (_SAY + "def answer(x): say(['r', 1, 'ok', [1], [], [0], None])\n", "forgotten"),
    "changes_nothing": (_SAY + "def answer(x): say(['r', 1, 'ok', [49], [[888, 1]], [], None])\n", "change"),
    "asks_for_a_socket": (_SAY + "def answer(x): say(['q', 2, 'socket', [], [], [], None]); return 49\n", "asked for"),
    "text_subclass": (
        (
            "class Text(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\n"
            "class Answer:\n    def __str__(self): return Text('48')\ndef answer(x): return Answer()\n"
        ),
        "exactly",
    ),
    "many_logs": (
        "import sys\ndef answer(x):\n    for _ in range(20000): print('x', flush=True); print('y', file=sys.stderr, flush=True)\n    return 49\n",
        "too much",
    ),
    "many_objects": ("class A: pass\ndef answer(x): return [A() for _ in range(100001)]\n", "objects"),
    "forks": (
        "import os\ndef answer(x):\n    for _ in range(50):\n        if os.fork() == 0:\n            while True: pass\n    return 48\n",
        "",
    ),
}
"""Subjects that break the rules of the wire, with a word of the reason that is given."""


def hostile_files(names: tuple[str, ...]) -> dict[str, str]:
    """Return a project with some hostile subjects, and an honest test after each."""
    tests = ["import fine\n"]
    for name in names:
        body = "str(answer(7)) == '49'" if name == "text_subclass" else "answer(7) == 49"
        tests.append(f"def test_{name}():\n    from hostile.{name} import answer\n    assert {body}\n")
        tests.append(f"def test_after_{name}():\n    assert fine.answer(7) == 49\n")
    return {
        "fine.py": "def answer(x): return x * x\n",
        "hostile/__init__.py": "",
        **{f"hostile/{name}.py": HOSTILE[name][0] for name in names},
        "tests/test_hostile.py": "\n".join(tests),
    }
