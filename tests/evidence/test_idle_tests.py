"""Tests that fail by themselves."""

import pytest

from treadle.evidence.test_quality import smells

HEAD = "import json\nimport pytest\nimport subprocess\nfrom thing import f\n\n"
IDLE = {
    "assert False": "can never pass: assert False",
    "assert 0, 'later'": "can never pass: assert 0, 'later'",
    "raise NotImplementedError": "can never pass: raise NotImplementedError",
    "f()\n    raise NotImplementedError": "can never pass: raise NotImplementedError",
    "assert f() == 1\n    raise NotImplementedError('later')": "can never pass: raise NotImplementedError('later')",
    "assert f() == 1\n    pytest.fail('later')": "can never pass: pytest.fail('later')",
    "try:\n        f()\n    except ValueError:\n        return\n    assert False": "",
    "if f() != 1:\n        pytest.fail('not 1')": "",
    "with pytest.raises(ValueError):\n        f()": "",
    "x = json.dumps([1])\n    assert x == 'a'": "meets no code of the project",
    "assert 'a'.upper() == 'a'": "meets no code of the project",
    "assert subprocess.run(['thing']).returncode == 0": "",
    "assert open('thing.py').read() == ''": "",
    "import thing\n    assert thing.VALUE == 1": "",
}


@pytest.mark.parametrize("body", IDLE)
def test_a_test_that_fails_by_itself_is_reported(body: str) -> None:
    found = [one.what for one in smells(f"{HEAD}def test_it():\n    {body}\n") if one.is_certain]
    said = IDLE[body]
    assert said in "".join(found)
    assert any("can never" in one or "meets no" in one for one in found) == bool(said), found


def test_a_test_with_fixtures_or_decorators_is_not_idle() -> None:
    text = f"{HEAD}def test_a(thing):\n    assert thing == 1\n\n\n@f\ndef test_b():\n    assert 1 == 2\n"
    assert smells(text) == []
