"""Delivers the result of a run to the user's branch: by a fast-forward, or rebased and verified again.

The user's branch moves only after the verification, by one compare-and-swap. Everything before that depends only on the
result and the head of the branch, so a killed delivery can be started again.
"""

import secrets
import shlex
from collections.abc import Callable
from itertools import islice
from typing import Final

from treadle.config.project import Project
from treadle.engines.client import login_name
from treadle.engines.evidence import logged_evidence
from treadle.engines.result import find_result, integration_of
from treadle.engines.surroundings import ProjectPorts
from treadle.errors import PortError, TreadleError
from treadle.evidence.merge_verifier import DeliveryFailure
from treadle.git.delivery import MOVED, CarriedResult, Obstacle, carry, fast_forward, find_obstacle, put_verified
from treadle.git.integration import Integration, Trunk
from treadle.git.ref_names import short_ref
from treadle.kernel.events import Event, Reopened, Vouched
from treadle.kernel.instances import ROOT, last_merge
from treadle.kernel.replay import decode_event
from treadle.runtime.desk import Arrival, Desk
from treadle.runtime.world import SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.outcomes import is_good
from treadle.views.result import Result, stray_line, undo_commands

_TRIES: Final = 3
"""The number of times to rebase a result: the branch may move during the verification."""
_MOST_NAMES: Final = 10
CONFLICT: Final = "deliver.conflict"


class DeliveryRefusal(TreadleError):
    """A result was not delivered; no branch has moved."""

    def __init__(
        self, message: str, *, code: str, tests: tuple[str, ...] = (), files: tuple[str, ...] = (), onto: str = ""
    ) -> None:
        super().__init__(message, code=code)
        self.tests = tests
        """The tests that fail with the result on top of the branch."""
        self.files = files
        """The files that both the result and the branch have changed."""
        self.onto = onto
        """The head of the branch that it was tried on."""


async def take_over(project: Project, run: Run) -> Result:
    """Fast-forward the user's branch to a result, as with `git.merge = "auto"`, or raise an error."""
    integration = await integration_of(project, run)
    result = await _require_result(integration, run)
    if not result.taken:
        if result.altered:
            raise _altered_refusal(run.id, result)
        trunk = await integration.trunk(run.id)
        if obstacle := await fast_forward(integration, trunk, result.commit):
            raise _obstacle_refusal(run.id, result, obstacle)
        result = await find_result(integration, run) or result
    return result


async def take_over_rebased(project: Project, store: Store, run: Run, say: Callable[[str], None]) -> Result:
    """Move the user's branch to a result; if the branch has moved, rebase the result onto it and verify it there.

    A person's changes to the result branch are verified as well, even if a fast-forward were possible.
    """
    ports = ProjectPorts(project, store)
    opened, verifier = await ports.for_delivery(run, f"deliver:{secrets.token_hex(4)}")
    integration = opened.integration
    for _ in range(_TRIES):
        result = await _require_result(integration, run)
        if result.taken:
            return result
        trunk = await integration.trunk(run.id)
        commit = result.tip if result.altered else result.commit
        if not commit:
            raise _altered_refusal(run.id, result)
        move = find_obstacle if result.altered else fast_forward
        obstacle = await move(integration, trunk, commit)
        if obstacle is None and not result.altered:
            return await find_result(integration, run) or result
        if obstacle and obstacle.code != MOVED:
            raise _obstacle_refusal(run.id, result, obstacle)
        carried = await _carry(integration, trunk, result, commit, run.id)
        if obstacle := await find_obstacle(integration, trunk, carried.commit):
            if obstacle.code == MOVED:
                continue
            raise _obstacle_refusal(run.id, result, obstacle)
        say(f"verifying the result of {run.id} on top of {result.into}, {carried.onto[:12]}")
        criteria = logged_evidence(store, run.id).criteria
        proofs = {test.id for one in criteria for test in one.tests if test.now == "passed"}
        if result.altered and not proofs and not await opened.repository.is_ancestor(result.commit, commit):
            raise _altered_refusal(
                run.id, result, "it does not contain the verified result, and no test of a criterion could tell"
            )
        if result.altered and (touched := await verifier.tests_changed_by_hand(result.commit, commit)):
            why = f"it changes tests that the run verified, or what they share: {_join_some(tuple(touched))}"
            raise _altered_refusal(
                run.id, result, f"{why}; `git merge --squash {shlex.quote(result.branch)}` merges it unverified"
            )
        # Verify it anew: build, contract suite, whole test suite and the tests that prove the criteria.
        changes = await opened.trees.changes(carried.onto, carried.commit)
        own = {path for change in changes for path in change.touched}
        if failure := await verifier.verify(carried.commit, carried.onto, own, proofs, result.commit):
            raise _unverified_refusal(run.id, result, carried, failure)
        # The result branch first: killed here, the next delivery finds a result that only needs a fast-forward.
        tip = commit if result.altered or result.branch == short_ref(integration.names(run.id).result) else ""
        replaces = result.commit if result.altered else ""
        await put_verified(integration, run.id, carried, tip, replaces, verifier.excused)
    raise PortError(f"the branch of {run.id} keeps moving; try again", retryable=True, code=MOVED)


