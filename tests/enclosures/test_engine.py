import asyncio
import re
from pathlib import Path

import pytest

from tests.enclosures.engines import FakeEngine, fake_engine
from treadle.enclosures.engine import Answer, ask, client_environment, find_engine, image_id, needed_image
from treadle.errors import PortError


def on_path(monkeypatch: pytest.MonkeyPatch, *engines: FakeEngine) -> None:
    monkeypatch.setenv("PATH", ":".join(str(engine.folder / "bin") for engine in engines) or "/nowhere")


def refusal(wanted: str = "auto") -> str:
    with pytest.raises(PortError) as caught:
        asyncio.run(find_engine(wanted))
    return str(caught.value)


def test_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch)
    assert refusal() == (
        'no containers: neither podman nor docker is found; install one, or set `workspace.driver = "worktree"`'
    )
    assert refusal("docker").startswith("no containers: no docker is found; install one")


def test_it_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_engine() as engine:
        on_path(monkeypatch, engine)
        (engine.folder / "socket").unlink()
        assert refusal().startswith(
            "no containers: docker does not answer (Cannot connect to the daemon. Is it running?); "
            "`systemctl start docker`, or"
        )


@pytest.mark.parametrize(("kind", "version", "rootless"), [("docker", "28.0.0", False), ("podman", "5.4.0", True)])
def test_it_is_found_and_its_images_are_known(
    kind: str, version: str, rootless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_engine(kind, images="here") as fake:
        on_path(monkeypatch, fake)

        async def go() -> None:
            engine = await find_engine()
            assert (engine.kind, engine.path, engine.version) == (kind, fake.program, version)
            assert engine.is_rootless == rootless
            assert (await needed_image(engine, "here")).startswith("sha256:ab12")
            assert await image_id(engine, "there") == ""
            with pytest.raises(PortError, match=re.escape(f"{kind} has no image there; `{kind} pull there`")):
                await needed_image(engine, "there")

        asyncio.run(go())


def test_of_two_engines_the_one_that_has_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_engine("podman", images="") as podman, fake_engine("docker", images="here") as docker:
        on_path(monkeypatch, podman, docker)
        assert asyncio.run(find_engine("auto", "here")).kind == "docker"
        assert asyncio.run(find_engine("auto", "nowhere")).kind == "podman"
        assert asyncio.run(find_engine("podman", "here")).kind == "podman"


def test_an_engine_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    assert asyncio.run(ask([str(program)], 0.1)) == Answer(None, "no answer within 0.1 s")
    assert asyncio.run(ask([str(tmp_path / "gone")])).code is None


def test_an_engine_sees_what_leads_to_it_and_no_keys() -> None:
    ours = {"HOME": "/h", "DOCKER_HOST": "x", "XDG_RUNTIME_DIR": "/r", "API_KEY": "hunter2", "CONTAINER_HOST": "y"}
    assert client_environment(ours) == {name: value for name, value in ours.items() if name != "API_KEY"}
