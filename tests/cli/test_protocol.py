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
    found = {it["name"]: it for it in treadle("protocol", "list", "--json").json()["protocols"]}
    assert [name for name in BUILT_IN if name not in found] == []
    assert found["own"]["source"] == ".treadle/protocols/own"
    assert found["v3"]["source"] == "built in"
    assert found["own"]["steps"] == 2
    shown = treadle("protocol", "list")
    assert (shown.code, shown.err) == (0, "")
    assert "| own |" in shown.out


def test_a_protocol_that_does_not_load_is_listed_as_such() -> None:
    write_own(text="protocol: own\nrot: x\n")
    (row,) = [line for line in treadle("protocol", "list").out.splitlines() if line.startswith("| own |")]
    assert "`treadle protocol check own`" in row


@pytest.mark.parametrize("command", [["show"], ["table"], ["draw"], ["schema"], ["sim"], ["explore"]])
def test_an_unknown_name_gets_a_suggestion_and_the_list(command: list[str]) -> None:
    more = ["impl"] if command == ["schema"] else []
    found = treadle("protocol", *command, "watefall", *more)
    assert (found.code, found.out, found.error) == (2, "", "protocol.unknown")
    assert found.lacks("'watefall'", "'waterfall'", *BUILT_IN) == []


def test_show_describes_and_prints_the_model_as_json() -> None:
    write_own()
    found = treadle("protocol", "show", "own")
    assert found.code == 0
    for text in ("# own", "## Roles", "worker", "### Done", "note", "text?", "the agent"):
        assert text in found.out
    assert treadle("protocol", "show", "own", "--json").json()["graphs"]["main"]["start"] == "work"


def test_a_protocol_can_be_named_by_path() -> None:
    folder = write_own("elsewhere", folder=Path("some/where"))
    assert "# elsewhere" in treadle("protocol", "show", str(folder)).out


def test_check_of_a_sound_protocol_says_so() -> None:
    write_own()
    found = treadle("protocol", "check", "own")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("own: 1 graph, 2 steps, ")
    assert treadle("protocol", "check", "own", "--json").json()["findings"] == []


def test_findings_have_place_and_hint_and_exit_code_2() -> None:
    write_own(text=OWN.replace('Done: "@end:Finished"', "Done: hepl"))
    found = treadle("protocol", "check", "own")
    assert found.code == 2
    assert ".treadle/protocols/own/protocol.yaml:13: main.work: " in found.out
    findings = treadle("protocol", "check", "own", "--json").json()["findings"]
    told = [(it["line"], it["where"], it["code"], "'help'" in it["hint"]) for it in findings if "hepl" in it["message"]]
    assert told == [(13, "main.work", "protocol.unknown_target", True)]
    refused = treadle("protocol", "sim", "own", "--json")
    assert (refused.code, refused.json()["error"]["code"]) == (2, "protocol.unsound")


def test_a_file_that_does_not_load_is_a_finding_too() -> None:
    write_own(text="protocol: own\nrot: x\n")
    found = treadle("protocol", "check", "own")
    assert found.code == 2
    assert "own/protocol.yaml:2:" in found.out
    assert "'rot'" in found.out
    findings = treadle("protocol", "check", "own", "--json").json()["findings"]
    assert {(it["protocol"], it["code"]) for it in findings} == {("own", "protocol.malformed")}


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.yaml", b"extends: v33\n", "mine.yaml:1: extends: there is no protocol 'v33' (did you mean 'v3'?"),
        ("mine.yaml", b"graphs: {}\n", "mine.yaml:1: extends: this overlay does not say"),
        ("mine.yaml", b"extends: [", "mine.yaml:1: this is not YAML"),
        ("mine.yaml", b"\xff\x00", "mine.yaml: "),
        ("mine.yml", b"extends: v3\n", "mine.yml: an overlay's name ends in .yaml (rename it to mine.yaml)"),
        ("mine.yaml", None, "mine.yaml: this is a folder"),
    ],
)
def test_an_invalid_overlay_is_an_error_in_every_command_that_opens_a_protocol(
    name: str, content: bytes | None, message: str
) -> None:
    path = Path(".treadle/overlays", name)
    path.parent.mkdir(parents=True)
    path.mkdir() if content is None else path.write_bytes(content)
    for command in (["protocol", "check"], ["protocol", "check", "v3"]):
        found = treadle(*command)
        assert (found.code, found.out.count(f".treadle/overlays/{message}")) == (2, 1), found.out
    for command in (
        ["protocol", "sim", "v3"],
        ["protocol", "show", "v3"],
        ["demo", "--simulated", "-p", "v3"],
        ["spec", "new", "-p", "v3"],
    ):
        found = treadle(*command)
        assert (found.code, found.out) == (2, "")
        assert f".treadle/overlays/{message}" in found.err