async def reopen(project: Project, store: Store, run: Run) -> bool:
    """Reopen an ended run at its own rebase step; return False if its protocol has none for the whole run.

    The root moves to its result with the result's base, so its rebase step brings exactly the result onto the branch.
    """
    history = store.load(run.id)
    if not last_merge(history.protocol, history.state)[0]:
        return False
    integration = await integration_of(project, run)
    result = await _require_result(integration, run)
    carried = await carry(integration, await integration.trunk(run.id), result.commit)
    await integration.move(run.id, ROOT, result.commit, carried.base)
    await _append(
        store,
        run,
        lambda now: Reopened(id=f"{run.id}!reopened:{history.state.seq}", ts=now, actor=login_name()),
    )
    return not store.run(run.id).outcome


async def vouch(store: Store, run: Run, note: str) -> None:
    """Record a person's approval to deliver the result of an ended run with unverified criteria."""
    await _append(
        store,
        run,
        lambda now: Vouched(
            id=f"{run.id}!vouched:{run.seq}", ts=now, actor=login_name(), note_ref=store.payloads.put(note)
        ),
    )


async def _append(store: Store, run: Run, event_at: Callable[[int], Event]) -> None:
    """Append an event to the log of an ended run, under its lease."""
    clock = SystemClock()
    lease = await store.take_lease(run.id, clock.now())
    try:
        await Desk(store, lease, clock).process([Arrival(event_at(clock.now()))])
    finally:
        await store.release(lease)


def is_reopened(store: Store, run: Run) -> bool:
    """Whether a delivery has reopened this run, even if the delivery was killed since."""
    return not run.outcome and _was_reopened(store, run)


def has_good_end(store: Store, run: Run) -> bool:
    """Whether a run came to a good end, perhaps before a delivery that was abandoned: its result still exists."""
    return is_good(run.outcome) or (bool(run.outcome) and _was_reopened(store, run))


def _was_reopened(store: Store, run: Run) -> bool:
    return any(isinstance(decode_event(body), Reopened) for _, body in store.events(run.id))


async def _require_result(integration: Integration, run: Run) -> Result:
    result = await find_result(integration, run)
    if result is None:
        raise TreadleError(f"{run.id} has changed nothing, so there is nothing to deliver", code="deliver.nothing")
    return result


async def _carry(integration: Integration, trunk: Trunk, result: Result, commit: str, run: str) -> CarriedResult:
    carried = await carry(integration, trunk, commit)
    if carried.commit:
        return carried
    files = _join_some(carried.conflicts)
    if result.altered:  # the run's own rebase step knows nothing of a person's changes
        raise _altered_refusal(run, result, f"it and {result.into} have both changed {files}", carried)
    refusal = f"Treadle did not move {result.into}: the result of {run} and {result.into} have both changed {files}"
    by_hand = f"`git merge --squash {shlex.quote(result.branch)}` merges it by hand, and you resolve the conflicts"
    raise DeliveryRefusal(f"{refusal}; {by_hand}", code=CONFLICT, files=carried.conflicts, onto=carried.onto)


def _unverified_refusal(run: str, result: Result, carried: CarriedResult, failure: DeliveryFailure) -> DeliveryRefusal:
    refusal = (
        f"Treadle did not move {result.into}: the result of {run} fails on top of {carried.onto[:12]} ({failure.what}"
    )
    tests = f": {_join_some(failure.tests)})" if failure.tests else ")"
    look = f"`git diff {carried.onto[:12]} {carried.commit[:12]}` shows the attempt"
    text = f"{refusal}{tests}; {look}, and {result.branch} is unchanged\n{failure.details}".rstrip()
    return DeliveryRefusal(text, code="deliver.unverified", tests=failure.tests, onto=carried.onto)


def _altered_refusal(run: str, result: Result, why: str = "", carried: CarriedResult | None = None) -> DeliveryRefusal:
    """Return the refusal for a result branch that is not at the verified commit and cannot be delivered as it is."""
    ways = "; ".join(f"`{command}` {what}" for command, what in islice(undo_commands(run, result), 1 if why else 2))
    state = f"the branch {result.branch} {stray_line(result)}; the verified result is {result.commit[:12]}"
    what = f"Treadle did not move {result.into or 'your branch'}: {state}"
    text = "; ".join(part for part in (what, why, ways) if part)
    onto, files = (carried.onto, carried.conflicts) if carried else ("", ())
    return DeliveryRefusal(text, code="deliver.branch_moved", files=files, onto=onto)


def _obstacle_refusal(run: str, result: Result, obstacle: Obstacle) -> DeliveryRefusal:
    """Return the refusal for an obstacle, with the command that gets the user the result in spite of it."""
    branch = shlex.quote(result.branch)
    by_hand = f"`git merge --squash {branch}`"
    match obstacle.code:
        case "deliver.detached":
            way = f"on any branch, {by_hand} merges it, and `git branch NAME {branch}` makes a branch of it"
        case "deliver.bare":
            way = f"{by_hand} merges it by hand"
        case "deliver.moved":
            way = f"`treadle deliver {shlex.quote(run)} --rebase` rebases the result onto it, and verifies it there"
        case _:
            way = f"fix that, then `treadle deliver {shlex.quote(run)}{' --rebase' if result.moved else ''}`"
    what = f"Treadle did not move {result.into or 'your branch'}: {obstacle.why}"
    return DeliveryRefusal(f"{what}; {way}", code=obstacle.code)


def _join_some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
