# ruff: noqa: E501 - programs read better on one line
"""A package and its tests: a frozen clock, enumerations, signatures, event loops, heirs of standard classes."""

from typing import Final

LIBRARY: Final = """
import argparse, collections, collections.abc, datetime, enum, functools, inspect, io, sys, threading, time
from datetime import date, datetime as moment, timedelta, timezone
from time import monotonic, time as seconds

def clocks():
    return [time.time(), seconds(), monotonic(), time.time_ns(), time.monotonic_ns(), time.gmtime()[:6], time.strftime("%Y")]
def dates():
    return [datetime.datetime.now(), moment.now(), moment.utcnow(), moment.today(), moment.now(timezone.utc), date.today(), moment.fromtimestamp(time.time())]
def kinds():
    now = moment.now()
    return [type(now) is moment, isinstance(now, date), isinstance(date.today(), date), type(now + timedelta(1)) is moment, type(now.date()) is date, isinstance(date.today(), moment), issubclass(date, moment)]
def age(since): return moment.now() - since
def is_moment(value): return isinstance(value, moment) and isinstance(value, date)
def waited(): return not threading.Event().wait(0.01)
def loaded(): return sorted({one.partition(".")[0] for one in sys.modules} & {"freezegun", "dateutil", "unittest"})
class Account:
    def __init__(self): self.opened = moment.now()
class Zone(datetime.tzinfo):
    def utcoffset(self, when): return timedelta(hours=2)
    def dst(self, when): return timedelta(0)
    def tzname(self, when): return "Z2"

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
class Right(enum.Flag):
    READ = 1
    WRITE = 2
class Odd(enum.Enum):
    ONE = 1
    @property
    def value(self): return "odd"
def is_enum(value): return isinstance(value, enum.Enum)

class Row(collections.abc.Sequence):
    def __init__(self, *values): self.values = values
    def __len__(self): return len(self.values)
    def __getitem__(self, at): return self.values[at]
class File(io.IOBase):
    def __init__(self): self.parts = []
    def write(self, text): self.parts.append(text)
class Tally(collections.Counter): pass
class Sorted(collections.OrderedDict): pass
class Box:
    "A box."
    def __init__(self, size): self.size, self.parts = size, [1]
def options(*words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1)
    return parser.parse_args(words)
def merged(one): return dict(one, more=1)
class Sum:
    def __init__(self, function, value): self.function, self.value = function, value
    def __eq__(self, other): return self.function(self.value) == other.function(other.value)
def filled(make, values):
    found = make()
    found.update(values)
    return found

def order(a, b=2, *rest, flags=(1,), **more): return a
def names(function): return list(inspect.signature(function).parameters)
def complete(function, value):
    bound = inspect.signature(function).bind(value)
    bound.apply_defaults()
    return function(*bound.args, **bound.kwargs)
class Client:
    def __init__(self, url, timeout=3): self.url = url
    def get(self, path, retries=1): return path
def served(path): return Client("url").get(path)
class Bits:
    def __init__(self, size): self.size, self.limit = size, 2 ** size
    def __eq__(self, other): return isinstance(other, Bits) and self.limit == other.limit
class Wrapper:
    def __init__(self, function): self.function, self.__doc__ = function, function.__doc__

class cached:
    def __init__(self, function): self.function = function
    def __get__(self, owner, kind=None):
        if owner is None: return self
        found = owner.__dict__[self.function.__name__] = self.function(owner)
        return found
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, owner, kind=None): return self if owner is None else getattr(owner, self.name)
    def __set__(self, owner, value):
        if value < 0: raise ValueError(value)
        setattr(owner, self.name, value)
def decorated(function):
    @functools.wraps(function)
    def inner(*args, **kwargs): return function(*args, **kwargs)
    return inner

async def soon(value): return value + 1
async def each(count):
    for number in range(count): yield number
def numbers(count): yield from range(count)
async def called(function, value): return await function(value) if inspect.iscoroutinefunction(function) else function(value)
class Session:
    async def __aenter__(self): return 5
    async def __aexit__(self, *_): return False
    async def get(self, value): return await soon(value)
"""

