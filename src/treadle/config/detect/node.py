"""JavaScript and TypeScript: vitest, jest, mocha or node's own tests; eslint, prettier or biome."""

import re
import shlex
from pathlib import Path
from typing import Any

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
_WRAPPERS = ("c8", "nyc")
_REPORTERS = ("--test-reporter", "--test-reporter-destination")
"""Options of node whose value is the next word."""
_RUN = re.compile(r"(?:npm run|pnpm(?: run)?|yarn(?: run)?|bun run) ([\w:.-]+)")
_NOT_FOUND = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w.-]+)")
_LONGEST = 120
_LINTER = re.compile(
    r"(?:(?:npm|pnpm|yarn) (?:run )?(?:lint|format)\S*|eslint|standard|xo|prettier|biome)(?: |\Z)[^|;<>$`]*\Z"
)


def node(folder: Folder) -> Found | None:
    """A JavaScript or TypeScript project, if this is one."""
    if not folder.has("package.json"):
        return None
    package = folder.json("package.json")
    needs = {*table(package, "dependencies"), *table(package, "devDependencies")}
    scripts = table(package, "scripts")
    script = scripts.get("test", "")
    script = script if isinstance(script, str) and "no test specified" not in script else ""
    kind, test, report, advice = _test(folder, script, scripts, needs)
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


def _test(
    folder: Folder, script: str, scripts: dict[str, Any], needs: set[str]
) -> tuple[str, Guess | None, str, tuple[Hint, ...]]:
    """How results are read, the command, where it leaves its report, and advice."""
    used = [word for command in _commands(script, scripts) or [script] for word in command.split()]
    for name, command in _JUNIT.items():
        if name in needs or name in used or (not script and folder.has(f"node_modules/{name}")):
            return "junit", guess(command, f"package.json uses {name}"), "", ()
    if "jest" in needs or "jest" in used:
        if "jest-junit" in needs:
            command = f"env JEST_JUNIT_OUTPUT_FILE={{report}} {_BIN}/jest --reporters=default --reporters=jest-junit"
            return "junit", guess(command, "package.json uses jest-junit"), "", ()
        advice = "`npm install --save-dev jest-junit`, then `treadle init` again: results test by test"
        hint = Hint("init.jest_junit", advice)
        return "command", guess(f"{_BIN}/jest", "package.json uses jest"), "", (hint,)
    why = "the script `test` in package.json"
    commands = _commands(script, scripts)
    at = next((at for at, command in enumerate(commands) if _node_words(command)), None)
    # What comes before the tests may be a build that they need; linters have a command of their own.
    if at is not None and all(_LINTER.match(one) for one in commands[:at]):
        others = [_shown(one) for one in commands[at + 1 :] if not _LINTER.match(one)]
        text = (
            f"the script `test` also runs {', '.join(f'`{one}`' for one in others)}, which `toolchain.test` leaves out"
        )
        hints = (Hint("init.test_part", f"{text}: set it as `toolchain.build` or `toolchain.lint`"),) if others else ()
        return "junit", Guess(_node_words(commands[at]), why), "", hints
    if script:
        text = (
            f"the script `test` ({_shown(script)}) runs no runner whose results Treadle can read test by test, and "
            'most protocols need them: set `toolchain.kind = "junit"`, and `toolchain.test` to a command that writes a '
            "JUnit file to `{report}`"
        )
        return "command", guess(f"{_manager(folder)} run test", why), "", (Hint("init.command_only", text),)
    hint = Hint("init.no_test_script", "package.json has no script `test`: set `toolchain.test`")
    return "command", None, "", (hint,)


def _shown(script: str) -> str:
    """A script as a message has room for it, without what a terminal could take for more than text."""
    plain = "".join(char if char.isprintable() else " " for char in script)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"


def _commands(script: str, scripts: dict[str, Any], above: tuple[str, ...] = ("test",)) -> list[str]:
    """The commands that a script joins by `&&`, with those of the scripts that it runs; none if it needs a shell."""
    first = scripts.get(f"pre{above[-1]}")  # the package manager runs it before the script itself
    script = f"{first} && {script}" if script and isinstance(first, str) else script
    if not script.isprintable() or any(char in script.replace("&&", "") for char in "&|;<>$`"):
        return []
    found: list[str] = []
    for command in map(str.strip, script.split("&&")):
        run = _RUN.fullmatch(command)
        other = scripts.get(run[1]) if run else None
        if run and isinstance(other, str) and run[1] not in above:
            inner = _commands(other, scripts, (*above, run[1]))
            if not inner:
                return []
            found += inner
        else:
            found.append(command)
    return found


def _node_words(command: str) -> tuple[str, ...]:
    """The words of `node --test …` with our reporter, without a wrapper that measures coverage; none if it is another.

    Patterns (`test/*.test.js`) are put in by the toolchain that runs it.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    if words[:1] and words[0] in _WRAPPERS and "node" in words:
        words = words[words.index("node") :]
    if words[:1] != ["node"] or "--test" not in words:
        return ()
    at = words.index("--test") + 1
    rest: list[str] = []
    for word, before in zip(words[at:], words[at - 1 :], strict=False):
        if not word.startswith("--test-reporter") and before not in _REPORTERS:
            rest.append(word)
    return (*words[:at], "--test-reporter=junit", "--test-reporter-destination={report}", *rest)


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


def missing_packages(root: Path, printed: str) -> tuple[list[str], str]:
    """Packages of package.json that a program could not load and that are not installed, and the command to install."""
    folder = Folder(root)
    package = folder.json("package.json")
    needs = {name for kind in ("dependencies", "devDependencies") for name in table(package, kind)}
    names = needs & {match[1] for match in _NOT_FOUND.finditer(printed)}
    missing = sorted(name for name in names if not (root / "node_modules" / name).exists())
    manager = _manager(folder)
    return missing, "npm ci" if manager == "npm" and folder.has("package-lock.json") else f"{manager} install"


def _manager(folder: Folder) -> str:
    return _MANAGERS.get(folder.first(*_MANAGERS), "npm")
