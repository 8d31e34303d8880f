"""Stable codes of findings, refusals, advice and errors, each with one sentence on what it means.

Programs and tests compare codes; people read the sentence beside them, which may be improved at any time. A code is
never given another meaning: a new kind of problem gets a new code.
"""

from typing import Final

EVIDENCE: Final[dict[str, str]] = {
    "manifest.ambiguous": "A test manifest names a test by a short name that fits several tests.",
    "manifest.foreign": "A test manifest, or an entry of it, belongs to another spec and stands for nothing here.",
}
"""What checks of an agent's work say."""

ERRORS: Final[dict[str, str]] = {
    "agent.missing": "The program of an agent is neither on the PATH nor where `make agents` installs it.",
    "treadle.error": "A command failed for a reason that has no code of its own.",
    "protocol.invalid": "A protocol cannot be loaded or does not pass its checks.",
}
"""What stops a command."""

ADVICE: Final[dict[str, str]] = {
    "init.jest_junit": "jest reports its tests one by one only with the package jest-junit.",
    "init.lanes_found": "The test runner also finds the tests in lanes of running work; exclude `.treadle/`.",
    "init.no_environment": "A Python project has no environment of its own to run its tests in.",
    "init.no_pytest": "The project's Python environment has no pytest.",
    "init.no_test_script": "package.json does not say how the project is tested.",
    "init.no_tests": "The project has no tests yet, so its test runner is assumed.",
    "init.not_installed": "The project's packages, or a program that it needs, are not installed yet.",
    "init.tool_missing": "The project configures a linter or formatter that is not installed; it is not set up.",
}
"""What commands advise a person to do."""

CODES: Final[dict[str, str]] = EVIDENCE | ERRORS | ADVICE