def test_rules_that_are_no_file_are_an_error() -> None:
    Path(".ai/step-rules.yaml").mkdir(parents=True)
    folder = treadle("protocol", "show", "waterfall")
    assert (folder.code, folder.lacks("step-rules.yaml: ", "a folder")) == (2, [])
    Path(".ai/step-rules.yaml").rmdir()
    Path(".ai/step-rules.yaml").symlink_to("nowhere")
    link = treadle("protocol", "check", "waterfall")
    assert (link.code, link.lacks("step-rules.yaml: ", "link")) == (2, [])


def test_the_projects_folder_is_searched_upwards_to_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    write_own()
    Path("a/b").mkdir(parents=True)
    monkeypatch.chdir("a/b")
    assert "own" not in {it["name"] for it in treadle("protocol", "list", "--json").json()["protocols"]}
    Path("../../.git").mkdir()
    found = {it["name"]: it["source"] for it in treadle("protocol", "list", "--json").json()["protocols"]}
    assert found["own"] == "../../.treadle/protocols/own"
    assert "the protocol own" in treadle().out


def test_a_template_of_the_project_replaces_the_protocols() -> None:
    write_own()
    Path(".treadle/templates/own").mkdir(parents=True)
    Path(".treadle/templates/own/work.jinja").write_text("Do it well.\n")
    assert treadle("protocol", "show", "own", "--json").json()["templates"]["work.jinja"] == "Do it well.\n"


def test_table_as_text_and_as_json() -> None:
    write_own()
    found = treadle("protocol", "table", "own")
    assert "| work | worker | Done | @end:Finished | readonly |" in found.out
    rows = treadle("protocol", "table", "own", "--json").json()["rows"]
    assert ("work", "Done", "@end:Finished") in {(row["step"], row["exit"], row["to"]) for row in rows}
    full = treadle("protocol", "table", "own", "--full", "--json").json()["rows"]
    assert "help@work" in {row["step"] for row in full}


def test_table_of_one_graph() -> None:
    assert {
        row["graph"] for row in treadle("protocol", "table", "dptr", "--graph", "cycle", "--json").json()["rows"]
    } == {"cycle"}
    found = treadle("protocol", "table", "dptr", "--graph", "cicle")
    assert (found.code, found.error, found.lacks("dptr", "'cicle'", "'cycle'")) == (2, "usage.unknown", [])


def test_draw_prints_mermaid_or_writes_an_svg() -> None:
    write_own()
    assert treadle("protocol", "draw", "own").out.startswith("stateDiagram-v2\n")
    assert treadle("protocol", "draw", "own", "--svg", "own.svg").out == "own.svg is written\n"
    assert ET.parse("own.svg").getroot().tag.endswith("svg")


def test_draw_into_a_folder_that_is_not_there() -> None:
    found = treadle("protocol", "draw", "v3", "--svg", "no/where.svg")
    assert (found.code, found.out, found.error) == (2, "", "file.unwritable")
    assert found.lacks("no/where.svg", "folder no;") == []


