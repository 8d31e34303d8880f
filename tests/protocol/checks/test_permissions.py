"""Planted nonsense in write scopes, protections and artifacts."""

import pytest

from tests.protocol.checks.planted import bugfix, change, faults_of, gates, put, said, to
from treadle.protocol.model import Artifact, Protection, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "roles.critic", writes=("docs/**",)),
            [
                (
                    "16 critic: has a write scope but not the permission 'modify' (add `modify` to "
                    "`perms`, or empty `writes`)"
                )
            ],
            id="a_scope_without_the_permission",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", writes=("docs/**",)),
            [
                (
                    "16 main.review: has a write scope, but role 'critic' may not modify (add `modify` to "
                    "role 'critic', or empty `writes`)"
                )
            ],
            id="a_step_scope_without_the_permission",
        ),
        pytest.param(
            change(bugfix(), "roles.de", writes=("{part}/**", "tests/**")),
            [
                (
                    "16 main.fix: may write tests ({part}/**, tests/**), but its gates want them "
                    "unmodified (exclude them with `!`, e.g. '!tests/**')"
                )
            ],
            id="an_implementer_who_may_write_tests",
        ),
        pytest.param(
            change(bugfix(), "roles.de", writes=("**",)),
            [
                (
                    "16 main.fix: may write tests (**), but its gates want them unmodified (exclude them "
                    "with `!`, e.g. '!tests/**')"
                )
            ],
            id="an_implementer_who_may_write_everything",
        ),
        pytest.param(
            change(bugfix(), "roles.de", writes=("*.go",)),
            [
                (
                    "16 main.fix: may write tests (*.go), but its gates want them unmodified (exclude "
                    "them with `!`, e.g. '!tests/**')"
                )
            ],
            id="an_implementer_who_may_write_any_go_file",
        ),
        pytest.param(
            change(bugfix(), "roles.de", writes=("{prat}/**",)),
            [
                (
                    "16 main.fix: '{prat}/**' has a placeholder 'prat' that the graph's input does not "
                    "have (did you mean 'part'?)"
                )
            ],
            id="an_unknown_placeholder",
        ),
        pytest.param(
            change(bugfix(), "", protections=(Protection(glob="api/**", level=7),)),
            ["16 'api/**' has protection level 7 (levels are 1 to 6)"],
            id="a_protection_beyond_six",
        ),
        pytest.param(
            change(bugfix(), "", artifacts={"notes": Artifact(path="NOTES.md", writer="qaa")}),
            ["16 artifact 'notes' is written by unknown role 'qaa' (did you mean 'qa'?)"],
            id="an_artifact_nobody_writes",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", writes=("tests/**", "/etc/**")),
            ["16 qa: '/etc/**' in its write scope is absolute (write it relative to the root of the repository)"],
            id="a_scope_outside_the_repository",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.repro", writes=("tests/**", "../x/**")),
            [
                (
                    "16 main.repro: '../x/**' in its write scope leaves its directory with .. (write it "
                    "relative to the root of the repository)"
                )
            ],
            id="a_step_scope_outside_the_repository",
        ),
        pytest.param(
            change(bugfix(), "", protections=(Protection(glob=".git/**", level=6),)),
            ["16 '.git/**' in the protections lies inside .git, which only the orchestrator touches (remove it)"],
            id="a_protection_of_what_nobody_touches",
        ),
        *(
            pytest.param(
                change(bugfix(), "", artifacts={"notes": Artifact(path=path, writer="qa")}),
                [f"16 '{path}' in the artifacts {why}"],
                id=f"an_artifact_at_{path}",
            )
            for path, why in (
                ("../x", "leaves its directory with .. (write it relative to the root of the repository)"),
                ("/etc/passwd", "is absolute (write it relative to the root of the repository)"),
                (".git/x", "lies inside .git, which only the orchestrator touches (remove it)"),
            )
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.repro", writes=("!tests/**", "!docs/**")),
            [
                (
                    "16 main.repro: its write scope only excludes ('!tests/**', '!docs/**'), so nothing may be written "
                    "(say first what may be written, as in 'src/**')"
                )
            ],
            id="a_scope_that_only_excludes",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


# A planted refusal of protected files that no person hears of.


def _protected() -> Protocol:
    protocol = put(bugfix(), "graphs.main.steps.repro.gates", "Reproduced", gates("commit scope red protection"))
    checks = gates("commit scope build green tests_unmodified protection")
    protocol = put(protocol, "graphs.main.steps.fix.gates", "Fixed", checks)
    return put(protocol, "graphs.main.steps.repro.routes", "!gate.protection", to("human"))


def test_a_refusal_that_is_only_tried_again() -> None:
    assert faults_of(_protected()) == ["unasked_protection main.fix: protection"]


def test_a_refusal_that_leads_to_a_person_is_allowed() -> None:
    assert said(put(_protected(), "graphs.main.steps.fix.routes", "!gate.protection", to("human"))) == []


# Planted write scopes that reach where the tests are written.


@pytest.mark.parametrize(
    ("writes", "reaches"),
    [
        (("{part}/**",), True),
        (("{part}/**", "!tests/**"), False),
        (("src/**",), False),
        (("src/**", "setup.py"), False),
        (("docs/{id}.md",), False),
    ],
)
def test_a_scope_over_the_tests_is_named_if_its_gates_protect_them(writes: tuple[str, ...], reaches: bool) -> None:
    found = [line for line in said(change(bugfix(), "roles.de", writes=writes), 16) if "where the tests are" in line]
    expected = (
        "16 main.fix: may write 'tests/**', where the tests are written, but its gates want them unmodified (exclude "
        "it with '!tests/**')"
    )
    assert found == [expected] * reaches


def test_a_file_that_the_authors_write_too() -> None:
    both = change(change(bugfix(), "roles.qa", writes=("tests/**", "setup.py")), "roles.de", writes=("setup.py",))
    assert [fault for fault in faults_of(both, 16) if "setup.py" in fault] == ["tests_in_reach main.fix: setup.py"]
