"""Projects as people have them, each detected from its files alone."""

import json
import os
from pathlib import Path

import pytest

from treadle.config.detection import DetectedLanguage, Folder, detect_languages, lane_exclusions, missing_packages

SITE = ".venv/lib/python3.12/site-packages/"
BIN = "{root}/node_modules/.bin"

MERGE_JSON_SCHEMAS = """{"scripts": {
  "test": "npm run lint && npm run test:unit && npm run test:types",
  "lint": "eslint",
  "test:unit": "c8 --100 node --test --test-reporter spec test/",
  "test:types": "tstyche"
}}"""
PROJECTS: list[tuple[str, dict[str, str], str, str, dict[str, str]]] = [
    (
        "pytest in pyproject",
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
        "Python",
        "pytest",
        {"test": "python3 -m pytest"},
    ),
    ("pytest.ini", {"pytest.ini": "[pytest]\n"}, "Python", "pytest", {"test": "python3 -m pytest"}),
    ("setup.cfg", {"setup.cfg": "[tool:pytest]\n"}, "Python", "pytest", {"test": "python3 -m pytest"}),
    ("tests only", {"tests/unit/test_a.py": "def test_a(): ..."}, "Python", "pytest", {"test": "python3 -m pytest"}),
    ("unittest", {"tests/test_a.py": "import unittest"}, "Python", "command", {"test": "python3 -m unittest discover"}),
    *(
        (
            f"unittest with pytest in {name}",
            {"tests/test_a.py": "import unittest", name: text},
            "Python",
            "pytest",
            {"test": "python3 -m pytest"},
        )
        for name, text in {
            "requirements.txt": "requests\npytest==8.0\n",
            "requirements/dev.txt": "pytest\n",
            "pyproject.toml": '[dependency-groups]\ndev = ["mypy", "pytest>=8"]\n',
            "setup.py": "setup(extras_require={'test': ['pytest']})\n",
        }.items()
    ),
    (
        "unittest with a plugin of pytest",
        {"tests/test_a.py": "import unittest", "requirements.txt": "pytest-cov-reader\n# pytest is not used\n"},
        "Python",
        "command",
        {"test": "python3 -m unittest discover"},
    ),
    (
        "unittest with pytest in the environment",
        {"tests/test_a.py": "import unittest", ".venv/pyvenv.cfg": "", SITE + "pytest/__init__.py": ""},
        "Python",
        "pytest",
        {"test": "{root}/.venv/bin/python -m pytest"},
    ),
    (
        "virtual environment",
        {"pytest.ini": "", ".venv/pyvenv.cfg": ""},
        "Python",
        "pytest",
        {"test": "{root}/.venv/bin/python -m pytest"},
    ),
    ("uv", {"pytest.ini": "", "uv.lock": ""}, "Python", "pytest", {"test": "uv run python -m pytest"}),
    (
        "ruff",
        {"pyproject.toml": "[tool.ruff]\nx = 1\n"},
        "Python",
        "pytest",
        {"lint": "python3 -m ruff check .", "format": "python3 -m ruff format --check ."},
    ),
    (
        "black",
        {"pyproject.toml": "[tool.black]\nx = 1\n"},
        "Python",
        "pytest",
        {"format": "python3 -m black --check ."},
    ),
    (
        "vitest and typescript",
        {"package.json": '{"devDependencies": {"vitest": "1", "typescript": "5"}}', "tsconfig.json": "{}"},
        "TypeScript",
        "junit",
        {
            "test": f"{BIN}/vitest run --reporter=junit --outputFile={{report}}",
            "collect": f"{BIN}/vitest list",
            "build": f"{BIN}/tsc --noEmit",
        },
    ),
    ("jest", {"package.json": '{"scripts": {"test": "jest --ci"}}'}, "JavaScript", "command", {"test": f"{BIN}/jest"}),
    (
        "jest-junit",
        {"package.json": '{"devDependencies": {"jest": "1", "jest-junit": "1"}}'},
        "JavaScript",
        "junit",
        {"test": f"env JEST_JUNIT_OUTPUT_FILE={{report}} {BIN}/jest --reporters=default --reporters=jest-junit"},
    ),
    (
        "node --test",
        {"package.json": '{"scripts": {"test": "node --test src/"}}'},
        "JavaScript",
        "junit",
        {"test": "node --test --test-reporter=junit --test-reporter-destination={report} src/"},
    ),
    (
        "node --test with a pattern, after a linter",
        {"package.json": """{"scripts": {"test": "npm run lint && node --test 'test/*.test.js'"}}"""},
        "JavaScript",
        "junit",
        {"test": "node --test --test-reporter=junit --test-reporter-destination={report} test/*.test.js"},
    ),
    (
        "node --test beside jest",
        {
            "package.json": """{"scripts": {"test": "npm run test:unit && npm run test:jest", "test:jest": "jest x.js",
            "test:unit": "c8 --100 node --test test/"}, "devDependencies": {"jest": "1"}}"""
        },
        "JavaScript",
        "junit",
        {"test": "node --test --test-reporter=junit --test-reporter-destination={report} test/"},
    ),
    (
        "node --test after a build",
        {"package.json": '{"scripts": {"test": "tsc && node --test dist"}}'},
        "JavaScript",
        "command",
        {"test": "npm run test"},
    ),
    (
        "node --test after a build that the package manager runs",
        {"package.json": '{"scripts": {"pretest": "tsc", "test": "node --test dist"}}'},
        "JavaScript",
        "command",
        {"test": "npm run test"},
    ),
    (
        "node --test in another script, with coverage and a reporter",
        {"package.json": MERGE_JSON_SCHEMAS},
        "JavaScript",
        "junit",
        {"test": "node --test --test-reporter=junit --test-reporter-destination={report} test/"},
    ),
    (
        "mocha in another script",
        {"package.json": '{"scripts": {"test": "npm run unit", "unit": "nyc mocha"}}'},
        "JavaScript",
        "junit",
        {"test": f"{BIN}/mocha --reporter=xunit --reporter-option=output={{report}}"},
    ),
    (
        "scripts that run each other",
        {"package.json": '{"scripts": {"test": "npm run a", "a": "npm run b", "b": "npm run a"}}'},
        "JavaScript",
        "command",
        {"test": "npm run test"},
    ),
    (
        "vitest that only node_modules knows",
        {"package.json": "{}", "node_modules/vitest/package.json": "{}", "node_modules/.bin/vitest": ""},
        "JavaScript",
        "junit",
        {"test": f"{BIN}/vitest run --reporter=junit --outputFile={{report}}"},
    ),
    (
        "a script with a shell's signs",
        {"package.json": '{"scripts": {"test": "node --test | tee log"}}', "pnpm-lock.yaml": ""},
        "JavaScript",
        "command",
        {"test": "pnpm run test"},
    ),
    (
        "eslint and prettier",
        {"package.json": '{"scripts": {"test": "x"}, "devDependencies": {"eslint": "9", "prettier": "3"}}'},
        "JavaScript",
        "command",
        {"test": "npm run test", "lint": f"{BIN}/eslint .", "format": f"{BIN}/prettier --check ."},
    ),
    (
        "go",
        {"go.mod": "module x\n"},
        "Go",
        "gotest",
        {
            "test": "go test ./...",
            "build": "go build ./...",
            "lint": "go vet ./...",
            "format": 'sh -ec files="$(gofmt -l .)"; echo "$files"; test -z "$files"',
        },
    ),
    (
        "go work",
        {"go.work": "go 1.22\n\nuse (\n\t./version // ours\n\t./tool\n)\nuse ./more\n", "tool/go.mod": "module t\n"},
        "Go",
        "gotest",
        {"test": "go test ./version/... ./tool/... ./more/..."},
    ),
    ("golangci", {"go.mod": "", ".golangci.yml": ""}, "Go", "gotest", {"lint": "golangci-lint run"}),
    ("rust", {"Cargo.toml": ""}, "Rust", "command", {"test": "cargo test", "format": "cargo fmt --check"}),
    ("maven", {"pom.xml": ""}, "Java", "junit", {"test": "mvn -q -B test"}),
    ("gradle", {"build.gradle": "", "gradlew": ""}, "Java", "junit", {"test": "./gradlew test"}),
    ("make", {"Makefile": "all:\n\techo\ntest: all\n\techo\n"}, "make", "command", {"test": "make test"}),
]


