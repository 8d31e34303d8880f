"""A store that is damaged, foreign, locked or full: told in words, with what to do, and left exactly as it is."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from tests.recorded import record
from tests.store.runs import NOW, begin, says, store_with_run
from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Replied
from treadle.kernel.state import dump_state
from treadle.store.connection import VERSION
from treadle.store.sqlite import Store

READERS = (["runs"], ["status", "r"], ["log", "r"], ["cost", "r"], ["replay", "r"])
WRITERS = (["resume", "r"], ["abort", "r"], ["gc", "--older-than", "0"])
DAMAGED = "the store is damaged, and nothing was written to it; copy the .treadle/local folder"
BACKUP = "restore a backup of .treadle/local"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with an unfinished run in it, and a snapshot of that."""
    state = record(tmp_path, refuses=99, stops=0)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".treadle" / "local" / "store.db"
    body = dump_state(state)
    values = ("r", state.seq, state.protocol, zlib.compress(body), sha256(body).digest())
    change(path, "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)", values)
    return path


def change(path: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    db = sqlite3.connect(path)
    with db:
        assert db.execute(statement, values).rowcount
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def contents(path: Path) -> dict[str, list[object]]:
    """What must never be lost; who holds a lease is of the moment."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = ("events", "snapshots", "payloads", "chunks", "protocols", "inbox", "outbox", "timers")
    found = {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    db.close()
    return found


def refuses(command: list[str], said: str) -> None:
    outcome = treadle(*command)
    assert outcome.code in (1, 2), (command, outcome)
    assert said in outcome.err, (command, outcome.err)
    assert "Traceback" not in outcome.err


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _beheaded(path: Path) -> None:
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


def _text(path: Path) -> None:
    path.write_text("this is not a database\n" * 200, encoding="utf-8")


def _foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE precious (things)")
    db.close()


def _newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "half of it": (_truncated, DAMAGED),
    "without its head": (_beheaded, DAMAGED),
    "not a database": (_text, DAMAGED),
    "another program's": (_foreign, "this SQLite file was not made by treadle; move it away"),
    "a newer version": (_newer, f"the store has version 99, this treadle knows {VERSION} at most; upgrade treadle"),
    "empty": (_empty, "is empty; remove it, and start again"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_is_no_store_is_refused_and_left_alone(what: str, path: Path) -> None:
    spoil, said = FILES[what]
    spoil(path)
    before = path.read_bytes()
    for command in (*READERS, *WRITERS):
        refuses(command, said)
    assert path.read_bytes() == before


ROWS = {
    "an event": (
        "UPDATE events SET body = CAST(replace(body, 'InitWork', 'InitWorm') AS BLOB) WHERE seq = 2",
        "event 2",
    ),
    "an event, by hand": ("UPDATE events SET body = replace(body, 'InitWork', 'InitWorm') WHERE seq = 2", "event 2"),
    "a link": ("UPDATE events SET chain = zeroblob(32) WHERE seq = 3", "event 3"),
    "a lost event": ("DELETE FROM events WHERE seq = 3", "event 3"),
    "a protocol": ("UPDATE protocols SET body = replace(body, 'scaffold', 'scaffolt')", BACKUP),
    "a broken protocol": ("UPDATE protocols SET body = X'7B00'", BACKUP),
    "a lost protocol": ("DELETE FROM protocols", BACKUP),
    "settings": ("UPDATE runs SET settings = '{'", BACKUP),
}


@pytest.mark.parametrize("what", ROWS)
def test_a_changed_row_is_refused_by_every_reader(what: str, path: Path) -> None:
    statement, said = ROWS[what]
    change(path, statement)
    before, held = path.read_bytes(), contents(path)
    for command in READERS[1:]:
        refuses(command, said)
    assert path.read_bytes() == before
    refuses(["abort", "r"], said)
    assert contents(path) == held


def test_a_truncated_log_is_refused(path: Path) -> None:
    change(path, "DELETE FROM events WHERE seq = 11")
    for command in (["status", "r"], ["log", "r"], ["cost", "r"], ["abort", "r"]):
        refuses(command, "11 events were recorded, 10 are in the store")
    refuses(["replay", "r"], "the log ends with event 10")


@pytest.mark.parametrize("column", ["state = zeroblob(9)", "hash = zeroblob(32)", "state = 'x'"])
def test_a_damaged_snapshot_is_never_skipped(column: str, path: Path) -> None:
    change(path, f"UPDATE snapshots SET {column}")
    held = contents(path)
    for command in (["replay", "r"], ["abort", "r"]):
        refuses(command, "the snapshot after event 11 is damaged; restore a backup")
    assert contents(path) == held


PAYLOADS = {
    "UPDATE payloads SET body = CAST(replace(body, '1', '2') AS BLOB)": "is damaged in the store; restore a backup",
    "DELETE FROM payloads": "is missing from the store; restore a backup",
}


@pytest.mark.parametrize("statement", PAYLOADS)
def test_a_changed_payload_is_never_shown(statement: str, path: Path) -> None:
    change(path, statement)
    before = path.read_bytes()
    for command in (["show", "r", "scaffold#1.1"], ["replay", "r"]):
        refuses(command, PAYLOADS[statement])
    assert path.read_bytes() == before


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_byte_is_a_bug(seed: int, path: Path) -> None:
    """Whatever byte is wrong: it does not matter, or somebody is told; nothing else can happen."""
    chosen, good = random.Random(seed), path.read_bytes()
    for _ in range(25):
        at = chosen.randrange(len(good))
        path.write_bytes(good[:at] + bytes([good[at] ^ (1 << chosen.randrange(8))]) + good[at + 1 :])
        try:
            store = Store(path, reading=True)
        except TreadleError:
            continue
        try:
            for run in store.runs():
                store.load(run.id)
                store.audit(run.id)
        except TreadleError:
            pass
        finally:
            store.close()


def test_a_torn_journal_gives_an_earlier_state_and_never_half_a_turn(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    begin(store, extra=tuple(says(f"root:work#1.{n}", "Retry", n) for n in (1, 2)))
    journal = (tmp_path / "store.db-wal").read_bytes()
    main = (tmp_path / "store.db").read_bytes()
    store.close()
    seen = set()
    for cut in range(0, len(journal), len(journal) // 40):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "store.db").write_bytes(main)
        (folder / "store.db-wal").write_bytes(journal[: len(journal) - cut])
        seen.add(_standing(folder / "store.db"))
        assert (folder / "store.db").read_bytes() == main
    assert {0, 3} <= seen <= {-1, 0, 3}, "a turn is there, or it is not"


def _standing(path: Path) -> int:
    """How many events a run has; -1 if the run, or all of the store, is not there yet."""
    try:
        store = Store(path, reading=True)
    except PortError:
        return -1
    try:
        return store.audit("r1").events
    except TreadleError:
        return -1
    finally:
        store.close()


def test_a_full_store_keeps_its_contents(path: Path) -> None:
    store = Store(path)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    held = contents(path)
    reply = Replied(id="x", ts=NOW, ask="root:stuck@scaffold#1.1", choice="retry")
    ref = store.payloads.put("x" * 100_000)
    with pytest.raises(PortError, match="Make room") as told:
        store.post("r", reply)
    assert (told.value.code, told.value.retryable) == ("store.full", True)
    assert contents(path) == held
    store._db.execute("PRAGMA max_page_count = 1000000")
    store.post("r", reply)
    assert store.payloads.get(ref) == "x" * 100_000
    store.close()
    assert len(contents(path)["inbox"]) == 1


def _may_mount() -> bool:
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


mounting = pytest.mark.skipif(not _may_mount(), reason="needs a user namespace that may mount")


def mounted(root: Path, size: str, script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script with a copy of the project on a small disk of its own; `$T` is treadle."""
    disk = root.parent / f"{root.name}-disk"
    disk.mkdir()
    shell = f'set -e; mount -t tmpfs -o size={size} tmpfs "$1"; cp -r "$2/.treadle" "$1"; cd "$1"; {script}'
    env = {**os.environ, "T": f"{sys.executable} -m treadle"}
    command = ["unshare", "-rm", "sh", "-c", shell, "sh", str(disk), str(root)]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)


