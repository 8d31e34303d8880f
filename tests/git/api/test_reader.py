"""What commits export, read from git's objects."""

from collections import OrderedDict
from pathlib import Path

import pytest

from tests.git.place import git, run, write
from treadle.config.project import Project, make_local
from treadle.git.api import reader
from treadle.git.api.languages import FileExports, Symbol, make_symbol, read_api, whole_file
from treadle.git.api.reader import (
    ApiChange,
    ApiReader,
    ModulePlaces,
    api_changes,
    compare_apis,
    fill_from_dump,
    impact,
    link_exports,
    parse_dump,
)
from treadle.git.repository import Repository, open_repository

FILES = {
    "shop/__init__.py": "from ._cart import Cart\nfrom .tax import rate\n",
    "shop/_cart.py": "class Cart:\n    def add(self, x):\n        return x\n",
    "shop/tax.py": "def rate():\n    return 1\n",
    "web/cart.ts": "export const a = 1;\n",
    "pkg/a.go": "package pkg\n\nfunc F() {}\n",
    "tests/test_a.py": "def test_a(): ...\n",
    "odd name.py": "def odd(): ...\n",
}


def commit(root: Path, files: dict[str, str | None]) -> str:
    write(root, {name: text for name, text in files.items() if text is not None})
    for name in [name for name, text in files.items() if text is None]:
        (root / name).unlink()
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "work")
    return git(root, "rev-parse", "HEAD")


async def started(root: Path) -> tuple[Repository, str]:
    root.mkdir()
    git(root, "init", "-q")
    first = commit(root, dict(FILES))
    project = Project(root)
    make_local(project)
    return await open_repository(project), first


def test_a_whole_tree(tmp_path: Path) -> None:
    async def story() -> None:
        repository, first = await started(tmp_path / "p")
        found = await ApiReader(repository).api(first)
        assert set(found.symbols) == {
            "shop.Cart",
            "shop.Cart.add",
            "shop.rate",
            "shop.tax.rate",
            "web/cart.a",
            "pkg.F",
            "odd name.odd",
        }
        assert found.broken == {}

    run(story())


@pytest.mark.parametrize(
    ("files", "expected", "reach"),
    [
        (
            {"shop/_cart.py": FILES["shop/_cart.py"].replace("return x", "return -x")},
            ["BehaviorChange shop.Cart.add"],
            2,
        ),
        ({"shop/_cart.py": FILES["shop/_cart.py"].replace("x)", "x, y)")}, ["SignatureChange shop.Cart.add"], 2),
        ({"shop/tax.py": "def rate():\n    return 2\n"}, ["BehaviorChange shop.tax.rate"], 2),
        (
            {"shop/__init__.py": "from .tax import rate\n"},
            ["RemovedExport shop.Cart", "RemovedExport shop.Cart.add"],
            2,
        ),
        ({"shop/more.py": "def more(): ...\n"}, ["NewExport shop.more.more"], 1),
        ({"web/cart.ts": "// why\nexport const a = 1\n", "tests/test_a.py": "x = 1\n"}, [], 0),
        ({"pkg/a.go": None}, ["RemovedExport pkg.F"], 2),
        ({"shop/_cart.py": "class Cart(:"}, ["NewExport shop/_cart.py", "RemovedExport shop.Cart.add"], 2),
    ],
    ids=["private body", "private signature", "public", "no longer passed on", "more", "layout", "gone", "broken"],
)
def test_changes_are_classified_with_their_reach(
    tmp_path: Path, files: dict[str, str | None], expected: list[str], reach: int
) -> None:
    async def story() -> None:
        repository, first = await started(tmp_path / "p")
        found = await api_changes(repository, first, commit(tmp_path / "p", files))
        told = [f"{one.type} {one.symbol}" for one in found]
        assert [one for one in expected if one not in told] == []
        assert impact(found) == ("Trivial", "Additive", "Breaking")[reach]
        assert len(told) == len(expected) or "shop/_cart.py" in str(told)

    run(story())


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        repository, _ = await started(tmp_path / "p")
        last = commit(tmp_path / "p", {"web/cart.ts": "export const = ;"})
        found = await ApiReader(repository).api(last, {"web/cart.ts"})
        assert "line 1" in found.broken["web/cart.ts"]

    run(story())


def test_every_export_of_a_name_is_listed_with_its_file(tmp_path: Path) -> None:
    async def story() -> None:
        repository, first = await started(tmp_path / "p")
        places = ApiReader(repository)
        assert await places.where(first, "rate") == [
            ("shop.rate", "shop/__init__.py"),
            ("shop.tax.rate", "shop/tax.py"),
        ]
        assert await places.where(first, "missing") == []

    run(story())


