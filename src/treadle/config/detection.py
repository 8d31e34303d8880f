"""Detection: the languages of a project, and how it is tested, built and linted, from its files."""

import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

# A project's files as detection sees them: small ones, inside the folder, and none that cannot be read.

_MAX_FILE: Final = 500_000
_MAX_FILES: Final = 200


class Folder(msgspec.Struct, frozen=True):
    """A folder with a project, or with nothing yet."""

    root: Path
    variables: Mapping[str, str] = {}
    """Environment variables, to find things outside of the folder: programs on the PATH, an active Python environment.
    """

    def first(self, *names: str) -> str:
        """Return the first of some names that exists; empty if none does."""
        return next((name for name in names if self._inside(self.root / name)), "")

    def has(self, name: str) -> bool:
        return bool(self.first(name))

    def program(self, name: str) -> bool | None:
        """Whether the PATH has a program; None if no PATH is known."""
        path = self.variables.get("PATH", "")
        return shutil.which(name, path=path) is not None if path else None

    def any_file(self, *patterns: str) -> str:
        """Return a file that fits one of some patterns, as a path below the root; empty if none does."""
        return next(iter(self.files(*patterns)), "")

    def files(self, *patterns: str) -> list[str]:
        """Return some files that fit patterns, in order; nothing in hidden folders or in those of dependencies."""
        paths: list[str] = []
        for pattern in patterns:
            matches = (path.relative_to(self.root) for path in self.root.glob(pattern))
            wanted = (path for path in matches if not any(_is_foreign(part) for part in path.parts))
            paths += (path.as_posix() for path in islice(wanted, _MAX_FILES))
        return sorted(paths)[:_MAX_FILES]

    def text(self, name: str) -> str:
        """Return a file's text; empty if it is missing, too large, or not text."""
        path = self.root / name
        try:
            if not self._inside(path) or not path.is_file() or path.stat().st_size > _MAX_FILE:
                return ""
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def toml(self, name: str) -> dict[str, Any]:
        """Parse a TOML file; empty if it is not one."""
        try:
            return tomllib.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> dict[str, Any]:
        """Parse a JSON object; empty if the file has none."""
        try:
            value = msgspec.json.decode(self.text(name) or "{}")
        except (msgspec.DecodeError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def _inside(self, path: Path) -> bool:
        try:
            return path.exists() and path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):
            return False


def subtable(value: object, *path: str) -> dict[str, Any]:
    """Return the table below some keys of a parsed file; an empty one if there is none."""
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _node_dependencies(package: dict[str, Any]) -> set[str]:
    return {*subtable(package, "dependencies"), *subtable(package, "devDependencies")}


def _is_foreign(part: str) -> bool:
    return part.startswith(".") or part in ("node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__")


# Some test runners descend into `.treadle/` and run the tests of lanes as the user's own.

_OWN: Final = ".treadle"
_WAYS: Final = {
    "vitest": '`exclude: [...configDefaults.exclude, ".treadle/**"]` below `test` in its configuration',
    "jest": '`"testPathIgnorePatterns": ["<rootDir>/.treadle/"]` and the same as `modulePathIgnorePatterns`',
    "mocha": '`"ignore": [".treadle/**"]` in .mocharc.json',
}
"""Patterns anchored at the root: a lane lies below `.treadle/` itself, and its own runner must find its tests."""


def lane_exclusions(folder: Folder) -> str:
    """Return the change that makes a test runner at the root skip the lanes; empty if it needs none."""
    package = folder.json("package.json")
    needs = _node_dependencies(package)
    script = subtable(package, "scripts").get("test", "")
    words = script.split() if isinstance(script, str) else []
    name = next((one for one in _WAYS if one in needs or one in words), "")
    files = [
        f"{start}.{end}" for start in (f"{name}.config", "vite.config") for end in "js ts mjs mts cjs json".split()
    ]
    texts = [folder.text("package.json"), *(folder.text(file) for file in (*files, ".mocharc.json", ".mocharc.yml"))]
    if not name or any(_OWN in text for text in texts):
        return ""
    return f"{name} also finds the tests in lanes of running work: {_WAYS[name]}"


