"""Keeps what a version of Treadle writes: the store of a finished run of each protocol, and what is read from it.

python -m tools.golden 2 v3 fractal    performs these demos and writes tests/golden/2/NAME.db.xz and NAME.json

A released set is never written anew: later versions read it as it is (`tests/golden/test_golden.py`).
"""

import lzma
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from treadle.engines.run_settings import settings_of
from treadle.kernel.state import dump_state
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle
from treadle.views.evidence_verdict import EvidenceInputs, gather_evidence
from treadle.views.status import condition

GOLDEN: Final = Path(__file__).parents[1] / "tests" / "golden"


def essentials(store: Store, run: str) -> dict[str, Any]:
    """What every later version has to read from a store."""
    audit, record, log = store.audit(run), store.run(run), Chronicle(store.protocol)
    for body, _ in store.tail(run)[1]:
        log.take(body)
    state, protocol = log.state, log.protocol
    proved = gather_evidence(log, store.payloads.get, EvidenceInputs(run=run, name=record.name, agents={}), state.now)
    return {
        "run": run,
        "protocol": protocol.name if protocol else "",
        "digest": state.protocol,
        "agents": settings_of(record).agents,
        "events": audit.events,
        "payloads": audit.payloads,
        "chain": audit.chain,
        "state": sha256(dump_state(store.load(run).state)).hexdigest(),
        "status": condition(protocol, state),
        "outcome": audit.outcome,
        "instances": {one.id: one.outcome for one in proved.instances},
        "criteria": [[one.instance, one.id, one.standing] for one in proved.criteria],
        "accepted": [one.act for one in proved.accepted],
        "setbacks": [one.act for one in proved.setbacks],
        "decisions": [one.choice for one in proved.decisions],
    }


def keep(source: Path, folder: Path, name: str) -> None:
    """Write a copy of a store, without the project's own keys, and its essentials."""
    with TemporaryDirectory() as place:
        path = Path(place) / "store.db"
        copy = sqlite3.connect(path)
        sqlite3.connect(source).backup(copy)
        copy.execute("DELETE FROM keys")
        copy.commit()
        copy.execute("VACUUM")
        copy.close()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.db.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
        store = Store(path)
        found = essentials(store, store.runs()[0].id)
        store.close()
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    (folder / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def perform(number: str, name: str) -> None:
    """Perform the demo of a protocol, and keep its store."""
    with TemporaryDirectory() as place:
        words = [sys.executable, "-m", "treadle", "demo", name, "--protocol", name]
        subprocess.run(words, cwd=place, check=True, stdout=subprocess.DEVNULL)
        keep(Path(place) / name / ".treadle" / "local" / "store.db", GOLDEN / number, name)


if __name__ == "__main__":
    for protocol in sys.argv[2:]:
        perform(sys.argv[1], protocol)
