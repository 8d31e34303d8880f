"""What commits export, read from git's objects."""

from pathlib import Path

import pytest

from tests.git.place import git, run, write
from treadle.config.project import Project, make_local
from treadle.git.api.reader import ApiReader, Readings
from treadle.git.api.symbol import Reading
from treadle.git.api_diff import api_changes, impact
from treadle.git.repository import Repository, open_repository
from treadle.git.trees import Entry

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
def test_what_differs(tmp_path: Path, files: dict[str, str | None], expected: list[str], reach: int) -> None:
    async def story() -> None:
        repository, first = await started(tmp_path / "p")
        found = await api_changes(repository, first, commit(tmp_path / "p", files))
        told = [f"{one.type} {one.symbol}" for one in found]
        assert [one for one in expected if one not in told] == []
        assert impact(found) == ("Trivial", "Additive", "Breaking")[reach]
        assert len(told) == len(expected) or "shop/_cart.py" in str(told)

    run(story())


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        repository, _ = await started(tmp_path / "p")
        last = commit(tmp_path / "p", {"web/cart.ts": "export const = ;"})
        found = await ApiReader(repository).api(last, {"web/cart.ts"})
        assert "line 1" in found.broken["web/cart.ts"]

    run(story())


def test_where_a_name_is_offered(tmp_path: Path) -> None:
    async def story() -> None:
        repository, first = await started(tmp_path / "p")
        places = ApiReader(repository)
        assert await places.where(first, "rate") == [
            ("shop.rate", "shop/__init__.py"),
            ("shop.tax.rate", "shop/tax.py"),
        ]
        assert await places.where(first, "missing") == []

    run(story())


def test_a_merge_costs_only_what_it_changed(tmp_path: Path) -> None:
    async def story() -> None:
        repository, _ = await started(tmp_path / "p")
        many: dict[str, str | None] = {f"lib/m{n}.py": f"def f{n}(): ...\n" for n in range(40)}
        before = commit(tmp_path / "p", many)
        after = commit(tmp_path / "p", {"lib/m7.py": "def other(): ...\n"})
        cold = Readings()
        await ApiReader(repository, cold).both(before, after)
        assert len(cold) == 2  # one file, as it was and as it is
        warm = Readings()
        await ApiReader(repository, warm).api(before)
        assert len(warm) == len(FILES) - 1 + 40
        await ApiReader(repository, warm).api(after)
        assert len(warm) == len(FILES) - 1 + 40 + 1

    run(story())


def test_what_is_remembered_has_a_bound() -> None:
    kept = Readings(2)
    entries = [Entry("100644", str(n), "a.py") for n in range(3)]
    for entry in entries[:2]:
        kept.add(entry, Reading(symbols={}))
    assert kept.get(entries[0])
    kept.add(entries[2], Reading(symbols={}))
    assert len(kept) == 2
    assert kept.get(entries[1]) is None
    assert kept.get(entries[0])
