"""What an accepted exit proves."""

import pytest

from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.proofs import proof_of


@pytest.mark.parametrize(
    ("protocol", "exit_", "fields", "proof"),
    [
        ("dptr", "Reviewed", {"validation": "VC", "quality": "QP"}, "approval"),
        ("dptr", "Reviewed", {"validation": "DF", "quality": "QP"}, ""),
        ("dptr", "Reviewed", {"validation": "VC", "quality": "QF"}, ""),
        ("dptr", "Reviewed", {"validation": "VC", "quality": None}, ""),
        ("dptr", "Reviewed", {}, ""),
        ("dptr", "APPROVED", {}, "approval"),
        ("riper", "Validated", {"verdict": "Passed"}, "approval"),
        ("riper", "Validated", {"verdict": "Failed"}, ""),
        ("riper", "RFC", {}, "approval"),
    ],
)
def test_only_some_values_make_a_proof(protocol: str, exit_: str, fields: dict[str, Json], proof: str) -> None:
    assert proof_of(load(protocol).exits[exit_], fields) == proof