@mounting
@pytest.mark.usefixtures("path")
def test_a_full_disk_is_refused_and_the_store_stays(tmp_path: Path) -> None:
    script = (
        "head -c 10000000 /dev/zero > filler 2>/dev/null || true; truncate -s -120000 filler; "
        "sha256sum .treadle/local/store.db; "
        'code=0; $T answer r retry --note "$(head -c 100000 /dev/zero | tr "\\0" x)" || code=$?; echo "code $code"; '
        "rm filler; $T replay r | head -1; $T status r | head -1"
    )
    done = mounted(tmp_path, "3m", script)
    assert "code 2" in done.stdout, done
    assert "[store.full]" in done.stderr, done.stderr
    assert "r matches its record" in done.stdout
    assert "r · v3 · asks · 11 events" in done.stdout


@mounting
@pytest.mark.usefixtures("path")
def test_a_disk_that_cannot_be_written_is_read_and_never_written(tmp_path: Path) -> None:
    script = (
        'rm -f .treadle/local/store.db-*; mount -o remount,ro "$1"; $T status r | head -1; $T replay r | head -1; '
        'code=0; $T answer r retry || code=$?; echo "answer $code"; code=0; $T gc || code=$?; echo "gc $code"'
    )
    done = mounted(tmp_path, "3m", script)
    assert "r · v3 · asks · 11 events" in done.stdout, done
    assert "r matches its record" in done.stdout
    assert "answer 2" in done.stdout
    assert "gc 2" in done.stdout
    assert done.stderr.count("writ") == 2, done.stderr
    assert "bug" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_store_without_write_permission_is_refused(what: str, path: Path) -> None:
    locked = path if what == "file" else path.parent
    before, mode = path.read_bytes(), locked.stat().st_mode
    locked.chmod(mode & ~0o222)
    try:
        refuses(["answer", "r", "retry"], "writ")
    finally:
        locked.chmod(mode)
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", [["status"], ["runs"], ["resume"], ["answer", "r", "retry"]])
def test_a_folder_in_place_of_the_store_is_called_that(command: list[str], path: Path) -> None:
    for file in path.parent.glob("store.db*"):
        file.unlink()
    path.mkdir()
    refuses(command, f"{path} is not a file, but the store has to be there; move it away")
