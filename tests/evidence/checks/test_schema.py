"""Documents that a step writes can be read."""

from pathlib import Path

from tests.evidence.schemas.test_gherkin import GOOD
from tests.evidence.stage import Stage, run
from treadle.protocol.items import Json

ASKED: dict[str, Json] = {"clarifications": [{"question": "What about floats?", "suggestion": "none"}]}
STORY: dict[str, Json] = {"id": "US-1", "title": "t", "description": "d"}


def test_computed_fields_are_read_from_the_scenarios(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY).start()
        none = await stage.claim("bdd", "pass_bdd", {}, checks="schema:gherkin")
        assert "docs/bdd/US-1.md: was not written" in none.report
        verdict = await stage.claim("bdd", "pass_bdd", {"docs/bdd/US-1.md": GOOD}, ASKED, n="2.1")
        assert verdict.report == ""
        assert verdict.fields["scenarios"] == ["adds two numbers", "refuses text"]
        assert verdict.fields["complexity"] == "M"
        assert verdict.fields["parallel_tasks"] == 2
        assert verdict.fields["open_questions"] == ["what about floats?"]
        assert verdict.fields["files_changed"] == ["docs/bdd/US-1.md"]

    run(story())


def test_contracts_may_be_absent_and_must_be_readable(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY).start()
        assert (await stage.claim("contract", "pass", {}, checks="schema:openapi")).report == ""
        files = {"docs/api/openapi.yaml": "openapi: 3.0.0\n"}
        empty = await stage.claim("contract", "pass", files, checks="schema:openapi", n="2.1")
        assert "api.no_paths" in stage.codes(empty, "schema")
        unknown = await stage.claim("contract", "pass", {}, checks="schema:x", n="3.1")
        assert (stage.codes(unknown, "schema"), "'x'" in unknown.report) == (["document.unknown_schema"], True)

    run(story())


def test_a_contract_refers_to_files_that_are_there(tmp_path: Path) -> None:
    async def story() -> None:
        place, head = "docs/api/openapi.yaml", "openapi: 3.0.0\ninfo: {title: t, version: 1}\npaths: {}\n"
        files = {"docs/api/parts/cart.yaml": "Cart: {type: object}\n"}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        for n, (reference, said) in enumerate(
            [
                ("parts/cart.yaml#/Cart", ""),
                ("./parts/cart.yaml", ""),
                ("https://example.org/cart.yaml#/Cart", ""),
                ("parts/cart.yaml#/Bill", f"{place}: refers to parts/cart.yaml#/Bill, which does not exist"),
                ("bill.yaml#/Bill", f"{place}: refers to bill.yaml, which does not exist"),
                ("../../../../../etc/hosts", f"{place}: refers to ../../../../../etc/hosts, which does not exist"),
            ],
            start=1,
        ):
            text = f'{head}components: {{schemas: {{A: {{$ref: "{reference}"}}}}}}\n'
            verdict = await stage.claim("contract", "pass", {place: text}, checks="schema:openapi", n=f"{n}.1")
            assert (said in verdict.report) if said else verdict.report == ""

    run(story())