def test_schema_of_a_step() -> None:
    write_own()
    found = treadle("protocol", "schema", "own", "work").json()
    assert found["type"] == "object"
    assert "Done" in json.dumps(found)
    assert list(treadle("protocol", "schema", "own", "main.work", "--tools").json()) == ["exit_Done"]


def test_schema_of_no_step_or_of_several() -> None:
    write_own()
    found = treadle("protocol", "schema", "own", "wrk")
    assert (found.code, found.out, found.error) == (2, "", "usage.unknown")
    assert found.lacks("own", "'wrk'", "'work'") == []
    twice = OWN + OWN[OWN.index("  main:") :].replace("  main:", "  other:", 1)
    write_own("twice", twice)
    found = treadle("protocol", "schema", "twice", "work")
    assert (found.code, found.error, found.lacks("main.work, other.work")) == (2, "usage.ambiguous", [])
    assert treadle("protocol", "schema", "twice", "other.work").code == 0


def test_new_writes_a_folder_that_is_sound_and_never_writes_over_one() -> None:
    found = treadle("protocol", "new", "mine")
    assert found.code == 0
    assert ".treadle/protocols/mine is written" in found.out
    assert treadle("protocol", "check", "mine").code == 0
    again = treadle("protocol", "new", "mine")
    assert (again.code, again.out, again.error) == (2, "", "file.exists")


@pytest.mark.parametrize("name", ["../out", "a b", ""])
def test_new_refuses_a_text_that_is_no_name(name: str, project: Path) -> None:
    assert treadle("protocol", "new", name).code == 2
    assert list(project.iterdir()) == []


def test_sim_prints_its_result_and_repeats_it() -> None:
    write_own()
    found = treadle("protocol", "sim", "own", "--runs", "5")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("own: 5 runs, ")
    assert ": no findings\nended: " in found.out
    again = [treadle("protocol", "sim", "own", "--runs", "5", "--json").json() for _ in range(2)]
    assert again[0] == again[1]
    assert again[0]["runs"] == 5


UNSOUND = OWN.replace("start: work", "start: wrok")


@pytest.mark.parametrize(
    "command", [["protocol", "sim"], ["protocol", "explore"], ["demo", "--simulated", "--protocol"]]
)
def test_a_protocol_that_fails_its_checks_does_not_run(command: list[str]) -> None:
    write_own(text=UNSOUND)
    found = treadle(*command, "own")
    assert (found.code, found.out, found.error) == (2, "", "protocol.unsound")
    assert found.lacks("1 finding;", "`treadle protocol check own`\n  .treadle/", "'work'") == []


@pytest.mark.parametrize("command", [["show"], ["table"], ["draw"], ["schema"]])
def test_looking_at_a_protocol_that_does_not_pass_its_checks_gives_a_warning(command: list[str]) -> None:
    write_own(text=UNSOUND)
    found = treadle("protocol", *command, "own", *(["work"] if command == ["schema"] else []))
    assert found.code == 0
    assert found.out
    assert found.err.startswith("treadle: warning: own ")
    assert (found.err.count("\n"), found.lacks("1 finding;", "`treadle protocol check own`\n")) == (1, [])


def test_an_unknown_name_is_a_finding_of_check_and_stops_no_other() -> None:
    write_own()
    found = treadle("protocol", "check", "wn", "own")
    assert (found.code, found.err) == (2, "")
    assert found.lacks("wn: ", "'wn'", "'own'", "\nown: 1 graph, 2 steps, ") == []
    listed = treadle("protocol", "check", "wn", "own", "--json")
    assert (listed.code, [(it["protocol"], it["code"]) for it in listed.json()["findings"]]) == (
        2,
        [("wn", "protocol.unknown")],
    )


