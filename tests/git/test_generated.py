"""Generated files that git ignores: lanes and checkouts get the user's copies, and nobody else's word counts."""

import asyncio
from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from treadle.errors import PortError
from treadle.git import generated
from treadle.git.generated import GeneratedGlobs, find_generated, missing_generated, read_generated
from treadle.git.lanes import LaneRules
from treadle.git.slots import Checkouts

FILES = {
    ".gitignore": "_version.py\n*.mo\n.venv/\n",
    "src/pkg/__init__.py": "from pkg._version import version\n",
    "src/pkg/locale/de/x.po": "text\n",
}
MADE = {
    "src/pkg/_version.py": "version = '1'\n",
    "src/pkg/locale/de/x.mo": "binary\n",
    "src/pkg/locale/fr/x.mo": "other\n",
    ".venv/lib/pkg/y.mo": "of the environment\n",
}
GLOBS = ("src/pkg/_version.py", "src/pkg/**/*.mo")


def checkout(tmp_path: Path) -> Path:
    root = repository(tmp_path, FILES)
    write(root, MADE)
    return root


async def begun(root: Path, globs: tuple[str, ...] = GLOBS, rules: LaneRules | None = None) -> tuple[Stage, str]:
    """A run that has the generated files."""
    stage = await Stage(root, rules).start()
    tree = await read_generated(stage.repository, globs)
    return stage, await stage.integration.keep_generated(RUN, tree, 0)


def test_lanes_and_checkouts_have_copies_and_no_commit_has_them(tmp_path: Path) -> None:
    root = checkout(tmp_path)

    async def story() -> None:
        stage, tree = await begun(root)
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        assert (lane.path / "src/pkg/_version.py").read_text() == "version = '1'\n"
        assert (lane.path / "src/pkg/locale/fr/x.mo").is_file(), "in a folder of which git knows nothing"
        assert not (lane.path / "src/pkg/_version.py").is_symlink()
        assert git(lane.path, "status", "--porcelain") == ""

        # The agent changes its copy, and tells git to ignore it no more.
        write(lane.path, {".gitignore": "", "src/pkg/_version.py": "version = 'mine'\n", "src/pkg/new.py": ""})
        (lane.path / "src/pkg/locale/de/x.mo").unlink()
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        assert set(recorded.paths) == {".gitignore", "src/pkg/new.py"}
        assert set(await stage.lanes.changed(RUN, job.id)) == {".gitignore", "src/pkg/new.py"}
        assert (root / "src/pkg/_version.py").read_text() == "version = '1'\n", "a copy, no link"

        # So may whoever writes to the user's checkout meanwhile: what the run began with counts.
        write(root, {"src/pkg/_version.py": "version = 'late'\n"})
        checkouts = Checkouts(stage.repository, stage.project.worktrees).bringing(tree)
        async with checkouts.clean(recorded.commit) as path:
            assert (path / "src/pkg/_version.py").read_text() == "version = '1'\n"
            assert (path / "src/pkg/locale/de/x.mo").is_file()
        plain = Checkouts(stage.repository, stage.project.worktrees)
        async with plain.clean(recorded.commit) as path:
            assert not (path / "src/pkg/_version.py").exists(), "a slot keeps nothing of its last user"

    run(story())


def test_another_process_finds_the_files_of_a_run(tmp_path: Path) -> None:
    root = checkout(tmp_path)

    async def story() -> None:
        _, tree = await begun(root)
        write(root, {"src/pkg/_version.py": "version = '2'\n"})
        again = await Stage(root).start()
        assert await again.integration.generated(RUN) == tree
        later = await read_generated(again.repository, GLOBS)
        assert later != tree, "the contents tell earlier results apart"
        assert await again.integration.keep_generated(RUN, later, 1) == tree, "what was noted first stays"
        assert await again.integration.generated("another-run") == ""

    run(story())


