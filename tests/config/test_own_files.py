from pathlib import Path

import pytest

from treadle.config.own_files import own_files
from treadle.errors import ProtocolError


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_folder_is_copied_as_it_is(tmp_path: Path) -> None:
    put(tmp_path / "project" / ".ai" / "rules.yaml", "a: 1\n")
    put(tmp_path / "project" / "docs" / "nfr.md", "# NFR\n")
    put(tmp_path / "protocol.yaml")
    assert own_files(tmp_path) == {".ai/rules.yaml": "a: 1\n", "docs/nfr.md": "# NFR\n"}


def test_a_protocol_without_files_of_its_own(tmp_path: Path) -> None:
    assert own_files(tmp_path) == {}


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", "treadle.toml", ".treadle/protocols/x.yaml", "a\nb", "-x"])
def test_names_that_no_protocol_may_use(tmp_path: Path, name: str) -> None:
    put(tmp_path / "project" / name)
    with pytest.raises(ProtocolError, match="may not bring a file of this name"):
        own_files(tmp_path)


def test_links_large_files_and_other_encodings(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret")
    link = tmp_path / "project" / "link"
    link.parent.mkdir()
    link.symlink_to(secret)
    with pytest.raises(ProtocolError, match="only plain files"):
        own_files(tmp_path)
    link.unlink()
    put(link, "x" * 300_000)
    with pytest.raises(ProtocolError, match="only plain files"):
        own_files(tmp_path)
    link.write_bytes(b"\xff")
    with pytest.raises(ProtocolError, match="not UTF-8"):
        own_files(tmp_path)
    for number in range(101):
        put(tmp_path / "project" / f"f{number}")
    with pytest.raises(ProtocolError, match="may bring 100 at most"):
        own_files(tmp_path)
