"""Planted commits that are not recorded, not bounded, or break what others keep."""

import pytest

from tests.protocol.checks.planted import COMMIT, batch, bugfix, change, gates, needs, put, said, to, tree
from treadle.protocol.model import Exit, Protocol, Step

FIX = "graphs.main.steps.fix.gates"
BUILDS = ("build",)


def _refactored(checks: str) -> Protocol:
    """The author of tests goes over them once more when everything is green."""
    again = Step(
        kind="agent",
        role="qa",
        exits=("Tidied",),
        needs=needs("fix.Fixed"),
        gates={"Tidied": gates(checks)},
        routes={"Tidied": to("review")},
        template="tidy.jinja",
    )
    protocol = put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("tidy"))
    protocol = put(protocol, "graphs.main.steps", "tidy", again)
    protocol = put(protocol, "exits", "Tidied", Exit(proves="green", fields={"commit": COMMIT}))
    protocol = put(protocol, "templates", "tidy.jinja", "{{ fix.Fixed.commit }}")
    protocol = change(protocol, "graphs.main.steps.review", needs=needs("fix.Fixed", "tidy.Tidied"))
    protocol = put(protocol, "templates", "review.jinja", "{{ fix.Fixed.commit }}{{ tidy.Tidied.commit }}")
    done = needs("repro.Reproduced", "fix.Fixed", "tidy.Tidied", "review.Approved", "merge.Merged")
    return put(protocol, "graphs.main.ends", "Done", done)


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), FIX, "Fixed", gates("measure scope build green tests_unmodified")),
            ["16 main.fix: exit 'Fixed' names a commit, but no gate records one (gate it by 'commit' or 'checkpoint')"],
            id="a_commit_that_is_not_made",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.work.gates", "Built", gates("checkpoint scope lint?")),
            [
                (
                    "16 node.work: exit 'Built' passes with nothing done: no gate sees a change, or what should be "
                    "there (record it by 'commit' or 'commit_once')"
                )
            ],
            id="work_that_nothing_looks_at",
        ),
        pytest.param(
            put(bugfix(), FIX, "Fixed", gates("commit scope_src build green tests_unmodified")),
            ["16 main.fix: exit 'Fixed' is not held to its write scope ({part}/**) (gate it by 'scope')"],
            id="a_scope_that_only_the_input_knows",
        ),
        pytest.param(
            put(batch(), "graphs.cycle.steps.red.gates", "Red", gates("commit owned_files red_one")),
            [
                (
                    "16 cycle.red: exit 'Red' is not held to its write scope (tests/**) (gate it by 'scope' "
                    "or 'scope_tests')"
                )
            ],
            id="a_scope_that_nothing_holds_to",
        ),
        pytest.param(
            put(change(tree(), "", toolchain=BUILDS), "graphs.node.steps.plan.gates", "Unclear", gates("build")),
            ["16 node.work: exit 'Built' brings code that nobody has built (gate it by 'build')"],
            id="code_that_is_not_built",
        ),
        pytest.param(
            change(
                put(
                    change(batch(), "", toolchain=BUILDS),
                    "graphs.cycle.steps.green.gates",
                    "Green",
                    gates("commit scope build green_own_and_baseline tests_unmodified"),
                ),
                "graphs.main.steps.suite",
                checks=gates("green"),
                routes={"Passed": to("@end:Done"), "Failed": to("halt")},
            ),
            ["16 main.suite: tests what nobody has built (add 'build')"],
            id="a_suite_of_what_is_not_built",
        ),
        pytest.param(
            change(
                put(
                    change(batch(), "", toolchain=BUILDS),
                    "graphs.cycle.steps.green.gates",
                    "Green",
                    gates("commit scope build green_own_and_baseline tests_unmodified"),
                ),
                "graphs.main.steps.suite",
                checks=gates("build"),
            ),
            ["16 main.suite: builds, but runs no tests (add 'green')"],
            id="a_suite_without_tests",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.repro.gates", "Reproduced", gates("commit scope red no_secrets")),
            [
                (
                    "16 main.fix: exit 'Fixed' is not gated by 'no_secrets', which other commits are (gate it"
                    " by 'no_secrets')"
                )
            ],
            id="what_only_some_keep",
        ),
        pytest.param(
            change(change(bugfix(), "roles.qa", writes=("checks/**",)), "roles.de", writes=("src/**",)),
            [
                (
                    "16 main.repro: exit 'Reproduced' is by an author of tests, but more may have changed (gate it by "
                    "'scope_tests')"
                ),
            ],
            id="an_author_of_tests_and_of_more",
        ),
        pytest.param(
            _refactored("checkpoint scope_tests green"),
            [
                (
                    "16 main.tidy: exit 'Tidied' proves green with tests that may have been weakened for "
                    "it (gate it by 'still_red_on_skeleton', or exclude the tests from its scope)"
                )
            ],
            id="tests_that_may_have_been_weakened",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.review.gates", "Approved", gates("readonly coverage_complete")),
            [
                (
                    "16 main.repro: exit 'Reproduced' may bring tests that the manifest does not list (gate it by "
                    "'manifest')"
                )
            ],
            id="tests_that_nobody_counts",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol, 16) == expected


def test_tests_that_fail_without_the_code_may_be_changed() -> None:
    assert said(_refactored("checkpoint scope_tests green still_red_on_skeleton")) == []


def test_what_one_author_of_code_keeps_the_others_keep() -> None:
    second = Step(
        kind="agent",
        role="de",
        exits=("Polished",),
        needs=needs("fix.Fixed"),
        gates={"Polished": gates("commit scope build")},
        routes={"Polished": to("review")},
        template="polish.jinja",
    )
    protocol = put(bugfix(), FIX, "Fixed", gates("commit scope build green tests_unmodified interface_unmodified"))
    protocol = put(
        put(protocol, "graphs.main.steps", "polish", second), "exits", "Polished", Exit(fields={"commit": COMMIT})
    )
    protocol = put(protocol, "templates", "polish.jinja", "{{ fix.Fixed.commit }}")
    protocol = put(protocol, "graphs.main.steps.fix.routes", "Fixed", to("polish"))
    protocol = change(protocol, "graphs.main.steps.review", needs=needs("fix.Fixed", "polish.Polished"))
    assert said(protocol, 16) == [
        (
            "16 main.polish: exit 'Polished' brings code, but tests may have been changed for it (gate it by "
            "'tests_unmodified')"
        ),
        (
            "16 main.polish: exit 'Polished' is not gated by interface_exact or interface_unmodified, as "
            "'fix.Fixed' is (gate it by 'interface_exact' or 'interface_unmodified')"
        ),
    ]