def test_list_has_the_problem_of_a_protocol_that_does_not_load() -> None:
    write_own(text="protocol: own\nrot: x\n")
    problems = {it["name"]: it["problem"] for it in treadle("protocol", "list", "--json").json()["protocols"]}
    assert ".treadle/protocols/own/protocol.yaml:" in problems["own"]
    assert problems["v3"] == ""


def test_a_schema_is_json_also_when_asked_for() -> None:
    assert treadle("protocol", "schema", "v3", "impl", "--json") == treadle("protocol", "schema", "v3", "impl")


def test_a_drawing_on_standard_output_is_only_the_drawing() -> None:
    for name in ("-", "/dev/stdout"):
        assert ET.fromstring(treadle("protocol", "draw", "v3", "--svg", name).out).tag.endswith("svg")


def test_a_drawing_replaces_only_a_drawing(project: Path) -> None:
    assert [treadle("protocol", "draw", "v3", "--svg", "v3.svg").code for _ in range(2)] == [0, 0]
    Path("notes.txt").write_text("mine")
    found = treadle("protocol", "draw", "v3", "--svg", "notes.txt")
    assert (found.code, Path("notes.txt").read_text()) == (2, "mine")
    assert treadle("protocol", "draw", "v3", "--svg", ".").code == 2
    assert sorted(path.name for path in project.iterdir()) == ["notes.txt", "v3.svg"]


def test_new_writes_into_an_empty_folder_and_into_no_other(project: Path) -> None:
    Path("empty").mkdir()
    assert treadle("protocol", "new", "empty", "--to", "empty").code == 0
    assert treadle("protocol", "check", "empty").code == 0
    Path("full/templates").mkdir(parents=True)
    Path("file").write_text("")
    for to in ("full", "file", "no/where"):
        assert treadle("protocol", "new", "mine", "--to", to).code == 2
    assert sorted(path.name for path in project.iterdir()) == ["empty", "file", "full"]
    assert [path.name for path in Path("full").iterdir()] == ["templates"]


def test_new_replaces_a_built_in_protocol_only_with_replace(project: Path) -> None:
    found = treadle("protocol", "new", "v3")
    assert (found.code, list(project.iterdir())) == (2, [])
    assert ".treadle/overlays/v3.yaml with `extends: v3`" in found.err
    assert treadle("protocol", "new", "v3", "--replace").code == 0
    assert treadle("protocol", "show", "v3", "--json").json()["title"] == "Reproduce, fix, review"


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_protocol_has_a_small_scope_that_explore_takes_by_itself_and_exhausts(name: str) -> None:
    found = treadle("protocol", "explore", name, "--json")
    assert found.code == 0
    document = found.json()
    assert (document["protocol"], document["scope"], document["exhausted"]) == (name, "small", True)
    assert [document[kind] for kind in ("deadlocks", "dead_ends", "faults")] == [[], [], []]


def test_explore_lists_its_scopes() -> None:
    names = [it["name"] for it in treadle("protocol", "explore", "v3", "--scopes", "--json").json()["scopes"]]
    assert names[0] == "small"
    assert "leaf" in names
    assert "| leaf |" in treadle("protocol", "explore", "v3", "--scopes").out


@pytest.mark.parametrize("options", [["--runs", "0"], ["--faults", "2"], ["--runs", "many"]])
def test_sim_refuses_nonsensical_numbers(options: list[str]) -> None:
    found = treadle("protocol", "sim", "v3", *options)
    assert (found.code, found.out) == (2, "")


def test_explore_sees_every_state_of_a_small_protocol() -> None:
    write_own()
    found = treadle("protocol", "explore", "own")
    assert (found.code, found.err) == (0, "")
    assert "\nends: Aborted, Finished\n" in found.out
    assert treadle("protocol", "explore", "own", "--scope", "attempts=2 depth=0", "--json").json()["exhausted"] is True


def test_explore_says_when_it_has_not_seen_everything() -> None:
    found = treadle("protocol", "explore", "v3", "--limit", "50")
    assert found.code == 1
    assert "incomplete" in found.out
    document = treadle("protocol", "explore", "v3", "--limit", "50", "--json")
    assert (document.code, document.json()["exhausted"]) == (1, False)