VALUES: Final = """
import asyncio, collections, collections.abc, datetime, enum, inspect, io
from unittest import mock
import pytest
from shop import library

class Own(enum.Enum):
    X = 1
class OwnDefaults(collections.defaultdict):
    def __eq__(self, other): return super().__eq__(other) and isinstance(other, collections.defaultdict)

@pytest.mark.parametrize("member", [library.Colour.RED, library.Level.LOW, library.Right.READ, library.Odd.ONE])
def test_members_are_of_an_enumeration(member):
    assert isinstance(member, enum.Enum) and issubclass(type(member), enum.Enum) and isinstance(type(member), enum.EnumMeta)
    assert isinstance(member, type(member)) and not isinstance(member, Own)
    assert member.name in dir(type(member))
def test_enumeration():
    assert isinstance(library.Level.LOW, enum.IntEnum) and isinstance(library.Level.LOW, int) and library.Level.HIGH + 1 == 3
    assert library.Colour("blue") is library.Colour.BLUE and library.Colour["RED"].name == "RED" and library.Odd.ONE.value == "odd"
    assert [*reversed(library.Colour)] == [library.Colour.BLUE, library.Colour.RED]
    assert library.Colour.__members__["RED"] is library.Colour.RED
    assert library.Right.READ in library.Right.READ | library.Right.WRITE and (library.Right.READ | library.Right.WRITE) == library.Right(3)
    assert repr(library.Colour.RED) == "<Colour.RED: 'red'>" and str(library.Colour.RED) == "Colour.RED"
    assert library.is_enum(Own.X) and not library.is_enum(1)
def test_abstract_base_class():
    row = library.Row(1, 2)
    assert isinstance(row, collections.abc.Sequence) and row.index(2) == 1 and 2 in row and [*reversed(row)] == [2, 1]
    file = library.File()
    file.write("a")
    assert isinstance(file, io.IOBase) and file.parts == ["a"]
def test_abstract_base_class_again():
    assert isinstance(library.File(), io.IOBase) and not isinstance(library.Box(1), (io.IOBase, collections.abc.Sequence))
def test_heirs_of_dictionaries():
    tally = library.Tally("aab")
    assert isinstance(tally, collections.Counter) and tally == {"a": 2, "b": 1} and tally.most_common(1) == [("a", 2)]
    row = library.Sorted([("b", 1), ("a", 2)])
    row.move_to_end("b")
    assert isinstance(row, collections.OrderedDict) and [*row.items()] == [("a", 2), ("b", 1)] and dict(row) == {"a": 2, "b": 1}
    assert library.merged(OwnDefaults(int, a=1)) == {"a": 1, "more": 1}
    assert library.filled(lambda: OwnDefaults(int), {"a": 1}) == OwnDefaults(int, {"a": 1})
def test_attributes_of_an_instance():
    box = library.Box(3)
    assert vars(box) == {"size": 3, "parts": [1]} and vars(library.options("--size", "2")) == {"size": 2}
    box.__dict__["size"] = 4
    assert box.size == 4 and library.Box.__doc__ == box.__doc__ == "A box."
def test_docstring_of_an_instance():
    def function(): "mine"
    wrapper = library.Wrapper(function)
    assert wrapper.__doc__ == "mine"
    wrapper.__doc__ = "new"
    assert wrapper.__doc__ == "new"
def test_signature():
    assert str(inspect.signature(library.order)) == "(a, b=2, *rest, flags=(1,), **more)"
    assert str(inspect.signature(library.Client)) == "(url, timeout=3)"
    assert str(inspect.signature(library.Client("x").get)) == "(path, retries=1)"
    assert library.order.__code__.co_varnames == ("a", "b", "flags", "rest", "more") and library.order.__code__.co_argcount == 2
    assert library.order.__defaults__ == (2,) and library.order.__kwdefaults__ == {"flags": (1,)}
    assert inspect.isfunction(library.order) and not inspect.isfunction(library.Client)
def test_signature_of_the_test():
    assert library.names(lambda x, y=3: 1) == ["x", "y"]
    assert library.complete(lambda x, y=3, *, z=4: x + y + z, 1) == 8
def test_an_argument_that_is_a_size(): assert library.Bits(0) == library.Bits(0) and library.Bits(3) != library.Bits(4)
def test_equality_that_calls_the_test():
    def twice(value): return value * 2
    assert library.Sum(twice, 2) == library.Sum(twice, 2) and library.Sum(twice, 2) != library.Sum(twice, 3)
def test_autospec():
    fake = mock.create_autospec(library.Client)
    fake("url").get.return_value = 4
    assert fake("url").get("path") == 4
    with pytest.raises(TypeError): fake()
    with mock.patch("shop.library.Client", autospec=True) as client:
        client.return_value.get.return_value = "fake"
        assert library.served("path") == "fake"
    client.return_value.get.assert_called_once_with("path")
class Holder:
    counted = 0
    size = library.Positive()
    @library.cached
    def number(self):
        self.counted += 1
        return 7
    @library.decorated
    def echo(self, value): return value
def test_descriptors():
    own = Holder()
    own.size = 3
    assert (own.size, own._size, own.number, own.number, own.counted, own.echo(4)) == (3, 3, 7, 7, 1, 4)
    with pytest.raises(ValueError): own.size = -1
    assert isinstance(Holder.number, library.cached)
def test_wrapped():
    def function(value): return value
    assert library.decorated(function).__wrapped__ is function and not hasattr(library.decorated, "__wrapped__")
def test_kinds_of_functions():
    assert inspect.iscoroutinefunction(library.soon) and not inspect.iscoroutinefunction(library.order)
    assert inspect.isgeneratorfunction(library.numbers) and inspect.isasyncgenfunction(library.each)
def test_event_loop():
    async def main():
        async with library.Session() as number:
            found = [number, await library.Session().get(1)]
        found += [one async for one in library.each(2)]
        found += await asyncio.gather(library.soon(1), library.soon(2))
        return [*found, await asyncio.wait_for(library.soon(3), 5), await asyncio.create_task(library.soon(4))]
    assert asyncio.run(main()) == [5, 2, 0, 1, 2, 3, 4, 5]
def test_coroutines_of_the_test():
    async def mine(value):
        await asyncio.sleep(0)
        return value * 2
    async def inner(value): return await library.called(mine, value)
    assert asyncio.run(library.called(mine, 2)) == 4 and asyncio.run(library.called(lambda x: x, 2)) == 2
    assert asyncio.run(library.called(inner, 3)) == 6
def test_patched_coroutine():
    with mock.patch("shop.library.soon") as fake:
        fake.return_value = 9
        assert asyncio.run(library.Session().get(1)) == 9
    fake.assert_awaited_once_with(1)
def test_time_zone():
    when = datetime.datetime(2020, 1, 1, 2, tzinfo=library.Zone())
    assert when == datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) and when.tzname() == "Z2"
"""

