"""What a run is pinned to when it starts."""

from pathlib import Path

import msgspec
import pytest

from tests.kernel.protocols import WORK_AND_REVIEW
from tests.refusals import refused
from treadle.config.project import Project
from treadle.config.settings import EffectiveSetting, EffectiveSettings
from treadle.engines.run_settings import RunSettings, settings_of
from treadle.engines.start import StartRequest, adapt, choose_agents, inspect_request
from treadle.errors import PortError
from treadle.protocol.load import load
from treadle.protocol.model import Role
from treadle.store.records import Run

ROLES = {name: Role(display=name) for name in ("tdd", "impl")}
PROTOCOL = msgspec.structs.replace(WORK_AND_REVIEW, roles=ROLES)


def config(**said: object) -> EffectiveSettings:
    named = {key.replace("__", "."): value for key, value in said.items()}
    return EffectiveSettings({key: EffectiveSetting(key, value) for key, value in named.items()})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("agents", "level", "expected"),
    [
        ((), 2, {"tdd": "claude", "impl": "codex"}),
        (("manual",), 2, {"tdd": "manual", "impl": "manual"}),
        (("impl=manual",), 2, {"tdd": "claude", "impl": "manual"}),
        (("tdd=gemini", "command:x --a=b"), 2, {"tdd": "gemini", "impl": "command:x --a=b"}),
        (("tdd=gemini",), 0, {"tdd": "gemini", "impl": "codex"}),
    ],
)
def test_the_command_line_wins_over_the_settings_and_a_role_over_all(
    agents: tuple[str, ...], level: int, expected: dict[str, str]
) -> None:
    wanted = StartRequest(config=config(agents__impl="codex").config(), agents=agents, level=level)  # type: ignore[arg-type]
    assert choose_agents(PROTOCOL, wanted) == expected


def test_an_unknown_role_is_refused_even_if_its_agent_would_not_be_used() -> None:
    with refused("agent.unknown_role", "'imp'", "'impl'"):
        choose_agents(PROTOCOL, StartRequest(config=EffectiveSettings({}).config(), agents=("imp=manual",), level=0))


def test_people_have_no_deadline_and_the_settings_limits_apply() -> None:
    settings = RunSettings(
        protocol="p", config=config(limits__agents=3).config(), agents={"worker": "manual", "reviewer": "claude"}
    )
    adapted = adapt(WORK_AND_REVIEW, settings)
    assert adapted.limits.agents == 3
    changed = {
        (name, step): adapted.graphs[name].steps[step].timeout != it.timeout
        for name, graph in WORK_AND_REVIEW.graphs.items()
        for step, it in graph.steps.items()
    }
    by_people = {
        (name, step): it.kind == "agent" and settings.agent_of(it.role) == "manual"
        for name, graph in WORK_AND_REVIEW.graphs.items()
        for step, it in graph.steps.items()
    }
    assert changed == by_people
    assert any(by_people.values())


def test_the_detected_toolchain_is_pinned_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    (tmp_path / "tests").mkdir()
    spec = "id: a\ndescription: d\nacceptanceCriteria: [{id: AC-1, text: t}]\ntargetPath: src\ntestPath: tests\n"
    wanted = StartRequest(config=EffectiveSettings({}).config(), spec=spec, file="spec.yaml", agents=("manual",))
    toolchain = inspect_request(Project(tmp_path), load("v3"), wanted).settings.config.toolchain
    assert (toolchain.kind, toolchain.test[-2:]) == ("pytest", ("-m", "pytest"))


def test_settings_of_another_program_are_refused() -> None:
    settings = msgspec.to_builtins(RunSettings(protocol="p", config=EffectiveSettings({}).config(), agents={}))
    run = Run(
        id="r", name="r", protocol="", settings=settings, created=0, changed=0, seq=0, acts=0, asks=0, outcome="",
        owner="",
    )  # fmt: skip
    assert settings_of(run).protocol == "p"
    with pytest.raises(PortError, match="format 2"):
        settings_of(msgspec.structs.replace(run, settings={**settings, "format": 2}))
    with pytest.raises(PortError, match="cannot be read"):
        settings_of(msgspec.structs.replace(run, settings={}))
