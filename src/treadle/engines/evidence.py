"""Reads the evidence and the memory bank of a run from the store and the repository.

The same evidence decides about merges of an instance: `GitEffects` asks `merge_gaps` before it merges.
"""

import time
from contextlib import suppress

from treadle.config.project import Project
from treadle.engines.result import result_of
from treadle.engines.run_settings import agents_of, settings_of
from treadle.errors import PortError
from treadle.evidence.subject import ProofSoFar
from treadle.git.ref_names import RefNames
from treadle.git.refs import Refs, refs_of_run
from treadle.git.repository import open_repository
from treadle.git.trees import Trees
from treadle.kernel.state import State
from treadle.protocol.artifacts import is_document, is_view, path_matcher
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.runtime.view_files import GrowingLog
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.bank import Texts, accepted_documents, bank
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Evidence
from treadle.views.evidence_verdict import (
    EvidenceInputs,
    gather_evidence,
    proof_so_far,
    proved_tests,
    unverified_criteria,
)
from treadle.views.result import Result


async def stored_evidence(project: Project, store: Store, run: str) -> Evidence:
    """Return the evidence of a run, from its log, its payloads and the repository."""
    return (await chronicle_and_evidence(project, store, run))[1]


async def chronicle_and_evidence(project: Project, store: Store, run: str) -> tuple[Chronicle, Evidence]:
    """Return a run's history, and the evidence that follows from it."""
    result = await result_of(project, store.run(run))
    log = GrowingLog(store, run)
    return log, evidence_of(log, result)


def logged_evidence(store: Store, run: str) -> Evidence:
    """Return the evidence of a run from its log and payloads, without the result's location in the repository."""
    return evidence_of(GrowingLog(store, run))


def evidence_of(log: GrowingLog, result: Result | None = None) -> Evidence:
    """Return the evidence that follows from a run's log so far."""
    record, store = log.catch_up(), log.store
    settings = settings_of(record)
    inputs = EvidenceInputs(
        run=record.id,
        name=record.name,
        agents=agents_of(record, log.protocol),
        strays=tuple(store.strays(record.id)),
        result=result,
        baseline=settings.baseline,
        minimum=settings.minimum,
    )
    return gather_evidence(log, store.payloads.get, inputs, time.time_ns() // 1_000_000)


def logged_proof(log: GrowingLog, inst: str) -> ProofSoFar:
    """Return the tests of an instance that the log has shown failing: the checks ask the view that decides merges."""
    log.catch_up()
    return proof_so_far(log, log.store.payloads.get, inst)


def logged_proved_tests(log: GrowingLog, inst: str) -> frozenset[str]:
    """Return the tests that prove criteria of an instance, and of those below it, with judge and subject apart."""
    log.catch_up()
    return proved_tests(log, log.store.payloads.get, inst)


def merge_gaps(log: GrowingLog, inst: str) -> list[dict[str, Json]]:
    """Return the gaps of an instance's criteria: neither the evidence of the log nor a person accepts these criteria.

    The evidence view of the current log answers, so a merge and the page never disagree.
    """
    minimum = settings_of(log.catch_up()).minimum
    return [
        {"code": code, "what": gap, "criterion": one.id, "spec": one.spec, "instance": one.instance}
        for one in unverified_criteria(log, log.store.payloads.get, inst, minimum)
        for gap, code in zip(one.missing, one.codes, strict=True)
    ]


# The memory bank of a run: documents made from its log, and documents written by its agents.


async def read_bank(project: Project, run: Run, log: GrowingLog) -> Texts:
    """Return artifact → path → text of the accepted documents; documents not written yet are missing."""
    protocol, get = log.protocol, log.store.payloads.get
    if protocol is None:
        return {}
    texts_of_views = bank(log, get)
    views = {name: {one.path: texts_of_views[one.path]} for name, one in protocol.artifacts.items() if is_view(one)}
    documents = await _committed_documents(project, run, log.state, protocol)
    for name, texts in accepted_documents(protocol, log, get).items():
        documents[name] = documents.get(name, {}) | texts
    return views | documents


async def _committed_documents(project: Project, run: Run, state: State, protocol: Protocol) -> Texts:
    """Return the documents on the branches of a run's instances; the root's win, then those of the latest instance."""
    documents = [(name, one) for name, one in protocol.artifacts.items() if is_document(one) and not is_view(one)]
    texts: Texts = {}
    with suppress(PortError):
        repository = await open_repository(project)
        trees, names = Trees(repository), RefNames(run.id, settings_of(run).config.git.branch_prefix)
        heads = await refs_of_run(repository, Refs(repository), names)
        latest = sorted(state.insts.values(), key=lambda it: (it.parent == "", it.n))
        commits = [heads[ref] for it in latest if (ref := names.integration(it.id)) in heads]
        for commit in dict.fromkeys(commits):
            paths = [entry.path for entry in await trees.entries(commit)]
            for name, artifact in documents:
                listed = list(filter(path_matcher(artifact), paths))
                for path, data in (await trees.shows(commit, listed)).items():
                    if data is not None:
                        texts.setdefault(name, {})[path] = data.decode(errors="replace")
    return texts
