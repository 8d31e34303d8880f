"""The assertions of `unittest`, in tests and in what they call."""

import pytest

from treadle.evidence.examples import examples
from treadle.evidence.test_quality import smells

CLASS = """import unittest
from calc import add

class Base(unittest.TestCase):
    def is_nothing(self, value):
        self.assertIsNone(value)

class TestAdd(Base):
    def setUp(self):
        self.box = [add]

    def is_five(self, value):
        with self.subTest(value):
            self.assertIn(value, (5, 5.0))

    def by_two_hops(self, value):
        self.is_five(value)

    def silent(self, value):
        return value == 5

    {around}

    def test_it(self):
        {body}
"""


def smell(body: str, around: str = "") -> tuple[str, bool]:
    """What a test of a class smells of, and whether that is certain."""
    found = [one for one in smells(CLASS.format(body=body, around=around)) if one.test == "TestAdd::test_it"]
    return (found[0].what, found[0].is_certain) if found else ("", False)


@pytest.mark.parametrize(
    "body",
    [
        "self.assertEqual(add(2, 3), 5)",
        "self.assertCountEqual(add([2], [3]), [3, 2])",
        "self.assertAlmostEqual(add(0.1, 0.2), 0.3, places=5)",
        "self.assertAlmostEqual(add(0.1, 0.2), 0.3, delta=0.1)",
        "self.assertTrue(add(2, 3))",
        "self.assertIsNotNone(add(2, 3))",
        "self.assertIsInstance(add(2, 3), int)",
        "self.assertRegex(add('a', 'b'), '^ab$')",
        "self.assertRaises(TypeError, add, 1)",
        "with self.assertRaisesRegex(TypeError, 'one'):\n            add(1)",
        "with self.assertLogs() as logs:\n            add(1, 1)",
        "with self.subTest(1):\n            self.assertEqual(add(1, 1), 2)",
        "self.enterContext(self.assertWarns(UserWarning))\n        add(1, 1)",
        "self.is_nothing(add(1, None))",
        "self.is_five(add(2, 3))",
        "self.by_two_hops(add(2, 3))",
        "self.addCleanup(self.is_five, add(2, 3))",
        "if add(2, 3) != 5:\n            raise self.failureException",
        "if add(2, 3) != 5:\n            self.fail('five')",
    ],
)
def test_tests_that_assert_have_no_smell(body: str) -> None:
    assert smell(body) == ("", False)


@pytest.mark.parametrize(
    "body",
    [
        "add(2, 3)",
        "self.silent(add(2, 3))",
        "self.assertTrue(True)",
        "self.assertFalse(0)",
        "self.assertEqual(1, 1)",
        "x = add(2, 3)\n        self.assertEqual(x, x)",
        "self.assertIsNotNone(7)",
        "self.assertIn(1, [1, 2])",
        "self.assertGreaterEqual(len(add([2], [3])), 0)",
        "self.assertIsInstance(add(2, 3), object)",
        "self.assertEqual(1, 2)",
        "self.assertAlmostEqual(add(2, 3), 5, delta=5)",
        "self.assertAlmostEqual(add(2, 3), 5, places=-3)",
        "try:\n            self.assertEqual(add(2, 3), 5)\n        except AssertionError:\n            pass",
        "if False:\n            self.assertEqual(add(2, 3), 5)",
        "m = Mock(return_value=3)\n        self.assertEqual(m(), 3)",
        "self.fail('never')",
    ],
)
def test_tests_that_cannot_fail_or_cannot_pass_are_certain(body: str) -> None:
    what, is_certain = smell(body)
    assert (bool(what), is_certain) == (True, True)


@pytest.mark.parametrize(
    "around",
    [
        "def tearDown(self):\n        self.assertEqual(self.box, [5])",
        "async def asyncTearDown(self):\n        self.is_five(self.box)",
        "@classmethod\n    def setUpClass(cls):\n        assert add(1, 1) == 2",
    ],
)
def test_assertions_around_a_test_count_with_a_note(around: str) -> None:
    what, is_certain = smell("self.box.append(add(2, 3))", around)
    assert (bool(what), is_certain) == (True, False)


