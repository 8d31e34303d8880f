# ruff: noqa: E501 - programs read better on one line
"""A project whose tests hand over everything that honest tests hand over."""

from typing import Final

PACKAGE: Final = """
import contextlib, dataclasses, datetime, decimal, enum, fractions, functools, logging, os, random, re, sys, time
import uuid, warnings, collections
from pathlib import Path
from typing import NamedTuple

LIMIT = 10
LOG = logging.getLogger("shop")
VALUES = {"a": [1, 2, {"b": (3, 4)}]}

class ShopError(ValueError):
    def __init__(self, code, text="wrong"):
        super().__init__(f"{text} ({code})")
        self.code = code

class NotFound(ShopError, LookupError): pass
class ShopWarning(UserWarning): pass

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"
    @property
    def is_warm(self): return self is Colour.RED

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

@dataclasses.dataclass
class Item:
    name: str
    price: float = 1.0
    tags: list = dataclasses.field(default_factory=list)
    def total(self, count=1): return self.price * count

@dataclasses.dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    @classmethod
    def parse(cls, text): return cls(*map(int, text.split(".")))
    @staticmethod
    def is_valid(text): return all(part.isdigit() for part in text.split("."))

class Pair(NamedTuple):
    left: int
    right: int

class Name(str):
    def greeting(self): return f"Hello {self}"

class Money:
    def __init__(self, amount): self.amount = amount
    def __eq__(self, other): return isinstance(other, Money) and self.amount == other.amount
    def __hash__(self): return hash(self.amount)
    def __lt__(self, other): return self.amount < other.amount
    def __add__(self, other): return Money(self.amount + getattr(other, "amount", other))
    __radd__ = __add__
    def __sub__(self, other): return Money(self.amount - getattr(other, "amount", other))
    def __neg__(self): return Money(-self.amount)
    def __bool__(self): return self.amount != 0
    def __float__(self): return float(self.amount)
    def __repr__(self): return f"Money({self.amount})"
    def __str__(self): return f"{self.amount} EUR"
    def __format__(self, spec): return format(self.amount, spec)

class Basket:
    created = 0
    def __init__(self, items=()):
        self.items = list(items)
        self._note = ""
        Basket.created += 1
    def add(self, item): self.items.append(item); return self
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __contains__(self, item): return item in self.items
    def __getitem__(self, at): return self.items[at]
    def __setitem__(self, at, value): self.items[at] = value
    def __delitem__(self, at): del self.items[at]
    def __call__(self, x): return len(self.items) + x
    @property
    def note(self): return self._note
    @note.setter
    def note(self, text):
        if not text: raise ValueError("empty")
        self._note = text
    def describe(self): return f"{self.kind()} of {len(self.items)}"
    def kind(self): return "basket"

class Registry(dict):
    def register(self, name):
        def decorate(function): self[name] = function; return function
        return decorate

class Plugin:
    known = []
    def __init_subclass__(cls, **more): Plugin.known.append(cls.__name__)
    def run(self, x): return self.prepare(x) * 2
    def prepare(self, x): raise NotImplementedError("prepare")

class Transaction:
    def __init__(self, log): self.log = log
    def __enter__(self): self.log.append("begin"); return self
    def __exit__(self, kind, value, trace):
        self.log.append("rollback" if kind else "commit")
        return kind is not None and issubclass(kind, KeyError)

def echo(value): return value
def same(values): return values
def extend(values, more): values.extend(more)
def nest(depth): return [nest(depth - 1)] if depth else []
def rename(mapping): mapping["new"] = mapping.pop("old"); mapping.setdefault("list", []).append(1)
def both(one, two): one.append(1); return one is two
def find(name): raise NotFound(404, f"no {name}")
def divide(a, b): return a / b
def chain():
    try: divide(1, 0)
    except ZeroDivisionError as error: raise ShopError(1) from error
def missing(): raise NotImplementedError("later")
def each(function, values): return [function(value) for value in values]
def guard(function):
    try: return function()
    except KeyError as error: return f"caught {error}"
def numbers(n):
    for i in range(n):
        got = yield i
        if got is not None: yield got * 100
@contextlib.contextmanager
def opened(name):
    yield name.upper()
@functools.lru_cache(maxsize=None)
def square(x): return x * x
def retry(times):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            for left in range(times - 1, -1, -1):
                try: return function(*args, **kwargs)
                except ValueError:
                    if not left: raise
        return wrapper
    return decorate
def sort(values, key=None, reverse=False): return sorted(values, key=key, reverse=reverse)
def today(): return datetime.date.today()
def wait(): time.sleep(1000); return time.time()
def fetch(client): return client.get("url", timeout=3).json()["name"]
def save(path, text): Path(path).write_text(text); return Path(path).stat().st_size
def load(path): return Path(path).read_text()
def shout(text): print(text.upper()); print("problem", file=sys.stderr)
def tell(text): LOG.debug("debug %s", text); LOG.warning("warning %s", text)
def warn(): warnings.warn("old", DeprecationWarning); warnings.warn("own", ShopWarning); return 1
def env(name): return os.environ.get(name)
def where(): return os.getcwd()
def arguments(): return sys.argv[1:]
def ask(): return input("name? ").strip()
def roll(): return random.randint(1, 6)
def read_lines(file): return [line.strip() for line in file]
def write_lines(file, lines):
    for line in lines: file.write(line + "\\n")
def kind(): return Money
def helper(x): return x + 1
def uses_helper(x): return helper(x) * LIMIT
def leave(code): sys.exit(code)
async def soon(x): return x + 1
async def twice(function, x): return await function(x) + await function(x)
def make_counter():
    count = 0
    def counter():
        nonlocal count
        count += 1
        return count
    return counter
def total(values): return sum(values)
def by_first(words):
    found = collections.defaultdict(list)
    for word in words: found[word[0]].append(word)
    return found
def matches(pattern, text): return re.compile(pattern).match(text)
class Node:
    def __init__(self, value, *children): self.value, self.children, self.parent = value, list(children), None
    def walk(self):
        yield self.value
        for child in self.children: yield from child.walk()
"""

