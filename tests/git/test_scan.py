"""What lies in a lane: links that lead out, and what is odd under a name that was known."""

import os
from pathlib import Path

import pytest

from treadle.git.scan import scan


@pytest.mark.parametrize(
    ("links", "out"),
    [
        ({"a": "b"}, []),
        ({"src/a": "../b"}, []),
        ({"src/a": ".."}, []),
        ({"a": "/etc/passwd"}, ["a"]),
        ({"a": "//etc"}, ["a"]),
        ({"a": ".."}, ["a"]),
        ({"src/a": "../../b"}, ["src/a"]),
        ({"a": "src/./..//../b"}, ["a"]),
        ({"a": ".git/config"}, ["a"]),
        ({"src/a": "../.GIT"}, ["src/a"]),
        ({"src/up": "..", "src/out": "up/.."}, ["src/out"]),
        ({"src/up": "..", "src/b": "up/src/a"}, []),
        ({"src/deep/up": "../..", "src/deep/out": "up/../x"}, ["src/deep/out"]),
        ({"a": "b", "b": "c", "c": "../x"}, ["a", "b", "c"]),
        ({"a": "b", "b": "a"}, ["a", "b"]),
    ],
)
def test_a_link_leads_out_by_itself_or_over_others(tmp_path: Path, links: dict[str, str], out: list[str]) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for path, to in links.items():
        (tmp_path / path).symlink_to(to)

    found = scan(tmp_path)

    assert sorted(one.path for one in found.odd if one.kind == "link") == out
    assert set(found.links) == set(links)


def test_a_known_name_vouches_for_plain_files_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("four")
    (tmp_path / "new").write_text("four")
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    known = {"file", "link", "folder", "pipe", "gone"}

    found = scan(tmp_path, known)

    assert found.files == {"file": 0, "new": 4, "link": 4}
    assert sorted((one.kind, one.path) for one in found.odd) == [("link", "link"), ("special", "pipe")]
