"""A commit says whose work it is and what was done, in one harmless line, for every protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from tests.prompts.stage import Memory
from treadle.git.commit_message import merge_subject, work_subject
from treadle.kernel.commands import RunChecks
from treadle.kernel.state import Instance, Slot, State
from treadle.ports import Case
from treadle.protocol.alone import TERMS_FILE, read_terms, select_part
from treadle.protocol.items import Json
from treadle.protocol.load import BUILT_IN, load, read_tree
from treadle.protocol.model import Protocol

START, V3, DPTR, WATERFALL = (load(one) for one in (BUILT_IN / "new", "v3", "dptr", "waterfall"))


def case(protocol: Protocol, spec: Json, graph: str = "", key: str = "") -> Case:
    memory = Memory()
    root = Instance("root", 1, graph or protocol.root, Slot(ref=memory.put(spec)), key=key)
    return Case(protocol=protocol, state=State(run="r1", insts=Map({"root": root})), payloads=memory)


def subject(protocol: Protocol, step: str, spec: Json, graph: str = "", key: str = "") -> str:
    graph = graph or protocol.root
    job = RunChecks(id=f"root:{step}#1.1", inst="root", graph=graph, step=step, visit=1, attempt=1, exit="Done")
    return work_subject(job, case(protocol, spec, graph, key))


BUG: Json = {"id": "BUG-7", "title": "Totals lose the last item", "description": "…"}


@pytest.mark.parametrize(
    ("protocol", "graph", "step", "spec", "expected"),
    [
        (START, "", "fix", BUG, "BUG-7: Totals lose the last item (Make it pass)"),
        (START, "", "fix", {"id": "BUG-7"}, "BUG-7: Make it pass"),
        (START, "", "fix", {"title": "Totals"}, "r1: Totals (Make it pass)"),
        (START, "", "fix", ["odd"], "r1: Make it pass"),
        (V3, "", "impl", {"id": "slug"}, "slug: Impl"),
        (DPTR, "module", "phase0", {"name": "amounts"}, "amounts: Phase 0: interface skeleton"),
        (
            START,
            "",
            "fix",
            {"id": "a\nTreadle-Activity: x", "title": "\x1b[2Jb\u202e"},
            "a Treadle-Activity: x: [2Jb (Make it pass)",
        ),
    ],
)
def test_work_is_called_by_the_spec_and_the_step(
    protocol: Protocol, graph: str, step: str, spec: Json, expected: str
) -> None:
    assert subject(protocol, step, spec, graph) == expected


def test_an_instance_goes_by_its_key_among_its_siblings() -> None:
    assert subject(V3, "impl", {"id": "slug"}, key="k0") == "k0: Impl"
    assert merge_subject("root", case(V3, {"id": "slug"}, key="k0")) == "feat(k0): implement"
    assert merge_subject("root", case(V3, {"id": "slug"})) == "feat(slug): implement"
    assert (
        merge_subject("root", case(WATERFALL, {"id": "US-5", "title": "Cart"}, "story", "US-5")) == "feat(US-5): Cart"
    )


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Join words. Then more.", "feat(slug): Join words"),
        ("Join words by e.g. hyphens", "feat(slug): Join words by e.g. hyphens"),
        ("Join\n  words\n\nMore", "feat(slug): Join words"),
        ("", "feat(slug): implement"),
        ("\n\nTreadle-Run: other\x1b[2J", "feat(slug): Treadle-Run: other [2J"),
        (7, "feat(slug): implement"),
        ("w" * 100, f"feat(slug): {'w' * 59}…"),
    ],
)
def test_a_result_without_a_title_is_called_by_its_description(description: Json, expected: str) -> None:
    assert merge_subject("root", case(V3, {"id": "slug", "description": description})) == expected
    assert len(expected) <= 72


@pytest.mark.parametrize(
    ("step", "paths", "expected"),
    [
        ("bdd", ["docs/bdd/US-5.md"], "docs(US-5): Cart (BDD scenarios)"),
        ("contract", ["docs/api/openapi.yaml"], "docs(US-5): Cart (API contract)"),
        ("scaffold", ["tests/test_a.py", "src/a.py"], "test(US-5): Cart (Test scaffold)"),
        ("impl", ["src/a.py"], "feat(US-5): Cart (Implementation)"),
    ],
)
def test_the_subject_of_a_single_step_names_the_step(step: str, paths: list[str], expected: str) -> None:
    terms = read_terms(read_tree(BUILT_IN / "waterfall" / TERMS_FILE))
    one = case(select_part(WATERFALL, step, terms).protocol, {"id": "US-5", "title": "Cart"}, "story", "US-5")
    assert merge_subject("root", one, paths) == expected
    long = case(select_part(WATERFALL, step, terms).protocol, {"title": "Cart " * 30}, "story", "A" * 60)
    assert len(merge_subject("root", long, paths)) <= 72


@pytest.mark.parametrize(
    ("graph", "paths", "expected"),
    [
        ("bootstrap", ["PROJECT_CONTEXT.md", "docs/sdd.md"], "docs(shop): Bootstrap"),
        ("supplement", ["docs/ddd/glossary.md"], "docs(shop): Supplement"),
        ("supplement", ["tests/test_a.py", "docs/bdd/US-1.md"], "test(shop): Supplement"),
        ("story", ["docs/sdd.md", "tests/test_a.py", "src/a.py"], "feat(shop): implement"),
        ("story", [], "feat(shop): implement"),
    ],
)
def test_the_subject_of_a_merge_depends_on_the_changed_paths(graph: str, paths: list[str], expected: str) -> None:
    assert merge_subject("root", case(WATERFALL, {"id": "shop"}, graph, "shop"), paths) == expected


@given(st.fixed_dictionaries({}, optional={"id": st.text(max_size=90), "title": st.text(max_size=90)}))
def test_a_subject_is_one_short_printable_line(spec: dict[str, Json]) -> None:
    found = subject(START, "fix", spec)
    assert found.isprintable()
    assert found == found.strip()
    assert 0 < len(found) <= 72