# What detection finds.


class Guess(msgspec.Struct, frozen=True):
    """A command, and the reason for it: a file or an entry of the project."""

    words: tuple[str, ...]
    why: str


class Hint(msgspec.Struct, frozen=True):
    """Advice for setting up the project's tools; `codes.py` lists its code."""

    code: str
    text: str


class DetectedLanguage(msgspec.Struct, frozen=True, kw_only=True):
    """A language in a project, and how its code is tested, built and looked over."""

    language: str
    why: str
    is_tested: bool = True
    """Whether something in the project speaks for its tests."""
    kind: str = "command"
    """How the test results are read, as `toolchain.kind` has it."""
    commands: dict[str, Guess] = {}
    """By the names of `toolchain`."""
    report: str = ""
    advice: tuple[Hint, ...] = ()


def guess(command: str, why: str) -> Guess:
    """Build a command from plain words."""
    return Guess(tuple(command.split()), why)


# The environment that runs a Python project's code, and the tools in it. Detection starts no program: a module counts
# as installed if its folder is in a package folder of that interpreter.

_IN_PROJECT: Final = (".venv", "venv", "env", ".env", ".virtualenv")
_RUNNERS: Final = {
    "uv.lock": ("uv run", "uv sync"),
    "poetry.lock": ("poetry run", "poetry install"),
    "pdm.lock": ("pdm run", "pdm install"),
}
_PACKAGES: Final = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")


class PythonEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """An interpreter as commands name it, and where its modules lie."""

    python: str
    """The words that start it."""
    name: str = ""
    """The folder or lock file that shows the environment exists; empty: the project has no environment of its own."""
    packages: tuple[Path, ...] = ()
    lock: str = ""
    """The text of a lock file, if that is all there is yet."""
    setup: str = ""
    """The command that makes it, if it is not there yet."""

    def has(self, module: str) -> bool | None:
        """Whether a module can be imported; None: unknown."""
        if self.lock:
            return re.search(rf'^name = "{re.escape(module)}"$', self.lock, re.MULTILINE) is not None
        if not self.packages:
            return None
        return any((place / module).is_dir() or (place / f"{module}.py").is_file() for place in self.packages)

    def install(self, module: str) -> str:
        """Return the command that adds a module, as a person types it at the project's root."""
        if self.python.startswith("{root}/"):
            return f"{self.python.removeprefix('{root}/')} -m pip install {module}"
        tool = self.python.partition(" ")[0]
        adding = {"uv": "uv add --dev", "poetry": "poetry add --group dev", "pdm": "pdm add -d"}
        return f"{adding.get(tool, f'{self.python} -m pip install')} {module}"


def find_python_environment(folder: Folder) -> PythonEnvironment:
    """Return the project's own environment, else the one its lock file will create, else the active one, else the
    machine's.
    """
    for name in _names(folder):
        # A link may lead out of the project: environments are shared, and commands name this one by its place here.
        if (folder.root / name / "pyvenv.cfg").is_file():
            packages = tuple(_packages(folder.root / name))
            return PythonEnvironment(python=f"{{root}}/{name}/bin/python", name=name, packages=packages)
    if lock := folder.first(*_RUNNERS):
        runner, setup = _RUNNERS[lock]
        return PythonEnvironment(python=f"{runner} python", name=lock, lock=folder.text(lock), setup=setup)
    search = folder.variables.get("PATH", "")
    interpreter = shutil.which("python3", path=search) if search else None
    if interpreter is None:
        return PythonEnvironment(python="python3")
    own = Path(interpreter).parent.parent
    active = folder.variables.get("VIRTUAL_ENV") or folder.variables.get("CONDA_PREFIX") or ""
    is_active = bool(active) and own.resolve() == Path(active).resolve() != Path(sys.prefix).resolve()
    prefix = own if (own / "pyvenv.cfg").is_file() else Path(interpreter).resolve().parent.parent
    return PythonEnvironment(python="python3", name=own.name if is_active else "", packages=tuple(_packages(prefix)))


