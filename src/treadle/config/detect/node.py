"""JavaScript and TypeScript: vitest, jest, mocha or node's own tests; eslint, prettier or biome."""

import shlex

from treadle.config.detect.folder import Folder, table
from treadle.config.detect.found import Found, Guess, guess
from treadle.config.detect.worktrees import strays

_BIN = "{root}/node_modules/.bin"
_JUNIT = {
    "vitest": f"{_BIN}/vitest run --reporter=junit --outputFile={{report}}",
    "mocha": f"{_BIN}/mocha --reporter=xunit --reporter-option=output={{report}}",
}
_STYLE = (
    ("lint", "eslint", "eslint .", ("eslint.config.js", "eslint.config.mjs", "eslint.config.ts", ".eslintrc.json")),
    ("format", "prettier", "prettier --check .", (".prettierrc", ".prettierrc.json", "prettier.config.js")),
    ("lint", "@biomejs/biome", "biome lint .", ("biome.json", "biome.jsonc")),
    ("format", "@biomejs/biome", "biome format .", ("biome.json", "biome.jsonc")),
)
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}


def node(folder: Folder) -> Found | None:
    """A JavaScript or TypeScript project, if this is one."""
    if not folder.has("package.json"):
        return None
    package = folder.json("package.json")
    needs = {*table(package, "dependencies"), *table(package, "devDependencies")}
    script = table(package, "scripts").get("test", "")
    script = script if isinstance(script, str) and "no test specified" not in script else ""
    kind, test, report, advice = _test(folder, script, needs)
    commands = {"test": test} if test else {}
    if test and test.words[0] == f"{_BIN}/vitest":
        commands["collect"] = guess(f"{_BIN}/vitest list", test.why)
    if folder.has("tsconfig.json"):
        commands["build"] = guess(f"{_BIN}/tsc --noEmit", "tsconfig.json")
    commands |= _style(folder, needs)
    stray = strays(folder)
    advice = (*advice, *([stray] if stray else []), *_there(folder))
    language = "TypeScript" if folder.has("tsconfig.json") else "JavaScript"
    return Found(
        language=language,
        why="package.json",
        is_tested=test is not None,
        kind=kind,
        commands=commands,
        report=report,
        advice=advice,
    )


def _test(folder: Folder, script: str, needs: set[str]) -> tuple[str, Guess | None, str, tuple[str, ...]]:
    """How results are read, the command, where it leaves its report, and advice."""
    for name, command in _JUNIT.items():
        if name in needs or name in script.split():
            return "junit", guess(command, f"package.json uses {name}"), "", ()
    if "jest" in needs or "jest" in script.split():
        if "jest-junit" in needs:
            command = f"env JEST_JUNIT_OUTPUT_FILE={{report}} {_BIN}/jest --reporters=default --reporters=jest-junit"
            return "junit", guess(command, "package.json uses jest-junit"), "", ()
        advice = "`npm install --save-dev jest-junit`, then `treadle init` again: results test by test"
        return "command", guess(f"{_BIN}/jest", "package.json uses jest"), "", (advice,)
    words = _plain_words(script)
    if words[:2] == ("node", "--test"):
        reporter = ("--test-reporter=junit", "--test-reporter-destination={report}")
        return "junit", Guess((*words[:2], *reporter, *words[2:]), "the script `test` in package.json"), "", ()
    if script:
        manager = _MANAGERS.get(folder.first(*_MANAGERS), "npm")
        return "command", guess(f"{manager} run test", "the script `test` in package.json"), "", ()
    return "command", None, "", ("package.json has no script `test`: set `toolchain.test`",)


def _plain_words(script: str) -> tuple[str, ...]:
    """The words of a script that needs no shell; none of one that does."""
    if not script.isprintable() or any(char in script for char in "&|;<>$`*?"):
        return ()
    try:
        return tuple(shlex.split(script))
    except ValueError:
        return ()


def _style(folder: Folder, needs: set[str]) -> dict[str, Guess]:
    commands: dict[str, Guess] = {}
    for name, package, command, files in _STYLE:
        why = folder.first(*files) or (f"package.json uses {package}" if package in needs else "")
        if why and name not in commands:
            commands[name] = guess(f"{_BIN}/{command}", why)
    return commands


def _there(folder: Folder) -> tuple[str, ...]:
    manager = _MANAGERS.get(folder.first(*_MANAGERS), "npm")
    return () if folder.has("node_modules") else (f"`{manager} install`: node_modules is not there yet",)