def test_an_assertion_that_the_tests_replace_counts_by_its_body() -> None:
    body = "self.assertEqual(add(2, 3), 5)"
    assert smell(body, "def assertEqual(self, a, b):\n        pass")[1]
    assert smell(body, "def assertEqual(self, a, b):\n        super().assertEqual(a, b)") == ("", False)
    assert smell(body, "def setUp(self):\n        self.addTypeEqualityFunc(int, lambda a, b, msg: None)")[1]
    asserting = "def setUp(self):\n        self.addTypeEqualityFunc(int, self.near)\n    def near(self, a, b, msg):\n"
    assert smell(body, f"{asserting}        self.assertAlmostEqual(float(a), float(b))") == ("", False)
    assert smell(body, f"{asserting}        return a == b")[1]


def test_inherited_tests_and_tests_of_nested_classes_are_read() -> None:
    source = (
        "class Base:\n    def test_a(self):\n        add(1, 1)\n\nclass TestOne(Base):\n    pass\n\n"
        "class TestTwo:\n    class TestIn:\n        def test_b(self):\n            add(1, 1)\n"
    )
    assert {one.test for one in smells(source)} == {"Base::test_a", "TestOne::test_a", "TestTwo::TestIn::test_b"}


def test_equal_assertions_are_examples_unless_the_tests_change_them() -> None:
    source = "from calc import add\nclass TestAdd(T):\n    def test_it(self):\n        self.assertEqual(add(2, 3), 5)\n"
    (one,) = examples(source)
    assert (one.test, one.callee, one.argument, one.expected) == ("TestAdd::test_it", "add", "2", "5")
    assert examples(source.replace("assertEqual", "assertCountEqual")) == []
    assert examples(f"{source}    def assertEqual(self, a, b):\n        pass\n") == []
    assert examples(f"{source}    def setUp(self):\n        self.addTypeEqualityFunc(int, near)\n") == []


HELPERS = """import asyncio
from calc import add

async def check(x):
    assert await add(x) == 5

def plain(x):
    assert add(x) == 5
"""


@pytest.mark.parametrize(
    ("test", "is_noted"),
    [
        ("async def test_it():\n    assert await add(2) == 5", False),
        ("async def test_it():\n    await check(1)", False),
        ("async def test_it():\n    await asyncio.gather(check(1), check(2))", False),
        (
            "async def test_it():\n    async with asyncio.TaskGroup() as group:\n        group.create_task(check(1))",
            False,
        ),
        ("async def test_it():\n    await asyncio.to_thread(plain, 1)", False),
        ("async def test_it():\n    async for x in add(1):\n        assert x == 3", False),
        ("def test_it():\n    asyncio.run(check(1))", False),
        ("def test_it():\n    with Pool() as pool:\n        pool.submit(plain, 1).result()", False),
        ("def test_it():\n    with Pool() as pool:\n        list(pool.map(plain, [1]))", False),
        ("async def test_it():\n    check(1)", True),
        ("def test_it():\n    Thread(target=plain, args=(1,)).start()", True),
        ("def test_it():\n    Pool().submit(plain, 1)", True),
        ("def test_it():\n    def inner():\n        assert add(1) == 2\n    Thread(target=inner).start()", True),
    ],
)
def test_assertions_count_where_their_failure_reaches_the_test(test: str, is_noted: bool) -> None:
    found = [one for one in smells(f"{HELPERS}\n{test}\n") if one.test == "test_it"]
    assert [one.is_certain for one in found] == ([False] if is_noted else [])


def test_awaited_results_are_examples() -> None:
    body = "        result = await add(2)\n        self.assertEqual(result, 5)\n        assert await add(3) == 6\n"
    source = f"class TestIt(IsolatedAsyncioTestCase):\n    async def test_it(self):\n{body}"
    assert [(one.callee, one.argument, one.expected) for one in examples(source)] == [
        ("add", "2", "5"),
        ("add", "3", "6"),
    ]