def _names(folder: Folder) -> Iterator[str]:
    """Yield the folders that may contain an environment, the active one first."""
    active = Path(folder.variables.get("VIRTUAL_ENV") or "/")
    if active.is_absolute() and active != folder.root and active.is_relative_to(folder.root):
        yield active.relative_to(folder.root).as_posix()
    yield from _IN_PROJECT


def _packages(prefix: Path) -> Iterator[Path]:
    """Yield the folders that the interpreter of an environment imports from."""
    for pattern in _PACKAGES:
        yield from sorted(path for path in prefix.glob(pattern) if path.is_dir())
    try:
        text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    entries = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in text.splitlines())}
    home = Path(entries.get("home", ""))
    if entries.get("include-system-site-packages", "").lower() == "true" and home.is_absolute():
        for pattern in _PACKAGES:
            yield from sorted(path for path in home.parent.glob(pattern) if path.is_dir())


# Python: pytest or unittest; ruff, black or flake8.

_PYTHON_TESTS = ("test_*.py", "tests/**/test_*.py", "test/**/test_*.py", "tests/**/*_test.py", "src/**/test_*.py")
_NEEDS = ("requirements*.txt", "requirements/*.txt", "*-requirements.txt", "pyproject.toml", "setup.py", "setup.cfg")
_PYTEST = re.compile(r"""(?:^|["'])\s*pytest\s*(?:$|["'\[<>=~!;#@])""", re.MULTILINE)


def detect_python(folder: Folder) -> DetectedLanguage | None:
    """Detect a Python project."""
    why = folder.first("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini", "tox.ini")
    why = why or folder.any_file("*.py", "src/**/*.py", "tests/**/*.py")
    if not why:
        return None
    environment = find_python_environment(folder)
    tests = folder.files(*_PYTHON_TESTS)
    reason = _pytest_reason(folder)

    # pytest also runs unittest tests and reports each result, so it is preferred if it is installed or required.
    texts = [folder.text(name) for name in tests[:20]]
    is_unittest = bool(texts) and all("unittest" in text and "import pytest" not in text for text in texts)
    if is_unittest and not reason and not environment.has("pytest"):
        kind, test = "command", _python_run(environment, "-m unittest discover", f"{tests[0]} uses unittest")
    else:
        because = reason or (tests[0] if tests else "there are no tests yet")
        kind, test = "pytest", _python_run(environment, "-m pytest", because)

    build = _python_run(environment, "-m compileall -q .", "Python has no build step; this compiles the files")
    style, advice = _python_style(folder, environment)
    if not (reason or tests):
        advice.insert(0, Hint("init.no_tests", "there are no tests yet; pytest is assumed"))
    if environment.setup:
        advice.append(
            Hint("init.not_installed", f"`{environment.setup}`: the project's environment does not exist yet")
        )
    if not environment.name:
        is_package = bool(folder.first("pyproject.toml", "setup.py"))
        needs = "-e . " if is_package else "-r requirements.txt " if folder.has("requirements.txt") else ""
        text = (
            "the project has no virtual environment for its tests: run "
            f"`python3 -m venv .venv && .venv/bin/python -m pip install {needs}pytest`, remove treadle.toml, and run "
            "`treadle init` again"
        )
        advice.append(Hint("init.no_environment", text))
    elif kind == "pytest" and environment.has("pytest") is False:
        text = f"`{environment.install('pytest')}`: {environment.name} has no pytest, and no run can test without it"
        advice.append(Hint("init.no_pytest", text))
    return DetectedLanguage(
        language="Python",
        why=why,
        is_tested=bool(reason or tests),
        kind=kind,
        commands={"test": test, "build": build} | style,
        advice=tuple(advice),
    )


