"""Documents that programs read are the same for the same store: `evidence --json` and the files of the memory bank
and of stories, at the end and after every event.

A store of an older version is read, so that a difference is one of this version. `documents.json` has the digest of
each document; a change of one on purpose puts the new digest there, with a line in the changelog.
"""

import json
import lzma
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tools.golden import GOLDEN
from treadle.store.sqlite import Store
from treadle.views.bank import bank
from treadle.views.chronicle import Chronicle
from treadle.views.evidence_verdict import EvidenceInputs, gather_evidence
from treadle.views.story_files import story_files

DIGESTS: dict[str, dict[str, str]] = json.loads((GOLDEN / "documents.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", DIGESTS)
def test_documents_of_a_kept_store_are_byte_identical(name: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(lzma.decompress((GOLDEN / "1" / f"{name}.db.xz").read_bytes()))
    store = Store(path)
    run = store.runs()[0]
    log = Chronicle(store.protocol)
    texts, history = dict[str, str](), sha256()
    for body, _ in store.tail(run.id)[1]:
        log.take(body)
        # The last state of a good run has no open question and no refused claim; the states before it do.
        texts = {**bank(log, store.payloads.get), **story_files(log, store.payloads.get)}
        history.update(msgspec.json.encode(texts))
    inputs = EvidenceInputs(run=run.id, name=run.name, agents={}, strays=tuple(store.strays(run.id)))
    evidence = gather_evidence(log, store.payloads.get, inputs, log.state.now)
    documents = {"evidence": msgspec.json.encode(evidence)}
    documents |= {place: text.encode() for place, text in bank(log, store.payloads.get).items()}
    store.close()
    digests = {one: sha256(data).hexdigest() for one, data in documents.items()}
    if texts:
        digests["files after every event"] = history.hexdigest()
    assert digests == DIGESTS[name]
