"""Takes the result of a run over into the user's branch: by a fast-forward, or rebased and verified again first.

Nothing of the user's moves before all is verified, and then by one compare-and-swap. Everything up to that is a
function of the result and the head of the branch, so that a delivery that was killed can be started again.
"""

import secrets
import shlex
from collections.abc import Callable
from typing import Final

from treadle.config.project import Project
from treadle.engines.client import login_name
from treadle.engines.evidence import logged_evidence
from treadle.engines.project_ports import ProjectPorts
from treadle.engines.result import find_result, integration_of
from treadle.errors import PortError, TreadleError
from treadle.evidence.merge_verifier import DeliveryVerifier, Failure
from treadle.git.delivery import MOVED, Carried, Obstacle, carry, fast_forward, find_obstacle, put_verified
from treadle.git.integration import Integration, Trunk
from treadle.git.trees import Trees
from treadle.kernel.events import Reopened, Vouched
from treadle.kernel.lifecycle import ROOT, last_merge
from treadle.kernel.replay import decode_event
from treadle.runtime.clock import SystemClock
from treadle.runtime.desk import Desk
from treadle.runtime.inbox import Arrival
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.result import Result, is_good

_TRIES: Final = 3
"""How often a result is rebased: others may move the branch while it is verified."""
_NAMED: Final = 10
CONFLICT: Final = "deliver.conflict"


class DeliveryRefusal(TreadleError):
    """A result was not delivered; nothing has moved."""

    def __init__(
        self, message: str, *, code: str, tests: tuple[str, ...] = (), files: tuple[str, ...] = (), onto: str = ""
    ) -> None:
        super().__init__(message, code=code)
        self.tests = tests
        """Those that fail with the result on top of the branch."""
        self.files = files
        """Those that both the result and the branch have changed."""
        self.onto = onto
        """The head of the branch that it was tried on."""


async def take_over(project: Project, run: Run) -> Result:
    """Move the user's branch forward to a result, by the rules of `git.merge = "auto"`; an error says why not."""
    integration = await integration_of(project, run)
    found = await _existing(integration, run)
    if not found.taken:
        trunk = await integration.begin(run.id)
        if obstacle := await fast_forward(integration, trunk, found.commit):
            raise _refusal(run.id, found, obstacle)
        found = await find_result(integration, run) or found
    return found


async def take_over_rebased(project: Project, store: Store, run: Run, say: Callable[[str], None]) -> Result:
    """Move the user's branch forward to a result that is rebased onto it and verified there, if it has moved."""
    ports = ProjectPorts(project, store)
    opened, verifier = await ports.for_delivery(run, f"deliver:{secrets.token_hex(4)}")
    integration = opened.integration
    for _ in range(_TRIES):
        found = await _existing(integration, run)
        if found.taken:
            return found
        trunk = await integration.begin(run.id)
        obstacle = await fast_forward(integration, trunk, found.commit)
        if obstacle is None:
            return await find_result(integration, run) or found
        if obstacle.code != MOVED:
            raise _refusal(run.id, found, obstacle)
        carried = await _carry(integration, trunk, found, run.id)
        if obstacle := await find_obstacle(integration, trunk, carried.commit):
            if obstacle.code == MOVED:
                continue
            raise _refusal(run.id, found, obstacle)
        say(f"verifying the result of {run.id} on top of {found.into}, {carried.onto[:12]}")
        if failure := await _verify(verifier, store, run, opened.trees, carried):
            raise _unverified(run.id, found, carried, failure)
        # The result branch first: killed here, the next delivery finds a result that only needs a fast-forward.
        await put_verified(integration, run.id, carried)
    raise PortError(f"the branch of {run.id} does not hold still; try again", retryable=True, code=MOVED)


async def reopen(project: Project, store: Store, run: Run) -> bool:
    """Take an ended run up again at its own rebase step; False if its protocol has none for the whole run.

    The root stands on what its result stands on, so that its rebase step brings exactly the result onto the branch.
    """
    history = store.load(run.id)
    if not last_merge(history.protocol, history.state)[0]:
        return False
    integration, clock = await integration_of(project, run), SystemClock()
    found = await _existing(integration, run)
    carried = await carry(integration, await integration.begin(run.id), found.commit)
    await integration.move(run.id, ROOT, found.commit, carried.base)
    lease = await store.claim(run.id, clock.now())
    try:
        event = Reopened(id=f"{run.id}!reopened:{history.state.seq}", ts=clock.now(), actor=login_name())
        await Desk(store, lease, clock).take([Arrival(event)])
    finally:
        await store.release(lease)
    return not store.run(run.id).outcome