def _pytest_reason(folder: Folder) -> str:
    """Return the file that configures or requires pytest; empty if none does."""
    if subtable(folder.toml("pyproject.toml"), "tool", "pytest"):
        return "[tool.pytest] in pyproject.toml"
    if "[tool:pytest]" in folder.text("setup.cfg"):
        return "[tool:pytest] in setup.cfg"
    if "[pytest]" in folder.text("tox.ini"):
        return "[pytest] in tox.ini"
    if name := folder.first("pytest.ini", "conftest.py", "tests/conftest.py"):
        return name
    name = next((name for name in folder.files(*_NEEDS, "Pipfile") if _PYTEST.search(folder.text(name))), "")
    return f"pytest in {name}" if name else ""


def _python_run(environment: PythonEnvironment, arguments: str, why: str) -> Guess:
    """Return a command of the project's own interpreter."""
    there = f"{why}; {environment.name} is there" if environment.name else why
    return guess(f"{environment.python} {arguments}", there)


def _python_style(folder: Folder, environment: PythonEnvironment) -> tuple[dict[str, Guess], list[Hint]]:
    """Return linters and formatters that the project configures and its environment has; for others, advice."""
    tools = subtable(folder.toml("pyproject.toml"), "tool")
    ruff = folder.first("ruff.toml", ".ruff.toml") or ("[tool.ruff] in pyproject.toml" if "ruff" in tools else "")
    black = "[tool.black] in pyproject.toml" if "black" in tools else ""
    flake8 = folder.first(".flake8") if not ruff else ""
    wanted = [
        ("lint", "ruff", "-m ruff check .", ruff),
        ("format", "ruff", "-m ruff format --check .", ruff),
        ("format", "black", "-m black --check .", black),
        ("lint", "flake8", "-m flake8", flake8),
    ]
    commands: dict[str, Guess] = {}
    missing: dict[str, Hint] = {}
    for name, tool, arguments, why in wanted:
        if why and environment.has(tool) is False:
            lack = f"{why} asks for {tool}, which is not installed, so treadle.toml does not use it"
            text = f"{lack}: `{environment.install(tool)}`"
            missing[tool] = Hint("init.tool_missing", f"{text}, then set `toolchain.lint` or `toolchain.format`")
        elif why:
            commands[name] = _python_run(environment, arguments, why)
    return commands, list(missing.values())


# JavaScript and TypeScript: vitest, jest, mocha or node's own test runner; eslint, prettier or biome.

_BIN = "{root}/node_modules/.bin"
_JUNIT = {
    "vitest": f"{_BIN}/vitest run --reporter=junit --outputFile={{report}}",
    "mocha": f"{_BIN}/mocha --reporter=xunit --reporter-option=output={{report}}",
}
_NODE_STYLE = (
    ("lint", "eslint", "eslint .", ("eslint.config.js", "eslint.config.mjs", "eslint.config.ts", ".eslintrc.json")),
    ("format", "prettier", "prettier --check .", (".prettierrc", ".prettierrc.json", "prettier.config.js")),
    ("lint", "@biomejs/biome", "biome lint .", ("biome.json", "biome.jsonc")),
    ("format", "@biomejs/biome", "biome format .", ("biome.json", "biome.jsonc")),
)
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_WRAPPERS = ("c8", "nyc")
_REPORTERS = ("--test-reporter", "--test-reporter-destination")
"""Node options that may have their value in the next word."""
_RUN = re.compile(r"(?:npm run|pnpm(?: run)?|yarn(?: run)?|bun run) ([\w:.-]+)")
_NOT_FOUND = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w.-]+)")
_LONGEST = 120
_LINTER = re.compile(
    r"(?:(?:npm|pnpm|yarn) (?:run )?(?:lint|format)\S*|eslint|standard|xo|prettier|biome)(?: |\Z)[^|;<>$`]*\Z"
)


