from pathlib import Path

from tests.node_tools import SCRIPTS, check_mermaid


def test_a_good_diagram_parses_and_a_broken_one_is_named(tmp_path: Path) -> None:
    good, broken = tmp_path / "good.mmd", tmp_path / "broken.mmd"
    good.write_text("stateDiagram-v2\n  [*] --> write: <b>start</b>\n  state node {\n    write --> [*]\n  }\n")
    broken.write_text("stateDiagram-v2\n  [*] --> write\n  write -->\n")

    assert check_mermaid(good).returncode == 0

    result = check_mermaid(good, broken)
    assert result.returncode == 1
    assert f"{broken}: Parse error on line 3" in result.stderr
    assert str(good) not in result.stderr


def test_the_lock_names_no_download_addresses() -> None:
    assert '"resolved"' not in (SCRIPTS / "package-lock.json").read_text()
