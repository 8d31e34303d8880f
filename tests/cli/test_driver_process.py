from pathlib import Path

import pytest

from treadle.cli.driver_process import DriverProcess, call
from treadle.errors import TreadleError


def test_a_command_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match=r"`treadle status` failed in .*: treadle: "):
        call(tmp_path, "status")


def test_a_driver_can_be_killed_and_leaves_its_words(tmp_path: Path) -> None:
    with DriverProcess(tmp_path) as driving:
        assert driving.is_gone
        driving.start("serve")
        driving.kill()
        assert driving.is_gone
        driving.start("resume", "nothing")
        driving.wait()
        assert driving.last_words.startswith("treadle: ")


def test_nobody_drives_after_the_context(tmp_path: Path) -> None:
    with DriverProcess(tmp_path) as driving:
        driving.start("protocol", "sim", "v3", "--runs", "100000")
        pid = driving.pid
        assert not driving.is_gone
    assert not Path("/proc", str(pid)).exists()
