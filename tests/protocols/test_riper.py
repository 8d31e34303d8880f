"""RIPER as its authors describe it, played through on the kernel."""

import msgspec
import pytest

from treadle.kernel.commands import Notify
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.check import check
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import Protocol
from treadle.testing.scenario import Scenario, items

RIPER = load("riper")
CODES = "PC PR NR PA DG EN RC GC TI RTC RIC RFC BL"
CYCLE = [
    ("red", "RC"),
    ("green", "GC"),
    ("test", "RTC"),
    ("impl", "RIC"),
    ("qa_cross_review", "RFC"),
    ("de_cross_review", "RFC"),
    ("interface_check", ""),
    ("integration_test", ""),
    ("fold", "MergeComplete"),
]


def part(graph: str) -> Protocol:
    """The same protocol, started in the middle."""
    return msgspec.structs.replace(RIPER, root=graph)


def planned(*cycles: str) -> Scenario:
    """A run whose plan has just been accepted."""
    run = Scenario(RIPER, {"modules": ()})
    run.signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT")
    return run.says("PC").says("PA", cycles=items(*cycles))


def walk(run: Scenario, cycle: str, until: str = "") -> Scenario:
    for step, code in CYCLE:
        if step == until:
            break
        assert run.running() == [f"{cycle}:{step}"]
        run.says(code) if code else run.checked()
    return run


def test_riper_passes_every_check() -> None:
    assert check(RIPER) == []


def test_the_example_of_riper_is_an_input() -> None:
    file = BUILT_IN / "riper" / "example.yaml"
    given = load_input(RIPER, file.read_text(encoding="utf-8"), str(file))
    assert [item.key for item in given.item.fields["modules"]] == ["links", "resolve"]  # type: ignore[union-attr]


@pytest.mark.parametrize("code", CODES.split())
def test_every_status_code_is_an_exit_with_its_symbol_and_a_message(code: str) -> None:
    assert RIPER.exits[code].symbol == f"→{code}"
    assert "message" in RIPER.exits[code].fields


@pytest.mark.parametrize("symbol", ["σ₁", "σ₂", "σ₃", "σ₄", "σ₅", "σ₆"])
def test_the_memory_bank_has_a_file_for_every_symbol(symbol: str) -> None:
    assert [name for name, artifact in RIPER.artifacts.items() if artifact.symbol.startswith(symbol)]


@pytest.mark.parametrize(
    ("role", "gamma"),
    [("architect", "1236"), ("devil", "123"), ("planner", "123"), ("plan_critic", "123"), ("validator", "1234")],
)
def test_a_mode_has_the_permissions_of_its_gammas_and_no_write_scope(role: str, gamma: str) -> None:
    perms = ("read_files", "list_dirs", "read_code", "run_commands", "modify", "web")
    assert RIPER.roles[role].perms == tuple(perms[int(number) - 1] for number in gamma)
    assert RIPER.roles[role].writes == ()


def test_the_modes_follow_each_other() -> None:
    run = Scenario(RIPER, {"modules": items("given")})
    assert run.running() == []
    run.signals("go", step="O1P").says("Designed", modules=items("found"))
    assert run.running() == ["root:O2A"]
    run.says("ACCEPT")
    assert run.running() == ["root/given:audit"]
    run.says("ACCEPT")
    assert run.running() == ["root/found:audit"]
    run.says("ACCEPT")
    assert run.running() == ["root:O3P"]
    run.says("PC")
    assert run.running() == ["root:O4C"]
    run.says("PA", cycles=items("c1", "c2"))
    walk(walk(run, "root/c1"), "root/c2")
    assert run.running() == ["root:O6V"]
    run.says("Validated.Passed").says("MergeComplete")
    assert run.state.outcome == "Done"


def test_no_step_of_a_cycle_has_a_second_attempt_and_all_share_one_seat() -> None:
    agents = [step for step in RIPER.graphs["rcycle"].steps.values() if step.kind == "agent"]
    assert {(step.attempts, step.pools) for step in agents} == {(1, ("run:seat",))}
    assert RIPER.pools["seat"] == 1


@pytest.mark.parametrize("layer", ["Λ₁", "Λ₂"])
def test_a_rejected_design_halts(layer: str) -> None:
    run = Scenario(RIPER, {"modules": items("m1", "m2")}).signals("go", step="O1P").says("Designed", modules=())
    if layer == "Λ₁":
        run.says("REJECT")
    else:
        run.says("ACCEPT").says("REJECT", at="root/m1:audit").says("Notified", at="halted")
    assert run.state.outcome == "Halted"


@pytest.mark.parametrize("layer", ["Λ₁", "Λ₂"])
def test_a_design_to_revise_goes_back_to_the_person(layer: str) -> None:
    run = Scenario(RIPER, {"modules": items("m1", "m2")}).signals("go", step="O1P").says("Designed", modules=())
    if layer == "Λ₁":
        run.says("REVISE")
    else:
        run.says("ACCEPT").says("REVISE", at="root/m1:audit").says("ACCEPT", at="root/m2:audit")
    assert (run.where(), run.running()) == ("O1P", [])


def test_the_plan_loop_ends_in_agreement_or_with_a_person() -> None:
    run = Scenario(RIPER, {"modules": ()}).signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT")
    run.says("PR").says("NR").says("DG").says("NR")
    assert run.inst().vars["round"] == 2
    run.says("PR").says("EN")
    assert run.asked() == ["root:escalate"]