def project(place: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize(
    ("files", "language", "kind", "commands"), [it[1:] for it in PROJECTS], ids=[it[0] for it in PROJECTS]
)
def test_each_project_gets_its_language_and_commands(
    tmp_path: Path, files: dict[str, str], language: str, kind: str, commands: dict[str, str]
) -> None:
    found = detect_languages(project(tmp_path, files))[0]
    assert (found.language, found.kind) == (language, kind)
    told = {name: " ".join(it.words) for name, it in found.commands.items()}
    assert told | commands == told
    assert all(it.why for it in found.commands.values())


def test_a_folder_without_code_has_no_language(tmp_path: Path) -> None:
    assert detect_languages(tmp_path) == []
    assert (
        detect_languages(
            project(tmp_path, {"README.md": "", "Makefile": "test := 1\n", "node_modules/x/test_a.py": ""})
        )
        == []
    )


def test_the_language_that_has_tests_decides(tmp_path: Path) -> None:
    files = {"tool.py": "", "package.json": '{"scripts": {"test": "mocha"}}', "Makefile": "test:\n"}
    assert [it.language for it in detect_languages(project(tmp_path, files))] == ["JavaScript", "make", "Python"]


def test_the_stub_that_npm_writes_is_no_test(tmp_path: Path) -> None:
    stub = r'{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}'
    found = detect_languages(project(tmp_path, {"package.json": stub}))[0]
    assert "test" not in found.commands
    assert "init.no_test_script" in [hint.code for hint in found.advice]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"scripts": 3}', '{"scripts": {"test": 3}}', '{"devDependencies": []}', "[" * 5000, "\0"]
)
def test_broken_files_do_no_harm(tmp_path: Path, text: str) -> None:
    names = ("package.json", "pyproject.toml", "go.mod", "Makefile")
    assert [it.language for it in detect_languages(project(tmp_path, dict.fromkeys(names, text)))] == [
        "Go",
        "Python",
        "JavaScript",
    ]


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    outside = project(tmp_path / "out", {"Makefile": "test:\n"})
    root = tmp_path / "root"
    root.mkdir()
    (root / "Makefile").symlink_to(outside / "Makefile")
    os.mkfifo(root / "package.json")
    assert [it.language for it in detect_languages(root)] == ["JavaScript"]