INNER: Final = """
from shop import LIMIT, Money
from . import echo
def price(): return Money(LIMIT)
"""

TESTS: Final = """
import asyncio, collections, dataclasses, datetime, decimal, enum, fractions, io, logging, math, os, random, re, sys, time, uuid
from pathlib import Path
from unittest import mock
import pytest
import shop
from shop import *
from shop import Basket, Item, Money, Colour, Version
from shop.inner import price
import shop.inner as inner

VALUES_TO_ECHO = [
    None, True, 0, -5, 10**40, 1.5, float("inf"), "text", "é☃\\U0001f600", "\\ud800", b"bytes", bytearray(b"more"), 1j,
    [], [1, [2, [3]]], (), (1, (2,)), {}, {"a": {"b": [1]}}, {1: 2, (1, 2): 3}, set(), {1, 2}, frozenset({1}),
    decimal.Decimal("1.10"), fractions.Fraction(1, 3), datetime.date(2020, 1, 2), datetime.time(1, 2, 3),
    datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
    datetime.timedelta(days=1, seconds=2), uuid.UUID(int=5), Path("a/b"), range(1, 10, 2), slice(1, 2, 3),
    re.compile("a+", re.I), ..., NotImplemented, int, ValueError, collections.OrderedDict(a=1),
    collections.deque([1, 2], maxlen=3), collections.Counter("aab"), collections.defaultdict(list, a=[1]),
]

@pytest.mark.parametrize("value", VALUES_TO_ECHO, ids=lambda one: type(one).__name__)
def test_echo(value):
    got = shop.echo(value)
    assert type(got) is type(value) and got == value

def test_nan(): assert math.isnan(shop.echo(float("nan")))
def test_constant(): assert shop.LIMIT == 10 and shop.VALUES["a"][2]["b"] == (3, 4)
def test_star_import(): assert echo(3) == 3
def test_submodule(): assert price() == Money(10) and inner.LIMIT == 10
def test_identity_of_arguments():
    values = [1]
    assert shop.same(values) is values
def test_mutated_argument():
    values = [1]
    shop.extend(values, [2, 3])
    assert values == [1, 2, 3]
def test_mutated_mapping():
    mapping = {"old": 5}
    shop.rename(mapping)
    assert mapping == {"new": 5, "list": [1]}
def test_aliasing():
    one = []
    assert shop.both(one, one) is True and one == [1]
    assert shop.both([], []) is False
def test_nested(): assert shop.nest(5) == [[[[[[]]]]]]
def test_cyclic():
    loop = [1]; loop.append(loop)
    assert shop.same(loop) is loop and loop[1] is loop
def test_live_container():
    basket = Basket([1])
    basket.items.append(2)
    assert len(basket) == 2 and basket.items is basket.items
def test_retained_argument():
    tags = ["x"]
    item = Item("a", tags=tags)
    tags.append("y")
    assert item.tags == ["x", "y"] and item.tags is tags

def test_raises():
    with pytest.raises(shop.NotFound, match="no milk") as caught: shop.find("milk")
    assert caught.value.code == 404 and isinstance(caught.value, LookupError) and str(caught.value) == "no milk (404)"
def test_raises_base():
    with pytest.raises(ValueError): shop.find("x")
    with pytest.raises(ZeroDivisionError): shop.divide(1, 0)
def test_except_clause():
    try: shop.find("x")
    except shop.ShopError as error: assert type(error) is shop.NotFound and error.args == ("no x (404)",)
    else: pytest.fail("nothing was raised")
def test_cause():
    with pytest.raises(shop.ShopError) as caught: shop.chain()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
def test_raise_own():
    with pytest.raises(shop.NotFound): raise shop.NotFound(1)
def test_exception_of_a_callback():
    def fail(): raise KeyError("key")
    assert shop.guard(fail) == "caught 'key'"
    class Mine(Exception): pass
    def mine(): raise Mine(5)
    with pytest.raises(Mine) as caught: shop.guard(mine)
    assert caught.value.args == (5,)
def test_exit():
    with pytest.raises(SystemExit) as caught: shop.leave(3)
    assert caught.value.code == 3
@pytest.mark.xfail(raises=NotImplementedError, strict=True)
def test_not_implemented(): shop.missing()

def test_callback(): assert shop.each(lambda x: x * 2, [1, 2]) == [2, 4]
def test_callback_that_calls(): assert shop.each(lambda x: shop.helper(x), [1, 2]) == [2, 3]
def test_callback_records():
    seen = []
    shop.each(seen.append, [1, 2])
    assert seen == [1, 2]
def test_sort_key(): assert shop.sort(["bb", "a"], key=len) == ["a", "bb"]
def test_sort_twins():
    found = sorted([Item("b", 2.0), Item("a", 3.0)], key=lambda one: one.name)
    assert [one.name for one in found] == ["a", "b"]
    assert sorted([Money(3), Money(1)])[0] == Money(1) and max(Version(1, 2), Version(1, 3)).minor == 3
def test_iterator_argument(): assert shop.total(iter([1, 2])) == 3 and shop.total(x for x in (1, 2)) == 3
def test_decorator():
    calls = []
    @shop.retry(3)
    def flaky():
        calls.append(1)
        if len(calls) < 3: raise ValueError("again")
        return "done"
    assert flaky() == "done" and len(calls) == 3 and flaky.__name__ == "flaky"
def test_closure():
    counter = shop.make_counter()
    assert [counter(), counter()] == [1, 2]
def test_generator():
    assert list(shop.numbers(3)) == [0, 1, 2]
    numbers = shop.numbers(2)
    assert next(numbers) == 0 and numbers.send(5) == 500 and next(numbers) == 1
    with pytest.raises(StopIteration): next(numbers)
def test_context_manager():
    log = []
    with shop.Transaction(log) as transaction: assert transaction.log is log
    with shop.Transaction(log): raise KeyError("swallowed")
    with pytest.raises(ValueError):
        with shop.Transaction(log): raise ValueError
    assert log == ["begin", "commit", "begin", "rollback", "begin", "rollback"]
def test_contextlib():
    with shop.opened("a") as name: assert name == "A"
def test_cache():
    shop.square.cache_clear()
    assert shop.square(3) == 9 and shop.square(3) == 9 and shop.square.cache_info().hits == 1

def test_dataclass():
    item = Item("tea", 2.5)
    assert item == Item("tea", 2.5) and item != Item("tea", 2.6) and item.total(count=2) == 5.0
    assert repr(item) == "Item(name='tea', price=2.5, tags=[])" and isinstance(item, Item)
    item.price = 3.0
    assert item.total() == 3.0 and dataclasses.asdict(item) == {"name": "tea", "price": 3.0, "tags": []}
    assert dataclasses.replace(item, name="x").name == "x" and dataclasses.is_dataclass(item)
def test_frozen_dataclass():
    version = Version.parse("1.2")
    assert version == Version(1, 2) and Version.is_valid("1.x") is False and version < Version(2)
    assert {version: 1}[Version(1, 2)] == 1 and len({version, Version(1, 2)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError): version.major = 5
def test_twins_in_containers():
    assert shop.echo([Item("a"), {"b": Item("b")}]) == [Item("a"), {"b": Item("b")}]
    assert shop.echo({Version(1): "x"})[Version(1)] == "x"
def test_enum():
    assert Colour("red") is Colour.RED and Colour.RED.value == "red" and Colour["BLUE"].name == "BLUE"
    assert [one.name for one in Colour] == ["RED", "BLUE"] and Colour.RED.is_warm and Colour.RED != Colour.BLUE
    assert len(Colour) == 2 and Colour.RED in Colour and repr(Colour.RED) == "<Colour.RED: 'red'>"
    assert {Colour.RED: 1}[Colour.RED] == 1
    with pytest.raises(ValueError): Colour("green")
def test_int_enum(): assert shop.Level.HIGH == 2 and shop.Level.LOW < 2 and shop.Level(1) is shop.Level.LOW
def test_named_tuple():
    pair = shop.Pair(1, 2)
    left, right = pair
    assert pair == (1, 2) and pair.left == left == 1 and pair._replace(left=5) == (5, 2) and isinstance(pair, tuple)
    assert pair._asdict() == {"left": 1, "right": 2}
def test_str_subclass():
    name = shop.Name("Ann")
    assert name == "Ann" and name.greeting() == "Hello Ann" and name.upper() == "ANN" and isinstance(name, str)
def test_operators():
    assert Money(1) + Money(2) == Money(3) and Money(1) + 2 == Money(3) and sum([Money(1), Money(2)]) == Money(3)
    assert -Money(1) == Money(-1) and not Money(0) and float(Money(2)) == 2.0 and str(Money(1)) == "1 EUR"
    assert f"{Money(2):.2f}" == "2.00" and repr(Money(1)) == "Money(1)" and Money(1) < Money(2)
    assert float(Money(1.5)) == pytest.approx(1.5)
    with pytest.raises(TypeError): Money(1) * "x" * Money(2)
def test_container_methods():
    basket = Basket("abc")
    assert len(basket) == 3 and list(basket) == ["a", "b", "c"] and "b" in basket and "z" not in basket
    assert basket[0] == "a" and basket[1:] == ["b", "c"] and basket(4) == 7
    basket[0] = "x"; del basket[1]
    assert basket.items == ["x", "c"]
    with pytest.raises(IndexError): basket[9]
def test_property():
    basket = Basket()
    basket.note = "hi"
    assert basket.note == "hi"
    with pytest.raises(ValueError): basket.note = ""
    with pytest.raises(AttributeError): basket.nothing
    assert hasattr(basket, "note") and not hasattr(basket, "nothing") and getattr(basket, "nothing", 5) == 5
def test_chained_calls(): assert Basket().add(1).add(2).items == [1, 2]
def test_same_object():
    basket = Basket()
    assert basket.add(1) is basket and shop.echo(basket) is basket and shop.kind() is Money
def test_class_attribute():
    before = Basket.created
    Basket()
    assert Basket.created == before + 1
def test_class_introspection(): assert Basket.__name__ == "Basket" and issubclass(shop.NotFound, shop.ShopError) and callable(Basket)
def test_methods_as_values():
    assert list(map(Basket([1]).__call__, [1])) == [2] and shop.each(Money(1).__add__, [1]) == [Money(2)]
    assert shop.each(Version.parse, ["1.2"]) == [Version(1, 2)]
def test_dict_subclass():
    registry = shop.Registry(a=1)
    assert registry == {"a": 1} and isinstance(registry, dict) and registry["a"] == 1 and list(registry.items()) == [("a", 1)]
    @registry.register("b")
    def mine(x): return x
    assert registry["b"] is mine and len(registry) == 2 and dict(registry)["a"] == 1
def test_defaultdict(): assert shop.by_first(["ab", "ac", "b"]) == {"a": ["ab", "ac"], "b": ["b"]}
def test_match():
    found = shop.matches("(a+)(b)", "aab")
    assert found.group(1) == "aa" and found.groups() == ("aa", "b") and shop.matches("x", "y") is None
def test_tree():
    tree = shop.Node(1, shop.Node(2), shop.Node(3, shop.Node(4)))
    assert list(tree.walk()) == [1, 2, 3, 4] and tree.children[1].children[0].value == 4
    tree.children[0].parent = tree
    assert tree.children[0].parent is tree

def test_subclass():
    class Double(shop.Plugin):
        def __init__(self, step): self.step = step
        def prepare(self, x): return x + self.step
    assert Double(1).run(2) == 6 and "Double" in shop.Plugin.known and isinstance(Double(1), shop.Plugin)
    with pytest.raises(NotImplementedError): shop.Plugin().run(1)
def test_super():
    class Bag(Basket):
        def __init__(self, items): super().__init__(items); self.extra = "e"
        def kind(self): return "bag (" + super().kind() + ")"
        def __len__(self): return super().__len__() + 100
    bag = Bag([1])
    assert bag.describe() == "bag (basket) of 1" and len(bag) == 101 and bag.extra == "e" and list(bag) == [1]
def test_own_exception_class():
    class Gone(shop.NotFound): pass
    with pytest.raises(shop.ShopError) as caught: raise Gone(410)
    assert type(caught.value) is Gone and caught.value.code == 410

def test_monkeypatch_module(monkeypatch):
    monkeypatch.setattr(shop, "helper", lambda x: 100)
    assert shop.uses_helper(1) == 1000
    monkeypatch.setattr("shop.LIMIT", 2)
    assert shop.uses_helper(1) == 200
def test_after_monkeypatch(): assert shop.uses_helper(1) == 20
def test_monkeypatch_class(monkeypatch):
    monkeypatch.setattr(Basket, "kind", lambda self: "box")
    assert Basket().describe() == "box of 0"
def test_mock_patch():
    with mock.patch("shop.helper", return_value=7) as helper:
        assert shop.uses_helper(5) == 70
    helper.assert_called_once_with(5)
    assert shop.uses_helper(1) == 20
@mock.patch("shop.time.sleep")
@mock.patch("shop.time.time", return_value=5)
def test_patched_in_the_module(now, sleep):
    assert shop.wait() == 5
    sleep.assert_called_once_with(1000)
def test_patched_library(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr("time.time", lambda: 9)
    assert shop.wait() == 9 and slept == [1000]
def test_patched_builtin(monkeypatch):
    monkeypatch.setattr("builtins.input", lambda text: " Bob ")
    assert shop.ask() == "Bob"
def test_patched_date():
    with mock.patch("shop.datetime") as fake:
        fake.date.today.return_value = datetime.date(2000, 1, 1)
        assert shop.today() == datetime.date(2000, 1, 1)
def test_mock_object():
    client = mock.Mock()
    client.get.return_value.json.return_value = {"name": "Eve"}
    assert shop.fetch(client) == "Eve"
    client.get.assert_called_once_with("url", timeout=3)
def test_fake_object():
    class Answer:
        def json(self): return {"name": "Fay"}
    class Client:
        calls = 0
        def get(self, url, timeout): self.calls += 1; return Answer()
    client = Client()
    assert shop.fetch(client) == "Fay" and client.calls == 1
def test_random(monkeypatch):
    monkeypatch.setattr(random, "randint", lambda a, b: b)
    assert shop.roll() == 6
def test_seed():
    random.seed(5); one = [shop.roll() for _ in range(5)]
    random.seed(5); assert one == [shop.roll() for _ in range(5)]

def test_capsys(capsys):
    shop.shout("hey")
    out, err = capsys.readouterr()
    assert out == "HEY\\n" and err == "problem\\n"
def test_capfd(capfd):
    shop.shout("hey")
    assert capfd.readouterr().out == "HEY\\n"
def test_caplog(caplog):
    with caplog.at_level(logging.DEBUG, logger="shop"): shop.tell("x")
    assert [(one.levelname, one.getMessage(), one.name) for one in caplog.records] == [
        ("DEBUG", "debug x", "shop"), ("WARNING", "warning x", "shop")]
def test_caplog_default(caplog):
    shop.tell("y")
    assert caplog.messages == ["warning y"]
def test_warns():
    with pytest.warns(DeprecationWarning, match="old"): assert shop.warn() == 1
def test_recwarn(recwarn):
    shop.warn()
    assert [type(one.message) for one in recwarn.list] == [DeprecationWarning, shop.ShopWarning]
def test_env(monkeypatch):
    monkeypatch.setenv("SHOP", "open")
    assert shop.env("SHOP") == "open"
    monkeypatch.delenv("SHOP")
    assert shop.env("SHOP") is None
def test_argv(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["shop", "--list"])
    assert shop.arguments() == ["--list"]
def test_stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Cid\\nDan\\n"))
    assert shop.ask() == "Cid"
def test_tmp_path(tmp_path):
    assert shop.save(tmp_path / "a.txt", "hello") == 5
    assert (tmp_path / "a.txt").read_text() == "hello"
    (tmp_path / "b.txt").write_text("back")
    assert shop.load(str(tmp_path / "b.txt")) == "back"
def test_chdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shop.where() == str(tmp_path)
    shop.save("c.txt", "c")
    assert os.listdir() == ["c.txt"]
def test_string_io():
    assert shop.read_lines(io.StringIO("a\\nb\\n")) == ["a", "b"]
    out = io.StringIO()
    shop.write_lines(out, ["x", "y"])
    assert out.getvalue() == "x\\ny\\n"
def test_async():
    assert asyncio.run(shop.soon(1)) == 2
    async def mine(x): return x * 10
    async def main(): return await shop.soon(1) + await shop.twice(mine, 2)
    assert asyncio.run(main()) == 42
def test_independent_one(): Basket.mark = 1
def test_independent_two(): assert not hasattr(Basket, "mark")

@pytest.fixture(scope="module")
def shared(): return Basket([1])
@pytest.fixture
def basket(shared): return shared.add(2)
def test_fixture_one(basket): assert basket.items == [1, 2]
def test_fixture_two(basket): assert basket.items == [1, 2]
@pytest.mark.parametrize(("item", "price"), [(Item("a"), 1.0), (Item("b", 2.0), 2.0)])
def test_parametrised(item, price): assert item.total() == price
CONSTANT = Item("constant")
def test_module_level_twin(): assert CONSTANT.name == "constant" and isinstance(CONSTANT, Item)
"""

