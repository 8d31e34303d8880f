"""No implementation that deceives its tests passes them where judge and subject are apart."""

import pytest

from tests.toolchains.seam.apart import reasons, run_somewhere
from tests.toolchains.seam.dishonest_project import CHEATS, HOSTILE, MORE_TESTS, dishonest_files, hostile_files

HANGING = ("hang", "stopped")


def test_no_cheat_passes() -> None:
    ran = run_somewhere(dishonest_files())
    wanted = {f"tests/test_cheats.py::test_{name}" for name in (*CHEATS, *MORE_TESTS)}
    assert {id for id, test in ran.run.tests.items() if test.verdict == "failed"} == wanted, ran.run.output
    assert (ran.problem, ran.run.bent, ran.run.problems, ran.uncrossable) == ("", (), (), {})


@pytest.mark.parametrize(
    ("names", "seconds"), [(HANGING, 2.0), (tuple(name for name in HOSTILE if name not in HANGING), 30.0)]
)
def test_a_hostile_subject_fails_its_test_alone(names: tuple[str, ...], seconds: float) -> None:
    ran = run_somewhere(hostile_files(names), test_timeout=seconds)
    for name in names:
        id, after = f"tests/test_hostile.py::test_{name}", f"tests/test_hostile.py::test_after_{name}"
        assert ran.run.tests[id].verdict == "failed", reasons(ran, f"test_{name}")
        assert HOSTILE[name][1] in ran.failed_to_cross.get(id, ""), reasons(ran, f"test_{name}")
        assert ran.run.tests[after].verdict == "passed", reasons(ran, f"test_after_{name}")
    assert ran.uncrossable == {}
