"""Test runners that would find the lanes of runs below `.treadle/` and take their tests for the user's own."""

from typing import Final

from treadle.config.detect.folder import Folder, table

_OWN: Final = ".treadle"
_WAYS: Final = {
    "vitest": '`exclude: [...configDefaults.exclude, ".treadle/**"]` below `test` in its configuration',
    "jest": '`"testPathIgnorePatterns": ["<rootDir>/.treadle/"]` and the same as `modulePathIgnorePatterns`',
    "mocha": '`"ignore": [".treadle/**"]` in .mocharc.json',
}
"""Patterns that hold for the root alone: a lane is below `.treadle/` itself, and its own tests must be found."""


def strays(folder: Folder) -> str:
    """What to change so that a runner at the root leaves the lanes alone; empty if nothing is needed."""
    package = folder.json("package.json")
    needs = {*table(package, "dependencies"), *table(package, "devDependencies")}
    script = table(package, "scripts").get("test", "")
    words = script.split() if isinstance(script, str) else []
    name = next((one for one in _WAYS if one in needs or one in words), "")
    files = [
        f"{start}.{end}" for start in (f"{name}.config", "vite.config") for end in "js ts mjs mts cjs json".split()
    ]
    told = [folder.text("package.json"), *(folder.text(file) for file in (*files, ".mocharc.json", ".mocharc.yml"))]
    if not name or any(_OWN in text for text in told):
        return ""
    return f"{name} also finds the tests in lanes of running work: {_WAYS[name]}"