def codes(found: DetectedLanguage) -> list[str]:
    return [hint.code for hint in found.advice]


@pytest.mark.parametrize(("installed", "expected"), [(True, []), (False, ["init.tool_missing", "init.no_pytest"])])
def test_tools_are_set_up_only_if_the_environment_has_them(
    tmp_path: Path, installed: bool, expected: list[str]
) -> None:
    modules = {f"{SITE}{name}/__init__.py": "" for name in ("pytest", "ruff")} if installed else {f"{SITE}a.py": ""}
    files = {"pyproject.toml": "[tool.ruff]\nx = 1\n", "tests/test_a.py": "", ".venv/pyvenv.cfg": "", **modules}
    found = detect_languages(project(tmp_path, files))[0]
    assert codes(found) == expected
    assert ("lint" in found.commands, "format" in found.commands) == (installed, installed)


def test_an_environment_that_is_active_in_the_project_comes_first(tmp_path: Path) -> None:
    files = {"tests/test_a.py": "", ".venv/pyvenv.cfg": "", "tools/py/pyvenv.cfg": ""}
    found = detect_languages(project(tmp_path, files), {"VIRTUAL_ENV": str(tmp_path / "tools" / "py")})[0]
    assert found.commands["test"].words[0] == "{root}/tools/py/bin/python"
    outside = detect_languages(tmp_path, {"VIRTUAL_ENV": "/elsewhere"})[0]
    assert outside.commands["test"].words[0] == "{root}/.venv/bin/python"


def test_an_environment_may_be_a_link_to_a_folder_elsewhere(tmp_path: Path) -> None:
    root = project(tmp_path / "root", {"tests/test_a.py": ""})
    shared = project(tmp_path / "shared", {"pyvenv.cfg": "", "lib/python3.12/site-packages/pytest/__init__.py": ""})
    (root / ".venv").symlink_to(shared)
    found = detect_languages(root)[0]
    assert found.commands["test"].words[0] == "{root}/.venv/bin/python"
    assert found.advice == ()
    (shared / "pyvenv.cfg").unlink()
    assert [hint.code for hint in detect_languages(root)[0].advice] == ["init.no_environment"]


def test_a_project_without_an_environment_gets_advice_to_make_one(tmp_path: Path) -> None:
    assert codes(detect_languages(project(tmp_path, {"tests/test_a.py": ""}))[0]) == ["init.no_environment"]
    locked = detect_languages(project(tmp_path, {"uv.lock": '[[package]]\nname = "pytest"\n'}))[0]
    assert codes(locked) == ["init.not_installed"]


