"""The names a protocol may use for checks and effects, with a description of each.

A protocol refers to checks and effects by name only. This is the vocabulary; the code behind each name lives with the
evidence, and a test there keeps the two lists equal. `derives` lists the computed fields that a passed check can fill
in.
"""

from typing import Final, Literal

from treadle.protocol.model import Authority, Model, Proof

Need = Literal["test", "names", "list", "lines"]
"""A capability of a toolchain: run the tests, report each result, list the tests, report the executed lines."""


class CheckSpec(Model, frozen=True, kw_only=True):
    """A mechanical check: its description, the fields it computes, its argument, and its demands on the toolchain."""

    help: str
    derives: tuple[Authority, ...] = ()
    arg: str = ""
    needs: tuple[Need, ...] = ()
    """Capabilities the project's toolchain must have; without them the check never passes."""
    runs: str = ""
    """The command of the toolchain that it stands and falls with, where the project has one."""


def _check(help_: str, *derives: Authority, arg: str = "", needs: tuple[Need, ...] = (), runs: str = "") -> CheckSpec:
    return CheckSpec(help=help_, derives=derives, arg=arg, needs=needs, runs=runs)


_LINE: Final = "command"
_TEST: Final[tuple[Need, ...]] = ("test",)
_LIST: Final[tuple[Need, ...]] = ("test", "list")


CHECKS: Final[dict[str, CheckSpec]] = {
    "commit": _check("the step changed something; its work is recorded as one commit", "git"),
    "commit_once": _check(
        "the step changed something, unless it was accepted once before; its work is recorded as one commit", "git"
    ),
    "checkpoint": _check("the working directory is recorded as a commit, changed or not", "git"),
    "scope": _check(
        "every changed file is one that the role may change; where it may add stubs, only stubs were added"
    ),
    "scope_tests": _check("only test files changed, and, where the step may add stubs, only stubs were added"),
    "scope_src": _check("only implementation files changed"),
    "readonly": _check("no file was changed, and the exit names no criterion that does not exist"),
    "build": _check("the build command succeeds", runs="build"),
    "measure": _check("the tests run, and their results are recorded; nothing is refused", "tests", "git", needs=_TEST),
    "red": _check(
        "the new tests are collected and run; each fails by an assertion, or because something is not implemented; "
        "the tests of a criterion notice an implementation that returns an arbitrary value; green tests stay green",
        "tests",
        needs=_TEST,
    ),
    "red_one": _check(
        "exactly one test is new; it is collected, runs, and fails by an assertion, or because something is not "
        "implemented; green tests stay green",
        "tests",
        needs=_TEST,
    ),
    "added": _check(
        "new tests are red, or pass because they test existing behaviour, and then fail without its code; "
        "green tests stay green",
        "tests",
        needs=_TEST,
    ),
    "owed": _check("a test in the manifest fails, so there is something to implement", needs=("test", "names")),
    "green": _check(
        "the whole suite passes; no test is newly skipped, expected to fail, or deleted", "tests", needs=_TEST
    ),
    "green_own_and_baseline": _check("this cycle's tests and everything green before it pass", "tests", needs=_TEST),
    "unbroken": _check(
        "every test that passed where the step began still passes and is collected, unless the step rewrote that test",
        needs=_TEST,
    ),
    "tests_unmodified": _check("test files and the configuration of the tests are as the test author left them"),
    "interface_unmodified": _check("interface files, and the signatures that they hand on, are those of the plan"),
    "interface_exact": _check("the skeleton has exactly the planned signatures"),
    "seen_red": _check(
        "every test of a criterion was seen failing for the right reason; one that was written after the "
        "implementation fails on the skeleton",
        needs=_TEST,
    ),
    "still_red_on_skeleton": _check("changed tests fail on the red checkpoint and pass on head", needs=_TEST),
    "contract_exists": _check("the contract suite exists, is collected, and can fail", needs=_LIST),
    "contract": _check("the contract suite passes", "tests", needs=("test", "names"), runs="contract"),
    "contract_children": _check(
        "the contract tests of all merged children's criteria pass", "tests", needs=_TEST, runs="contract"
    ),
    "judged_child": _check("the child that the exit names is the one that asked to be judged"),
    "manifest": _check(
        "every test in the manifest is collected and stands for a known criterion", "manifest", needs=_LIST
    ),
    "manifest_complete": _check("every criterion has a test in the manifest", "manifest", needs=_LIST),
    "traceable": _check("every new test is in the manifest", needs=_LIST),
    "sharp": _check(
        "the tests of each criterion fail with simple wrong implementations in the skeleton's place", needs=_TEST
    ),
    "coverage_complete": _check(
        "every criterion that was not given to a child has a passing test", "manifest", needs=("test", "names")
    ),
    "plan_covers_criteria": _check("the plan and the children together cover every criterion", "manifest"),
    "children_partition": _check(
        "each child has criteria and paths of its own; a criterion of this node keeps its words; the paths lie inside "
        "of this node's and hold no interface file; "
        "interface files exist and have no unimplemented body; the work of merged children is unchanged",
        "manifest",
    ),
    "modules_cover_criteria": _check("every criterion of the whole belongs to a module"),
    "plan_parses": _check(
        "the plan document yields batches, cycles and signatures, and its cross-references lead somewhere", "manifest"
    ),
    "plan_sound": _check(
        "no dependency or shared file inside a batch, none forward, parallelism 1 to 3; a cycle for every criterion"
    ),
    "plan_as_designed": _check("every signature of the plan stands in the design, letter by letter"),
    "no_undefined": _check("no unimplemented bodies are left"),
    "no_todo": _check("no TODO without an owner"),
    "format": _check("the formatter finds nothing", runs="format"),
    "lint": _check("the linter finds nothing", runs="lint"),
    "post_check": _check("the project's own command succeeds", arg=_LINE),
    "minimal": _check("size of the diff, public symbols that no test reaches"),
    "knows_tests": _check("no code that detects that it is tested, or repeats the tests' expected values"),
    "unsafe_imports": _check("no import that reaches beyond the program"),
    "coverage_kept": _check(
        "the lines of this work that the tests ran before the step are run by them after it", needs=("test", "lines")
    ),
    "scaling": _check("the limits on time and space that the spec names, measured on inputs of growing size"),
    "same_colour": _check(
        "every test has the verdict it had before: red ones are red, green ones green", "tests", needs=_TEST
    ),
    "rebased": _check("the work stands on the new head, without conflict markers", "git"),
    "resolved": _check("no conflict marker of a rebase is left in the files that the role may write"),
    "canon": _check("every symbol a sibling merged has the sibling's signature and body"),
    "mechanical_only": _check("only imports, names, arguments and parameter lists changed"),
    "mechanical_tests": _check("in files of tests, only imports, names, arguments and parameter lists changed"),
    "protection": _check("no changed path needs a person's confirmation, or a person has given it"),
    "disjoint_writes": _check("the tasks' files do not overlap", "manifest"),
    "owned_files": _check("only the task's own files changed"),
    "conflicts_only": _check("only files changed that the last rebase has left in conflict"),
    "both_kept": _check("nothing that others have merged into the documents in conflict is lost"),
    "diff_only": _check("an existing document was amended, not rewritten"),
    "schema": _check("the document exists, written now or before, and parses", "manifest", arg="kind"),
    "clarifications": _check("every question that the scenarios leave open is listed with a suggested answer"),
    "clarified": _check("the scenarios are as they were, except where something in them was unclear"),
    "scenarios_complete": _check(
        "every criterion has a scenario that is tagged with it, and the heading of the document matches its story"
    ),
    "scenarios_tested": _check(
        "every scenario has a test of its own; that of one with an open question is skipped", needs=("test", "names")
    ),
    "scenarios_pass": _check("every scenario has a passing test, and no question is open", needs=("test", "names")),
    "affected_paths": _check("in a contract, only what the delta names has changed"),
    "delta_merged": _check(
        "the design document has everything that the delta adds or changes, and nothing that it removes"
    ),
    "thresholds_known": _check("every threshold that the scenarios refer to is in the table"),
    "thresholds": _check(
        "every threshold that the scenarios refer to is in the table, and its tool reports that it is kept"
    ),
    "memory_true": _check("what was added to the project's memory says what the run's log and tree say"),
    "no_secrets": _check("no credential in the diff"),
    "documents": _check(
        "the documents that the exit returns are well formed, were written, and their cross-references lead somewhere",
        "git",
        "manifest",
    ),
}