async def vouch(store: Store, run: Run, note: str) -> None:
    """Record a person's word that the result of an ended run may be delivered, though criteria are not verified."""
    clock = SystemClock()
    lease = await store.claim(run.id, clock.now())
    try:
        id_ = f"{run.id}!vouched:{run.seq}"
        event = Vouched(id=id_, ts=clock.now(), actor=login_name(), note_ref=store.payloads.put(note))
        await Desk(store, lease, clock).take([Arrival(event)])
    finally:
        await store.release(lease)


def is_reopened(store: Store, run: Run) -> bool:
    """Whether a run goes on because of a delivery, which was perhaps killed since."""
    return not run.outcome and _was_reopened(store, run)


def has_good_end(store: Store, run: Run) -> bool:
    """Whether a run has come to a good end, if only before a delivery that was given up: its result is still there."""
    return is_good(run.outcome) or (bool(run.outcome) and _was_reopened(store, run))


def _was_reopened(store: Store, run: Run) -> bool:
    return any(isinstance(decode_event(body), Reopened) for _, body in store.events(run.id))


async def _existing(integration: Integration, run: Run) -> Result:
    found = await find_result(integration, run)
    if found is None:
        raise TreadleError(f"{run.id} has changed nothing; there is nothing to take over", code="deliver.nothing")
    return found


async def _carry(integration: Integration, trunk: Trunk, found: Result, run: str) -> Carried:
    carried = await carry(integration, trunk, found.commit)
    if carried.commit:
        return carried
    files = _some(carried.conflicts)
    said = f"{found.into} was not moved: the result of {run} and {found.into} have both changed {files}"
    by_hand = f"`git merge --squash {shlex.quote(found.branch)}` takes it over by hand, with the conflicts to resolve"
    raise DeliveryRefusal(f"{said}; {by_hand}", code=CONFLICT, files=carried.conflicts, onto=carried.onto)


async def _verify(verifier: DeliveryVerifier, store: Store, run: Run, trees: Trees, carried: Carried) -> Failure | None:
    """Build, contract suite, whole test suite and the tests of the criteria, on the rebased result."""
    own = {path for change in await trees.changes(carried.onto, carried.commit) for path in change.touched}
    criteria = logged_evidence(store, run.id).criteria
    proofs = {test.id for one in criteria for test in one.tests if test.now == "passed"}
    return await verifier.verify(carried.commit, carried.onto, own, proofs)


def _unverified(run: str, found: Result, carried: Carried, failure: Failure) -> DeliveryRefusal:
    said = (
        f"{found.into} was not moved: the result of {run} does not hold on top of {carried.onto[:12]} ({failure.what}"
    )
    tests = f": {_some(failure.tests)})" if failure.tests else ")"
    look = f"`git diff {carried.onto[:12]} {carried.commit[:12]}` shows what was tried"
    text = f"{said}{tests}; {look}, and {found.branch} is as it was\n{failure.details}".rstrip()
    return DeliveryRefusal(text, code="deliver.unverified", tests=failure.tests, onto=carried.onto)


def _refusal(run: str, found: Result, obstacle: Obstacle) -> DeliveryRefusal:
    what = f"{found.into or 'your branch'} was not moved: {obstacle.why}"
    return DeliveryRefusal(f"{what}; {_way(run, found, obstacle)}", code=obstacle.code)


def _way(run: str, found: Result, obstacle: Obstacle) -> str:
    """What gets the user the result in spite of an obstacle."""
    branch = shlex.quote(found.branch)
    by_hand = f"`git merge --squash {branch}`"
    match obstacle.code:
        case "deliver.detached":
            return f"on any branch, {by_hand} takes it over, and `git branch NAME {branch}` makes it one"
        case "deliver.bare":
            return f"{by_hand} takes it over by hand"
        case "deliver.moved":
            return f"`treadle deliver {shlex.quote(run)} --rebase` puts the result on top of it, and verifies it there"
    return f"mend that, then `treadle deliver {shlex.quote(run)}{' --rebase' if found.moved else ''}`"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
