"""Which files an ACP agent may write, and what it is refused."""

from pathlib import Path
from typing import Any

import pytest

from treadle.agents.acp.job import Job, refusal, why_not


def job_in(folder: Path, **changes: Any) -> Job:
    lane = folder / "lane"
    (lane / "src").mkdir(parents=True, exist_ok=True)
    (folder / "out").mkdir(exist_ok=True)
    return Job(lane=str(lane), bundle=str(folder / "bundle"), out=str(folder / "out"), **changes)


@pytest.mark.parametrize(
    ("path", "writes", "why"),
    [
        ("src/a.py", None, ""),
        ("src/a.py", ("src/**",), ""),
        ("src/a.py", ("src/**", "!src/a.py"), "not among"),
        ("docs/a.md", ("src/**",), "not among"),
        ("docs/a.md", (), "not among"),
        ("../a", None, "outside"),
        ("src/../../a", None, "outside"),
        ("/etc/passwd", None, "outside"),
        ("link/a", None, "outside"),
        ("link", None, "outside"),
        ("loop/a", None, "no sense"),
        (".git/config", None, "git's own"),
        ("../out/answer", (), ""),
        ("src/\0", None, "no sense"),
    ],
)
def test_where_files_may_be_written(path: str, writes: tuple[str, ...] | None, why: str, tmp_path: Path) -> None:
    job = job_in(tmp_path, writes=writes)
    (tmp_path / "lane" / "link").symlink_to(tmp_path)
    (tmp_path / "lane" / "loop").symlink_to("loop")
    found = why_not(job, path)
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"kind": "execute", "rawInput": {"command": "rm -rf /"}}, ""),
        ({"kind": "read", "locations": [{"path": "/etc/passwd"}]}, ""),
        ({"kind": "edit", "locations": [{"path": "src/a"}]}, ""),
        ({"kind": "edit"}, "it does not say which file"),
        ({"kind": "delete", "rawInput": {"file_path": "docs/a"}}, "docs/a: it is not among"),
        ({"kind": "move", "locations": [{"path": "src/a"}, {"path": "docs/a"}]}, "docs/a: it is not among"),
        ({"kind": "other", "content": [{"type": "diff", "path": "../a"}]}, "../a: it is outside"),
        ({"kind": "other", "content": "odd", "locations": 7, "rawInput": []}, ""),
        ({"kind": "switch_mode"}, "it keeps the mode"),
        ({}, ""),
    ],
)
def test_what_is_refused(call: dict[str, Any], why: str, tmp_path: Path) -> None:
    found = refusal(job_in(tmp_path, writes=("src/**",)), call)
    assert found.startswith(why)
    assert bool(found) == bool(why)


@pytest.mark.parametrize("is_enclosed", [False, True])
@pytest.mark.parametrize(
    ("call", "perm", "why"),
    [
        ({"kind": "execute", "rawInput": {"command": "ls"}}, "run_commands", "this role may not run commands"),
        ({"kind": "fetch", "rawInput": {"url": "http://x"}}, "web", "this role may not use the web"),
        ({"kind": "edit", "locations": [{"path": "src/a"}]}, "modify", "src/a: it is not among"),
        ({"kind": "other", "content": [{"type": "diff", "path": "src/a"}]}, "modify", "src/a: it is not among"),
    ],
)
def test_what_a_role_may_not_do_is_refused_in_a_box_too(
    call: dict[str, Any], perm: str, why: str, is_enclosed: bool, tmp_path: Path
) -> None:
    """Who may not modify has no files to write, except for answers."""
    some = job_in(tmp_path, perms=("read_files",), writes=(".ai/executor-result",), is_enclosed=is_enclosed)
    assert refusal(some, call).startswith(why)
    assert not refusal(some, {"kind": "edit", "locations": [{"path": ".ai/executor-result"}]})
    assert not refusal(some, {"kind": "read", "locations": [{"path": "src/a"}]})
    leave = job_in(tmp_path, perms=("read_files", perm), writes=("src/**",), is_enclosed=is_enclosed)
    assert not refusal(leave, call)


def test_in_a_box_it_may_do_as_it_likes(tmp_path: Path) -> None:
    assert not refusal(job_in(tmp_path, is_enclosed=True), {"kind": "edit", "locations": [{"path": "/etc/passwd"}]})
