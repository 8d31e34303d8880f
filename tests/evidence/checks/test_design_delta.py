"""The delta of a design, held against the design document and the contracts."""

from pathlib import Path
from typing import Any

import pytest

from tests.evidence.checks.test_scenarios import STORY
from tests.evidence.stage import Stage, run
from treadle.evidence.checks.design import unnamed_changes

DELTA = """# Delta
## ADDED
- cart: `apply(coupon: str) -> Total`, at `POST /carts/{id}/coupons`
- in `cart`: `pay()`

## MODIFIED
- cart: before `total() -> int`, after `total() -> Total`

## REMOVED
- cart: `discount() -> int`
"""
SDD = "# Design\n## cart\n`total() -> int`\n`discount() -> int`\n"
MERGED = "# Design\n## cart\n- `apply(coupon: str)\n  -> Total`\n- pay()\n- **total() -> Total**\n"


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (MERGED, ""),
        (SDD, "{place}:3: `apply(coupon: str) -> Total` (ADDED) is not in docs/sdd.md"),
        (SDD, "{place}:7: `total() -> Total` (MODIFIED) is not in docs/sdd.md"),
        (MERGED.replace("- pay()\n", ""), "{place}:4: `pay()` (ADDED) is not in docs/sdd.md"),
        (MERGED + "`discount() -> int`\n", "{place}:10: `discount() -> int` is removed by the delta, but is still in"),
    ],
)
@pytest.mark.parametrize("place", ["docs/deltas/US-1.md", "docs/deltas/archive/2026-01-02-US-1.md"])
def test_a_delta_is_part_of_the_design(tmp_path: Path, design: str, said: str, place: str) -> None:
    async def told() -> None:
        files = {"docs/sdd.md": SDD, place: DELTA}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        verdict = await stage.claim("verify", "x", {"docs/sdd.md": design}, checks="checkpoint delta_merged")
        assert (said.format(place=place) in verdict.report) if said else verdict.report == ""

    run(told())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            DELTA.replace("`pay()`", "pay()").replace("`cart`", "cart"),
            ":4: an item of ADDED has no name, so Treadle cannot",
        ),
        (DELTA.replace("- cart: `apply", "cart gets `apply"), ":3: 'cart gets `apply(coupon: str) -> Total`, at"),
    ],
)
def test_a_delta_item_without_a_name_is_refused(tmp_path: Path, given: str, said: str) -> None:
    async def told() -> None:
        files = {"docs/sdd.md": SDD, "docs/deltas/US-1.md": given}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        verdict = await stage.claim("verify", "x", {"docs/sdd.md": MERGED}, checks="checkpoint delta_merged")
        assert f"docs/deltas/US-1.md{said}" in verdict.report

    run(told())


def test_a_delta_that_the_design_already_contains_passes(tmp_path: Path) -> None:
    async def told() -> None:
        files = {"docs/sdd.md": MERGED, "docs/deltas/US-1.md": DELTA}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        verdict = await stage.claim("verify", "x", {"x.md": "x"}, checks="checkpoint delta_merged")
        assert verdict.report == ""

    run(told())


def test_a_missing_delta_is_refused(tmp_path: Path) -> None:
    async def told() -> None:
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY).start()
        verdict = await stage.claim("verify", "x", {}, checks="checkpoint delta_merged")
        assert stage.found(verdict, "delta_merged") == [("docs/deltas/US-1.md", "delta.missing")]

    run(told())


def contract(**more: Any) -> dict[str, Any]:
    paths: dict[str, Any] = {"/carts/{id}": {"get": {}}, "/health": {"get": {}}}
    return {
        "openapi": "3.0.0",
        "info": {"version": "1"},
        "paths": paths,
        "components": {"schemas": {"Cart": {}}},
    } | more


COUPONS = {"/carts/{id}/coupons": {"post": {"$ref": "#/components/schemas/Coupon"}}}
REFERRED = {"schemas": {"Cart": {}, "Coupon": {"$ref": "#/components/schemas/Code"}, "Code": {"type": "string"}}}


