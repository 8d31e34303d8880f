"""Files that an import may mean."""

import pytest

from treadle.evidence.code_shapes import imported_path, module_files, modules_by_name

PATHS = ["src/shop/calc.py", "src/shop/__init__.py", "lib/calc.py", "tests/shop/saying.py", "shop/calc.txt"]


@pytest.mark.parametrize(
    ("module", "level", "files"),
    [
        ("shop.calc", 0, ["src/shop/calc.py"]),
        ("calc", 0, ["src/shop/calc.py", "lib/calc.py"]),
        ("shop", 0, ["src/shop/__init__.py"]),
        ("saying", 1, ["tests/shop/saying.py"]),
        ("shop.saying", 2, ["tests/shop/saying.py"]),
        ("op.calc", 0, []),
        (None, 0, []),
    ],
)
def test_files_of_an_import(module: str | None, level: int, files: list[str]) -> None:
    assert module_files(imported_path(module, level, "tests/shop/test_calc.py"), modules_by_name(PATHS)) == files