def test_generated_files_are_not_written_through_a_link_of_the_work(tmp_path: Path) -> None:
    """An agent may commit a link in the place of a folder; no copy is written through it."""
    root = checkout(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()

    async def story() -> None:
        stage, tree = await begun(root)
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        for path in sorted((lane.path / "src/pkg").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (lane.path / "src/pkg").rmdir()
        (lane.path / "src/pkg").symlink_to(outside)
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        async with Checkouts(stage.repository, stage.project.worktrees).bringing(tree).clean(recorded.commit) as path:
            assert (path / "src/pkg").is_symlink()
        assert list(outside.iterdir()) == []

    run(story())


def test_generated_files_hidden_from_a_role_are_not_copied(tmp_path: Path) -> None:
    root = checkout(tmp_path)

    async def story() -> None:
        stage, _ = await begun(root, rules=LaneRules(hidden=("src/pkg/_version.py",)))
        lane = await stage.lanes.open(stage.state, stage.job())
        assert not (lane.path / "src/pkg/_version.py").exists()
        assert (lane.path / "src/pkg/locale/de/x.mo").is_file()

    run(story())


def test_a_file_that_the_work_has_itself_wins(tmp_path: Path) -> None:
    root = checkout(tmp_path)

    async def story() -> None:
        stage, tree = await begun(root)
        git(root, "add", "-f", "src/pkg/_version.py")
        git(root, "commit", "-q", "-m", "second")
        write(root, {"src/pkg/_version.py": "version = 'committed'\n"})
        git(root, "commit", "-q", "-am", "third")
        checkouts = Checkouts(stage.repository, stage.project.worktrees).bringing(tree)
        async with checkouts.clean(git(root, "rev-parse", "HEAD")) as path:
            assert (path / "src/pkg/_version.py").read_text() == "version = 'committed'\n"

    run(story())


@pytest.mark.parametrize(
    ("glob", "code"),
    [
        ("src/pkg/_version.pyi", "generated.missing"),
        ("src/pkg/*.so", "generated.missing"),
        (".venv/**/*.mo", "generated.missing"),
        ("src/pkg/__init__.py", "generated.tracked"),
        ("src/pkg/loose.py", "generated.not_ignored"),
        ("src/link.mo", "generated.link"),
    ],
)
def test_a_file_that_cannot_be_copied_has_a_code(glob: str, code: str, tmp_path: Path) -> None:
    root = checkout(tmp_path)
    write(root, {"src/pkg/loose.py": ""})
    (root / "src/link.mo").symlink_to("/etc/hostname")

    async def story() -> None:
        stage = await Stage(root).start()
        with pytest.raises(PortError) as refused:
            await read_generated(stage.repository, ("src/pkg/_version.py", glob))
        assert refused.value.code == code

    run(story())


def test_patterns_exclude_and_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path)

    async def story() -> None:
        stage = await Stage(root).start()
        assert await read_generated(stage.repository, ()) == ""
        tree = await read_generated(stage.repository, ("src/**/*.mo", "!**/fr/*"))
        assert git(root, "ls-tree", "-r", "--name-only", tree) == "src/pkg/locale/de/x.mo"
        for limit, code in (("MOST_BYTES", "generated.too_large"), ("MOST_FILES", "generated.too_many")):
            with monkeypatch.context() as patch:
                patch.setattr(generated, limit, 1)
                with pytest.raises(PortError) as refused:
                    await read_generated(stage.repository, GLOBS)
            assert refused.value.code == code

    run(story())


# Which ignored files of a checkout look generated.

IGNORED = (
    "_version.py\n*.mo\n*.so\n*.pyc\n__pycache__/\nbuild/\n.venv/\nlocal.py\nkeys.py\nnode_modules/\n.env\n/notes.py\n"
)


def found(root: Path) -> GeneratedGlobs:
    return asyncio.run(find_generated(root))


@pytest.mark.parametrize(
    "text",
    [
        '[tool.setuptools_scm]\nversion_file = "src/pkg/_version.py"\n',
        '[tool.setuptools_scm]\nwrite_to = "src/pkg/_version.py"\n',
        '[tool.hatch.build.hooks.vcs]\nversion-file = "src/pkg/_version.py"\n',
    ],
)
@pytest.mark.parametrize("is_built", [True, False])
def test_the_file_that_pyproject_names(text: str, is_built: bool, tmp_path: Path) -> None:
    root = repository(tmp_path, {".gitignore": IGNORED, "src/pkg/__init__.py": "", "pyproject.toml": text})
    write(root, {"src/pkg/_version.py": ""} if is_built else {})
    assert found(root) == GeneratedGlobs(("src/pkg/_version.py",), ("src/pkg/_version.py",))


def test_a_committed_or_foreign_version_file_is_not_named(tmp_path: Path) -> None:
    text = '[tool.setuptools_scm]\nversion_file = "src/pkg/v.py"\nwrite_to = "../../_version.py"\n'
    root = repository(tmp_path, {".gitignore": IGNORED, "src/pkg/v.py": "", "pyproject.toml": text})
    assert found(root) == GeneratedGlobs()


def test_ignored_files_beside_code(tmp_path: Path) -> None:
    root = repository(tmp_path, {".gitignore": f"{IGNORED}src/pkg/generated/\n", "src/pkg/__init__.py": "", "t.py": ""})
    wanted = [f"src/pkg/locale/{language}/x.mo" for language in ("de", "fr", "nl", "sv")]
    write(root, dict.fromkeys([*wanted, "src/pkg/_fast.cpython-312.so", "src/pkg/generated/a_pb2.py"], ""))
    others = [
        "src/pkg/__pycache__/a.py",
        "src/pkg/a.pyc",
        "src/pkg/local.py",
        "src/pkg/.env",
        ".venv/lib/a.mo",
        "build/lib/pkg/_version.py",
        "node_modules/a/b.so",
        "notes.py",
    ]
    write(root, dict.fromkeys(others, ""))
    write(root, {"src/pkg/keys.py": f"KEY = '{'ghp_'}{'a' * 36}'\n"})
    (root / "src/pkg/link.so").symlink_to("/etc/hostname")
    assert set(found(root).globs) == {
        "src/pkg/locale/**/*.mo",
        "src/pkg/_fast.cpython-312.so",
        "src/pkg/generated/a_pb2.py",
    }


def test_of_many_generated_files_only_those_of_pyproject_are_suggested(tmp_path: Path) -> None:
    text = '[tool.setuptools_scm]\nversion_file = "p0/_version.py"\n'
    root = repository(tmp_path, {".gitignore": IGNORED, "pyproject.toml": text} | {f"p{n}/a.py": "" for n in range(12)})
    write(root, {f"p{n}/_version.py": "" for n in range(12)})
    assert found(root).globs == ("p0/_version.py",)


def test_outside_of_a_repository(tmp_path: Path) -> None:
    assert found(tmp_path) == GeneratedGlobs()


@pytest.mark.parametrize(
    ("printed", "missing"),
    [
        ("ModuleNotFoundError: No module named 'pkg._version'", ["src/pkg/_version.py"]),
        ("ImportError: cannot import name '_version' from 'pkg' (/x/src/pkg/__init__.py)", ["src/pkg/_version.py"]),
        ("cannot import name '_version' from partially initialized module 'pkg' (most", ["src/pkg/_version.py"]),
        ("Error: Cannot find module './generated/types'\nRequire stack:", ["src/pkg/generated/types.ts"]),
        ("[Errno 2] No such file or directory: '/lane/src/pkg/locale/de/x.mo'", ["src/pkg/locale/de/x.mo"]),
        ("ModuleNotFoundError: No module named 'requests'", []),
        ("AssertionError: _version", []),
    ],
)
def test_a_missing_generated_file_is_read_from_the_output(printed: str, missing: list[str], tmp_path: Path) -> None:
    root = repository(tmp_path, {".gitignore": f"{IGNORED}src/pkg/generated/\n", "src/pkg/__init__.py": ""})
    write(root, dict.fromkeys(["src/pkg/_version.py", "src/pkg/locale/de/x.mo", "src/pkg/generated/types.ts"], ""))
    assert asyncio.run(missing_generated(root, printed)) == missing