@pytest.mark.parametrize(
    ("after", "missing"),
    [
        (contract(), []),
        (contract(info={"version": "2"}), []),
        (contract(paths=contract()["paths"] | COUPONS), []),
        (contract(paths=contract()["paths"] | COUPONS, components=REFERRED), []),
        (contract(components=REFERRED), ["components.schemas.Coupon", "components.schemas.Code"]),
        (contract(paths={"/carts/{id}": {"get": {}}} | COUPONS), ["paths /health"]),
        (contract(paths=contract()["paths"] | {"/carts/{id}": {"put": {}}}), ["paths /carts/{id}"]),
        (contract(servers=[{"url": "http://x"}]), ["servers"]),
        (contract(channels={"paid": {}}), ["channels paid"]),
    ],
)
def test_a_contract_changes_only_where_the_delta_names_it(after: dict[str, Any], missing: list[str]) -> None:
    assert unnamed_changes(contract(), after, DELTA) == missing


CART = {"get": {"$ref": "#/components/schemas/Page"}}
SHOP = contract(
    paths={"/cart": CART, "/pay": {"get": {"$ref": "#/components/schemas/Bill"}}},
    components={"schemas": {"Page": {"$ref": "#/components/schemas/Cart"}, "Cart": {}, "Bill": {}}},
)


def changed(**parts: Any) -> dict[str, Any]:
    schemas = SHOP["components"]["schemas"] | parts.pop("schemas", {})
    return SHOP | {"paths": SHOP["paths"] | parts, "components": {"schemas": schemas}}


@pytest.mark.parametrize(
    ("delta", "after", "missing"),
    [
        ("`GET /cart`", changed(**{"/cart": CART | {"delete": {}}}), ["paths /cart delete"]),
        ("`GET /cart`", changed(**{"/cart": {"get": {}, "summary": "what is in it"}}), []),
        ("`GET /cart` and DELETE `/cart`", changed(**{"/cart": CART | {"delete": {}}}), []),
        ("GET, POST and DELETE /cart", changed(**{"/cart": CART | {"delete": {}, "put": {}}}), ["paths /cart put"]),
        ("`GET /cart`; the rest of /cart, too", changed(**{"/cart": CART | {"delete": {}}}), []),
        ("`GET /cart`", changed(schemas={"Cart": {"type": "object"}}), []),
        ("`GET /cart`", changed(schemas={"Bill": {"type": "object"}}), ["components.schemas.Bill"]),
        ("`DELETE /cart/items`", changed(**{"/cart": CART | {"delete": {}}}), ["paths /cart"]),
    ],
)
def test_a_delta_names_methods_and_the_schemas_that_they_refer_to(
    delta: str, after: dict[str, Any], missing: list[str]
) -> None:
    assert unnamed_changes(SHOP, after, f"## MODIFIED\n- {delta}\n") == missing


def test_a_contract_that_changes_elsewhere_is_refused(tmp_path: Path) -> None:
    async def told() -> None:
        place, paths = "docs/api/openapi.yaml", "openapi: 3.0.0\npaths:\n  /health: {get: {}}\n"
        files = {place: paths, "docs/deltas/US-1.md": DELTA}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        more = {place: paths + "  /carts/{id}/coupons: {post: {}}\n"}
        assert (await stage.claim("contract", "x", more, checks="checkpoint affected_paths")).report == ""
        other = {place: paths.replace("health", "wealth")}
        verdict = await stage.claim("contract", "x", other, checks="checkpoint affected_paths", n="2.1")
        lacking = ("docs/deltas/US-1.md:3", "delta.contract")
        assert stage.found(verdict, "affected_paths") == [*[(place, "delta.unnamed_change")] * 2, lacking]
        assert [text for text in ("paths /health", "paths /wealth") if text not in verdict.report] == []
        commented = {place: paths + "  # /carts/{id}/coupons: {post: {}}\n"}
        verdict = await stage.claim("contract", "x", commented, checks="checkpoint affected_paths", n="3.1")
        assert lacking in stage.found(verdict, "affected_paths")

    run(told())
