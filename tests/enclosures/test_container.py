"""Containers: the engines that run them, and the command line of each."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.enclosures.engines import FakeEngine, fake_engine
from treadle.enclosures.container import (
    Container,
    Engine,
    EngineKind,
    client_environment,
    container_name,
    find_engine,
    image_id,
    needed_image,
    run_program,
    signal_in,
)
from treadle.enclosures.port import EnclosedCommand
from treadle.errors import PortError

ME = f"{os.getuid()}:{os.getgid()}"
LANE = Path("/p/.treadle/local/worktrees/lane-1")
AGENT = EnclosedCommand(
    argv=("claude", "-p", "do it"),
    cwd=LANE,
    env={"PATH": "/usr/bin", "HOME": "/home/me", "TMPDIR": "/var/tmp", "API_KEY": "hunter2", "TREADLE_TOKEN": "t0ken"},
    writable=(Path("/p/runs/a/out"),),
    readable=(Path("/p/runs/a/bundle"),),
    network=True,
    key="/p/runs/a/agent/0",
)
CHECK = EnclosedCommand(
    argv=("python", "-m", "pytest"),
    cwd=Path("/p/checks/check-1"),
    env={"PATH": "/usr/bin", "TMPDIR": "/tmp/treadle-x/tmp", "GOPATH": "/home/me/go", "CI": "1"},
    writable=(Path("/tmp/treadle-x"),),
    key="/tmp/treadle-x",
)


def container(kind: EngineKind = "docker", *, rootless: bool = False, **more: Any) -> Container:
    engine = Engine(kind=kind, path=f"/usr/bin/{kind}", is_rootless=rootless)
    labels = {"treadle.project": "/p"}
    return Container(**{"engine": engine, "image": "img:1", "id": "sha256:abc", "run": "r-1", "labels": labels, **more})


def test_an_agent_in_docker() -> None:
    launch = container(memory=4_000_000_000, cpus=1.5, mounts=(Path("/opt/tools"),)).launch(AGENT)
    name = container_name("r-1", "/p/runs/a/agent/0")
    assert " ".join(launch.argv) == (
        f"/usr/bin/docker run --name {name} --rm --init --pull never --log-driver none --read-only"
        " --tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777 --cap-drop ALL"
        " --security-opt no-new-privileges --security-opt label=disable"
        " --label treadle.project=/p --label treadle.run=r-1 --label treadle.what=agent"
        f" --user {ME} --pids-limit 4096 --memory 4000000000 --cpus 1.5"
        f" --mount type=bind,source={LANE},target={LANE}"
        " --mount type=bind,source=/p/runs/a/out,target=/p/runs/a/out"
        " --mount type=bind,source=/p/runs/a/bundle,target=/p/runs/a/bundle,readonly"
        " --mount type=bind,source=/opt/tools,target=/opt/tools,readonly"
        " --env API_KEY --env TREADLE_TOKEN --env HOME=/tmp"
        f" --workdir {LANE} --entrypoint claude sha256:abc -p do it"
    )
    assert launch.farewell == ("/usr/bin/docker", "rm", "--force", "--volumes", name)


def test_a_check_in_podman() -> None:
    words = " ".join(container("podman", rootless=True, network="filtered").launch(CHECK).argv)
    who = f"--userns keep-id --user {ME}" if os.getuid() else "--user 0:0"
    assert words.endswith(
        f"--label treadle.what=check {who} --network none"
        " --mount type=bind,source=/p/checks/check-1,target=/p/checks/check-1"
        " --mount type=bind,source=/tmp/treadle-x,target=/tmp/treadle-x"
        " --env CI --env TMPDIR --env HOME=/tmp --workdir /p/checks/check-1 --entrypoint python sha256:abc -m pytest"
    )


def test_no_value_of_a_variable_stands_in_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1000/docker.sock")
    monkeypatch.setenv("HOME", "/home/me")
    launch = container().launch(AGENT)
    assert not any("hunter2" in word or "t0ken" in word for word in (*launch.argv, *launch.farewell))
    assert (launch.env["API_KEY"], launch.env["TREADLE_TOKEN"]) == ("hunter2", "t0ken")
    assert (launch.env["HOME"], launch.env["DOCKER_HOST"]) == ("/home/me", "unix:///run/user/1000/docker.sock")
    assert "DOCKER_HOST" not in launch.argv


@pytest.mark.parametrize(
    ("job", "network", "expected"),
    [
        (AGENT, "default", []),
        (AGENT, "none", ["none"]),
        (AGENT, "filtered", ["filtered"]),
        (CHECK, "default", ["none"]),
        (CHECK, "filtered", ["none"]),
    ],
)
def test_checks_never_have_a_network(job: EnclosedCommand, network: str, expected: list[str]) -> None:
    argv = container(network=network).launch(job).argv
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--network"] == expected


@pytest.mark.parametrize("has_stdin", [True, False])
def test_only_who_has_stdin_something_has_an_input(has_stdin: bool) -> None:
    argv = container().launch(msgspec.structs.replace(AGENT, has_stdin=has_stdin)).argv
    assert ("--interactive" in argv) == has_stdin


def test_root_in_a_rootless_docker_is_the_user_outside() -> None:
    argv = container(rootless=True).launch(AGENT).argv
    assert argv[argv.index("--user") + 1] == "0:0"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/a b/ü", "type=bind,source=/a b/ü,target=/a b/ü"),
        ("/a,b", 'type=bind,"source=/a,b","target=/a,b"'),
        ('/a"b', 'type=bind,"source=/a""b","target=/a""b"'),
        ("/a:b", "type=bind,source=/a:b,target=/a:b"),
    ],
)
def test_paths_with_special_signs_are_quoted_for_engines(path: str, field: str) -> None:
    job = EnclosedCommand(argv=("x",), cwd=Path(path), env={})
    argv = container().launch(job).argv
    assert argv[argv.index("--mount") + 1] == field


def test_a_path_with_a_line_break_is_refused() -> None:
    with pytest.raises(PortError, check=lambda error: error.code == "container.mount"):
        container().launch(EnclosedCommand(argv=("x",), cwd=Path("/a\nb"), env={}))


def test_names_are_those_of_one_start() -> None:
    assert container_name("r", "a") == container_name("r", "a")
    assert len({container_name("r", "a"), container_name("r", "b"), container_name("s", "a")}) == 3


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 1), (128, 128), (137, -9), (143, -15), (255, 255)])
def test_signals_inside_are_signals_outside(code: int, expected: int) -> None:
    assert signal_in(code) == expected


@pytest.mark.parametrize("kind", ["docker", "podman"])
def test_a_real_client_understands_every_word(kind: EngineKind, tmp_path: Path) -> None:
    """It gets as far as looking for its engine, which is nowhere."""
    program = shutil.which(kind)
    if program is None:
        pytest.skip(f"there is no {kind} here")
    odd = tmp_path / 'a,b "c" ü'
    odd.mkdir()
    box = container(kind, engine=Engine(kind=kind, path=program), memory=10**9, cpus=0.5, network="none")
    launch = box.launch(msgspec.structs.replace(AGENT, cwd=odd, writable=(tmp_path,), readable=()))
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/nowhere", "CONTAINER_HOST": f"unix://{tmp_path}/nowhere"}
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **nowhere}
    remote = ("--remote",) if kind == "podman" else ()
    said = subprocess.run((program, *remote, *launch.argv[1:]), env=env, capture_output=True, text=True, check=False)
    assert said.returncode == 125
    assert f"{tmp_path}/nowhere" in said.stderr
    assert "unknown" not in said.stderr


def on_path(monkeypatch: pytest.MonkeyPatch, *engines: FakeEngine) -> None:
    monkeypatch.setenv("PATH", ":".join(str(engine.folder / "bin") for engine in engines) or "/nowhere")


def refusal(wanted: str = "auto") -> PortError:
    with pytest.raises(PortError) as caught:
        asyncio.run(find_engine(wanted))
    return caught.value


def test_without_an_engine_a_container_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch)
    assert refusal().code == "container.missing"
    assert "neither podman nor docker" in str(refusal())
    assert refusal("docker").code == "container.missing"
    assert "podman" not in str(refusal("docker"))


def test_an_engine_that_does_not_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_engine() as engine:
        on_path(monkeypatch, engine)
        (engine.folder / "socket").unlink()
        assert refusal().code == "container.unusable"
        for part in ("(Cannot connect to the daemon. Is it running?)", "`systemctl start docker`"):
            assert part in str(refusal())


@pytest.mark.parametrize(("kind", "version", "rootless"), [("docker", "28.0.0", False), ("podman", "5.4.0", True)])
def test_an_engine_is_detected_with_its_images(
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
            with pytest.raises(PortError, match=f"`{kind} pull there`") as caught:
                await needed_image(engine, "there")
            assert caught.value.code == "container.image"

        asyncio.run(go())


def test_of_two_engines_the_one_with_the_image_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_engine("podman", images="") as podman, fake_engine("docker", images="here") as docker:
        on_path(monkeypatch, podman, docker)
        assert asyncio.run(find_engine("auto", "here")).kind == "docker"
        assert asyncio.run(find_engine("auto", "nowhere")).kind == "podman"
        assert asyncio.run(find_engine("podman", "here")).kind == "podman"


def test_an_engine_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    assert asyncio.run(run_program([str(program)], 0.1)).code is None
    assert asyncio.run(run_program([str(tmp_path / "gone")])).code is None


def test_an_engine_sees_its_address_and_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"HOME": "/h", "DOCKER_HOST": "x", "XDG_RUNTIME_DIR": "/r", "API_KEY": "hunter2", "CONTAINER_HOST": "y"}
    monkeypatch.setattr(os, "environ", ours)
    assert client_environment() == {name: value for name, value in ours.items() if name != "API_KEY"}