def detect_node(folder: Folder) -> DetectedLanguage | None:
    """Detect a JavaScript or TypeScript project."""
    if not folder.has("package.json"):
        return None
    package = folder.json("package.json")
    needs = _node_dependencies(package)
    scripts = subtable(package, "scripts")
    script = scripts.get("test", "")
    script = script if isinstance(script, str) and "no test specified" not in script else ""
    kind, test, advice = _node_test(folder, script, scripts, needs)
    commands = {"test": test} if test else {}
    if test and test.words[0] == f"{_BIN}/vitest":
        commands["collect"] = guess(f"{_BIN}/vitest list", test.why)
    if folder.has("tsconfig.json") and _is_there(folder, "tsc", "typescript", needs):
        commands["build"] = guess(f"{_BIN}/tsc --noEmit", "tsconfig.json")
    style, missing = _node_style(folder, needs)
    commands |= style
    lanes = [Hint("init.lanes_found", stray)] if (stray := lane_exclusions(folder)) else []
    advice = (*advice, *lanes, *missing, *_node_setup(folder, test, needs))
    language = "TypeScript" if folder.has("tsconfig.json") else "JavaScript"
    return DetectedLanguage(
        language=language,
        why="package.json",
        is_tested=test is not None,
        kind=kind,
        commands=commands,
        advice=advice,
    )


def _node_test(
    folder: Folder, script: str, scripts: dict[str, Any], needs: set[str]
) -> tuple[str, Guess | None, tuple[Hint, ...]]:
    """How results are read, the command, and advice."""
    used = [word for command in _node_commands(script, scripts) or [script] for word in command.split()]
    for name, command in _JUNIT.items():
        if name in needs or name in used or (not script and _has_module(folder, name)):
            return "junit", guess(command, f"package.json uses {name}"), ()
    own_runner = any(_node_words(command) for command in _node_commands(script, scripts))
    if ("jest" in needs or "jest" in used) and not (own_runner and "jest-junit" not in needs):
        if "jest-junit" in needs:
            command = f"env JEST_JUNIT_OUTPUT_FILE={{report}} {_BIN}/jest --reporters=default --reporters=jest-junit"
            return "junit", guess(command, "package.json uses jest-junit"), ()
        advice = "`npm install --save-dev jest-junit`, then `treadle init` again: results test by test"
        hint = Hint("init.jest_junit", advice)
        return "command", guess(f"{_BIN}/jest", "package.json uses jest"), (hint,)
    why = "the script `test` in package.json"
    commands = _node_commands(script, scripts)
    at = next((at for at, command in enumerate(commands) if _node_words(command)), None)
    # What comes before the tests may be a build that they need; linters have a command of their own.
    if at is not None and all(_LINTER.match(one) for one in commands[:at]):
        others = [_shown(one) for one in commands[at + 1 :] if not _LINTER.match(one)]
        text = (
            f"the script `test` also runs {', '.join(f'`{one}`' for one in others)}, which `toolchain.test` leaves out"
        )
        hints = (Hint("init.test_part", f"{text}: set it as `toolchain.build` or `toolchain.lint`"),) if others else ()
        return "junit", Guess(_node_words(commands[at]), why), hints
    if script:
        text = (
            f"the script `test` ({_shown(script)}) runs no runner whose results Treadle can read test by test, and "
            'most protocols need them: set `toolchain.kind = "junit"`, and `toolchain.test` to a command that writes a '
            "JUnit file to `{report}`"
        )
        return "command", guess(f"{_package_manager(folder)} run test", why), (Hint("init.command_only", text),)
    hint = Hint("init.no_test_script", "package.json has no script `test`: set `toolchain.test`")
    return "command", None, (hint,)


def _shown(script: str) -> str:
    """Shorten a script for a message, and replace characters that a terminal would interpret."""
    plain = "".join(char if char.isprintable() else " " for char in script)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"


def _node_commands(script: str, scripts: dict[str, Any], above: tuple[str, ...] = ("test",)) -> list[str]:
    """Return the commands that a script joins by `&&`, with those of its own scripts; none if it needs a shell."""
    first = scripts.get(f"pre{above[-1]}")  # the package manager runs it before the script itself
    script = f"{first} && {script}" if script and isinstance(first, str) else script
    if not script.isprintable() or any(char in script.replace("&&", "") for char in "&|;<>$`"):
        return []
    commands: list[str] = []
    for command in map(str.strip, script.split("&&")):
        run = _RUN.fullmatch(command)
        other = scripts.get(run[1]) if run else None
        if run and isinstance(other, str) and run[1] not in above:
            inner = _node_commands(other, scripts, (*above, run[1]))
            if not inner:
                return []
            commands += inner
        else:
            commands.append(command)
    return commands


