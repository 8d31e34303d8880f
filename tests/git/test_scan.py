"""Links in a lane: which of them lead out."""

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
