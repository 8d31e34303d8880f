"""The checker: what is proved about a protocol before it may run.

Theory of operation
===================

A protocol is finite data, so what can go wrong in a run can be looked for in the table instead of in the run. The
kernel interprets a table without doubts: it assumes that a row exists for whatever happens, that a slot is there when
a template reads it, that a join ends. This module earns those assumptions. Each check is one function with its number;
each looks at a `Subject`: the protocol, its graphs as edges (`flow`), who starts whom (`sites`), and what has been
written where (`known`).

**Nothing is undefined.** Every name exists (3), every exit and every failure has a row of which exactly one applies
(1, 4), no row speaks of what cannot happen (2), guards can be evaluated (18), templates find the variables and fields
they mention (15), numbers are in range (20). So `reduce` never meets a case that the table does not answer.

**Nothing waits for ever.** An instance waits only for an activity, which has a deadline; a person; a pool, which only
running activities hold and which is taken all at once; the barrier of its chunk; its children; or its parent's answer.
A barrier opens, because siblings pass the same sequence of landings (10), are started together (11), and leave by
ending. A join ends, because its group is spawned (13), every outcome of a child is good or handled, and the handler of
a bad one changes the roster before the join is looked at again. An answer comes, because every parent handles the
question and replies on every path with something the asker has a row for (8). A handler runs whenever its instance
runs nothing, stays apart from the work it interrupts and from other handlers (7), and never waits downward or sideways
(14); it may ask upward, which ends at a person. Waiting thus goes down to running activities or up to a person, and no
cycle can close.

**Nothing goes on for ever.** Every loop, also one through children that are started again, charges a budget that
nothing inside it refills, or passes a person (9): the budgets form a lexicographic ranking. Self-routes are bounded by
attempts, and what starts over or moves to a stronger model without counting attempts charges a budget (17). Trees are
bounded by the run's limits. From every step an end can be reached (6), and every step and graph can be come to (5), so
the proof is not about dead text.

**Nothing is believed or lost.** A step starts only where the slots it needs have been written on every path (12): this
is what makes red-before-green and review-before-merge structural. Every exit carries the gates that its computed
fields and its `proves` call for, and says what it proves if it passes such gates; scopes fit the roles, and what is
merged has been approved since it was written (16). Nothing is merged while children are at work (13), and whoever
moves a branch tells those who stand on it (22). Whoever an exit leads to declares that it reads it (19), so no
critique, question or report disappears between two steps. A success names every proof that lies on all ways to it
(21), so none is routed around unnoticed. What somebody decides leads somewhere else than its opposite (23).

What is not proved: that agents are any good, that a person answers, that a command in the project's toolchain ends.

Only things that are declared and never used are warnings; everything else must be repaired before a run.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from treadle.protocol.checks.afresh import fresh_starts_differ, retries_have_attempts
from treadle.protocol.checks.aliases import names_mean_one_thing
from treadle.protocol.checks.answers import questions_are_answered, reply_handlers_answer
from treadle.protocol.checks.approvals import merges_are_approved
from treadle.protocol.checks.arrivals import reports_arrive
from treadle.protocol.checks.barriers import barriers_are_in_step, barriers_need_a_map
from treadle.protocol.checks.branches import moved_branches_are_announced
from treadle.protocol.checks.budgets import budgets_bound_something
from treadle.protocol.checks.children import groups_are_one_thing, nothing_is_finished_early
from treadle.protocol.checks.claims import documents_are_checked, proofs_are_claimed, readers_write_nothing
from treadle.protocol.checks.commands import commands_are_run
from treadle.protocol.checks.confirmations import protected_files_ask_a_person
from treadle.protocol.checks.decisions import decisions_make_a_difference
from treadle.protocol.checks.declarations import declarations_hold_together
from treadle.protocol.checks.delivery import exits_are_delivered
from treadle.protocol.checks.duties import commits_are_guarded, suites_are_built
from treadle.protocol.checks.earnings import successes_are_earned
from treadle.protocol.checks.evidence import exits_are_proved
from treadle.protocol.checks.frames import (
    answers_are_what_was_said,
    handlers_keep_to_themselves,
    questions_reach_a_parent,
)
from treadle.protocol.checks.guards import guards_can_be_read
from treadle.protocol.checks.handlers import handlers_never_wait_below, handlers_stay_apart
from treadle.protocol.checks.items import items_fit_their_graph
from treadle.protocol.checks.joins import joins_end
from treadle.protocol.checks.loops import loops_are_bounded
from treadle.protocol.checks.names import graphs_mention_what_exists
from treadle.protocol.checks.permissions import scopes_make_sense
from treadle.protocol.checks.proofs import proofs_can_be_read
from treadle.protocol.checks.ranges import numbers_make_sense
from treadle.protocol.checks.reach import (
    every_signal_finds_a_handler,
    every_step_is_reachable,
    every_step_reaches_an_end,
)
from treadle.protocol.checks.retries import fresh_starts_are_paid_for
from treadle.protocol.checks.shares import contracts_exist, merges_say_what_earned_them, parts_are_disjoint
from treadle.protocol.checks.slots import needs_are_met
from treadle.protocol.checks.steps import steps_mention_what_exists
from treadle.protocol.checks.subject import Places, Subject
from treadle.protocol.checks.tables import every_exit_is_routed, failures_are_covered, no_stale_rows
from treadle.protocol.checks.templates import templates_fit_their_steps
from treadle.protocol.checks.territory import tests_are_out_of_reach
from treadle.protocol.checks.unused import nothing_is_unused
from treadle.protocol.findings import Finding
from treadle.protocol.model import Protocol

Check = Callable[[Subject], Iterable[Finding]]

CHECKS: Final[dict[str, Check]] = {
    "unrouted_exit": every_exit_is_routed,
    "stale_row": no_stale_rows,
    "undeclared": declarations_hold_together,
    "ambiguous_name": names_mean_one_thing,
    "unknown_target": graphs_mention_what_exists,
    "unknown_part": steps_mention_what_exists,
    "uncovered_failure": failures_are_covered,
    "unreachable_step": every_step_is_reachable,
    "unhandled_signal": every_signal_finds_a_handler,
    "unused": nothing_is_unused,
    "no_way_out": every_step_reaches_an_end,
    "mixed_handler": handlers_stay_apart,
    "handler_without_answer": reply_handlers_answer,
    "unanswered_question": questions_are_answered,
    "unbounded_loop": loops_are_bounded,
    "barrier_out_of_step": barriers_are_in_step,
    "barrier_without_map": barriers_need_a_map,
    "unmet_need": needs_are_met,
    "endless_join": joins_end,
    "handler_waits": handlers_never_wait_below,
    "unfit_template": templates_fit_their_steps,
    "unfit_items": items_fit_their_graph,
    "senseless_scope": scopes_make_sense,
    "unproved_exit": exits_are_proved,
    "unapproved_merge": merges_are_approved,
    "uncharged_retry": fresh_starts_are_paid_for,
    "unreadable_guard": guards_can_be_read,
    "unreadable_proof": proofs_can_be_read,
    "undelivered_exit": exits_are_delivered,
    "number_out_of_range": numbers_make_sense,
}
FINER: Final[dict[str, Check]] = {
    "command_not_run": commands_are_run,
    "handler_strays": handlers_keep_to_themselves,
    "wrong_answer": answers_are_what_was_said,
    "question_without_parent": questions_reach_a_parent,
    "idle_budget": budgets_bound_something,
    "mixed_group": groups_are_one_thing,
    "early_end": nothing_is_finished_early,
    "tests_in_reach": tests_are_out_of_reach,
    "unguarded_commit": commits_are_guarded,
    "unbuilt_suite": suites_are_built,
    "unclaimed_proof": proofs_are_claimed,
    "writing_reader": readers_write_nothing,
    "unchecked_document": documents_are_checked,
    "unasked_protection": protected_files_ask_a_person,
    "overlapping_parts": parts_are_disjoint,
    "unearned_merge": merges_say_what_earned_them,
    "missing_contract": contracts_exist,
    "same_fresh_start": fresh_starts_differ,
    "retry_without_attempts": retries_have_attempts,
    "lost_report": reports_arrive,
    "unearned_success": successes_are_earned,
    "unannounced_branch": moved_branches_are_announced,
    "idle_decision": decisions_make_a_difference,
}
"""Checks of what a protocol means to do. Where one of the others fails, they would say the same in more words."""


def check(protocol: Protocol, places: Places | None = None) -> list[Finding]:
    """Everything that is wrong with a protocol, in the order of the checks; `places` maps dotted paths to lines."""
    subject = Subject(protocol, places)
    found: dict[Finding, str] = {}
    for checks in (CHECKS, FINER):
        if checks is CHECKS or not any(finding.level == "error" for finding in found):
            for word, prove in checks.items():
                for finding in prove(subject):
                    found.setdefault(finding, f"protocol.{word}")
    coded = [msgspec.structs.replace(finding, code=code) for finding, code in found.items()]
    return sorted(coded, key=lambda finding: finding.check)
