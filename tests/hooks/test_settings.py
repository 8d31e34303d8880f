"""The hook in the settings of agents' programs: added, removed, and everything else unchanged."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import TreadleError
from treadle.hooks.installation import HookProgram, claude, installed_commands, to_install, to_uninstall, write_change
from treadle.hooks.settings import (
    format_settings,
    hook_commands,
    is_ours,
    read_settings,
    with_hook,
    without_hook,
)

EVENTS = ("Stop", "TaskCompleted")
OTHER = {"type": "command", "command": "make lint"}
FULL: dict[str, Any] = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}],
        "Stop": [{"hooks": [OTHER, {"type": "prompt", "prompt": "Is it done?"}]}],
    },
    "model": "opus",
}


def put(settings: dict[str, Any], command: str = "treadle hook") -> dict[str, Any]:
    return with_hook(settings, "settings.json", EVENTS, command, 600)


def taken(settings: dict[str, Any]) -> dict[str, Any]:
    return without_hook(settings, "settings.json")


def test_the_hook_is_added_beside_existing_hooks() -> None:
    before = copy.deepcopy(FULL)
    found = put(FULL)
    assert before == FULL, "what was read is not changed"
    assert list(found) == list(FULL)
    assert found["hooks"]["PreToolUse"] == FULL["hooks"]["PreToolUse"]
    ours = {"hooks": [{"type": "command", "command": "treadle hook", "timeout": 600}]}
    assert found["hooks"]["Stop"] == [*FULL["hooks"]["Stop"], ours]
    assert found["hooks"]["TaskCompleted"] == [ours]


def test_adding_twice_is_adding_once_and_another_command_replaces_it() -> None:
    once = put(FULL)
    assert put(once) == once
    other = put(once, "/opt/bin/treadle hook --legacy")
    assert hook_commands(other, "f") == dict.fromkeys(EVENTS, "/opt/bin/treadle hook --legacy")
    assert len(other["hooks"]["Stop"]) == 2


EMPTY_GROUP: dict[str, Any] = {"hooks": {"Stop": [{"hooks": []}]}}


@pytest.mark.parametrize(
    ("settings", "left"),
    [({}, {}), (FULL, FULL), ({"hooks": {}}, {}), ({"hooks": {"Stop": []}}, {}), (EMPTY_GROUP, EMPTY_GROUP)],
)
def test_removing_the_hook_leaves_no_empty_parts_behind(settings: dict[str, Any], left: dict[str, Any]) -> None:
    assert taken(put(settings)) == left
    assert taken(settings) == settings


def test_removing_the_hook_leaves_other_hooks_of_its_group() -> None:
    ours = {"type": "command", "command": "treadle hook"}
    mixed = {"hooks": {"Stop": [{"matcher": "", "hooks": [OTHER, ours]}]}}
    assert taken(mixed) == {"hooks": {"Stop": [{"matcher": "", "hooks": [OTHER]}]}}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("treadle hook", True),
        ("treadle hook --legacy", True),
        ("/opt/x/bin/treadle hook", True),
        ("'/a b/python' -m treadle hook", True),
        ("treadle status", False),
        ("my-treadle hook", False),
        ("hook", False),
        ("", False),
    ],
)
def test_our_hook_is_recognised_by_its_command(command: str, ours: bool) -> None:
    assert is_ours({"command": command}) is ours


def test_a_malformed_handler_is_not_ours() -> None:
    assert not any(map(is_ours, (None, 1, "treadle hook", {}, {"command": 1})))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "the settings must be an object"),
        ('{"hooks": []}', "`hooks` must be an object"),
        ('{"hooks": {"Stop": {}}}', "`hooks.Stop` must be a list"),
        ('{"hooks": {"Stop": [1]}}', "an entry of `hooks.Stop` must be an object"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ("// mine\n{}", "is not JSON"),
    ],
)
def test_malformed_settings_are_left_alone(text: str, words: str) -> None:
    with pytest.raises(TreadleError, match=r"nothing was changed") as caught:
        put(read_settings(text, "settings.json"))
    assert words in str(caught.value)
    assert "settings.json" in str(caught.value)


def test_settings_keep_their_indentation() -> None:
    text = '{\n\t"model": "opus"\n}\n'
    assert format_settings(read_settings(text, "f"), text) == text
    assert format_settings({"a": "ä"}, "") == '{\n  "a": "ä"\n}\n'


handlers = st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=5)}), max_size=2)
groups = st.lists(st.fixed_dictionaries({"hooks": handlers}, optional={"matcher": st.text(max_size=3)}), max_size=2)
wholes = st.fixed_dictionaries(
    {},
    optional={"hooks": st.dictionaries(st.sampled_from(["Stop", "PreToolUse"]), groups), "model": st.text(max_size=3)},
)


@given(wholes)
def test_hooks_of_others_survive_adding_and_removing(settings: dict[str, Any]) -> None:
    def others(value: dict[str, Any]) -> list[str]:
        every = [it for groups in value.get("hooks", {}).values() for group in groups for it in group["hooks"]]
        return [json.dumps(it) for it in every if not is_ours(it)]

    found = put(settings)
    assert others(found) == others(settings) == others(taken(found))
    assert put(found) == found
    assert {**found, "hooks": 0} == {**settings, "hooks": 0}


def program(tmp_path: Path, text: str | None = None) -> HookProgram:
    found = claude(tmp_path)
    if text is not None:
        found.file.parent.mkdir()
        found.file.write_text(text)
    return found


def test_a_file_is_made_and_removed_again(tmp_path: Path) -> None:
    it = program(tmp_path)
    change = to_install(it, "treadle hook")
    assert not it.file.exists(), "nothing is written before it is carried out"
    write_change(change)
    assert list(installed_commands(it)) == ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"]
    assert to_install(it, "treadle hook").is_none
    write_change(to_uninstall(it))
    assert not it.file.exists()
    assert to_uninstall(it).is_none


def test_a_file_of_the_users_is_as_before_afterwards(tmp_path: Path) -> None:
    text = json.dumps(FULL, indent=4) + "\n"
    it = program(tmp_path, text)
    it.file.chmod(0o600)
    write_change(to_install(it, "treadle hook"))
    assert it.file.read_text() != text
    assert it.file.stat().st_mode & 0o777 == 0o600
    write_change(to_uninstall(it))
    assert it.file.read_text() == text


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    it = program(tmp_path, "{}")
    it.file.rename(tmp_path / "elsewhere.json")
    it.file.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(TreadleError, match="is a link"):
        to_install(it, "treadle hook")
    assert (tmp_path / "elsewhere.json").read_text() == "{}"


OTHERS = '{\n    "permissions": {"allow": ["Bash(ls)"]},\n    "model":"x"\n}\n'
HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "treadle hook"}]}]}


def test_other_settings_stay_letter_by_letter() -> None:
    settings: dict[str, Any] = {**json.loads(OTHERS), "hooks": HOOKS}
    put_in = format_settings(settings, OTHERS)
    assert json.loads(put_in) == settings
    assert put_in.startswith(OTHERS.removesuffix("\n}\n"))
    assert '\n    "hooks": {\n        "Stop": [' in put_in
    other = format_settings({**settings, "hooks": {"Stop": []}}, put_in)
    assert other.startswith(OTHERS.removesuffix("\n}\n"))
    assert format_settings(json.loads(OTHERS), put_in) == OTHERS, "and taken out again, it is what it was"


@pytest.mark.parametrize(
    "before", ["", "{}", "{ }\n", "\ufeff{}", '{"hooks": {}}', '{"hooks": {}, "model": "x"}', "[1"]
)
def test_any_existing_text_becomes_valid_settings(before: str) -> None:
    known: dict[str, Any] = {"model": "x"} if "model" in before else {}
    for settings in ({"hooks": HOOKS} | known, known):
        assert json.loads(format_settings(settings, before)) == settings
