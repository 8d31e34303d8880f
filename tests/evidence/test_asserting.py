"""Functions that assert something."""

import pytest

from treadle.evidence.assertions import asserting_functions

BODIES = {
    "assert x == 1": True,
    "raise AssertionError('no')": True,
    "if x != 1:\n        raise AssertionError": True,
    "raise Mismatch(x)": True,
    "pytest.fail('no')": True,
    "with pytest.raises(ValueError):\n        x()": True,
    "try:\n        x()\n    except ValueError:\n        return\n    raise AssertionError": True,
    "def inner():\n        assert x\n    return inner": True,
    "by_another(x)": True,
    "self.by_yet_another(x)": True,
    "raise KeyError(x)": False,
    "raise NotImplementedError": False,
    "return x == 1": False,
    "print(x)": False,
    "if False:\n        assert x": False,
    "try:\n        assert x\n    except AssertionError:\n        pass": False,
}
OTHERS = """def by_another(x):
    by_yet_another(x)


class Some:
    def by_yet_another(self, x):
        assert x


def round_and_round():
    round_and_round()
"""


@pytest.mark.parametrize("body", BODIES)
def test_a_function_asserts_by_its_body_or_by_its_calls(body: str) -> None:
    found = asserting_functions({"tests/helping.py": f"def helps(x):\n    {body}\n", "tests/other.py": OTHERS})
    assert ("helps" in found) is BODIES[body]
    assert {"by_another", "by_yet_another"} <= found
    assert "round_and_round" not in found


def test_an_imported_alias_asserts_and_a_broken_file_is_skipped() -> None:
    files = {"a.py": "from b import helps as h\n", "b.py": "def helps():\n    assert 1 == 2\n", "c.py": "def ("}
    assert asserting_functions(files) == {"h", "helps"}
