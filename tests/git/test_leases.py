"""Who has which slot, as the notes beside the slots say."""

from pathlib import Path

import pytest

from treadle.errors import PortError
from treadle.git.leases import Lease, Leases


def test_each_lane_has_a_slot_and_keeps_it(tmp_path: Path) -> None:
    leases = Leases(tmp_path / "lanes")
    assert leases.all() == []
    slots = [leases.take("r", inst, "main")[0] for inst in ("a", "b", "c")]
    assert len({slot.path for slot in slots}) == 3
    assert leases.take("r", "b", "main") == (slots[1], Lease(run="r", inst="b", lane="main"))
    leases.give_back(slots[1])
    assert [lease.inst for _, lease in leases.all()] == ["a", "c"]
    assert leases.take("r", "d", "main")[0] == slots[1]


def test_what_another_process_notes_is_seen_at_once(tmp_path: Path) -> None:
    one, other = Leases(tmp_path), Leases(tmp_path)
    slot, lease = one.take("r", "a", "main")
    assert other.all() == one.all() == [(slot, lease)]
    for act in ("a:x#1.1", "a:x#1.2", "a:x#1.3"):
        other.write(slot, Lease(run="r", inst="a", lane="main", act=act))
        assert one.find("r", act) is not None
    other.give_back(slot)
    assert one.all() == []


def test_a_note_that_cannot_be_read_is_nobodys_and_not_taken(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    (tmp_path / "lane-1.json").write_text("{")
    slot, _ = leases.take("r", "a", "main")
    assert slot.path.name == "lane-2"
    assert len(leases.all()) == 1


def test_there_is_an_end_to_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.git.leases._MOST", 3)
    leases = Leases(tmp_path)
    for inst in ("a", "b"):
        leases.take("r", inst, "main")
    with pytest.raises(PortError, match="no room for another lane"):
        leases.take("r", "c", "main")