@pytest.mark.parametrize(
    ("scope", "named"),
    [
        ("dept=1", ["'dept=1'", "'depth'"]),
        ("depth=deep", ["depth=deep", "at least 0"]),
        ("graph=mian", ["own", "'mian'", "'main'"]),
        ("widths=-1", ["widths is -1", "at least 0"]),
        ("attempts=0", ["attempts is 0", "at least 1"]),
        ("depth=1,2", ["depth is one number"]),
        ("smal", ["'smal'", "'small'"]),
    ],
)
def test_explore_refuses_a_scope_that_it_does_not_know(scope: str, named: list[str]) -> None:
    write_own()
    found = treadle("protocol", "explore", "own", "--scope", scope)
    assert (found.code, found.out, found.error) == (2, "", "usage.value")
    assert found.lacks(*named) == []


@pytest.mark.parametrize("command", [["check"], ["show"], ["table"], ["draw"], ["sim"], ["explore", "--scopes"]])
def test_a_name_that_is_too_long_for_a_file_is_unknown_like_any_other(command: list[str]) -> None:
    found = treadle("protocol", *command, "a" * 300)
    assert (found.code, found.lacks(f"'{'a' * 57}…'", "dptr")) == (2, [])


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["x", "--to", "README"], "protocol.name", "`--to x`"),
        (["x", "--to", "a b/y"], "protocol.name", "`--to 'a b/x'`"),
        (["x", "--to", "a" * 300], "protocol.name", "`--to x`"),
        (["x", "--to", "a" * 300 + "/x"], "file.unwritable", "File name too long"),
        (["--", "-x"], "protocol.name", "'-x'"),
        (["fragments"], "protocol.name", "fragments"),
    ],
)
def test_new_refuses_a_name_that_could_not_be_used_afterwards(
    arguments: list[str], code: str, named: str, project: Path
) -> None:
    found = treadle("protocol", "new", *arguments)
    assert (found.code, found.out, found.error, found.lacks(named)) == (2, "", code, [])
    assert list(project.iterdir()) == []


def test_new_advises_a_command_that_works() -> None:
    Path("a b").mkdir()
    found = treadle("protocol", "new", "mine", "--to", "a b/mine")
    assert "`treadle protocol check 'a b/mine'`" in found.out
    assert treadle("protocol", "check", "a b/mine").code == 0


@pytest.mark.parametrize("command", [["list"], ["show", "own"], ["table", "own"], ["draw", "own"], ["check", "own"]])
def test_a_protocol_cannot_act_on_the_terminal(command: list[str]) -> None:
    hostile = '"\\e[31mred\\a\\u202e"'
    write_own(text=f"{OWN}title: {hostile}\nhelp: {hostile}\n")
    found = treadle("protocol", *command)
    assert found.code == 0, found
    assert all(letter.isprintable() or letter == "\n" for letter in found.out + found.err)


@pytest.mark.parametrize(
    ("scopes", "named"),
    [
        ("tiny: {nope: 3}", ["scopes.yaml:1: ", "'tiny'"]),
        ("tiny: {graph: mian}", ["scopes.yaml: ", "tiny", "'mian'", "'main'"]),
    ],
)
def test_check_looks_at_the_scopes_too(scopes: str, named: list[str]) -> None:
    write_own()
    Path(".treadle/protocols/own/scopes.yaml").write_text(scopes)
    found = treadle("protocol", "check", "own")
    assert (found.code, found.lacks(*named)) == (2, [])


def test_explore_refuses_a_repeated_bound() -> None:
    found = treadle("protocol", "explore", "v3", "--scope", "attempts=1 attempts=2")
    assert (found.code, found.out, found.error) == (2, "", "usage.value")
    assert found.lacks("attempts twice") == []
