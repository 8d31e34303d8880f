"""Stable codes of findings, refusals, advice and errors, each with one sentence on what it means.

Programs and tests compare codes; people read the sentence beside them, which may be improved at any time. A code is
never given another meaning: a new kind of problem gets a new code.
"""

from typing import Final

EVIDENCE: Final[dict[str, str]] = {
    "baseline.alone": "An old test passes with others and not alone, on the base commit, too.",
    "baseline.failing": "A test that nobody has changed failed on the base commit, too.",
    "baseline.flaky": "A test that nobody has changed passes and fails by chance on the base commit.",
    "colour.changed": "A test has another verdict than before a rebase.",
    "green.bent": "Something made the test run say what is not so, or a test passes only in the company of others.",
    "green.broken": "A test that was green before the step is not any more.",
    "green.expected_failure": "A test that ran before is marked as one that is expected to fail.",
    "green.failing": "A test fails.",
    "green.flaky": "A test fails and passes with nothing changed.",
    "green.left_red": "A test is merged though it fails: somebody else is to implement what it is about.",
    "green.lost": "A test that there was is gone.",
    "green.none": "No test passed.",
    "green.run_again": "Some tests were run again, each in a process of its own.",
    "green.skipped": "A test that ran before is skipped.",
    "green.tampering": "Code did something during the test run that code under test has seldom a reason to do.",
    "green.waiting": "A test fails that waits for the work of others; it refuses nothing.",
    "manifest.ambiguous": "A test manifest names a test by a short name that fits several tests.",
    "manifest.foreign": "A test manifest, or an entry of it, belongs to another spec and stands for nothing here.",
    "owed.failing": "These tests fail, and are to be made to pass.",
    "owed.none": "No test of the manifest fails, so there is nothing to be made to pass.",
    "suite.measured": "How many tests passed and failed.",
    "suite.unrunnable": "The tests could not be run.",
    "unbroken.failing": "A step broke a test that passed before it.",
    "unbroken.lost": "A step lost a test that passed before it.",
    "unbroken.unknown": "The test command fails since a step that may add failing tests; it names none.",
}
"""What checks of an agent's work say."""

ERRORS: Final[dict[str, str]] = {
    "env.broken": "A program that a run needs is there and does not work.",
    "env.canaries": "The test tool does not tell passing from failing tests, or its words cannot be believed.",
    "env.missing": "A program or module that a run needs is not installed.",
    "env.tests": "The test tool cannot start, not even on the base commit.",
    "env.timeout": "The tests of the base commit take longer than `toolchain.timeout` allows.",
    "treadle.error": "A command failed for a reason that has no code of its own.",
    "protocol.invalid": "A protocol cannot be loaded or does not pass its checks.",
}
"""What stops a command."""

CODES: Final[dict[str, str]] = EVIDENCE | ERRORS