def count_parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Empty the cache, and return a list that gets the path of each file that is parsed from now on."""
    parsed: list[str] = []

    def read(path: str, source: bytes) -> FileExports:
        parsed.append(path)
        return read_api(path, source)

    monkeypatch.setattr(reader, "_readings", OrderedDict())
    monkeypatch.setattr(reader, "read_api", read)
    return parsed


def test_reading_a_merge_parses_only_changed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        repository, _ = await started(tmp_path / "p")
        many: dict[str, str | None] = {f"lib/m{n}.py": f"def f{n}(): ...\n" for n in range(40)}
        before = commit(tmp_path / "p", many)
        after = commit(tmp_path / "p", {"lib/m7.py": "def other(): ...\n"})
        parsed = count_parsed(monkeypatch)
        await ApiReader(repository).both(before, after)
        assert parsed == ["lib/m7.py"] * 2  # as it was and as it is
        parsed = count_parsed(monkeypatch)
        await ApiReader(repository).api(before)
        assert len(parsed) == len(FILES) - 1 + 40
        await ApiReader(repository).api(after)
        assert len(parsed) == len(FILES) - 1 + 40 + 1

    run(story())


def test_remembered_readings_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        repository, first = await started(tmp_path / "p")
        monkeypatch.setattr(reader, "_KEPT", 2)
        parsed = count_parsed(monkeypatch)
        places = ApiReader(repository)
        for path in ("shop/tax.py", "web/cart.ts", "shop/tax.py", "pkg/a.go", "shop/tax.py", "web/cart.ts"):
            await places.api(first, [path])
        # The file that was used last stays; the other one is parsed again.
        assert parsed == ["shop/tax.py", "web/cart.ts", "pkg/a.go", "web/cart.ts"]

    run(story())


# Names that one file has from another.

CART = "class Cart:\n    def add(self, x): ...\n    def _hide(self): ...\ndef _own(): ...\n"


def together(**files: str) -> dict[str, str]:
    paths = {f"shop/{name}.py": text for name, text in files.items()}
    found = link_exports(read_api(path, text.encode()) for path, text in paths.items())
    return {name: one.signature for name, one in found.items()}


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("from ._cart import Cart", {"shop.Cart": "class Cart", "shop.Cart.add": "def add(self, x)"}),
        ("from shop._cart import Cart as Basket", {"shop.Basket": "class Cart", "shop.Basket.add": "def add(self, x)"}),
        ("from ._cart import *", {"shop.Cart": "class Cart", "shop.Cart.add": "def add(self, x)"}),
        ("from ._cart import _own as own", {"shop.own": "def _own()"}),
        ("from ._gone import Cart", {"shop.Cart": "from shop._gone import Cart"}),
        ("from ._more import Cart", {"shop.Cart": "class Cart", "shop.Cart.add": "def add(self, x)"}),
        ("", {}),
    ],
)
def test_a_private_name_counts_where_a_package_exports_it(start: str, expected: dict[str, str]) -> None:
    assert together(__init__=start, _cart=CART, _more="from ._cart import Cart") == expected


def test_a_public_module_lists_its_own_names() -> None:
    assert together(__init__="from .cart import total", cart="def total(): ...") == {
        "shop.total": "from shop.cart import total",
        "shop.cart.total": "def total()",
    }


def test_circular_imports_end() -> None:
    found = together(__init__="from ._a import x", _a="from ._b import x", _b="from ._a import x")
    assert list(found) == ["shop.x"]


def test_sources_include_private_modules_that_a_file_imports() -> None:
    places = ModulePlaces(["shop/__init__.py", "shop/_cart.py", "shop/tax.py", "web/a.ts"])
    reading = read_api("shop/__init__.py", b"from ._cart import Cart\nfrom .tax import rate\n")
    assert list(places.sources(reading)) == ["shop/_cart.py"]
    assert places.mentions(["shop/_cart.py", "shop/tax.py", "web/a.ts"]) == (b"_cart",)


# What a project's own command prints about its exports.


def test_names_have_a_signature_and_may_have_a_body() -> None:
    found = parse_dump(
        'warning: slow\n{"add": "fn add(a, b)", "sub": {"signature": "fn sub(a, b)", "body": "a - b"}}\ndone\n'
    )
    assert found == {"add": Symbol("fn add(a, b)", ""), "sub": make_symbol("fn sub(a, b)", "a - b")}
    assert parse_dump("{}") == {}


@pytest.mark.parametrize(
    "printed", ["", "error: no such file", "[1]", '{"add": 1}', '{"add": {"sign": "x"}}', '{"a": "b"']
)
def test_an_output_of_another_form_is_refused(printed: str) -> None:
    with pytest.raises(ValueError, match=r"\{NAME: SIGNATURE, …\}"):
        parse_dump(printed)


def test_a_dump_replaces_whole_files_and_keeps_parsed_names() -> None:
    read = {"app.f": make_symbol("def f()"), **whole_file("src/lib.rs", b"fn f() {}").symbols}
    printed = {"lib::f": make_symbol("fn f()"), "app.f": make_symbol("something else")}
    assert fill_from_dump(read, printed) == {"app.f": make_symbol("def f()"), "lib::f": make_symbol("fn f()")}


# What changes of exported names mean.

GO = "package p\n\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "expected", "reach"),
    [
        ("m.py", "def f(a): return 1", "def f(a):\n    '''Doc.'''\n    return 1  # same", [], "Trivial"),
        ("m.py", "def f(a): return 'x'", 'def f(a):\n    return (\n        "x"\n    )', [], "Trivial"),
        ("m.py", "def f(a: 'int'): ...", "def f(a: int): ...", [], "Trivial"),
        ("m.py", "def f(a): return 1", "def f(a): return 2", ["BehaviorChange"], "Breaking"),
        ("m.py", "def f(a): return 1", "def f(a, b): return 1", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): ...", "def f(a=1): ...", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): ...", "def f(*, a): ...", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): ...", "async def f(a): ...", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): return 1", "", ["RemovedExport"], "Breaking"),
        ("m.py", "", "def f(a): return 1", ["NewExport"], "Additive"),
        ("m.py", "def _f(a): return 1", "", [], "Trivial"),
        ("m.py", "A = 1", "A = 2", ["BehaviorChange"], "Breaking"),
        ("m.py", "class A:\n    def f(self): return 1", "class A:\n    def f(self): return 2", None, "Breaking"),
        ("m.py", "class A:\n    x = 1", "class A:\n    x = 1\n    def g(self): ...", ["NewExport"], "Additive"),
        (
            "m.py",
            "class A:\n    def f(self): ...",
            "class A:\n    @property\n    def f(self): ...",
            ["SignatureChange"],
            "Breaking",
        ),
        ("m.py", "def f(a): return 1", "def f(:", ["RemovedExport", "NewExport"], "Breaking"),
        ("m.ts", "export const a = 1", "export const a = 2;", ["BehaviorChange"], "Breaking"),
        ("m.ts", "export const a = 1", "export const a = 1; export const b = 2", ["NewExport"], "Additive"),
        ("m.ts", "export interface I { a: 1 }", "export interface I { a: 1; b: 2 }", ["SignatureChange"], "Breaking"),
        ("m.ts", "function f() {}", "function f() { g() }", [], "Trivial"),
        ("m.js", "exports.a = 1", "", ["RemovedExport"], "Breaking"),
        ("m.go", f"{GO}func F() {{}}\n", f"{GO}func F(a int) {{}}\n", ["SignatureChange"], "Breaking"),
        ("m.go", f"{GO}func f() {{}}\n", f"{GO}func f() {{ f() }}\n", [], "Trivial"),
        ("m.rs", "fn f() {}", "fn g() {}", ["BehaviorChange"], "Breaking"),
    ],
)
def test_changes_and_how_far_they_reach(
    path: str, before: str, after: str, expected: list[str] | None, reach: str
) -> None:
    found = compare_apis(read_api(path, before.encode()).symbols, read_api(path, after.encode()).symbols)
    assert sorted(one.type for one in found) == sorted(["BehaviorChange"] if expected is None else expected)
    assert impact(found) == reach


def test_a_change_has_both_signatures() -> None:
    found = compare_apis(read_api("m.py", b"def f(a): ...").symbols, read_api("m.py", b"def f(b): ...").symbols)
    assert found == [ApiChange("m.f", "SignatureChange", "def f(a)", "def f(b)")]


def test_a_signature_that_is_too_long_to_be_shown_still_differs() -> None:
    long = ", ".join(f"a{number}" for number in range(300))
    found = compare_apis(
        read_api("m.py", f"def f({long}, x): ...".encode()).symbols,
        read_api("m.py", f"def f({long}, y): ...".encode()).symbols,
    )
    assert [one.type for one in found] == ["SignatureChange"]
    assert len(found[0].before) < 600