def test_packages_of_the_machine_count_where_an_environment_sees_them(tmp_path: Path) -> None:
    machine, root = tmp_path / "usr", tmp_path / "root"
    project(machine, {"bin/python3": "", "lib/python3.12/site-packages/pytest/__init__.py": ""})
    cfg = f"home = {machine / 'bin'}\ninclude-system-site-packages = "
    files = {"tests/test_a.py": "import unittest", f"{SITE}a.py": ""}
    assert detect_languages(project(root, files | {".venv/pyvenv.cfg": cfg + "true"}))[0].kind == "pytest"
    assert detect_languages(project(root, {".venv/pyvenv.cfg": cfg + "false"}))[0].kind == "command"


def test_programs_that_the_path_lacks_are_not_set_up(tmp_path: Path) -> None:
    files = {"go.mod": "module x\n", ".golangci.yml": ""}
    found = detect_languages(project(tmp_path, files), {"PATH": str(tmp_path)})[0]
    assert codes(found) == ["init.not_installed", "init.tool_missing"]
    assert found.commands["lint"].words[0] == "go"


def test_node_tools_are_set_up_only_if_they_are_installed(tmp_path: Path) -> None:
    package = '{"devDependencies": {"vitest": "4", "eslint": "9"}}'
    files = {"package.json": package, "node_modules/.bin/vitest": "", "vitest.config.ts": ".treadle"}
    found = detect_languages(project(tmp_path, files))[0]
    assert (codes(found), "lint" in found.commands) == (["init.tool_missing"], False)
    (tmp_path / "node_modules/.bin/vitest").unlink()
    assert "init.not_installed" in codes(detect_languages(tmp_path)[0])


def test_further_commands_of_a_test_script_are_named(tmp_path: Path) -> None:
    found = detect_languages(project(tmp_path / "part", {"package.json": MERGE_JSON_SCHEMAS}))[0]
    assert codes(found) == ["init.test_part"]
    assert "`tstyche`" in found.advice[0].text
    other = detect_languages(project(tmp_path / "other", {"package.json": '{"scripts": {"test": "ava"}}'}))[0]
    assert codes(other) == ["init.command_only"]


def test_a_package_without_dependencies_needs_no_installation(tmp_path: Path) -> None:
    found = detect_languages(project(tmp_path, {"package.json": '{"scripts": {"test": "node --test"}}'}))[0]
    assert codes(found) == []


def test_missing_packages_are_read_from_nodes_output(tmp_path: Path) -> None:
    files = {
        "package.json": '{"devDependencies": {"left-pad": "1", "@a/b": "1", "there": "1"}}',
        "package-lock.json": "",
    }
    root = project(tmp_path, files | {"node_modules/there/package.json": "{}"})
    printed = "Error: Cannot find module 'left-pad'\nCannot find package '@a/b/c.js' imported\n"
    printed += "Cannot find module 'there'\nCannot find module './own'\nCannot find module 'unnamed'\n"
    assert missing_packages(root, printed) == (["@a/b", "left-pad"], "npm ci")
    assert missing_packages(root, "") == ([], "npm ci")


@pytest.mark.parametrize(
    ("package", "files", "said"),
    [
        ({"devDependencies": {"vitest": "4"}}, {}, "vitest also finds"),
        ({"devDependencies": {"vitest": "4"}}, {"vitest.config.ts": "exclude: ['.treadle/**']"}, ""),
        ({"scripts": {"test": "jest --ci"}}, {}, '"<rootDir>/.treadle/"'),
        ({"devDependencies": {"jest": "1"}, "jest": {"testPathIgnorePatterns": ["<rootDir>/.treadle/"]}}, {}, ""),
        ({"devDependencies": {"mocha": "1"}}, {".mocharc.json": '{"ignore": [".treadle/**"]}'}, ""),
        ({"scripts": {"test": "node --test"}}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_test_tools_that_would_collect_lanes_get_advice(
    tmp_path: Path, package: dict[str, object], files: dict[str, str], said: str
) -> None:
    for name, text in {"package.json": json.dumps(package), **files}.items():
        (tmp_path / name).write_text(text)
    advice = lane_exclusions(Folder(tmp_path))
    assert said in advice
    assert bool(said) == bool(advice)
