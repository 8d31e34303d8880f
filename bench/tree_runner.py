# ruff: noqa: PTH118, PTH119, PTH123
"""The test runner of the benchmark's project: plain functions, a JUnit file, and as little time as possible.

It stands for a project's own tests and is a program: `tree_runner.py REPORT`, or `--list` to name the tests only.
`pathlib` would double the time that it takes to start.
"""

import os
import sys
from collections.abc import Callable

Test = Callable[[], object]


def run_tests(report: str) -> int:
    sys.path.insert(0, "src")
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk("tests") for name in names)
    wanted = [file for file in files if os.path.basename(file).startswith("test_") and file.endswith(".py")]
    found = [(file, name, test) for file in wanted for name, test in tests_in(file).items()]
    if report == "--list":
        print("\n".join(f"{file}::{name}" for file, name, _ in found))
        return 0
    results = [(f'classname="{file}" file="{file}" name="{name}"', outcome(test)) for file, name, test in found]
    cases = "".join(f"<testcase {named}>{bad}</testcase>" for named, bad in results)
    with open(report, "w") as opened:
        opened.write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return int(any(bad for _, bad in results))


def tests_in(file: str) -> dict[str, Test]:
    space: dict[str, Test] = {}
    with open(file) as opened:
        exec(compile(opened.read(), file, "exec"), space)
    return {name: test for name, test in space.items() if name.startswith("test_")}


def outcome(test: Test) -> str:
    """Nothing if it passes, else what the report says of it."""
    try:
        test()
    except Exception as error:
        return f'<failure type="{type(error).__name__}"/>'
    return ""


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[1]))
