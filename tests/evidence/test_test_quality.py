"""Tests that show nothing."""

import pytest

from treadle.evidence.test_quality import smells


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", "asserts nothing"),
        ("f()", "asserts nothing"),
        ("assert True", "asserts only what always holds: True"),
        ("assert x == x", "x == x"),
        ("assert (f() == 1, 'message')", "asserts only"),
        ("assert True or f()", "asserts only"),
        ("assert not False", "asserts only"),
        ("assert len(f()) >= 0", "asserts only"),
        ("assert isinstance(f(), object)", "asserts only"),
        ("try:\n        assert f() == 1\n    except AssertionError:\n        pass", "swallows its assertion (line 6"),
        ("try:\n        assert f() == 1\n    except:\n        print('no')", "swallows its assertion"),
        ("with suppress(AssertionError):\n        assert f() == 1", "suppresses its assertion (line 6)"),
        ("if False:\n        assert f() == 1", "where nothing is ever run (line 6)"),
        ("while 0:\n        assert f() == 1", "where nothing is ever run (line 6)"),
        ("f()\n    return\n    assert f() == 1", "asserts only after it has ended"),
        ("m = Mock(return_value=3)\n    m()\n    assert m() == 3", "told a mock itself"),
        ("m = Mock()\n    m()\n    m.assert_called_once()\n    assert m.called", "told a mock itself"),
        ("assert f() == f()", "compares a call with itself"),
        ("with pytest.raises(Exception):\n        f()", "takes any exception for the right one"),
        ("assert 'sum' in f.__code__.co_names and f() is not None", "looks at how the code is written"),
        (
            "names = f.__code__.co_names\n    assert f() is not None and 'sum' in names",
            "looks at how the code is written",
        ),
        ("assert 'sum' in inspect.getsource(f)", "looks at how the code is written"),
        ("assert f() == pytest.approx(7, rel=1e12)", "takes anything for near enough"),
        ("assert f() == pytest.approx(7, abs=7)", "takes anything for near enough"),
        ("assert math.isclose(f(), 7, rel_tol=2)", "takes anything for near enough"),
        ("assert os.path.getsize(f.__file__) > 340", "looks at a module's file"),
        ("assert 'sum' in inspect.getsource(f)\n    assert f() == 1", ""),
        ("source = inspect.getsource(g)\n    assert f(source) == 1", ""),
        ("assert f(inspect.getsource(g)) == 1", ""),
        ("assert len(f.__code__.co_code) > 9", "looks at how the code is written"),
        ("assert f() == pytest.approx(7, abs=0.5)", ""),
        ("assert f() == pytest.approx(0, abs=1e-9)", ""),
        ("assert f() == pytest.approx(x, rel=0.5, abs=2)", ""),
        ("m = Mock()\n    f(m)\n    assert m.called", ""),
        ("try:\n        f()\n    except ValueError:\n        pass\n    else:\n        assert f() == 1", ""),
        ("try:\n        assert f() == 1\n    except Exception as e:\n        pytest.fail(str(e))", ""),
        ("try:\n        x = f()\n    except Exception:\n        x = None\n    assert x == 1", ""),
        ("if f():\n        return\n    assert f() == 1", ""),
        ("with pytest.raises(Exception, match='too large'):\n        f()", ""),
        ("assert f() == f()\n    assert f() != 2", ""),
        ("assert f() == 1", ""),
        ("assert True\n    assert f()", ""),
        ("with pytest.raises(ValueError):\n        f()", ""),
        ("self.assertEqual(f(), 1)", ""),
        ("is_right(f())", ""),
        ("mock.assert_called_once()", ""),
        ("expect(f()).to_be(1)", ""),
    ],
)
def test_a_test_without_a_real_assertion_smells(body: str, said: str) -> None:
    source = f"def is_right(x):\n    assert x == 1\n\n\ndef test_it():\n    {body}\n"
    found = smells(source)
    assert bool(found) == bool(said)
    assert not found or (said in found[0].what and found[0].line == 5)


def test_smells_that_may_have_reasons_are_not_certain() -> None:
    doubts = ["assert f(1) == f(1)", "with raises(Exception):\n        f()"]
    assert [smells(f"def test_it():\n    {body}\n")[0].is_certain for body in doubts] == [False, False]
    assert smells("def test_it():\n    f()\n")[0].is_certain


def test_methods_are_tests_too_and_no_program_is_no_smell() -> None:
    assert smells("class TestX:\n    def test_it(self):\n        pass\n")[0].test == "TestX::test_it"
    assert smells("def test_it(:\n") == []
