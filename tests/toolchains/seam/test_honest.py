"""Everything that honest tests hand over crosses between judge and subject, and every test passes."""

import ast
import importlib.util

from tests.toolchains.seam.apart import reasons, run_somewhere
from tests.toolchains.seam.honest_project import HYPOTHESIS, INNER, PACKAGE, TESTS, UNITTEST
from tests.toolchains.seam.honest_values import CLOCK, LIBRARY, VALUES

HAS_HYPOTHESIS = importlib.util.find_spec("hypothesis") is not None
FILES = {
    "shop/__init__.py": PACKAGE,
    "shop/inner.py": INNER,
    "tests/test_shop.py": TESTS,
    "shop/library.py": LIBRARY,
    "tests/test_basket.py": UNITTEST,
    "tests/test_values.py": VALUES,
    "tests/test_clock.py": CLOCK,
    **({"tests/test_properties.py": HYPOTHESIS} if HAS_HYPOTHESIS else {}),
}
NAMES = {
    node.name
    for text in FILES.values()
    for node in ast.walk(ast.parse(text))
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
}


def test_every_honest_test_passes_apart() -> None:
    ran = run_somewhere(FILES)
    verdicts = {id.rpartition("::")[2]: test.verdict for id, test in ran.run.tests.items()}
    bad = {name for name, verdict in verdicts.items() if verdict not in ("passed", "xfailed")}
    assert not bad, "\n\n".join(reasons(ran, name) for name in sorted(bad))
    assert {name.partition("[")[0] for name in verdicts} == NAMES, reasons(ran, "")
    assert verdicts["test_not_implemented"] == "xfailed"
    # freezegun imports `uuid`, which loads a library by ctypes
    tampering = [one for one in ran.run.tampering if not ("ctypes" in one and "test_clock" in one)]
    assert (ran.problem, ran.run.bent, ran.run.problems, tampering, ran.breaches) == ("", (), (), [], ())
    assert (ran.uncrossable, ran.failed_to_cross) == ({}, {})
    assert ran.run.is_green
    assert set(ran.crossed) == set(ran.run.chosen)
    assert ran.calls > len(NAMES)
