"""Every status code of DPTR occurs in a story, also one that is added later."""

from tests.end_to_end import (  # noqa: F401 (they say what they show)
    test_dptr,
    test_dptr_cycle,
    test_dptr_design,
    test_dptr_failures,
    test_dptr_plan,
    test_dptr_review,
    test_dptr_rounds,
)
from tests.end_to_end.codes import DPTR, SHOWN

SEED = "ACCEPT REVISE REJECT PC PR DG NR PA EN DA RC TA RTC GC TI RIC P0C APPROVED NEEDS_CHANGE VC DF QP QF ME TO EX BL"


def test_the_protocol_has_every_code_that_is_published() -> None:
    assert set(SEED.split()) == DPTR


def test_every_code_occurs_in_a_story() -> None:
    assert SHOWN.keys() == DPTR