REQUIRED: Final = frozenset({"gherkin", "delta"})
"""The kinds of documents without which `schema` refuses; the others a story may do without."""

RECORDS: Final = frozenset({"commit", "commit_once", "checkpoint"})
"""The checks that make the commit of a lane part of the exit: `ClaimVerifier` notes it as pending if they pass."""

FIELDS: Final = frozenset(
    """
    commit commitHash scaffoldCommit suiteCommit testsCommit newBase diff files_changed
    passedTests passed_tests failedTests failingTests failing_tests newTests new_tests pendingTests tests testFiles
    tests_pass tests_fail tests_skip
    covered coveredCriteria pendingCriteria criteria criteriaMap coverageReport coverage lineCoverage scaling advice
    plan batches cycles execution_checklist scenarios open_questions thresholds non_goals complexity parallel_tasks
    owners foundAt
    """.split()
)
"""The fields of an agent's exit that can be computed, by their names."""


def check_name(name: str, arg: str) -> str:
    """Return a check with its argument; without it if that is a shell command, which the report shows."""
    is_line = name in CHECKS and CHECKS[name].arg == _LINE
    return f"{name}:{arg}" if arg and not is_line else name


EFFECTS: Final[dict[str, str]] = {
    "merge": "squash-merge into the parent's branch, verified before it is published",
    "rebase": "put the lanes on the parent's new head",
    "rollback": "reset a lane to its last accepted commit; its contents are saved",
    "fold": "bring an accepted lane into the instance's branch",
    "archive": "move the delta, which the design document now contains, into the archive",
    "publish": "write the protocol's documents to the user's tree, except files that a person has changed",
    "notify": "tell a person",
}

SCOPES: Final = frozenset({"scope", "scope_tests", "scope_src", "owned_files"})
"""Each of these checks limits the files that a writer may change."""

PROOFS: Final[dict[Proof, tuple[frozenset[str], ...]]] = {
    "": (),
    "red": (frozenset({"red", "red_one"}),),
    "green": (frozenset({"green", "green_own_and_baseline"}),),
    "approval": (frozenset({"readonly"}),),
    "contract": (frozenset({"contract", "contract_children"}),),
    "plan": (
        frozenset({"plan_covers_criteria", "plan_parses", "disjoint_writes"}),
        frozenset({"plan_covers_criteria", "plan_sound", "disjoint_writes"}),  # to be parsed is not to be sound
    ),
}
"""An exit that proves something needs one check of each of these sets."""
