from msgspec.structs import replace

from tests.protocol.sample import SAMPLE
from treadle.protocol.drawing.page import exits, fields_table, heading, input_section, overview, page, roles
from treadle.protocol.model import Artifact, Exit, Field, Limits, Protection, Protocol


def test_a_page_has_every_part() -> None:
    heads = [line for line in page(SAMPLE).splitlines() if line.startswith(("# ", "## "))]
    assert heads == ["# sample: A sample", "## Overview", "## Roles", "## Exits", "## Input"]


def test_help_stands_below_the_heading_as_plain_text() -> None:
    assert heading(replace(SAMPLE, help="Not <b>bold</b>.")) == "# sample: A sample\n\nNot &lt;b>bold&lt;/b>.\n"


def test_graphs_count_a_cloned_gate_once_and_name_their_children() -> None:
    shown = overview(SAMPLE)
    assert "| stories (root) |  | 2 | Done, Failed | node |" in shown
    assert "| node | Spec | 8 | Merged, Aborted | node |" in shown


def test_limits_files_and_protections() -> None:
    changed = replace(
        SAMPLE,
        limits=Limits(cost=2.5, wall=5400),
        artifacts={"plan": Artifact(path="docs/plan.md", writer="planner", symbol="σ₂")},
        protections=(Protection(glob="src/api/**", level=5), Protection(glob="**", level=2)),
    )
    shown = overview(changed)
    assert "8 agents at once, a cost of 2.5, 1 h 30 min" in shown
    assert "| σ₂ plan | `docs/plan.md` | planner |" in shown
    assert "| `src/api/**` | Ψ5 | asks a person |" in shown
    assert "| `**` | Ψ2 | proceeds |" in shown


def test_roles_have_scopes_permissions_and_modes() -> None:
    shown = roles(SAMPLE)
    perms = "Γ1 read_files, Γ2 list_dirs, Γ3 read_code"
    assert f"| planner (Planner) |  |  | {perms} | everything | `docs/**` | standard |" in shown
    assert "|  | WriteTests | TestsReady |  |  |  |  |" in shown
    assert "| `src/**` | small, large |" in shown


def test_exits_show_their_steps_their_proof_and_the_source_of_each_field() -> None:
    shown = exits(SAMPLE)
    heading, where, columns, *_ = shown.partition("### TestsReady")[2].split("\n\n")
    assert (heading, columns.startswith("| Field | Type | ")) == ("", True)
    assert [it for it in ("`node.tests`.", " red.") if it not in where] == []
    assert "| commit | text | git |" in shown
    assert "`variant` refines" in shown


def test_an_exit_without_fields_is_only_a_heading() -> None:
    bare = Protocol(name="p", version="1", root="g", exits={"Done": Exit()})
    assert exits(bare) == "## Exits\n\n### Done\n\n"


def test_fields_show_other_names_and_routing() -> None:
    fields = {"changeType": Field(type="A | B", also=("type",), route="value", help="What changed.")}
    assert "| changeType / type | A \\| B | the agent | value | What changed. |" in fields_table(fields)


def test_input_names_the_type_and_lists_records() -> None:
    root = replace(SAMPLE, root="node")
    given = input_section(root).partition("\n\n### Spec\n")[0]
    assert given.startswith("## Input\n\n")
    assert [it for it in ("one `Spec`", "`spec`") if it not in given] == []
    assert input_section(SAMPLE).startswith("## Input\n\nNone.\n")