UNITTEST: Final = """
import unittest
from shop import Basket, Money, Version, divide, find, NotFound, sort

class BasketTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.shared = Basket(["s"])
    def setUp(self): self.basket = Basket([1, 2])
    def tearDown(self): self.basket.items.clear()
    def test_unittest(self):
        self.assertEqual(len(self.basket), 2)
        self.assertIn(1, self.basket)
        self.assertNotIn(3, self.basket)
        self.assertListEqual(self.basket.items, [1, 2])
        self.assertIsInstance(self.basket, Basket)
        self.assertEqual(list(self.shared), ["s"])
        self.assertEqual(Money(1) + 1, Money(2))
        self.assertNotEqual(Money(1), Money(2))
        self.assertTrue(Money(1)); self.assertFalse(Money(0))
        self.assertLess(Version(1), Version(2))
        self.assertAlmostEqual(divide(1, 3), 0.3333333333)
        self.assertIsNone(self.basket.items.clear())
    def test_unittest_raises(self):
        with self.assertRaises(NotFound) as caught: find("x")
        self.assertEqual(caught.exception.code, 404)
        self.assertRaisesRegex(ZeroDivisionError, "division", divide, 1, 0)
    def test_subtests(self):
        for values in ([2, 1], [1, 2]):
            with self.subTest(values=values): self.assertEqual(sort(values), [1, 2])
"""

HYPOTHESIS: Final = """
from hypothesis import given, settings, strategies as st
from shop import Money, sort, echo

@given(st.lists(st.integers()))
@settings(max_examples=20, database=None, deadline=None)
def test_property_based(values):
    assert sort(values) == sorted(values)
    assert echo(values) == values

@given(st.integers(), st.integers())
@settings(max_examples=20, database=None, deadline=None)
def test_commutes(a, b): assert Money(a) + Money(b) == Money(b) + Money(a)
"""
