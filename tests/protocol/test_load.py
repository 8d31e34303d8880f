"""Folders: found by name or by path, read within limits, never outside of themselves."""

import io
import os
import re
import textwrap
from pathlib import Path

import pytest

from tests.protocol.loading import MINIMAL, STEP
from tests.refusals import refused
from treadle.errors import ProtocolError
from treadle.protocol.check import check
from treadle.protocol.load import (
    MAX_TEMPLATE,
    available,
    find,
    load,
    load_files,
    load_source,
    read_stream,
    read_text,
    read_tree,
    starting_folder,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "small")


def write(folder: Path, text: str = MINIMAL + STEP) -> Path:
    (folder / "templates").mkdir(parents=True)
    (folder / "protocol.yaml").write_text(text)
    (folder / "templates/work.jinja").write_text("work\n")
    return folder


def problem(path: Path | str, **options: Path) -> str:
    with pytest.raises(ProtocolError) as caught:
        load_source(path, **options)  # type: ignore[arg-type]
    (finding,) = caught.value.findings
    return str(finding)


def test_a_folder_is_loaded_with_its_templates(folder: Path) -> None:
    (folder / "templates/parts").mkdir()
    (folder / "templates/parts/_head.jinja").write_text("head")
    (folder / "templates/notes.md").write_text("not a template")
    assert load(folder).templates == {"work.jinja": "work\n", "parts/_head.jinja": "head"}
    assert load(str(folder)) == load(folder / "protocol.yaml") == load(folder)


def test_a_name_is_searched_in_the_projects_folders_first(tmp_path: Path, folder: Path) -> None:
    write(tmp_path / "v3", MINIMAL.replace("small", "v3") + STEP + "title: mine\n")
    assert find("small", search=[tmp_path]) == folder
    assert load("v3", search=[tmp_path]).title == "mine"
    assert available([tmp_path])["v3"] == tmp_path / "v3"


def test_a_name_may_be_a_folder_right_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert load("small") == load(folder)


def test_every_built_in_protocol_loads_under_its_own_name() -> None:
    assert available()
    for name in available():
        assert load(name).name == name


@pytest.mark.usefixtures("folder")
def test_an_unknown_name(tmp_path: Path) -> None:
    with refused("protocol.unknown", "'smal'", "'small'"):
        load("smal", search=[tmp_path])
    with refused("protocol.unknown", "'zzzz'", "small, "):
        load("zzzz", search=[tmp_path])


def test_a_path_without_a_protocol(tmp_path: Path) -> None:
    causes: dict[Path | str, str] = {
        tmp_path: "no protocol.yaml",
        tmp_path / "no": "no such folder",
        "x" * 5000: "File name too long",
    }
    for path, cause in causes.items():
        with refused("protocol.unreadable", f"{str(path)[:200]}: ", cause, "`treadle protocol new"):
            load_source(path)


def test_a_link_that_leads_out_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "secret.jinja").write_text("secret")
    (folder / "templates/leak.jinja").symlink_to(tmp_path / "secret.jinja")
    with refused("protocol.unreadable", f"{folder}/templates/leak.jinja: ", "leads out"):
        load_source(folder)


