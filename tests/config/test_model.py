import msgspec
import pytest

from treadle.config.model import KEYS, SECTIONS, Config, Environment, ToolchainSettings
from treadle.config.settings import EffectiveSettings
from treadle.protocol import model
from treadle.protocol.checks.declarations import TOOLCHAIN

DEFAULT = EffectiveSettings({}).config()


def test_every_section_of_the_model_is_described() -> None:
    assert {field.encode_name for field in msgspec.structs.fields(Config)} == set(SECTIONS)
    assert {key.parts[0] for key in KEYS} == set(SECTIONS)


def test_every_command_that_a_protocol_can_ask_for_is_a_key() -> None:
    assert set(TOOLCHAIN) <= {field.name for field in msgspec.structs.fields(ToolchainSettings)}


def test_every_default_is_a_value_of_its_kind() -> None:
    for key in KEYS:
        assert key.default is None or key.kind.read(key.default) == key.default, key.name
        assert key.help.endswith((".", "`."))


@pytest.mark.parametrize(
    ("tier", "expected"), [(0, ""), (1, "sonnet"), (2, "sonnet"), (3, "opus"), (9, "opus"), (-1, "")]
)
def test_a_stronger_tier_never_undoes_a_choice(tier: int, expected: str) -> None:
    models = {"standard": {"claude": "sonnet"}, "strongest": {"claude": "opus"}}
    config = msgspec.structs.replace(DEFAULT, models=models)
    tiers = ("fast", "standard", "strong", "strongest")
    assert config.model_of(tiers, tier, "claude") == expected
    assert config.model_of(tiers, tier, "codex") == ""


def test_limits_that_are_not_set_are_the_protocols() -> None:
    limits = msgspec.structs.replace(DEFAULT.limits, agents=3, cost=0.0)
    theirs = model.Limits(depth=7, agents=9, cost=5.0, wall=60)
    assert DEFAULT.limits.over(theirs) == theirs
    assert limits.over(theirs) == model.Limits(depth=7, agents=3, cost=0.0, wall=60)


def test_agents_see_only_allowed_variables() -> None:
    variables = {"A": "1", "AWS_ID": "2", "AWSX": "3", "B": "4", "TREADLE_TOKEN": "5"}
    assert Environment(allowed=()).of(variables) == {}
    assert Environment(allowed=("A", "AWS_*", "C")).of(variables) == {"A": "1", "AWS_ID": "2"}
    assert "TREADLE_TOKEN" not in Environment(allowed=("T*",)).of(variables)


def test_settings_can_be_kept_with_a_run() -> None:
    config = msgspec.structs.replace(DEFAULT, models={"strong": {"claude": "opus"}})
    assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config