def test_an_empty_plan_is_not_executed() -> None:
    assert planned().asked() == ["root:empty_plan"]


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("/arch-critic", ("O2A", "O2A_modules", "O2A_found")),
        ("/p", ("O3P",)),
        ("/plan-critic", ("O4C",)),
        ("/tdd-execute", ("O5T",)),
        ("/rev", ("O6V",)),
    ],
)
def test_a_command_starts_a_mode_only_if_its_inputs_are_there(command: str, steps: tuple[str, ...]) -> None:
    run = Scenario(RIPER, {"modules": ()})
    assert RIPER.graphs["riper"].led[command] == steps
    for step in steps:
        assert run.signals("go", step=step).where() == "O1P"


def disputed(*modules: str) -> Scenario:
    """A run whose modules are accepted, and whose planner and critic wait for a person."""
    run = Scenario(RIPER, {"modules": items(*modules)}).signals("go", step="O1P").says("Designed", modules=())
    run.says("ACCEPT")
    for module in modules:
        run.says("ACCEPT", at=f"root/{module}:audit")
    return run.says("PC").says("EN")


def test_one_module_is_audited_anew_and_the_others_stay_accepted() -> None:
    run = disputed("m1", "m2").signals("go", step="O2A_modules", item="m2")
    assert run.running() == ["root/m2~2:audit"]
    assert run.says("ACCEPT").running() == ["root:O3P"]
    assert run.inst().slots["O2A_modules.AllOk"].fields["total"] == 2


def test_a_module_that_was_not_accepted_is_audited_with_the_one_that_is_named() -> None:
    run = Scenario(RIPER, {"modules": items("m1", "m2")}).signals("go", step="O1P").says("Designed", modules=())
    run.says("ACCEPT").says("REVISE", at="root/m1:audit").says("ACCEPT", at="root/m2:audit")
    run.signals("go", step="O2A_modules", item="m2")
    assert run.running() == ["root/m1~2:audit"], "or it would never be accepted"
    assert run.says("ACCEPT").running() == ["root/m2~2:audit"]


def test_an_unknown_module_is_refused() -> None:
    run = disputed("m1").signals("go", step="O2A_modules", item="m9")
    assert run.where() == "escalate"
    assert [told.detail for told in run.issued(Notify)] == ["O2A_modules has no m9; there are m1"]


def test_a_mode_refuses_inputs_of_an_earlier_design() -> None:
    run = walk(planned("c1"), "root/c1").says("Validated.Failed").answers("redesign")
    run.signals("go", step="O1P").says("Designed", modules=()).says("REVISE")
    assert run.where() == "O1P"
    for step in ("O2A_modules", "O3P", "O4C", "O5T", "O6V"):
        assert "O1P.Designed has changed" in run.signals("go", step=step).issued(Notify)[0].detail
    assert run.signals("go", step="O2A").running() == ["root:O2A"], "the devil's advocate may look again"


def test_a_command_starts_a_mode_again() -> None:
    run = planned("c1").signals("go", step="O3P")
    assert run.running() == ["root:O3P"]


@pytest.mark.parametrize(("step", "code"), CYCLE)
def test_every_refused_claim_of_a_cycle_ends_it(step: str, code: str) -> None:
    run = walk(planned("c1", "c2"), "root/c1", until=step)
    if step == "fold":
        run.says("MergeRejected.IntegrationFailure")
    else:
        first = _first_check(step, code)
        run.says(code, fails=[first]) if code else run.checked(fails=[first])
    assert run.where("root/c1") == "@Failed"
    assert run.running() == ["root:O6V_failed"]


def _first_check(step: str, code: str) -> str:
    found = RIPER.graphs["rcycle"].steps[step]
    return (found.gates[code] if code else found.checks)[0].name


@pytest.mark.parametrize(("step", "code"), [("red", "BL"), ("green", "TI"), ("de_cross_review", "QUALITY_FAILURE")])
def test_every_reported_problem_of_a_cycle_ends_it(step: str, code: str) -> None:
    run = walk(planned("c1"), "root/c1", until=step).says(code)
    assert run.where("root/c1") == "@Failed"


@pytest.mark.parametrize("why", ["timeout", "blocked", "store"])
def test_any_error_ends_a_cycle(why: str) -> None:
    run = planned("c1", "c2")
    run.times_out() if why == "timeout" else run.fails(why)
    assert run.where("root/c1") == "@Failed"
    assert "root/c2" not in run.state.insts
    assert run.running() == ["root:O6V_failed"]


def test_a_failure_is_analysed_and_then_a_persons() -> None:
    run = walk(planned("c1"), "root/c1", until="green").says("TI").says("FailureReport", classification="QA")
    assert run.asked() == ["root:manual"]
    assert run.answers("close").state.outcome == "Failed"


def test_protected_files_need_a_persons_word_and_the_work_stays() -> None:
    run = walk(planned("c1"), "root/c1", until="green").says("GC", fails=["protection"])
    assert run.asked() == ["root/c1:confirm@green"]
    assert RIPER.graphs["rcycle"].steps["green"].keep_work
    assert run.answers("confirm").running() == ["root/c1:green"]


def test_a_verdict_against_the_evidence_is_not_believed() -> None:
    run = walk(planned("c1"), "root/c1").says("Validated.Passed", fails=["green"])
    assert run.asked() == ["root:findings"]


def test_the_dispatch_line_says_revise_or_disagree() -> None:
    run = Scenario(RIPER, {"modules": ()}).signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT")
    assert run.says("PC").inst().vars["stance"] == ""
    assert run.says("NR").inst().vars["stance"] == "revise"
    assert run.says("DG").inst().vars["stance"] == "disagree"
    assert list(RIPER.roles["planner"].params) == ["S", "R", "CTX"]
