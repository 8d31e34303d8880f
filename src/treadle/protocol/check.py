"""The checker: it proves that a protocol is safe to run.

Theory of operation
===================

A protocol is finite data, so the checker can look for a run's faults in the table instead of in the run. The kernel
interprets a table without doubts: it assumes that a row exists for every event, that a slot is there when a template
reads it, that a join ends. This module earns those assumptions. Each check is one function with its number; each looks
at a `ProtocolSubject`: the protocol, its graphs as edges (`flows`), the places where graphs start children (`sites`),
and the slots written before each step (`known`).

**Nothing is undefined.** Every name exists (3), every exit and every failure has rows of which exactly one applies (1,
4), every row can apply (2), guards can be evaluated (18), templates find the variables and fields they mention (15),
numbers are in range (20). So `reduce` never meets a case that the table does not answer.

**Nothing waits for ever.** An instance waits only for an activity, which has a deadline; a person; a pool, which only
running activities occupy and which they acquire all at once; the barrier of its chunk; its children; or its parent's
answer. A barrier opens, because siblings pass the same sequence of landings (10), are started together (11), and leave
by ending. A join ends, because its group is spawned (13), every outcome of a child is good or handled, and the handler
of a bad one changes the roster before the kernel looks at the join again. An answer comes, because every parent handles
the question and replies on every path with something the asker has a row for (8). A handler runs whenever its instance
runs nothing, stays apart from the work it interrupts and from other handlers (7), and never waits downward or sideways
(14); it may ask upward, which ends at a person. Waiting thus goes down to running activities or up to a person, and no
cycle can close.

**Nothing goes on for ever.** Every loop, also one through children that are started again, charges a budget that
nothing inside it refills, or passes a person (9): the budgets form a lexicographic ranking. Attempts bound self-routes,
and a row that starts over or moves to a stronger model without counting attempts charges a budget (17). The run's
limits bound trees. From every step a path leads to an end (6), and every step and graph is reachable (5), so the proof
is not about dead text.

**Nothing is believed or lost.** A step starts only where the slots it needs have been written on every path (12): this
makes red-before-green and review-before-merge structural. Every exit carries the gates that its computed fields and its
`proves` call for, and declares its proof if it passes such gates; scopes fit the roles, and work is approved after its
last change and before its merge (16). Nothing is merged while children are at work (13), and a graph that moves a
branch signals the instances that stand on it (22). The step an exit leads to declares that it reads the exit (19), so
no critique, question or report disappears between two steps. A success names every proof that lies on all ways to it
(21), so none is routed around unnoticed. A decision leads to another place than its opposite (23).

Not proved: that agents are any good, that a person answers, that a command in the project's toolchain ends.

Two findings are warnings: a declaration that is never used, and a step that may break tests unnoticed, which the merge
catches at the expense of another step. Everything else must be repaired before a run.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from treadle.protocol.checks import (
    children,
    commits,
    declarations,
    evidence,
    guards,
    handlers,
    names,
    permissions,
    tables,
    templates,
    termination,
)
from treadle.protocol.checks.subject import Places, ProtocolSubject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Protocol

Check = Callable[[ProtocolSubject], Iterable[Finding]]

CHECKS: Final[dict[str, Check]] = {
    "unrouted_exit": tables.every_exit_is_routed,
    "stale_row": tables.no_stale_rows,
    "undeclared": declarations.declarations_hold_together,
    "ambiguous_name": declarations.aliases_are_unambiguous,
    "unknown_target": names.graph_names_exist,
    "unknown_part": names.step_names_exist,
    "uncovered_failure": tables.failures_are_covered,
    "unreachable_step": termination.every_step_is_reachable,
    "unhandled_signal": termination.every_signal_finds_a_handler,
    "unused": declarations.nothing_is_unused,
    "no_way_out": termination.every_step_reaches_an_end,
    "mixed_handler": handlers.handlers_stay_apart,
    "handler_without_answer": handlers.reply_handlers_answer,
    "unanswered_question": handlers.questions_are_answered,
    "unbounded_loop": termination.loops_are_bounded,
    "barrier_out_of_step": children.barriers_are_in_step,
    "barrier_without_map": children.barriers_need_a_map,
    "unmet_need": tables.needs_are_met,
    "endless_join": children.joins_end,
    "handler_waits": handlers.handlers_never_wait_below,
    "unfit_template": templates.templates_fit_their_steps,
    "unfit_items": children.items_fit_their_graph,
    "senseless_scope": permissions.scopes_make_sense,
    "unproved_exit": evidence.exits_are_proved,
    "unapproved_merge": commits.merges_are_approved,
    "uncharged_retry": termination.fresh_starts_are_paid_for,
    "unreadable_guard": guards.guards_can_be_read,
    "unreadable_proof": guards.proofs_can_be_read,
    "undelivered_exit": tables.exits_are_delivered,
    "number_out_of_range": declarations.numbers_make_sense,
}
FINER: Final[dict[str, Check]] = {
    "command_not_run": declarations.commands_are_run,
    "handler_strays": handlers.handlers_keep_to_themselves,
    "wrong_answer": handlers.answers_keep_their_names,
    "question_without_parent": handlers.questions_reach_a_parent,
    "idle_budget": termination.budgets_bound_something,
    "mixed_group": children.groups_hold_one_graph,
    "early_end": children.ends_wait_for_children,
    "tests_in_reach": commits.tests_are_out_of_reach,
    "unguarded_commit": commits.commits_are_guarded,
    "unnoticed_break": commits.commits_break_nothing,
    "unbuilt_suite": commits.suites_are_built,
    "unclaimed_proof": evidence.proofs_are_claimed,
    "writing_reader": evidence.readers_write_nothing,
    "unchecked_document": evidence.documents_are_checked,
    "unasked_protection": permissions.protected_files_ask_a_person,
    "overlapping_parts": commits.parts_are_disjoint,
    "unearned_merge": commits.merges_need_a_proof,
    "missing_contract": commits.contracts_exist,
    "same_fresh_start": termination.fresh_starts_differ,
    "retry_without_attempts": termination.retries_have_attempts,
    "lost_report": tables.reports_arrive,
    "unearned_success": evidence.successes_are_earned,
    "unannounced_branch": commits.moved_branches_are_announced,
    "idle_decision": tables.decisions_make_a_difference,
}
"""Checks of a protocol's intent. They run only if the others find no error, which they would repeat in more words."""


def check(protocol: Protocol, places: Places | None = None) -> list[Finding]:
    """Everything that is wrong with a protocol, in the order of the checks; `places` maps dotted paths to lines."""
    subject = ProtocolSubject(protocol, places)
    found: dict[Finding, str] = {}
    for checks in (CHECKS, FINER):
        if checks is CHECKS or not any(finding.level == "error" for finding in found):
            for word, prove in checks.items():
                for finding in prove(subject):
                    found.setdefault(finding, f"protocol.{word}")
    coded = [msgspec.structs.replace(finding, code=code) for finding, code in found.items()]
    return sorted(coded, key=lambda finding: finding.check)
