"""JavaScript and TypeScript: vitest, jest, mocha or node's own tests; eslint, prettier or biome."""

import re
import shlex

from treadle.config.detect.folder import Folder, table
from treadle.config.detect.found import Found, Guess, Hint, guess
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

_LINTER = re.compile(
    r"(?:(?:npm|pnpm|yarn) (?:run )?(?:lint|format)\S*|eslint|standard|xo|prettier|biome)(?: |\Z)[^|;<>$`]*\Z"
)


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
    if folder.has("tsconfig.json") and _is_there(folder, "tsc", "typescript", needs):
        commands["build"] = guess(f"{_BIN}/tsc --noEmit", "tsconfig.json")
    style, missing = _style(folder, needs)
    commands |= style
    stray = strays(folder)
    lanes = (Hint("init.lanes_found", stray),) if stray else ()
    advice = (*advice, *lanes, *missing, *_there(folder, test, needs))
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


def _test(folder: Folder, script: str, needs: set[str]) -> tuple[str, Guess | None, str, tuple[Hint, ...]]:
    """How results are read, the command, where it leaves its report, and advice."""
    for name, command in _JUNIT.items():
        if name in needs or name in script.split() or (not script and folder.has(f"node_modules/{name}")):
            return "junit", guess(command, f"package.json uses {name}"), "", ()
    if "jest" in needs or "jest" in script.split():
        if "jest-junit" in needs:
            command = f"env JEST_JUNIT_OUTPUT_FILE={{report}} {_BIN}/jest --reporters=default --reporters=jest-junit"
            return "junit", guess(command, "package.json uses jest-junit"), "", ()
        advice = "`npm install --save-dev jest-junit`, then `treadle init` again: results test by test"
        hint = Hint("init.jest_junit", advice)
        return "command", guess(f"{_BIN}/jest", "package.json uses jest"), "", (hint,)
    words = _node_words(script)
    if words[:2] == ("node", "--test"):
        reporter = ("--test-reporter=junit", "--test-reporter-destination={report}")
        return "junit", Guess((*words[:2], *reporter, *words[2:]), "the script `test` in package.json"), "", ()
    if script:
        return "command", guess(f"{_manager(folder)} run test", "the script `test` in package.json"), "", ()
    hint = Hint("init.no_test_script", "package.json has no script `test`: set `toolchain.test`")
    return "command", None, "", (hint,)


def _node_words(script: str) -> tuple[str, ...]:
    """The words of `node --test …` in a script that needs no shell: alone, or after linters, whose verdict is another.

    Patterns (`test/*.test.js`) are put in by whoever runs it.
    """
    *before, last = script.split("&&")
    if not script.isprintable() or any(char in last for char in "&|;<>$`"):
        return ()
    if not all(_LINTER.match(one.strip()) for one in before):
        return ()
    try:
        return tuple(shlex.split(last))
    except ValueError:
        return ()


def _style(folder: Folder, needs: set[str]) -> tuple[dict[str, Guess], list[Hint]]:
    """Linters and formatters that the project uses and its packages have; of the others, how to get them."""
    commands: dict[str, Guess] = {}
    missing: dict[str, Hint] = {}
    for name, package, command, files in _STYLE:
        why = folder.first(*files) or (f"package.json uses {package}" if package in needs else "")
        if why and name not in commands:
            if _is_there(folder, command.partition(" ")[0], package, needs):
                commands[name] = guess(f"{_BIN}/{command}", why)
            else:
                text = f"{why} asks for {package}, which is not installed, so it is not set up"
                missing[package] = Hint(
                    "init.tool_missing", f"{text}: `{_manager(folder)} install`, then `treadle init`"
                )
    return commands, list(missing.values())


def _is_there(folder: Folder, program: str, package: str, needs: set[str]) -> bool:
    """Whether a program is installed; before anything is, whether it is going to be."""
    if folder.has("node_modules"):
        return folder.has(f"node_modules/.bin/{program}")
    return package in needs


def _there(folder: Folder, test: Guess | None, needs: set[str]) -> tuple[Hint, ...]:
    """What to do where packages, or the test runner among them, are not installed."""
    program = next((word for word in test.words if word.startswith(f"{_BIN}/")), "") if test else ""
    if not folder.has("node_modules"):
        missing = Hint("init.not_installed", f"`{_manager(folder)} install`: node_modules is not there yet")
        return (missing,) if needs or program else ()
    name = program.removeprefix(f"{_BIN}/")
    if name and not folder.has(f"node_modules/.bin/{name}"):
        return (Hint("init.not_installed", f"`{_manager(folder)} install`: node_modules has no {name}"),)
    return ()


def _manager(folder: Folder) -> str:
    return _MANAGERS.get(folder.first(*_MANAGERS), "npm")
