"""Every check by its name; the vocabulary of protocols has the same names."""

from collections.abc import Awaitable, Callable
from typing import Final

from treadle.evidence.checks.added_code import minimal, no_secrets, no_todo, no_undefined, unsafe_imports
from treadle.evidence.checks.commits import (
    both_kept,
    canon,
    checkpoint,
    commit,
    commit_once,
    mechanical_only,
    mechanical_tests,
    readonly,
    rebased,
    resolved,
)
from treadle.evidence.checks.contract import (
    contract,
    contract_children,
    contract_exists,
    interface_exact,
    interface_unmodified,
)
from treadle.evidence.checks.coverage import coverage_complete, coverage_kept, manifest, manifest_complete, traceable
from treadle.evidence.checks.design import affected_paths, delta_merged
from treadle.evidence.checks.documents import check_documents, diff_only, schema
from treadle.evidence.checks.green import green, green_own_and_baseline, measure, owed, same_colour, unbroken
from treadle.evidence.checks.knows_tests import knows_tests
from treadle.evidence.checks.memory_facts import memory_true
from treadle.evidence.checks.partition import children_partition, disjoint_writes, judged_child, plan_covers_criteria
from treadle.evidence.checks.plan import modules_cover_criteria, plan_as_designed, plan_parses, plan_sound
from treadle.evidence.checks.project import build, format_, lint, post_check
from treadle.evidence.checks.red import added, red, red_one, seen_red, sharp, still_red_on_skeleton
from treadle.evidence.checks.scaling import scaling
from treadle.evidence.checks.scenarios import (
    clarifications,
    clarified,
    scenarios_complete,
    scenarios_pass,
    scenarios_tested,
)
from treadle.evidence.checks.scope import (
    conflicts_only,
    owned_files,
    protection,
    scope,
    scope_src,
    scope_tests,
    tests_unmodified,
)
from treadle.evidence.checks.thresholds import thresholds, thresholds_known
from treadle.evidence.findings import CheckOutcome
from treadle.evidence.subject import Subject

Check = Callable[[Subject], Awaitable[CheckOutcome]]

CHECKS: Final[dict[str, Check]] = {
    "commit": commit,
    "commit_once": commit_once,
    "checkpoint": checkpoint,
    "scope": scope,
    "scope_tests": scope_tests,
    "scope_src": scope_src,
    "readonly": readonly,
    "build": build,
    "measure": measure,
    "red": red,
    "red_one": red_one,
    "added": added,
    "owed": owed,
    "green": green,
    "green_own_and_baseline": green_own_and_baseline,
    "unbroken": unbroken,
    "tests_unmodified": tests_unmodified,
    "interface_unmodified": interface_unmodified,
    "interface_exact": interface_exact,
    "seen_red": seen_red,
    "still_red_on_skeleton": still_red_on_skeleton,
    "contract_exists": contract_exists,
    "contract": contract,
    "contract_children": contract_children,
    "judged_child": judged_child,
    "manifest": manifest,
    "manifest_complete": manifest_complete,
    "traceable": traceable,
    "sharp": sharp,
    "coverage_complete": coverage_complete,
    "plan_covers_criteria": plan_covers_criteria,
    "children_partition": children_partition,
    "modules_cover_criteria": modules_cover_criteria,
    "plan_parses": plan_parses,
    "plan_sound": plan_sound,
    "plan_as_designed": plan_as_designed,
    "no_undefined": no_undefined,
    "no_todo": no_todo,
    "format": format_,
    "lint": lint,
    "post_check": post_check,
    "minimal": minimal,
    "knows_tests": knows_tests,
    "unsafe_imports": unsafe_imports,
    "coverage_kept": coverage_kept,
    "scaling": scaling,
    "same_colour": same_colour,
    "rebased": rebased,
    "resolved": resolved,
    "canon": canon,
    "mechanical_only": mechanical_only,
    "mechanical_tests": mechanical_tests,
    "protection": protection,
    "disjoint_writes": disjoint_writes,
    "owned_files": owned_files,
    "conflicts_only": conflicts_only,
    "both_kept": both_kept,
    "diff_only": diff_only,
    "schema": schema,
    "clarifications": clarifications,
    "clarified": clarified,
    "scenarios_complete": scenarios_complete,
    "scenarios_tested": scenarios_tested,
    "scenarios_pass": scenarios_pass,
    "affected_paths": affected_paths,
    "delta_merged": delta_merged,
    "thresholds_known": thresholds_known,
    "thresholds": thresholds,
    "memory_true": memory_true,
    "no_secrets": no_secrets,
    "documents": check_documents,
}

_POINTLESS: Final[dict[str, frozenset[str]]] = {
    "commit": frozenset(CHECKS) - {"commit"},
    "commit_once": frozenset(CHECKS) - {"commit_once"},
    "build": frozenset(
        {
            "red",
            "red_one",
            "added",
            "owed",
            "green",
            "green_own_and_baseline",
            "unbroken",
            "same_colour",
            "seen_red",
            "still_red_on_skeleton",
            "contract",
            "contract_children",
            "coverage_complete",
            "coverage_kept",
            "contract_exists",
            "manifest",
            "manifest_complete",
            "traceable",
            "sharp",
            "scenarios_tested",
            "scenarios_pass",
            "thresholds",
        }
    ),
    "rebased": frozenset({"canon", "mechanical_only", "mechanical_tests", "build", "same_colour"}),
    "plan_parses": frozenset({"plan_sound", "plan_as_designed"}),
}
POINTLESS_AFTER: Final[dict[str, frozenset[str]]] = {
    name: _POINTLESS.get(name, frozenset()) | ({"protection"} - {name}) for name in CHECKS
}
"""Checks that a failed check makes pointless, such as those of tests after a failed build."""
