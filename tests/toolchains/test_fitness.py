"""What the checks of protocols ask of a project's toolchain."""

import msgspec
import pytest

from treadle.config.model import ToolchainSettings
from treadle.config.settings import EffectiveSettings
from treadle.protocol.load import load
from treadle.protocol.vocabulary import CHECKS
from treadle.toolchains.fitness import commands_of, cures, describe_lacks, find_lacks

DEFAULT = EffectiveSettings({}).config().toolchain


def settings(**said: object) -> ToolchainSettings:
    words = {name: tuple(value.split()) if name != "kind" else value for name, value in said.items()}  # type: ignore[attr-defined]
    return msgspec.structs.replace(DEFAULT, **words)


@pytest.mark.parametrize(
    ("protocol", "said", "needs"),
    [
        ("v3", {}, ["test", "names", "list"]),
        ("v3", {"test": "make test"}, ["names", "list"]),
        ("v3", {"test": "make test", "collect": "./list"}, ["names"]),
        ("v3", {"test": "mvn test", "kind": "junit"}, []),
        ("v3", {"test": "pytest", "kind": "pytest"}, []),
        ("v3", {"test": "go test ./...", "kind": "gotest"}, []),
        ("dptr", {"test": "make test"}, []),
        ("dptr", {}, ["test"]),
        ("fractal", {"test": "make test", "collect": "./list", "contract": "./contract"}, ["names"]),
    ],
)
def test_a_toolchain_lacks_the_needs_of_the_protocols_checks(
    protocol: str, said: dict[str, str], needs: list[str]
) -> None:
    assert [one.need for one in find_lacks(load(protocol), settings(**said), has_file=True)] == needs


@pytest.mark.parametrize(
    ("test", "cure"),
    [
        ("python3 -m pytest", 'set `toolchain.kind` to "pytest", which reads the results of `python3 -m pytest`'),
        ("/opt/go/bin/go test ./...", 'set `toolchain.kind` to "gotest", which'),
        ("python3 -m unittest discover", "`python3 -m pytest`, which runs unittest, too"),
        ("make test", 'set `toolchain.kind` to "pytest", "gotest" or "junit"'),
    ],
)
def test_the_cure_follows_from_the_test_command_and_is_shown_once(test: str, cure: str) -> None:
    found = find_lacks(load("v3"), settings(test=test), has_file=True)
    assert len(cures(found)) == 1
    assert cure in describe_lacks(found)
    assert [(lack.need, lack.where) for lack in found] == [
        ("names", "node.review (coverage_complete)"),
        ("list", "node.scaffold (contract_exists)"),
    ]


def test_init_is_advised_only_without_a_settings_file() -> None:
    assert "`treadle init`" in describe_lacks(find_lacks(load("v3"), DEFAULT, has_file=False))
    found = describe_lacks(find_lacks(load("v3"), DEFAULT, has_file=True))

    assert [it for it in ("`toolchain.test`", "treadle.toml", "`toolchain.kind`") if it not in found] == []
    assert "init" not in found


def test_the_commands_that_must_start_are_those_that_checks_run() -> None:
    every = settings(test="t", build="b", lint="l", format="f", contract="c", collect="ls")
    assert commands_of(load("v3"), every) == {"test", "build", "contract", "collect"}
    assert commands_of(load("v3"), msgspec.structs.replace(every, kind="pytest", build=())) == {"test", "contract"}
    assert "lint" in commands_of(load("fractal"), every)
    assert "format" not in commands_of(load("dptr"), every)


def test_a_check_that_derives_fields_from_tests_needs_them() -> None:
    derives = {name for name, spec in CHECKS.items() if "tests" in spec.derives}
    assert derives
    assert derives <= {name for name, spec in CHECKS.items() if "test" in spec.needs}
    assert all("test" in spec.needs for spec in CHECKS.values() if spec.needs)