CLOCK: Final = """
import datetime, time
from freezegun import freeze_time
from shop import library

MICROS = 1_577_934_245_000_006
NOW = datetime.datetime(2020, 1, 2, 3, 4, 5, 6)

@freeze_time("2020-01-02 03:04:05.000006")
def test_frozen():
    assert library.clocks() == [*[MICROS / 1e6] * 3, *[MICROS * 1000] * 2, (2020, 1, 2, 3, 4, 5), "2020"]
    assert library.dates() == [*[NOW] * 4, NOW.replace(tzinfo=datetime.timezone.utc), NOW.date(), NOW]
    assert library.kinds() == [True] * 5 + [False] * 2
    assert library.age(datetime.datetime(2020, 1, 1)) == datetime.timedelta(1, 3 * 3600 + 4 * 60 + 5, 6)
    assert library.is_moment(datetime.datetime.now()) and library.Account().opened == datetime.datetime.now()
    assert library.waited() and library.loaded() == []
def test_moved():
    with freeze_time("2020-01-01", tz_offset=2) as clock:
        assert [one.hour for one in library.dates()[:3]] == [2, 2, 0]
        clock.tick(10)
        assert library.dates()[2].second == 10
        with freeze_time("2030-01-01"): assert library.dates()[0].year == 2030
        clock.move_to("2021-01-01")
        assert library.dates()[0].year == 2021 and library.moment is datetime.datetime
        kept, mine = library.moment.now(), datetime.datetime.now()
    assert abs(library.clocks()[0] - time.time()) < 60 and library.dates()[0].year > 2021
    assert kept == mine and library.is_moment(mine) and library.moment is datetime.datetime and library.date is datetime.date
def test_ticking():
    with freeze_time("2020-01-01", tick=True):
        before = library.clocks()[0]
        time.sleep(0.01)
        assert 0.005 < library.clocks()[0] - before < 60 and library.dates()[0].year == 2020
def test_thawed(): assert library.loaded() == [] and library.dates()[0].year > 2021
"""
