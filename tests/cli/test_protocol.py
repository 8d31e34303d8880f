import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.treadle import treadle

BUILT_IN = ["dptr", "fractal", "riper", "v3", "waterfall"]
OWN = """\
protocol: {name}
root: main
exits:
  Done: {{note: text?}}
roles:
  worker: {{template: work.jinja}}
graphs:
  main:
    start: work
    ends: {{Finished: [work.Done], Aborted: []}}
    system: {{"!*": help}}
    steps:
      work: {{role: worker, exits: [Done], gates: {{Done: readonly}}, routes: {{Done: "@end:Finished"}}}}
      help: {{ask: human, needs: ["!*?"], template: help.jinja, routes: {{retry: "@back", abort: "@end:Aborted"}}}}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of a user, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_own(name: str = "own", text: str = OWN, folder: Path = Path(".treadle/protocols")) -> Path:
    (folder / name / "templates").mkdir(parents=True)
    (folder / name / "protocol.yaml").write_text(text.format(name=name))
    (folder / name / "templates" / "work.jinja").write_text("Do it.{% if human_note %} {{ human_note }}{% endif %}\n")
    (folder / name / "templates" / "help.jinja").write_text("It failed: {{ gate_report | fence }}\n")
    return folder / name


def write_overlay(text: str, name: str = "mine") -> None:
    Path(".treadle/overlays").mkdir(parents=True, exist_ok=True)
    Path(f".treadle/overlays/{name}.yaml").write_text(text)


def test_list_names_the_built_in_protocols_and_the_projects_own() -> None:
    write_own()
    found = {it["name"]: it for it in treadle("protocol", "list", "--json").json()}
    assert [name for name in BUILT_IN if name not in found] == []
    assert found["own"]["source"] == ".treadle/protocols/own"
    assert found["v3"]["source"] == "built in"
    assert found["own"]["steps"] == 2
    shown = treadle("protocol", "list")
    assert (shown.code, shown.err) == (0, "")
    assert "| own |" in shown.out


def test_a_protocol_that_does_not_load_is_listed_as_such() -> None:
    write_own(text="protocol: own\nrot: x\n")
    assert "| own | does not load: see \\`treadle protocol check own\\` |" in treadle("protocol", "list").out


@pytest.mark.parametrize("command", [["show"], ["table"], ["draw"], ["check"], ["schema"]])
def test_an_unknown_name_gets_a_suggestion_and_the_list(command: list[str]) -> None:
    more = ["impl"] if command == ["schema"] else []
    found = treadle("protocol", *command, "watefall", *more)
    assert (found.code, found.out) == (2, "")
    assert "there is no protocol 'watefall' (did you mean 'waterfall'?); there are" in found.err
    assert all(name in found.err for name in BUILT_IN)


def test_show_describes_and_prints_the_model_as_json() -> None:
    write_own()
    found = treadle("protocol", "show", "own")
    assert found.code == 0
    for text in ("# own", "## Roles", "worker", "### Done", "note", "text?", "the agent"):
        assert text in found.out
    assert treadle("protocol", "show", "own", "--json").json()["graphs"]["main"]["start"] == "work"


def test_a_protocol_can_be_given_by_path() -> None:
    folder = write_own("elsewhere", folder=Path("some/where"))
    assert "# elsewhere" in treadle("protocol", "show", str(folder)).out


def test_check_of_a_sound_protocol_says_so() -> None:
    write_own()
    found = treadle("protocol", "check", "own")
    assert (found.code, found.err) == (0, "")
    assert found.out == "own: 1 graphs, 2 steps, nothing is wrong\n"
    assert treadle("protocol", "check", "own", "--json").json() == []


def test_findings_have_place_and_hint_and_exit_code_2() -> None:
    write_own(text=OWN.replace('Done: "@end:Finished"', "Done: hepl"))
    found = treadle("protocol", "check", "own")
    assert found.code == 2
    assert (
        ".treadle/protocols/own/protocol.yaml:13: main.work: Done leads to unknown step 'hepl' (did you mean"
        in found.out
    )
    lines = [it["line"] for it in treadle("protocol", "check", "own", "--json").json() if "hepl" in it["message"]]
    assert lines == [13]


def test_a_file_that_does_not_load_is_a_finding_too() -> None:
    write_own(text="protocol: own\nrot: x\n")
    found = treadle("protocol", "check", "own")
    assert found.code == 2
    assert "own/protocol.yaml:2:" in found.out
    assert "'rot'" in found.out
    assert "own" in {it["protocol"] for it in treadle("protocol", "check", "own", "--json").json()}


@pytest.mark.parametrize("text", ["", "just words", "a: [", "- 1\n- 2\n", "protocol: &x\nroot: *x\n", "\x00"])
def test_malformed_files_give_a_message_and_no_traceback(text: str) -> None:
    folder = write_own()
    (folder / "protocol.yaml").write_text(text)
    for command in ("check", "show", "table", "draw"):
        found = treadle("protocol", command, "own")
        assert found.code == 2
        assert "Traceback" not in found.err + found.out
        assert "protocol.yaml" in found.err + found.out


def test_check_without_names_checks_everything_in_reach() -> None:
    write_own()
    write_own("broken", OWN.replace("start: work", "start: nowhere"))
    found = treadle("protocol", "check")
    assert found.code == 2
    names = [line.partition(":")[0] for line in found.out.splitlines() if not line.startswith((".", "/"))]
    assert set(names) >= {*BUILT_IN, "own", "broken"}


def test_the_built_in_protocols_are_sound() -> None:
    found = treadle("protocol", "check")
    assert found.code == 0, found.out


def test_an_overlay_is_in_force_and_checked_with_its_protocol() -> None:
    write_own()
    write_overlay("extends: own\ngraphs: {main: {steps: {work: {+attempts: 4}}}}\n")
    assert treadle("protocol", "show", "own", "--json").json()["graphs"]["main"]["steps"]["work"]["attempts"] == 4
    write_overlay("extends: own\ngraphs: {main: {steps: {wrk: {attempts: 4}}}}\n", "typo")
    found = treadle("protocol", "check", "own")
    assert found.code == 2
    assert ".treadle/overlays/typo.yaml:2" in found.out


@pytest.mark.parametrize("text", ["extends: nothing\n", "graphs: {}\n", "extends: ["])
def test_an_overlay_of_nothing_known_is_a_finding(text: str) -> None:
    write_overlay(text)
    found = treadle("protocol", "check")
    assert found.code == 2
    assert ".treadle/overlays/mine.yaml:" in found.out


def test_a_template_of_the_project_replaces_the_protocols() -> None:
    write_own()
    Path(".treadle/templates/own").mkdir(parents=True)
    Path(".treadle/templates/own/work.jinja").write_text("Do it well.\n")
    assert treadle("protocol", "show", "own", "--json").json()["templates"]["work.jinja"] == "Do it well.\n"


def test_table_as_text_and_as_json() -> None:
    write_own()
    found = treadle("protocol", "table", "own")
    assert "| work | worker | Done | @end:Finished | readonly |" in found.out
    rows = treadle("protocol", "table", "own", "--json").json()
    assert ("work", "Done", "@end:Finished") in {(row["step"], row["exit"], row["to"]) for row in rows}
    full = treadle("protocol", "table", "own", "--full", "--json").json()
    assert "help@work" in {row["step"] for row in full}


def test_table_of_one_graph() -> None:
    assert {row["graph"] for row in treadle("protocol", "table", "dptr", "--graph", "cycle", "--json").json()} == {
        "cycle"
    }
    found = treadle("protocol", "table", "dptr", "--graph", "cicle")
    assert found.code == 2
    assert "dptr has no graph 'cicle' (did you mean 'cycle'?); there are " in found.err


def test_draw_prints_mermaid_or_writes_an_svg() -> None:
    write_own()
    assert treadle("protocol", "draw", "own").out.startswith("stateDiagram-v2\n")
    assert treadle("protocol", "draw", "own", "--svg", "own.svg").out == "own.svg is written\n"
    assert ET.parse("own.svg").getroot().tag.endswith("svg")


def test_draw_into_a_folder_that_is_not_there() -> None:
    found = treadle("protocol", "draw", "v3", "--svg", "no/where.svg")
    assert (found.code, found.out) == (2, "")
    assert "no/where.svg cannot be written: No such file or directory" in found.err


def test_schema_of_a_step() -> None:
    write_own()
    found = treadle("protocol", "schema", "own", "work").json()
    assert found["type"] == "object"
    assert "Done" in json.dumps(found)
    assert list(treadle("protocol", "schema", "own", "main.work", "--tools").json()) == ["exit_Done"]


def test_schema_of_no_step_or_of_several() -> None:
    write_own()
    found = treadle("protocol", "schema", "own", "wrk")
    assert (found.code, found.out) == (2, "")
    assert "own has no agent step 'wrk' (did you mean 'work'?); there are work" in found.err
    twice = OWN + OWN[OWN.index("  main:") :].replace("  main:", "  other:", 1)
    write_own("twice", twice)
    found = treadle("protocol", "schema", "twice", "work")
    assert "'work' is a step of several graphs; write one of main.work, other.work" in found.err
    assert treadle("protocol", "schema", "twice", "other.work").code == 0


def test_new_writes_a_folder_that_is_sound_and_never_writes_over_one() -> None:
    found = treadle("protocol", "new", "mine")
    assert found.code == 0
    assert ".treadle/protocols/mine is written" in found.out
    assert treadle("protocol", "check", "mine").code == 0
    again = treadle("protocol", "new", "mine")
    assert (again.code, again.out) == (2, "")
    assert "already there" in again.err


@pytest.mark.parametrize("name", ["../out", "a b", ""])
def test_new_refuses_what_is_no_name(name: str, project: Path) -> None:
    assert treadle("protocol", "new", name).code == 2
    assert list(project.iterdir()) == []


def test_sim_tells_what_came_of_it() -> None:
    write_own()
    found = treadle("protocol", "sim", "own", "--runs", "5")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("own: 5 runs, ")
    assert ": nothing is wrong\nended: " in found.out
    again = [treadle("protocol", "sim", "own", "--runs", "5", "--json").json() for _ in range(2)]
    assert again[0] == again[1]
    assert again[0]["runs"] == 5


def test_sim_finds_what_the_checker_would_have_found() -> None:
    write_own(text=OWN.replace('routes: {{Done: "@end:Finished"}}', "routes: {{}}"))
    found = treadle("protocol", "sim", "own", "--runs", "20", "--faults", "0")
    assert found.code == 2
    assert "again: treadle protocol sim own --runs 1 --seed " in found.out
    assert "Traceback" not in found.out + found.err


@pytest.mark.parametrize("options", [["--runs", "0"], ["--faults", "2"], ["--runs", "many"]])
def test_sim_refuses_numbers_that_mean_nothing(options: list[str]) -> None:
    found = treadle("protocol", "sim", "v3", *options)
    assert (found.code, found.out) == (2, "")


def test_explore_sees_every_state_of_a_small_protocol() -> None:
    write_own()
    found = treadle("protocol", "explore", "own")
    assert (found.code, found.err) == (0, "")
    assert ", all of them: nothing is wrong\nends: Aborted, Finished\n" in found.out
    assert treadle("protocol", "explore", "own", "--scope", "attempts=2 depth=0", "--json").json()["exhausted"] is True


def test_explore_says_when_it_has_not_seen_everything() -> None:
    assert "not all of them: a limit was reached" in treadle("protocol", "explore", "v3", "--limit", "50").out


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ("dept=1", "'dept=1' is no scope (did you mean 'depth'?)"),
        ("depth=deep", "the scope is not understood"),
        ("graph=mian", "own has no graph 'mian' (did you mean 'main'?)"),
    ],
)
def test_explore_refuses_a_scope_that_it_does_not_know(scope: str, message: str) -> None:
    write_own()
    found = treadle("protocol", "explore", "own", "--scope", scope)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