def test_a_linked_folder_of_templates_is_not_entered(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/leak.jinja").write_text("secret")
    (folder / "templates/link").symlink_to(tmp_path / "elsewhere")
    (folder / "templates/loop").symlink_to(folder / "templates")
    assert list(load(folder).templates) == ["work.jinja"]


def test_a_link_inside_the_folder_is_a_template(folder: Path) -> None:
    (folder / "templates/same.jinja").symlink_to(folder / "templates/work.jinja")
    assert load(folder).templates["same.jinja"] == "work\n"


def test_a_link_to_itself_and_an_odd_name_are_refused(folder: Path) -> None:
    loop = folder / "templates/loop.jinja"
    loop.symlink_to(loop)
    with refused("protocol.unreadable", f"{loop}: ", "nowhere"):
        load_source(folder)
    loop.unlink()
    (folder / "templates/a\nb").mkdir()
    (folder / "templates/a\nb/x.jinja").write_text("x")
    with refused("protocol.unreadable", "templates/a\\nb", "unusual characters"):
        load_source(folder)


def test_limits_and_encodings(folder: Path) -> None:
    template = folder / "templates/work.jinja"
    template.write_text("x" * (MAX_TEMPLATE + 1))
    large = problem(folder)
    assert (large.startswith(f"{template}: "), f" {MAX_TEMPLATE} bytes" in large) == (True, True)
    template.write_bytes(b"caf\xe9")
    odd = problem(folder)
    assert (odd.startswith(f"{template}: "), "UTF-8 at byte 3" in odd) == (True, True)


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was taken from it."""

    taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self.taken += len(buffer)
        return len(buffer)


def test_a_stream_is_read_up_to_its_limit() -> None:
    endless = Endless()
    with refused("file.too_large", "stdin: ", " 1000 bytes"):
        read_stream(endless, "stdin", 1000)  # type: ignore[arg-type]
    assert endless.taken == 1001
    assert read_stream(io.BytesIO(b"caf\xc3\xa9"), "stdin", 5) == "café"


@pytest.mark.parametrize("name", ["protocol.yaml", "more.yaml", "templates/work.jinja"])
def test_a_pipe_is_refused_and_never_opened(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with refused("protocol.unreadable", f"{folder}/{name}: ", "pipe"):
        load_source(folder)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    found = {}
    for path in (tmp_path, tmp_path / "link", tmp_path / "pipe", tmp_path / "no", Path("/dev/zero")):
        for reader in (read_text, read_tree):
            with pytest.raises(ProtocolError) as caught:
                reader(path)
            found[path.name] = str(caught.value.findings[0]).removeprefix(f"{path}: ")
    causes = {
        tmp_path.name: "a folder",
        "link": "this link",
        "pipe": "a pipe",
        "no": "no such file",
        "zero": "a device",
    }
    assert [name for name, cause in causes.items() if cause not in found[name]] == []


def test_a_main_file_that_is_a_folder_or_a_dangling_link_is_refused(folder: Path) -> None:
    main = folder / "protocol.yaml"
    main.unlink()
    main.symlink_to(folder / "gone")
    with refused("protocol.unreadable", f"{main}: ", "nowhere"):
        load_source(folder)
    main.unlink()
    main.mkdir()
    with refused("protocol.unreadable", f"{main}: ", "a folder"):
        load_source(folder)


def test_a_device_is_no_folder() -> None:
    with refused("protocol.unreadable", "/dev/zero: ", "not a folder"):
        load_source("/dev/zero")


def test_folder_and_protocol_have_one_name(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine")
    found = problem(mine)
    assert found.startswith(f"{mine}/protocol.yaml:1: protocol: ")
    assert [text for text in ("'mine'", "'small'", "`protocol: mine`") if text not in found] == []
    with pytest.raises(ProtocolError, match=r"'mine'.*'small'"):
        load("mine", search=[tmp_path])


def test_a_folder_that_extends_another_says_its_own_name(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", "# a variant\nextends: v3\n")
    found = problem(mine)
    assert found.startswith(f"{mine}/protocol.yaml:1: protocol: ")
    assert [text for text in ("'mine'", "'v3'", "`protocol: mine`") if text not in found] == []


def test_the_current_folder_has_its_own_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert load(Path()).name == "small"
    (folder / "protocol.yaml").write_text((MINIMAL + STEP).replace("small", "other"))
    assert [text for text in ("'small'", "'other'") if text not in problem(Path())] == []


def test_a_folder_with_an_invalid_name_may_hold_any_protocol(tmp_path: Path) -> None:
    assert load(write(tmp_path / "small v1.2")).name == "small"


def test_a_missing_overlay(folder: Path) -> None:
    with refused("protocol.unreadable", f"{folder}/no.yaml: ", "no such file"):
        load_source(folder, overlays=[folder / "no.yaml"])


def test_rules_for_a_protocol_without_rules(folder: Path) -> None:
    rules = folder.parent / "rules.yaml"
    rules.write_text("steps: {}\n")
    with refused("protocol.malformed", f"{rules}:1: step_rules: ", "overlay"):
        load_source(folder, rules=rules)


def test_a_projects_own_rules_lie_over_the_protocols(tmp_path: Path) -> None:
    rules = tmp_path / "step-rules.yaml"
    rules.write_text("steps:\n  impl:\n    max_attempts: 7\n")
    story = load_source("waterfall", rules=rules).protocol.graphs["story"].steps
    usual = load("waterfall").graphs["story"].steps
    assert (usual["impl"].attempts, story["impl"].attempts) == (5, 7)
    assert list(story) == list(usual)
    rules.write_text("steps:\n  impl:\n    max_attempts: lots\n")
    assert problem("waterfall", rules=rules).startswith(f"{rules}:3: ")


def test_the_message_counts_the_problems(folder: Path) -> None:
    (folder / "protocol.yaml").write_text((MINIMAL + STEP).replace("root", "rot").replace("start", "strat"))
    with pytest.raises(ProtocolError) as caught:
        load(folder)
    assert caught.value.message.startswith(f"{folder}/protocol.yaml ")
    assert caught.value.message.endswith(" 4 problems")


def test_the_example_of_the_documentation_loads() -> None:
    text = (ROOT / "docs/language.md").read_text()
    (example,) = re.findall(r"```yaml\n(protocol: .*?)```", text, re.DOTALL)
    templates = dict(re.findall(r"`(templates/\w+\.jinja)`:\n\n```jinja\n(.*?)```", text, re.DOTALL))
    protocol = load_files({"protocol.yaml": example, **templates})
    assert list(protocol.graphs["main"].steps) == ["repro", "fix", "human@repro", "human@fix"]
    assert list(protocol.templates) == ["fix.jinja", "repro.jinja"]
    assert check(protocol) == []


def test_the_check_step_of_the_documentation_loads() -> None:
    (example,) = re.findall(r"```yaml\n(verify:.*?)```", (ROOT / "docs/language.md").read_text(), re.DOTALL)
    step = load_files({"protocol.yaml": MINIMAL + textwrap.indent(example, "      ")}).graphs["main"].steps["verify"]
    told = [(ref.name, ref.arg, ref.advisory) for ref in step.checks]
    assert told[2:] == [("lint", "", True), ("schema", "gherkin", False), ("post_check", "make smoke", True)]


def test_the_overlay_and_the_rules_of_the_documentation_apply(tmp_path: Path) -> None:
    text = (ROOT / "docs/language.md").read_text()
    for name, start in (("overlay", "extends: "), ("rules", "steps:\n  impl: ")):
        (example,) = re.findall(rf"```yaml\n({start}.*?)```", text, re.DOTALL)
        (tmp_path / f"{name}.yaml").write_text(example)
    patched = load_source("dptr", overlays=[tmp_path / "overlay.yaml"]).protocol
    assert (patched.limits.agents, "scribe" in patched.roles) == (3, True)
    ruled = load_source("waterfall", rules=tmp_path / "rules.yaml").protocol
    assert ruled.graphs["story"].steps["impl"].attempts == 7


@pytest.mark.parametrize("name", ["mine", "a-b_1"])
def test_the_starting_folder_loads(name: str) -> None:
    protocol = load_files(starting_folder(name))
    assert protocol.name == name
    assert {"reproduce.jinja", "fix.jinja", "stuck.jinja"} <= set(protocol.templates)


def test_the_starting_folder_passes_every_check() -> None:
    assert check(load_files(starting_folder("mine"))) == []


def test_the_starting_folder_has_a_name() -> None:
    with refused("protocol.name", "'../x'"):
        starting_folder("../x")
