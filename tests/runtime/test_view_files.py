"""Files that are views of a run."""

import json
from pathlib import Path

from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.runtime.view_files import ViewFiles, shown
from treadle.testing.scenario import Scenario

FRACTAL = load("fractal")
FILE = "files/context/blockers/REQ-7.json"


class Kept:
    """Payloads that all say the same."""

    def put(self, value: Json) -> str:
        raise AssertionError(f"a view keeps nothing: {value}")

    def get(self, ref: str) -> Json:
        return {"id": "REQ-7", "ref": ref}


def blocked() -> Scenario:
    return Scenario(FRACTAL).says("InitLeaf").says("EmitChallenge").says("BlockedDependency")


def test_a_file_is_there_as_long_as_it_has_something_to_show(tmp_path: Path) -> None:
    files, run = ViewFiles(tmp_path, Kept()), blocked()
    files.show(FRACTAL, run.state)
    entry = json.loads((tmp_path / FILE).read_text())["blockers"][0]
    assert entry["payload"]["ref"] == entry["payload_ref"]
    files.show(FRACTAL, run.says("InitLeaf").state)
    assert not (tmp_path / FILE).exists()


def test_what_an_earlier_process_has_left_is_brought_up_to_date(tmp_path: Path) -> None:
    run = blocked()
    ViewFiles(tmp_path, Kept()).show(FRACTAL, run.state)
    ViewFiles(tmp_path, Kept()).show(FRACTAL, run.says("InitLeaf").state)
    assert not (tmp_path / FILE).exists()


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("in the way")
    ViewFiles(tmp_path, Kept()).show(FRACTAL, blocked().state)
    assert (tmp_path / "files").read_text() == "in the way"


def test_agents_find_the_files_of_their_instance_in_the_bundle() -> None:
    run = blocked()
    assert list(shown(FRACTAL, run.state, run.inst(), Kept())) == [FILE]
