"""OpenAPI and AsyncAPI."""

import pytest

from treadle.evidence.checks.design import contract_problems

OPEN = """openapi: 3.0.0
info: {title: Shop, version: "1"}
paths:
  /cart:
    get:
      responses:
        "200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Cart"}}}}
components:
  schemas:
    Cart: {type: object}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OPEN, ""),
        ("asyncapi: 2.6.0\ninfo: {title: a, version: b}\nchannels: {x: {}}\n", ""),
        (OPEN.replace("/cart", "cart"), "f:4: the path 'cart' does not start with /"),
        (OPEN.replace("responses", "answers"), "f:4: GET /cart has no responses"),
        (OPEN.replace("Cart: {", "Kart: {"), "refers to #/components/schemas/Cart, which does not exist"),
        (OPEN.replace("title: Shop, ", ""), "has no info.title"),
        ("info: {title: a, version: b}\n", "declares neither `openapi` nor `asyncapi`"),
        ("asyncapi: 2.6.0\ninfo: {title: a, version: b}\n", "has no channels"),
        ("a: [\n", "f:2: cannot be read"),
        ("- a\n", "is not a mapping"),
        ("a: !!python/object/apply:os.system [x]\n", "cannot be read"),
    ],
)
def test_faults_of_a_contract_are_named(text: str, said: str) -> None:
    found = [str(one) for one in contract_problems("f", text)]
    assert any(said in one for one in found) if said else not found