def _node_words(command: str) -> tuple[str, ...]:
    """Return the words of `node --test …` with our reporter, without a coverage wrapper; none for another command.

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


def _node_style(folder: Folder, needs: set[str]) -> tuple[dict[str, Guess], list[Hint]]:
    """Return linters and formatters that the project uses and its packages have; of the others, how to get them."""
    commands: dict[str, Guess] = {}
    missing: dict[str, Hint] = {}
    for name, package, command, files in _NODE_STYLE:
        why = folder.first(*files) or (f"package.json uses {package}" if package in needs else "")
        if why and name not in commands:
            if _is_there(folder, command.partition(" ")[0], package, needs):
                commands[name] = guess(f"{_BIN}/{command}", why)
            else:
                text = f"{why} asks for {package}, which is not installed, so treadle.toml does not use it"
                missing[package] = Hint(
                    "init.tool_missing", f"{text}: `{_package_manager(folder)} install`, then `treadle init`"
                )
    return commands, list(missing.values())


def _is_there(folder: Folder, program: str, package: str, needs: set[str]) -> bool:
    """Whether a program is installed; before anything is, whether it is going to be."""
    if _has_module(folder):
        return _has_module(folder, f".bin/{program}")
    return package in needs


def _has_module(folder: Folder, name: str = "") -> bool:
    """Whether `node_modules`, or something in it, is there; it may be a link that leads elsewhere."""
    return (folder.root / "node_modules" / name).exists()


def _node_setup(folder: Folder, test: Guess | None, needs: set[str]) -> tuple[Hint, ...]:
    """Return a hint if the packages, or the test runner among them, are not installed."""
    program = next((word for word in test.words if word.startswith(f"{_BIN}/")), "") if test else ""
    if not _has_module(folder):
        missing = Hint("init.not_installed", f"`{_package_manager(folder)} install`: node_modules does not exist yet")
        return (missing,) if needs or program else ()
    name = program.removeprefix(f"{_BIN}/")
    if name and not _has_module(folder, f".bin/{name}"):
        return (Hint("init.not_installed", f"`{_package_manager(folder)} install`: node_modules has no {name}"),)
    return ()


def missing_packages(root: Path, printed: str | None = None) -> tuple[list[str], str]:
    """Return the packages of package.json that are not installed, and the command that installs them.

    With the output of a program (`printed`), only the packages that it failed to load.
    """
    folder = Folder(root)
    needs = _node_dependencies(folder.json("package.json"))
    if printed is not None:
        needs &= {match[1] for match in _NOT_FOUND.finditer(printed)}
    # Node looks for a package in the `node_modules` of a folder, and of every folder above it (a workspace).
    places = [above / "node_modules" for above in (root, *root.parents)]
    missing = sorted(name for name in needs if not any((place / name).exists() for place in places))
    manager = _package_manager(folder)
    return missing, "npm ci" if manager == "npm" and folder.has("package-lock.json") else f"{manager} install"


def runtime_packages(root: Path) -> set[str]:
    """Return the packages that package.json names as needed by the code itself."""
    return {*subtable(Folder(root).json("package.json"), "dependencies")}


def _package_manager(folder: Folder) -> str:
    return _MANAGERS.get(folder.first(*_MANAGERS), "npm")


# Languages with one standard set of tools (Go, Rust, Java), and make.

_GOFMT: Final = ("sh", "-ec", 'files="$(gofmt -l .)"; echo "$files"; test -z "$files"')
"""Names the files and fails; gofmt itself fails only if it cannot read one, which `-e` passes on."""
_GO_COMMENT: Final = re.compile(r"//.*")
_GO_USE: Final = re.compile(r"^use\s*(?:\(([^)]*)\)|(\S+))", re.MULTILINE)
_TARGET: Final = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


def detect_go(folder: Folder) -> DetectedLanguage | None:
    """Detect a Go module, or a workspace of modules: there `./...` matches only the module at the root."""
    why = folder.first("go.work", "go.mod")
    if not why:
        return None
    text = _GO_COMMENT.sub("", folder.text(why)) if why == "go.work" else ""
    used = [word.strip('"`') for block, line in _GO_USE.findall(text) for word in (block or line).split()]
    packages = " ".join(f"./{PurePosixPath(one)}/..." if one != "." else "./..." for one in used) or "./..."
    linter = folder.first(".golangci.yml", ".golangci.yaml", ".golangci.toml")
    is_lacking = bool(linter) and folder.program("golangci-lint") is False
    advice = []
    if folder.program("go") is False:
        advice.append(
            Hint("init.not_installed", "install Go (https://go.dev/dl/): the program 'go' is not on your PATH")
        )
    if is_lacking:
        text = f"{linter} asks for golangci-lint, which is not installed; `go vet` is used instead"
        advice.append(Hint("init.tool_missing", text))
    commands = {
        "test": guess(f"go test {packages}", why),
        "build": guess(f"go build {packages}", why),
        "lint": guess("golangci-lint run", linter) if linter and not is_lacking else guess(f"go vet {packages}", why),
        "format": Guess(_GOFMT, f"{why}; gofmt alone never fails"),
    }
    return DetectedLanguage(language="Go", why=why, kind="gotest", commands=commands, advice=tuple(advice))


def detect_rust(folder: Folder) -> DetectedLanguage | None:
    """Detect a Rust package."""
    if not folder.has("Cargo.toml"):
        return None
    commands = {
        "test": guess("cargo test", "Cargo.toml"),
        "build": guess("cargo check --all-targets", "Cargo.toml"),
        "lint": guess("cargo clippy --all-targets -- -D warnings", "Cargo.toml"),
        "format": guess("cargo fmt --check", "Cargo.toml"),
    }
    return DetectedLanguage(language="Rust", why="Cargo.toml", commands=commands)


def detect_java(folder: Folder) -> DetectedLanguage | None:
    """Detect a Maven or Gradle build."""
    gradle = folder.first("build.gradle.kts", "build.gradle")
    if folder.has("pom.xml"):
        commands = {"test": guess("mvn -q -B test", "pom.xml"), "build": guess("mvn -q -B test-compile", "pom.xml")}
        report = "target/surefire-reports/*.xml"
        return DetectedLanguage(language="Java", why="pom.xml", kind="junit", commands=commands, report=report)
    if gradle:
        program = "./gradlew" if folder.has("gradlew") else "gradle"
        commands = {"test": guess(f"{program} test", gradle), "build": guess(f"{program} testClasses", gradle)}
        report = "build/test-results/test/*.xml"
        return DetectedLanguage(language="Java", why=gradle, kind="junit", commands=commands, report=report)
    return None


def detect_make(folder: Folder) -> DetectedLanguage | None:
    """Detect a Makefile with a target `test`, in any language."""
    name = folder.first("GNUmakefile", "Makefile", "makefile")
    if not _TARGET.search(folder.text(name) if name else ""):
        return None
    return DetectedLanguage(
        language="make", why=name, commands={"test": guess("make test", f"the target `test` of {name}")}
    )


# Detection of a whole project.

DETECTORS: Final = (detect_python, detect_node, detect_go, detect_rust, detect_java, detect_make)
"""Detectors in order of preference; `make` comes last, as it reports no single tests."""


def detect_languages(root: Path, variables: Mapping[str, str] | None = None) -> list[DetectedLanguage]:
    """Detect the languages of a project; the first one decides how to test it.

    `variables` locate programs outside of the project; without them detection looks at the project's files alone.
    """
    folder = Folder(root, variables or {})
    languages = [one for detector in DETECTORS if (one := detector(folder)) is not None]
    return sorted(languages, key=lambda one: not one.is_tested)
