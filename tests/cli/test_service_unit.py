"""The systemd unit that serves a project."""

import sys
from pathlib import Path

import pytest

from tests.cli.treadle import treadle


def test_the_unit_is_written_where_systemd_looks_and_never_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "100% mine"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("PATH", '/usr/bin:/odd "$place"')
    result = treadle("serve", "--install")
    (unit,) = (tmp_path / "settings/systemd/user").iterdir()
    text = unit.read_text()
    assert result.code == 0
    assert f"systemctl --user enable --now {unit.name}" in result.out
    assert f"WorkingDirectory={str(root).replace('%', '%%')}\n" in text
    assert f'ExecStart="{sys.executable}" -m treadle serve\n' in text
    assert 'Environment="PATH=/usr/bin:/odd \\"$$place\\""\n' in text
    assert treadle("serve", "--install").code == 0
    unit.write_text("[Unit]\n")
    assert (treadle("serve", "--install").code, unit.read_text()) == (2, "[Unit]\n")
