"""The evidence of a run as its log has it now, for those who act on it: the delivered commit, and a delivery."""

from functools import cache

from treadle.engines.pinned import pinned
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Evidence
from treadle.views.evidence_log import Record
from treadle.views.evidence_of import Beside, evidence


def evidence_now(store: Store, run: Run) -> Evidence:
    """What is proved of a run so far. It depends on the log alone, never on the time."""
    chronicle, record = Chronicle(cache(store.protocol)), Record()
    for body, _ in store.tail(run.id)[1]:
        record.take(chronicle.take(body))
    roles = chronicle.protocol.roles if chronicle.protocol else {}
    settings = pinned(run)
    agents = {role: settings.agent_of(role) for role in roles}
    beside = Beside(run=run.id, name=run.name, agents=agents, strays=tuple(store.strays(run.id)))
    return evidence(chronicle, record, store.payloads.get, beside, chronicle.state.now)
