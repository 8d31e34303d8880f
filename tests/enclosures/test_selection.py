import asyncio
import socket
from pathlib import Path

import pytest

from tests.enclosures.engines import fake_engine
from treadle.config.model import WorkspaceSettings
from treadle.config.project import Project
from treadle.enclosures.selection import open_container
from treadle.errors import TreadleError


def refusal(project: Path, *mounts: str, image: str = "here") -> TreadleError:
    with pytest.raises(TreadleError) as caught:
        asyncio.run(open_container(WorkspaceSettings(driver="container", image=image, mounts=mounts), Project(project)))
    return caught.value


def test_without_the_container_driver_no_container_is_opened(tmp_path: Path) -> None:
    assert asyncio.run(open_container(WorkspaceSettings(image="here"), Project(tmp_path))) is None


def test_a_container_gets_its_mounts_limits_and_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".venv").mkdir()
    settings = WorkspaceSettings(
        driver="container", image="here", mounts=("{root}/.venv", "/etc"), memory=10, cpus=2.0, network="none"
    )
    with fake_engine() as engine:
        monkeypatch.setenv("PATH", f"{engine.folder}/bin")
        found = asyncio.run(open_container(settings, Project(tmp_path), "r-1", {"treadle.by": "1 2"}))
    assert found is not None
    assert (found.mounts, found.memory, found.cpus, found.network) == (
        (tmp_path / ".venv", Path("/etc")),
        10,
        2,
        "none",
    )
    assert found.labels == {"treadle.project": str(tmp_path), "treadle.by": "1 2"}
    assert found.name.startswith("container of here (ab12ab12ab12, docker): no network")


def test_without_an_image(tmp_path: Path) -> None:
    assert refusal(tmp_path, image="").code == "container.image"


@pytest.mark.parametrize(
    "mount",
    ["{root}", "{root}/.git", "{root}/.git/refs", "{root}/.treadle", "{root}/.treadle/local/runs", "/", "{link}"],
)
def test_the_repository_and_treadles_files_are_not_mounted(mount: str, tmp_path: Path) -> None:
    for folder in (".git/refs", ".treadle/local/runs"):
        (tmp_path / folder).mkdir(parents=True)
    link = tmp_path / "innocent"
    link.symlink_to(tmp_path / ".treadle")
    assert refusal(tmp_path, mount.replace("{link}", str(link))).code == "container.secret"


def test_sockets_and_missing_paths_are_not_mounted(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(tmp_path / "docker.sock"))
        assert refusal(tmp_path, "{root}/docker.sock").code == "container.mount"
    assert refusal(tmp_path, "{root}/gone").code == "container.mount"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refusal(tmp_path, "{root}/loop").code == "container.mount"
